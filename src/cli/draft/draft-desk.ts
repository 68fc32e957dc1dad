import type {
  AnswerCommand,
  AnswerEffect,
  AskedQuestion,
  DraftDesk,
  DraftFault,
  DraftRemainder,
  DraftView,
  ExampleRun,
  JudgedMessage,
  ListedQuestion,
  OfferedAnswer,
  SavedDraft,
  ShownMigration,
} from '../../inspector/draft-desk.ts';
import { createMigration } from '../../library/capture-gateway.ts';
import type { Migration } from '../../library/migration.ts';
import { BodySchemas } from '../../openapi/body-schemas.ts';
import { Components } from '../../openapi/components.ts';
import { type DescribedOperation, operationsBelow, templateOf } from '../../openapi/description.ts';
import {
  answeredDraft,
  APART,
  clashOf,
  type DraftQuestion,
  type GivenAnswer,
  type GivenAnswers,
  hasBlank,
  LATER,
  openQuestions,
  OWN,
  ownLists,
  PLACE,
} from '../../openapi/draft/draft-questions.ts';
import { isPlaceIn, possiblePlaces } from '../../openapi/draft/match-operations.ts';
import {
  printRuleBook,
  type ProposedOperation,
  type ProposedRuleBook,
} from '../../openapi/draft/print-rule-book.ts';
import { type DraftWishes, proposeRuleBook } from '../../openapi/draft/propose-rule-book.ts';
import { soundDraft } from '../../openapi/draft/sound-draft.ts';
import { readRuleBook } from '../../rules/read-rule-book.ts';
import type { RuleBookFault } from '../../rules/rule-book-fault.ts';
import { templateShape } from '../../rules/rule.ts';
import type { RuleBook } from '../../rules/rule-book.ts';
import { coverageOf, printCoverage } from './coverage.ts';
import { exampleRequest } from './described-examples.ts';
import { DescribedService } from './described-service.ts';
import { draftFiles, type DraftPlace, nextCommands, remarksOn, writeFiles } from './init.ts';
import type { SampleRequest } from './samples.ts';
import { messageText, requestText, shownMigration } from './shown-migration.ts';

export interface DeskParts extends DraftPlace {
  readonly v1Source: string;
  readonly wishes: DraftWishes;
  /** The operations to draft, as named by the user; all if absent. */
  readonly only?: readonly string[] | undefined;
  /** Puts a rule book into force. */
  readonly publish: (text: string) => Promise<void>;
  /** The address for V1 clients. */
  readonly gatewayOrigin: () => string;
  /** The addresses from this gateway's settings; absent if no person chose them. */
  readonly servedAt?: () => DraftPlace['addresses'];
}

/** Maximum lines about remaining gaps at the end: `check` lists all. */
const MAX_LINES = 200;

/** Maximum operations of V2 that are offered as the place of one of V1. */
const MAX_PLACES = 500;

/** Maximum rule books whose effects are kept. */
const MAX_MIGRATIONS = 16;

/** Maximum operations on which an answer is tried until it has an effect. */
const MAX_TRIED = 6;

/**
 * Answers the questions of a draft of two descriptions. It drafts again when the place of an operation is answered, and keeps everything in
 * memory.
 */
export class Desk implements DraftDesk {
  private readonly parts: DeskParts;
  private readonly components: Readonly<Record<'v1' | 'v2', Components>>;
  private readonly schemas: BodySchemas;
  private readonly answers = new Map<string, GivenAnswer>();
  /** The answered questions about operations, which a later draft does not ask. */
  private readonly answered = new Map<string, DraftQuestion>();
  /** The questions after the one that was answered last, in their order. */
  private upcoming: readonly string[] = [];
  private readonly written = new Map<string, string>();
  private readonly first: ProposedRuleBook;
  private proposed: ProposedRuleBook;
  private ruleBook: RuleBook;
  private work: Promise<unknown> = Promise.resolve();
  private known: Described;
  /** What rule books do, by their texts: the effects of the answers to a question share some. */
  private readonly migrations = new Map<string, Migration | FaultyBook>();
  /** The remaining gaps, with the rule book for which they were found. */
  private left: { readonly ruleBook: RuleBook; readonly remainder: DraftRemainder } | undefined;

  constructor(parts: DeskParts, proposed: ProposedRuleBook, ruleBook: RuleBook) {
    this.parts = parts;
    this.components = { v1: new Components(parts.v1), v2: new Components(parts.v2) };
    this.schemas = new BodySchemas(parts.v2);
    this.first = proposed;
    this.proposed = proposed;
    this.ruleBook = ruleBook;
    this.known = this.describedBy(ruleBook);
  }

  /** V2's description as a service, below the prefix of the rule book. */
  get service(): DescribedService {
    return this.described.service;
  }

  async view(asked?: string): Promise<DraftView> {
    const questions = this.questions();
    const listed = questions.map((question) => this.listed(question));
    const left = new Map(questions.flatMap((one) => (this.answers.has(one.id) ? [] : [[one.id, one]])));
    const [open] = [...this.upcoming.flatMap((id) => left.get(id) ?? []), ...left.values()];
    const current = questions.find(({ id }) => id === asked) ?? open;
    const examples = this.proposed.operations.flatMap((operation) => {
      const example = this.exampleOf(operation);
      return example === undefined ? [] : [{ id: operation.id, v1: requestText(example) }];
    });
    return {
      folder: this.parts.dir,
      questions: listed,
      ...(current && { current: await this.asked(current) }),
      examples,
      ...(open === undefined && { remainder: this.remainder() }),
    };
  }

  /** The gaps that `check` would report for the rule book, and the examples that V2's description refuses. */
  private remainder(): DraftRemainder {
    const { ruleBook } = this;
    if (this.left?.ruleBook === ruleBook) return this.left.remainder;
    const { v1, v2, wishes } = this.parts;
    const text = printRuleBook(answeredDraft(this.proposed, this.answers));
    const { isWanted } = wishes;
    const coverage = coverageOf({ ruleBook, text, v1, v2, ...(isWanted && { isWanted }) });
    // The file is not written yet, so a line number would mean nothing.
    const gaps = coverage.gaps.map(({ kind, operation, text: sentence }) => ({
      kind,
      operation,
      text: sentence,
    }));
    const [, ...lines] = printCoverage({ ...coverage, gaps }, '')
      .trimEnd()
      .split('\n');
    const more = lines.length - MAX_LINES;
    const migration = createMigration(ruleBook);
    const refused = this.proposed.operations.flatMap((operation) => {
      const example = this.exampleOf(operation);
      const faults = example === undefined ? [] : shownMigration(migration, example, this.service).faults;
      return faults.length === 0 ? [] : [{ operation: operation.id, faults }];
    });
    const remainder = {
      gaps: gaps.length,
      lines: more > 0 ? [...lines.slice(0, MAX_LINES), `  and ${more} more lines`] : lines,
      refused,
    };
    this.left = { ruleBook, remainder };
    return remainder;
  }

  answer({ question: id, chosen, value, own }: AnswerCommand): Promise<DraftFault | undefined> {
    const next = this.work.then(() => this.decide(id, chosen && { chosen, value, own }));
    this.work = next.catch(() => undefined);
    return next;
  }

  async effect({
    question: id,
    chosen = [],
    value,
    own,
  }: AnswerCommand): Promise<{ readonly effect?: AnswerEffect } | DraftFault> {
    const given = { chosen, value, own };
    const question = this.asks(id, given);
    if ('fault' in question) return question;
    const effect = await this.effectOf({ ...question, operations: concernedBy(question) }, given);
    return effect === undefined ? {} : { effect };
  }

  judge({ method, target, headers, body }: JudgedMessage): readonly string[] {
    const fields = new Map(headers.map(([name, value]) => [name.toLowerCase(), value]));
    const field = (name: string): string | undefined => fields.get(name);
    const { service } = this;
    return [...service.faultsOf({ method, target, field, body }), ...service.unknownQueries(method, target)];
  }

  async run(operation: string): Promise<ExampleRun | DraftFault> {
    const found = this.proposed.operations.find(({ id }) => id === operation);
    const example = found && this.exampleOf(found);
    if (example === undefined) return { fault: `The draft has no operation ${operation}.` };
    const requestId = crypto.randomUUID();
    const { method, target, headers, body } = example;
    const fields = headers.flatMap((name, at): [string, string][] =>
      at % 2 === 0 && name !== 'Host' ? [[name, headers[at + 1] ?? '']] : [],
    );
    const response = await fetch(`${this.parts.gatewayOrigin()}${target}`, {
      method,
      headers: [...fields, ['x-request-id', requestId]],
      redirect: 'manual',
      ...(body !== undefined && { body }),
    });
    const text = messageText(String(response.status), [...response.headers], await response.text());
    return { requestId, status: response.status, response: text };
  }

  async save(): Promise<SavedDraft | DraftFault> {
    const { parts, written } = this;
    const book = answeredDraft(this.proposed, this.answers);
    const addresses = parts.servedAt?.();
    const { files } = await draftFiles({ ...parts, addresses }, book, parts.wishes);
    const fault = writeFiles(parts.dir, files, written);
    if (fault !== undefined)
      return { fault: fault.fault.replace(', or overwrite with --force.', ' when you start try.') };
    for (const [path, text] of files) written.set(path, text);
    const next = nextCommands(parts.dir, {
      v1: parts.v1Source,
      v2: parts.v2Source,
      ...(parts.only && { only: parts.only }),
    });
    const stop =
      addresses === undefined
        ? 'Stop try (Ctrl-C) before you start serve.'
        : `Stop try (Ctrl-C) before you start serve, which listens where try does: ${addresses.listen} for V1 clients, ${addresses.adminListen} for this page.`;
    return {
      files: files.map(([path]) => path),
      next,
      remarks: [stop, ...remarksOn(parts.dir, parts.v2, this.remainder().gaps)],
    };
  }

  /** All questions: the answered ones about operations, and those of the draft that follows from them. */
  private questions(): readonly DraftQuestion[] {
    const declined = new Set(
      [...this.answered.values()].flatMap(({ id, operations }) =>
        this.answers.get(id)?.chosen[0] === 'no' ? operations : [],
      ),
    );
    const isOver = ({ about, operations }: DraftQuestion): boolean =>
      about === 'change' && operations.length > 0 && operations.every((id) => declined.has(id));
    const open = openQuestions(this.proposed, this.answers).filter(
      (one) => !this.answered.has(one.id) && !isOver(one),
    );
    return [...this.answered.values(), ...open];
  }

  private listed({ id, about, text, operations }: DraftQuestion): ListedQuestion {
    const given = this.answers.get(id);
    return { id, about, text, operations, isAnswered: given !== undefined && !given.chosen.includes(LATER) };
  }

  private async asked(question: DraftQuestion): Promise<AskedQuestion> {
    const given = this.answers.get(question.id);
    const isPlain = question.about === 'note' || question.about === 'gone';
    const parts = [];
    for (const [at, { why, answers, isOpen }] of question.parts.entries()) {
      const offered: OfferedAnswer[] = [];
      for (const answer of answers) {
        const chosen = question.parts.map((part, other) =>
          other === at ? answer.key : (given?.chosen[other] ?? part.answers[0]?.key ?? 'no'),
        );
        // What an answer does without the value that only a person knows would mislead.
        const isSilent = isPlain || answer.lacksValue || answer.key === 'no' || answer.key === APART;
        const effect = isSilent
          ? undefined
          : await this.effectOf(question, { chosen, value: given?.value, own: given?.own });
        offered.push({
          ...answer,
          ...(question.isList && { lines: [] }),
          isChosen: given?.chosen[at] === answer.key,
          ...(effect && { effect }),
        });
      }
      const isOwn = given?.chosen[at] === OWN;
      parts.push({ why, answers: offered, ...(isOpen && { isOpen }), ...(isOwn && { isOwn }) });
    }
    const [value, own] = [given?.value, given?.own ?? question.own?.draft];
    const values = this.valuesFor(question);
    return {
      ...this.listed(question),
      parts,
      ...(question.isList && { isList: true }),
      ...(values.length > 0 && { values }),
      ...(question.own !== undefined && { ownKey: OWN, ownLists: question.own.lists }),
      ...(value !== undefined && { value }),
      ...(own !== undefined && { own }),
    };
  }

  /** The operations of V2 that a question about a place may mean, as a rule book writes them. */
  private valuesFor({ parts, operations: [id] }: DraftQuestion): readonly string[] {
    const operation = this.operations().find((one) => one.id === id);
    if (operation === undefined || !parts.some(({ answers }) => answers.some(({ key }) => key === PLACE)))
      return [];
    const { v1, v2 } = this.described.operations;
    const key = `${operation.method} ${templateShape(operation.template)}`;
    const old = v1.find((one) => `${one.method} ${templateShape(templateOf(one) ?? '')}` === key);
    const versions = {
      v1: { components: this.components.v1, operations: v1 },
      v2: { components: this.components.v2, operations: v2 },
    };
    return old === undefined ? [] : possiblePlaces(old, v2, versions).slice(0, MAX_PLACES);
  }

  /** The operations of the draft, and those that V2 does not describe. */
  private operations(): readonly ProposedOperation[] {
    const { operations, gone = [] } = this.proposed;
    return [...operations, ...gone.flatMap(({ named }) => named ?? [])];
  }

  /** The effect of an answer on the first example request that it changes, or on its response; on an error if it has no other effect. */
  private async effectOf(
    question: DraftQuestion,
    answer: GivenAnswer,
    kind: 'success' | 'error' = 'success',
  ): Promise<AnswerEffect | undefined> {
    const all =
      question.operations.length === 0
        ? this.proposed.operations
        : this.operations().filter(({ id }) => question.operations.includes(id));
    // A request with a body shows more of what rules do.
    const concerned =
      question.about === 'operation'
        ? all
        : all.toSorted((one, other) => Number(isBodiless(one)) - Number(isBodiless(other)));
    const none = { chosen: question.parts.map(() => 'no') };
    const migrations = [
      await this.migrationWith(new Map([...this.answers, [question.id, none]])),
      await this.migrationWith(new Map([...this.answers, [question.id, answer]])),
    ] as const;
    for (const operation of concerned.slice(0, MAX_TRIED)) {
      const example = this.exampleOf(operation);
      if (example === undefined) continue;
      const [before, after] = [
        shownWith(migrations[0], example, this.service, kind),
        shownWith(migrations[1], example, this.service, kind),
      ];
      if (before.request === after.request && before.response === after.response) continue;
      return { operation: operation.id, v1: requestText(example), before, after };
    }
    const isOfErrors = question.parts.some(({ answers }) =>
      answers.some(({ lines }) => lines.some((line) => /\bstatus: [45]xx\b/.test(line))),
    );
    return isOfErrors && kind === 'success' ? this.effectOf(question, answer, 'error') : undefined;
  }

  /** What the gateway does with these answers: all rules count, because responses are undone by those of other operations as well. */
  private async migrationWith(answers: GivenAnswers): Promise<Migration | FaultyBook> {
    const text = printRuleBook(answeredDraft(this.bookFor(answers), answers));
    const known = this.migrations.get(text);
    if (known !== undefined) return known;
    const reading = await readRuleBook(text, 'draft');
    const migration = reading.ok
      ? createMigration(reading.ruleBook)
      : { faultsOfBook: reading.faults.map((fault) => faultWords(fault, text)) };
    if (this.migrations.size >= MAX_MIGRATIONS) this.migrations.clear();
    this.migrations.set(text, migration);
    return migration;
  }

  /** The draft with these questions: the first draft if an answered question about an operation is open again. */
  private bookFor(answers: GivenAnswers): ProposedRuleBook {
    const isUndecided = [...this.answered.keys()].some((id) => answers.get(id) !== this.answers.get(id));
    return isUndecided ? this.first : this.proposed;
  }

  private async decide(id: string, given: GivenAnswer | undefined): Promise<DraftFault | undefined> {
    const question = this.asks(id, given);
    if ('fault' in question) return question;
    const order = this.questions().map((one) => one.id);
    const before = {
      answers: [...this.answers],
      answered: [...this.answered],
      proposed: this.proposed,
    };
    if (given === undefined) this.answers.delete(id);
    else this.answers.set(id, given);
    if (question.about === 'operation') {
      if (given === undefined) this.answered.delete(id);
      else this.answered.set(id, question);
      this.proposed = await this.draftAgain();
    }
    const text = printRuleBook(answeredDraft(this.proposed, this.answers));
    const reading = await readRuleBook(text, 'rules.yaml');
    if (reading.ok) {
      this.ruleBook = reading.ruleBook;
      this.upcoming = order.slice(order.indexOf(id) + (given === undefined ? 0 : 1));
      await this.parts.publish(text);
      return undefined;
    }
    restore(this.answers, before.answers);
    restore(this.answered, before.answered);
    this.proposed = before.proposed;
    const [fault] = reading.faults;
    // The file is not written yet, so a line number would mean nothing.
    return { fault: `The rule book cannot have this answer: ${fault ? faultWords(fault, text) : ''}` };
  }

  /** The question with this id, if `given` is an answer to it. */
  private asks(id: string, given: GivenAnswer | undefined): DraftQuestion | DraftFault {
    const question = this.questions().find((one) => one.id === id);
    if (question === undefined) return { fault: 'The draft no longer asks this question; reload the page.' };
    const clash = given && clashOf(this.proposed, this.answers, question, given);
    if (clash !== undefined) return { fault: clash };
    const place = given?.chosen[0] === PLACE ? (given.value ?? '').trim() : undefined;
    if (place !== undefined && !isPlaceIn(place, this.described.operations.v2))
      return {
        fault: `V2 does not describe “${place}”: write a method and a path of V2, such as ${this.valuesFor(question)[0] ?? 'GET /orders/{id}'}.`,
      };
    if (given?.chosen.includes(OWN) && hasBlank(given.own ?? {}))
      return { fault: 'Write a value for each “…” in your rules, or leave out what has no counterpart.' };
    if (given === undefined || isAnswerTo(question, given)) return question;
    return {
      fault: given.chosen.includes(OWN)
        ? 'Write at least one rule.'
        : 'Choose one of the answers to each part of the question.',
    };
  }

  /** Drafts again with the answered operations: rules that depend on their places then need no question. */
  private async draftAgain(): Promise<ProposedRuleBook> {
    const { v1, v2, wishes } = this.parts;
    const moves = new Map<string, NonNullable<ProposedOperation['moved']>>();
    for (const { id, moved, method, template } of answeredDraft(this.first, this.answers).operations) {
      const asked = this.first.operations.find((one) => one.id === id);
      // A V1 operation without a similar one in V2 is not in the first draft, until the user names its place.
      const isAnswer = asked === undefined || asked.moved?.doubt !== undefined;
      if (moved !== undefined && isAnswer && moved.doubt === undefined)
        moves.set(`${method} ${templateShape(template)}`, moved);
    }
    if (moves.size === 0) return this.first;
    const given = new Map([...moves].map(([key, { to }]) => [key, to]));
    const book = await soundDraft(proposeRuleBook(v1, v2, { ...wishes, moves: given }));
    const operations = book.operations.map((operation) => {
      const move = moves.get(`${operation.method} ${templateShape(operation.template)}`);
      return move === undefined ? operation : { ...operation, moved: move };
    });
    return { ...book, operations };
  }

  private exampleOf({ method, template }: ProposedOperation): SampleRequest | undefined {
    return this.described.examples.get(`${method} ${templateShape(template)}`);
  }

  /** Both descriptions below the prefixes of the rule book. An answer may change the prefixes. */
  private get described(): Described {
    const { from, to } = this.ruleBook;
    if (this.known.from !== from || this.known.to !== to) this.known = this.describedBy(this.ruleBook);
    return this.known;
  }

  private describedBy({ from, to }: Pick<RuleBook, 'from' | 'to'>): Described {
    const { v1, v2 } = this.components;
    const operations = {
      v1: operationsBelow(v1.description, from, 'v1'),
      v2: operationsBelow(v2.description, to, 'v2'),
    };
    const examples = operations.v1.flatMap((operation) => {
      const template = templateOf(operation);
      if (template === undefined) return [];
      const key = `${operation.method} ${templateShape(template)}`;
      return [[key, exampleRequest(operation, v1, { from })] as const];
    });
    const service = new DescribedService(v2, to, this.schemas);
    return { from, to, operations, examples: new Map(examples), service };
  }
}

/** The descriptions below two prefixes: V1's example requests by method and shape of the path, and V2 as a service. */
interface Described {
  readonly from: string;
  readonly to: string;
  readonly operations: Readonly<Record<'v1' | 'v2', readonly DescribedOperation[]>>;
  readonly examples: ReadonlyMap<string, SampleRequest>;
  readonly service: DescribedService;
}

/** The message of a fault with the line that it is about in the place of its number, because the page shows no file. */
function faultWords({ line, message }: RuleBookFault, text: string): string {
  const own = (text.split('\n')[line - 1] ?? '').trim().replace(/^- /, '');
  return message.replace(/^changes\[\d+\][^ ]*/, () => `“${own}”`);
}

/** The faults of a rule book that cannot have an answer. */
interface FaultyBook {
  readonly faultsOfBook: readonly string[];
}

function shownWith(
  migration: Migration | FaultyBook,
  example: SampleRequest,
  service: DescribedService,
  kind: 'success' | 'error',
): ShownMigration {
  if (!('faultsOfBook' in migration)) return shownMigration(migration, example, service, kind);
  const { faultsOfBook } = migration;
  return { request: '', faults: [], faultsOfBook, response: '' };
}

function isBodiless({ method }: ProposedOperation): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'DELETE';
}

function isAnswerTo({ parts, own }: DraftQuestion, { chosen, own: rules }: GivenAnswer): boolean {
  const isWritten = own !== undefined && rules !== undefined && ownLists(rules).size > 0;
  return (
    chosen.length === parts.length &&
    parts.every(({ answers }, at) =>
      chosen[at] === OWN ? isWritten : answers.some(({ key }) => key === chosen[at]),
    )
  );
}

/** The operations that an answer may change: a note has them only where a person can write rules for them. */
function concernedBy({ operations, own }: DraftQuestion): readonly string[] {
  return operations.length > 0 || own === undefined || own.on === 'every' ? operations : own.on;
}

function restore<Value>(map: Map<string, Value>, entries: readonly (readonly [string, Value])[]): void {
  map.clear();
  for (const [key, value] of entries) map.set(key, value);
}
