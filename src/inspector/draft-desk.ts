/** A question of a draft, in a list of all of them. */
export interface ListedQuestion {
  readonly id: string;
  readonly about: 'operation' | 'key' | 'change' | 'note' | 'gone';
  readonly text: string;
  /** The operations that it is about; empty if it is about all of them. */
  readonly operations: readonly string[];
  /** False while its TODO is in the rule book, as after an answer that keeps it for later. */
  readonly isAnswered: boolean;
}

/** A V1 request, or its result, as readable texts: the first line, header fields, and the formatted body. */
export interface ShownMigration {
  /** V2's request, or the reason why V2 gets none. */
  readonly request: string;
  /** Objections of V2's description, in sentences. */
  readonly faults: readonly string[];
  /** What makes the rule book itself faulty, in sentences; absent for a sound one. */
  readonly faultsOfBook?: readonly string[];
  /** The client's response, for the one that V2's description shows. */
  readonly response: string;
}

/** The effect of an answer on the example request of an operation. */
export interface AnswerEffect {
  readonly operation: string;
  /** The request as a V1 client sends it. */
  readonly v1: string;
  /** Without a rule for the question. */
  readonly before: ShownMigration;
  readonly after: ShownMigration;
}

/** One of the answers that exclude each other. */
export interface OfferedAnswer {
  readonly key: string;
  readonly words: string;
  /** The rules of this answer. */
  readonly lines: readonly string[];
  /** True for a rule with a value that only a person knows. */
  readonly lacksValue?: true;
  readonly isChosen: boolean;
  /** Absent if it changes no request or response. */
  readonly effect?: AnswerEffect;
}

/** One thing that a question decides. */
export interface AskedPart {
  readonly why: string;
  readonly answers: readonly OfferedAnswer[];
  /** True if no answer is preselected: none is as certain as a rule that applies without a question. */
  readonly isOpen?: true;
  /** True if the answer is the rules that a person wrote. */
  readonly isOwn?: true;
}

/** A question with all of its answers. */
export interface AskedQuestion extends ListedQuestion {
  /** The decisions: one, or a few that belong together. */
  readonly parts: readonly AskedPart[];
  /** True if the same is asked of each part: a line with the answer that it is so, and the one that it is asked by itself. */
  readonly isList?: true;
  /** The value that was given for a rule that lacks one. */
  readonly value?: string;
  /** The possible values of an answer that lacks one, the likeliest first: a person may write another one. */
  readonly values?: readonly string[];
  /** The key of the answer that a person writes; absent if no rule can be the answer. */
  readonly ownKey?: string;
  /** The lists for these rules. */
  readonly ownLists?: readonly OwnList[];
  /** The rules that a person wrote, or those to begin with. */
  readonly own?: OwnRules;
}

/** A list of rules that a person can write. */
export type OwnList = 'query' | 'headers' | 'request' | 'response';

/** Rules as a person writes them, by list: in YAML, one on a line. */
export type OwnRules = Readonly<Partial<Record<OwnList, string>>>;

/** An operation with the example request that V1's description has for it. */
export interface ExampleOperation {
  readonly id: string;
  readonly v1: string;
}

/** The remaining differences between the descriptions and the rule book, once all questions of a draft are answered. */
export interface DraftRemainder {
  /** The number of gaps that `check` finds between the descriptions. */
  readonly gaps: number;
  /** The first lines about them. */
  readonly lines: readonly string[];
  /** The example requests that V2's description refuses after the migration, and why. */
  readonly refused: readonly { readonly operation: string; readonly faults: readonly string[] }[];
}

/** A draft while its questions are answered. */
export interface DraftView {
  /** The folder that saving writes to. */
  readonly folder: string;
  readonly questions: readonly ListedQuestion[];
  /** The question that was asked for, or else the next one without an answer; absent once each has one, or is kept for later. */
  readonly current?: AskedQuestion;
  readonly examples: readonly ExampleOperation[];
  /** Absent while a question is open. */
  readonly remainder?: DraftRemainder;
}

/** An answer: for each part of the question the key of one; without `chosen`, the question is open again. */
export interface AnswerCommand {
  readonly question: string;
  readonly chosen?: readonly string[] | undefined;
  readonly value?: string | undefined;
  /** The rules of a person; for parts with the key `ownKey`. */
  readonly own?: OwnRules | undefined;
}

/** A request of V2 as a trial shows it. */
export interface JudgedMessage {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
}

/** A sentence that says why something was not done. */
export interface DraftFault {
  readonly fault: string;
}

/** An example request that was sent through the gateway. */
export interface ExampleRun {
  /** The id by which its exchange is found. */
  readonly requestId: string;
  readonly status: number;
  /** The response, as a readable text. */
  readonly response: string;
}

/** The files that were written, the commands that follow, and what to know before them. */
export interface SavedDraft {
  readonly files: readonly string[];
  readonly next: readonly string[];
  readonly remarks: readonly string[];
}

/** Answers the questions of a draft, before any file is written. */
export interface DraftDesk {
  view(question?: string): Promise<DraftView>;
  answer(command: AnswerCommand): Promise<DraftFault | undefined>;
  /** The effect of an answer that is not given yet; without one if it changes no example. */
  effect(command: AnswerCommand): Promise<{ readonly effect?: AnswerEffect } | DraftFault>;
  /** The objections of V2's description to a request, in sentences. */
  judge(message: JudgedMessage): readonly string[];
  run(operation: string): Promise<ExampleRun | DraftFault>;
  save(): Promise<SavedDraft | DraftFault>;
}
