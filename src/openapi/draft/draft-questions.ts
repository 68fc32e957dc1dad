import { BLANK, type BookRule, bookRules } from './book-rules.ts';
import {
  type FoundRule,
  isProposed,
  localKey,
  pathText,
  PROPOSED_FROM,
  type Question,
} from './found-rules.ts';
import type { FoundValue } from './conversions.ts';
import { withLeaders } from './one-question.ts';
import {
  isAskedAlone,
  lacksValue,
  MAX_ANSWERED,
  methodOf,
  moveKey,
  noteKey,
  openNotes,
  printRule,
  type ProposedGone,
  type ProposedKey,
  type ProposedOperation,
  type ProposedRuleBook,
  scalar,
  SETTLED,
  type WrittenChange,
  type WrittenList,
} from './print-rule-book.ts';
import {
  listOf,
  namesIn,
  type ProposedChange,
  strippedBy,
  summaryOf,
  undescribed,
} from './propose-changes.ts';
import {
  commonPlace,
  filledBy,
  isForSame,
  isSource,
  isTaken,
  LISTS,
  placeAfter,
  placesIn,
  type RuleList,
  type TakenPlace,
  takenPlaces,
} from './taken-places.ts';
import { readPath } from '../../rules/rule.ts';
import { madeBy, placedLists, summaryWritten, writtenRules } from './written-rules.ts';

/** A question of a draft, with answers that exclude each other. */
export interface DraftQuestion {
  /** Stays the same while the draft asks the same. */
  readonly id: string;
  readonly about: 'operation' | 'key' | 'change' | 'note' | 'gone';
  readonly text: string;
  /** The ids of the operations that it is about; empty for all of them. */
  readonly operations: readonly string[];
  /** The parts to decide: one, or a few that belong together. */
  readonly parts: readonly QuestionPart[];
  /** True if the parts are members of which the same is asked: each is a line, which a person can ask about apart. */
  readonly isList?: true;
  /** The change for rules that a person writes instead of choosing an answer; absent where a rule cannot be the answer. */
  readonly own?: Pick<WrittenChange, 'id' | 'on'> & {
    readonly lists: readonly WrittenList[];
    /** Rules to begin with, which may have blanks. */
    readonly draft?: OwnRules | undefined;
  };
}

/** One thing that a question decides. */
export interface QuestionPart {
  /** The evidence for the first answer, and the doubt about it. */
  readonly why: string;
  /** The likeliest first. */
  readonly answers: readonly DraftAnswer[];
  /** True if a person must choose: no answer is as certain as a rule that applies without a question. */
  readonly isOpen?: true;
}

/** One answer to a question. */
export interface DraftAnswer {
  /** `yes`, `no`, the number of another answer, or `OWN`. */
  readonly key: string;
  readonly words: string;
  /** Its lines in the rule book. */
  readonly lines: readonly string[];
  /** True for a rule with a value that only a person knows. */
  readonly lacksValue?: true;
}

/** A person's answer: for each part of the question, the key of the chosen answer. */
export interface GivenAnswer {
  readonly chosen: readonly string[];
  /** The value that a rule lacks. */
  readonly value?: string | undefined;
  /** The rules of a person who chose `OWN`. */
  readonly own?: OwnRules | undefined;
}

/** Rules as a person writes them, by list: in YAML, one on a line. */
export type OwnRules = Readonly<Partial<Record<WrittenList, string>>>;

/** The key of the answer that a person writes. */
export const OWN = 'own';

/** The key of the answer that keeps the TODO of a question. */
export const LATER = 'later';

/** The key of the answer that leaves a line of a list to a question by itself. */
export const APART = 'apart';

/** The key of the answer with a place in V2 that a person names: the value is its method and path. */
export const PLACE = 'place';

/** The words of an answer with the place of one operation. */
const MOVED = 'It moved to this one';

const OWN_PLACE: DraftAnswer = {
  key: PLACE,
  words: 'It is another operation of V2',
  lines: [],
  lacksValue: true,
};

/** The answers that a person has given, by the ids of the questions. */
export type GivenAnswers = ReadonlyMap<string, GivenAnswer>;

/** A rule that is a question, with the other answers to it. */
interface AskedRule {
  readonly change: string;
  readonly list: RuleList;
  readonly on: ProposedChange['on'];
  readonly at: number;
  readonly rules: readonly BookRule[];
  readonly why: string;
  readonly others: readonly (readonly BookRule[])[];
  /** The meaning of each answer for a member, regardless of its place and direction; absent if answers are identified by their order. */
  readonly keys?: readonly string[] | undefined;
  /** True where a person must choose, because the first answer has a rival, or could lose, distort or make up a value. */
  readonly isOpen: boolean;
  /** The rule as sentences name it; absent for rules of queries, header fields and errors. */
  readonly named?: FoundRule | undefined;
  /** The number of names before the resource in its paths. */
  readonly base: number;
  /** True for a rule that moves the resource. */
  readonly isOfResource: boolean;
  /** True if the answer to its first question said nothing about it. */
  readonly isLeft: boolean;
}

/** The questions of a draft in the best order to answer: places of operations, then differences that a request shows, then the rest. */
export function draftQuestions(book: ProposedRuleBook): readonly DraftQuestion[] {
  return [
    ...operationQuestions(book.operations),
    ...placeQuestions(book),
    ...prefixQuestions(book.operations),
    ...withOwnTexts(decisionsOf(book).map(({ question }) => question)),
    ...book.keys.flatMap(keyQuestions),
    ...noteQuestions(book),
    ...goneQuestions(book),
  ];
}

/** The questions that only a person's own rule, or none, answers. */
function noteQuestions(book: ProposedRuleBook): readonly DraftQuestion[] {
  return [...openNotes(book)].map(([key, sentences]): DraftQuestion => {
    const lines = sentences.slice(1);
    const on = notedOn(book, key);
    const text = sentences[0] ?? key;
    const noted = [...book.questions.values()].flat().find((one) => noteKey(one) === key);
    const [required] = noted?.required ?? [];
    const filled = required && `{ default: { ${scalar(pathText(required))}: … } }`;
    return {
      id: `note ${key}`,
      about: 'note',
      text,
      operations: [],
      ...(on.length > 0 && {
        own: { id: 'own-rules', on, lists: OF_BODIES, draft: mapsFor(book, key) },
      }),
      parts: [
        {
          why: filled === undefined ? '' : `a rule for requests, such as ${filled}, can give it a value`,
          isOpen: true,
          answers: [
            { key: LATER, words: 'Later: keep it as a TODO', lines },
            {
              key: 'yes',
              words: `${filled === undefined ? 'No rule is needed' : 'Let V2 refuse them'}: drop the TODO`,
              lines: [],
            },
          ],
        },
      ],
    };
  });
}

/** For a question about values of enumerations, a map for each of their places, in which a person fills in the values; undefined for another. */
function mapsFor({ questions, changes }: ProposedRuleBook, key: string): OwnRules | undefined {
  const taken = takenPlaces(changes, isProposed);
  const maps = [...questions].flatMap(([id, all]) =>
    all.flatMap((one) => {
      if (one.open === undefined || noteKey(one) !== key) return [];
      const { list, at, values } = one.open;
      const path = pathText(at);
      const of = list === 'response' ? placeAfter(path, [id], taken) : path;
      return [[list, printRule({ map: values.map((value) => [value, BLANK]), of })] as const];
    }),
  );
  const of = (list: WrittenList): string =>
    [...new Set(maps.flatMap(([own, line]) => (own === list ? [line] : [])))].join('\n');
  return maps.length === 0 ? undefined : { request: of('request'), response: of('response') };
}

/** True if rules that a person began with still have a blank. */
export function hasBlank(own: OwnRules): boolean {
  return Object.values(own).some((text) => text.includes(scalar(BLANK)));
}

/** The questions with the names of their operations where several would have the same text. */
function withOwnTexts(all: readonly DraftQuestion[]): readonly DraftQuestion[] {
  const times = Map.groupBy(all, ({ text }) => text);
  return all.map((one) =>
    times.get(one.text)?.length === 1 || one.operations.length === 0
      ? one
      : { ...one, text: `${one.text} (${listOf(one.operations)})` },
  );
}

/** The lists with rules for bodies. */
const OF_BODIES: readonly WrittenList[] = ['request', 'response'];

/** The lists for rules that a person writes in the place of others. */
function writtenLists(rules: readonly AskedRule[]): readonly WrittenList[] {
  const lists = new Set(rules.map(({ list }) => list));
  const ofHeads = (['query', 'headers'] as const).filter((list) => lists.has(list));
  const isOfBodies = lists.has('rules') || lists.has('response');
  return [...ofHeads, ...(isOfBodies ? OF_BODIES : [])];
}

/** The operations that a note is about. */
function notedOn({ questions }: ProposedRuleBook, key: string): readonly string[] {
  return [...questions].flatMap(([id, all]) =>
    id !== '' && all.some((one) => noteKey(one) === key) ? [id] : [],
  );
}

function operationQuestions(operations: readonly ProposedOperation[]): readonly DraftQuestion[] {
  const asked = operations.filter(({ moved }) => moved?.doubt !== undefined);
  return [...Map.groupBy(asked, moveKey)].map(([key, all]) => {
    const [first] = all;
    const moved = first?.moved;
    const line = ({ method, template }: ProposedOperation, to: string): string =>
      `${method} ${template} → ${to}`;
    const word = moved?.word;
    const [old, young] = [first?.method ?? '', methodOf(moved?.to ?? '')];
    const isOtherMethod = word !== undefined && old !== young && word.from !== old;
    const text = isOtherMethod
      ? `V2 has ${young} for "${word.to}" where "${word.from}" have ${old}. Is it the same operation?`
      : word === undefined
        ? `V2 does not describe ${first?.method} ${first?.template}. Where is it?`
        : `Is "${word.from}" called "${word.to}" in V2?`;
    return {
      id: `operation ${key}`,
      about: 'operation',
      text,
      operations: all.map(({ id }) => id),
      parts: [
        {
          why: `${moved?.evidence ?? ''}; but ${moved?.doubt ?? ''}`,
          isOpen: true,
          answers: [
            {
              key: 'yes',
              words: word === undefined ? MOVED : 'Yes',
              lines: all.map((one) => line(one, one.moved?.to ?? '')),
            },
            ...otherPlaces(all).map(({ key: place, words }) => ({
              key: place,
              words,
              lines: all.flatMap((one) => {
                const other = placeOf(one, place);
                return other === undefined ? [] : [line(one, other)];
              }),
            })),
            ...(word === undefined ? [OWN_PLACE] : []),
            { key: 'no', words: 'No: V2 has none of these', lines: [] },
          ],
        },
      ],
    };
  });
}

/** The questions about the prefixes of ids in paths: one for all operations in whose paths V2 has the same ids. */
function prefixQuestions(operations: readonly ProposedOperation[]): readonly DraftQuestion[] {
  const asked = operations.filter(({ prefixed }) => prefixed !== undefined);
  return [...Map.groupBy(asked, ({ prefixed }) => prefixed?.why ?? '')].map(([why, all]) => ({
    id: `prefix ${why}`,
    about: 'key',
    text: `${why}. Does V1's value follow the prefix?`,
    operations: all.map(({ id }) => id),
    parts: [
      {
        why: 'V2 describes its ids so; but V1 may have them already',
        isOpen: true,
        answers: [
          {
            key: 'yes',
            words: 'Yes',
            lines: all.map((one) => `${one.method} ${one.template} → ${one.prefixed?.to ?? ''}`),
          },
          { key: 'no', words: "No: V2 gets V1's values as they are", lines: [] },
        ],
      },
    ],
  }));
}

/** Other answers about the place of operations: the other candidates of a single one, or, for a word of their paths, other words of V2. */
function otherPlaces(
  all: readonly ProposedOperation[],
): readonly { readonly key: string; readonly words: string }[] {
  const [first] = all;
  if (all.length === 1)
    return (first?.moved?.others ?? []).map((_, at) => ({ key: String(at), words: MOVED }));
  const from = first?.moved?.word?.from;
  const words = all.flatMap(({ moved }) =>
    (moved?.others ?? []).flatMap(({ word }) => (word?.from === from ? (word?.to ?? []) : [])),
  );
  return [...new Set(words)].map((word) => ({ key: `/${word}`, words: `It is called "${word}"` }));
}

/** The place of an operation according to an answer; undefined if the answer has none. */
function placeOf({ moved }: ProposedOperation, key: string): string | undefined {
  if (key === 'yes') return moved?.to;
  const { others = [] } = moved ?? {};
  return (others.find(({ word }) => key === `/${word?.to}`) ?? others[Number(key)])?.to;
}

function keyQuestions({ key, lines, question }: ProposedKey): readonly DraftQuestion[] {
  if (question === undefined) return [];
  const answers = [
    { key: 'yes', words: 'Yes', lines, ...lackOf(lines) },
    { key: 'no', words: 'No', lines: [] },
  ];
  return [
    {
      id: `key ${key}`,
      about: 'key',
      text: `${question.slice(0, 1).toUpperCase()}${question.slice(1)}`,
      operations: [],
      parts: [{ why: '', answers, isOpen: true }],
    },
  ];
}

/** Questions about operations that V2 does not describe: each is an operation of V2, gone with a message, or forwarded to V2. */
function placeQuestions({ gone = [] }: ProposedRuleBook): readonly DraftQuestion[] {
  return gone.flatMap((one): readonly DraftQuestion[] => {
    const { named, candidates, unused = [], hint } = one;
    if (named === undefined || !isAskedAlone(one, gone)) return [];
    const line = `${named.method} ${named.template}`;
    const answers = [
      ...candidates.map((to, at) => ({
        key: String(at),
        words: MOVED,
        lines: [`${line} → ${to}`],
      })),
      {
        key: 'gone',
        words: 'It is gone: clients get 410 with a sentence',
        lines: [`gone: ${scalar(BLANK)}`],
        lacksValue: true as const,
      },
      ...unused.map((to, at) => ({
        key: String(candidates.length + at),
        words: 'It is this one, which is new in V2',
        lines: [`${line} → ${to}`],
      })),
      OWN_PLACE,
      { key: 'yes', words: "Requests for it get V2's response, such as 404", lines: [] },
      { key: LATER, words: 'Later: keep it as a TODO', lines: [] },
    ];
    const text = `V2 does not describe ${line}. ${candidates.length > 0 ? 'Where is it?' : 'Is it gone?'}`;
    return [
      {
        id: goneId(named),
        about: 'operation',
        text,
        operations: [named.id],
        parts: [{ why: hint.replace(/^\((.*)\)$/s, '$1'), answers, isOpen: true }],
      },
    ];
  });
}

function goneId({ method, template }: Pick<ProposedOperation, 'method' | 'template'>): string {
  return `operation ${method} ${template}`;
}

function goneQuestions({ gone = [] }: ProposedRuleBook): readonly DraftQuestion[] {
  const rest = gone.filter((one) => !isAskedAlone(one, gone));
  if (rest.length === 0) return [];
  const lines = rest.map(({ operation: { method, rest: path }, hint }) => `${method} ${path} ${hint}`.trim());
  const answers = [{ key: 'yes', words: "Right: requests for them get V2's response", lines }];
  const text = 'V2 does not describe these operations of V1.';
  return [{ id: 'gone', about: 'gone', text, operations: [], parts: [{ why: '', answers, isOpen: true }] }];
}

/** The rules that are questions, in their order. */
function askedRules(change: ProposedChange): readonly AskedRule[] {
  return LISTS.flatMap((list) =>
    (change[list] ?? []).flatMap((rule, at): readonly AskedRule[] => {
      if (isProposed(rule)) return [];
      const { evidence, doubt, confidence } = rule;
      const rules = 'found' in rule ? bookRules(rule.found) : rule.rules;
      const others = ('found' in rule ? rule.others?.map(bookRules) : rule.others) ?? [];
      const why = [evidence, ...(doubt === undefined ? [] : [`but ${doubt}`])]
        .filter((words) => words !== '')
        .join('; ');
      const meanings = 'found' in rule ? [rule.found, ...(rule.others ?? [])] : rule.meanings;
      const keys =
        list === 'query'
          ? ownKeys([rules, ...others].map(meaningWritten))
          : meanings && ownKeys(meanings.map((found, at) => (found ? meaningOf(found, at) : ALSO)));
      // A header field may be a credential: a person says who gets it.
      const isClear =
        list !== 'headers' && confidence >= PROPOSED_FROM && others.length === 0 && rules.every(keepsValues);
      const isOpen = 'isOpen' in rule || !isClear;
      const named = 'found' in rule ? (rule.named ?? rule.found) : rule.named;
      const isLeft = rule.isLeft === true;
      const [full] = meanings ?? [];
      const base = named && 'in' in named && full && 'in' in full ? full.in.length - named.in.length : 0;
      const isOfResource = 'place' in rule && rule.place !== undefined;
      const asked = { change: change.id, list, on: change.on, at, rules, why, others, keys, isOpen };
      return [{ ...asked, named, base, isOfResource, isLeft }];
    }),
  );
}

/** Begins the meaning of an answer that gives clients V2's name beside V1's. */
const ALSO = 'also ';

/** What an answer says about a member, in queries, requests and responses alike: which one of V2 it is, or that it is gone. */
function meaningOf(found: FoundRule, at: number): string {
  const isAnywhere = at > 0 && 'in' in found && found.in[0] === '**';
  if (found.rule === 'rename') return `${found.member} is ${found.to}${isAnywhere ? ' at any depth' : ''}`;
  if (found.rule === 'move') return `${found.member} is ${pathText(found.to)}`;
  return found.rule === 'strip' ? `${found.member} is gone` : localKey(found);
}

/** The meaning of the rules for a query parameter. */
function meaningWritten(rules: readonly BookRule[]): string {
  const { rename, to, strip } = rules[0] ?? {};
  if (typeof strip === 'string') return `${strip} is gone`;
  return typeof rename === 'string' ? `${rename} is ${String(to)}` : rules.map(printRule).join(' ');
}

/** The meanings of the answers to one rule, of which no two are equal: an answer that also keeps V2's name is that of the first. */
function ownKeys(all: readonly string[]): readonly string[] {
  return all.map((key, at) => {
    if (key === ALSO) return `${ALSO}${all[0] ?? ''}`;
    const before = all.slice(0, at).filter((one) => one === key).length;
    return before === 0 ? key : `${key} (${before + 1})`;
  });
}

/** True for a rule that only gives values another name or place. */
function keepsValues(rule: BookRule): boolean {
  return ['rename', 'move', 'nest', 'unnest', 'copy', 'alias'].some((kind) => kind in rule);
}

/** A question about a change and the changes that ask the same, with the rules of each part. */
interface Decision {
  readonly question: DraftQuestion;
  /** The title if only some of its rules are left. */
  readonly title: (rules: readonly AskedRule[]) => string;
  readonly parts: readonly Part[];
}

function decisionsOf({ changes }: Pick<ProposedRuleBook, 'changes'>): readonly Decision[] {
  const followers = Map.groupBy(changes, ({ id, asWith }) => asWith ?? id);
  return changes.flatMap((change): readonly Decision[] => {
    if (change.asWith !== undefined) return [];
    const together = [change, ...(followers.get(change.id) ?? []).filter((one) => one !== change)];
    const [own = [], ...more] = together.map(askedRules);
    const { conversion } = change;
    const all = (conversion === undefined ? partsOf(own, more.flat()) : linesOf([own, ...more].flat())).map(
      partWith,
    );
    const asked = all.flatMap(({ rules }) => rules);
    if (all.length === 0) return [];
    const concerned = new Set(asked.map((rule) => rule.change));
    const on = changes.filter(({ id }) => concerned.has(id)).map((one) => one.on);
    const operations = on.includes('every') ? [] : [...new Set(on.flat())];
    const described = all.map((part): QuestionPart => ({
      why: all.length === 1 ? whyOf(part.rules) : `${subjectOf(part)}${whyOf(part.rules)}`,
      answers: conversion === undefined ? answersOf(part) : lineAnswers(part),
      ...(part.rules.some(({ isOpen }) => isOpen) && { isOpen: true }),
    }));
    const id = `change ${change.id} ${digest(JSON.stringify([on, described.map(({ answers }) => answers)]))}`;
    const title = (some: readonly AskedRule[]): string => {
      if (conversion !== undefined) return `Convert ${listOf(namesOfLines(some))} ${conversion}?`;
      const titled = some.find(({ named }) => named !== undefined) ?? some[0];
      const { summary } = together.find((one) => one.id === titled?.change) ?? change;
      return titled === undefined ? summary : titleOf(summary, titled, some);
    };
    const text = title(asked);
    if (conversion !== undefined) {
      const whys = all.map(({ rules }) => whyOf(rules));
      const lines = described.map((part, at) => ({
        ...part,
        why: at === 0 ? `${whys[0]}. ${LEFT_OUT}` : whys[at] === whys[at - 1] ? '' : (whys[at] ?? ''),
      }));
      return [
        {
          question: { id, about: 'change', text, operations, parts: lines, isList: true },
          parts: all,
          title,
        },
      ];
    }
    const written = {
      id: change.id,
      on: operations.length === 0 ? ('every' as const) : operations,
      lists: writtenLists(asked),
    };
    const question = { id, about: 'change' as const, text, operations, parts: described, own: written };
    return [{ question, parts: all, title }];
  });
}

/** The title of a question: what its rules are about, in the order of its parts. */
function titleOf(summary: string, first: AskedRule, rules: readonly AskedRule[]): string {
  const asked = rules.flatMap(({ named }) => named ?? []);
  if (first.named === undefined) {
    const gone = new Set(rules.flatMap((rule) => [...rule.rules, ...rule.others.flat()].flatMap(strippedBy)));
    const isOfHeads = first.list === 'query' || first.list === 'headers';
    if (gone.size < 2 || !isOfHeads) return questionOf(summary);
    return questionOf(undescribed(first.list === 'query' ? 'query parameter' : 'header field', [...gone]));
  }
  if (first.named.rule === 'map')
    return `Do the values of ${namesIn([first.named], 'map').join('')} correspond like this?`;
  if (first.list === 'response' && first.named.rule === 'default') {
    const names = listOf(namesIn(asked, 'default'));
    if (first.named.isRest) return `Leave out what other questions leave of ${names}?`;
    return `Leave out ${names}, which ${asked.length === 1 ? 'is' : 'are'} new in V2?`;
  }
  if (first.named.rule !== 'strip') return questionOf(summary);
  const found = namesIn(
    rules.flatMap(({ named, others }) => (named !== undefined && others.length > 0 ? [named] : [])),
    'strip',
  );
  const gone = namesIn(asked, 'strip').filter((name) => !found.includes(name));
  const are = (names: readonly string[]): string => `${names.length === 1 ? 'is' : 'are'} ${listOf(names)}`;
  const where = found.length === 0 ? '' : `where ${are(found)} in V2`;
  const isGone = gone.length === 0 ? '' : `${are(gone)} gone`;
  const words = [isGone, where].filter((part) => part !== '').join(', and ');
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}?`;
}

/** What a change does, as a question. */
function questionOf(summary: string): string {
  const said = summary.replace(/\.$/, '');
  const [, required] = /^(\S+) is required$/.exec(said) ?? [];
  if (required !== undefined) return `V2 requires ${required}: what should it be?`;
  if (said.startsWith('Errors have ')) return `Should errors ${said.slice('Errors '.length)}?`;
  if (said.startsWith('V2 does not describe '))
    return `${said}. What ${/ (?:parameters|fields) /.test(said) ? 'are they' : 'is it'} in V2?`;
  const word = [...said.matchAll(/ (?<verb>[a-z]+)(?= |$)/g)].find(({ groups }) =>
    VERBS.has(groups?.['verb'] ?? ''),
  );
  const [first, rest = ''] = VERBS.get(word?.groups?.['verb'] ?? '') ?? [];
  if (word === undefined || first === undefined) return `${said}?`;
  const subject = said
    .slice(0, word.index)
    .replace(/^(?:The|Values|Responses|Parameters)(?= |$)/, (name) => name.toLowerCase());
  return `${first} ${subject}${rest}${said.slice(word.index + word[0].length)}?`;
}

/** The verbs of sentences about changes, with how a question with each begins and what stays behind its subject. */
const VERBS: ReadonlyMap<string, readonly [first: string, rest?: string]> = new Map([
  ['is', ['Is']],
  ['are', ['Are']],
  ['has', ['Does', ' have']],
  ['have', ['Do', ' have']],
  ['becomes', ['Does', ' become']],
  ['become', ['Do', ' become']],
  ['moves', ['Does', ' move']],
  ['move', ['Do', ' move']],
]);

function placeKey({ change, list, at }: AskedRule): string {
  return `${change} ${list} ${at}`;
}

/** True for a rule that has an answer by itself: what is true of one parameter is not true of all. */
function isSeveral({ others, list }: AskedRule): boolean {
  return others.length > 0 || list === 'query';
}

/** The parts of a question, with the first one for each thing that their rules say. */
class QuestionParts {
  readonly all: AskedRule[][] = [];
  private readonly firsts = new Map<string, number>();

  /** Adds a rule to the part at `at`, or as a part after the last one. */
  add(rule: AskedRule, at = this.all.length): void {
    const part = this.all[at] ?? [];
    part.push(rule);
    this.all[at] = part;
    const [first = rule] = part;
    const { named, keys = [] } = rule;
    const isOfKind = first === rule && !isSeveral(rule) && named?.rule !== 'rename' && named?.rule !== 'map';
    const facts = [
      ...keys.slice(0, 1).map((key) => `member ${key}`),
      ...keys.map((key) => `answer ${key}`),
      // Members that are gone are one decision, and so are those of one kind, unless one says more about a member than its kind.
      ...(isOfKind && named !== undefined ? [`kind ${named.rule}`] : []),
    ];
    for (const fact of isSeveral(first) ? facts.flatMap((one) => [one, `several ${one}`]) : facts)
      this.firsts.set(fact, Math.min(at, this.firsts.get(fact) ?? at));
  }

  /** The part that a rule goes with; undefined for none. */
  placeFor(rule: AskedRule): number | undefined {
    const { named, keys = [] } = rule;
    // Where a rule has other answers, those with one answer stay together.
    const words = isSeveral(rule) ? 'several ' : '';
    const first = (facts: readonly string[]): number | undefined =>
      facts
        .flatMap((fact) => this.firsts.get(`${words}${fact}`) ?? [])
        .toSorted((one, other) => one - other)[0];
    return (
      first(keys.slice(0, 1).map((key) => `member ${key}`)) ??
      first(keys.map((key) => `answer ${key}`)) ??
      first(named === undefined ? [] : [`kind ${named.rule}`]) ??
      (rule.keys === undefined && this.all.length > 0 ? 0 : undefined)
    );
  }
}

/**
 * The rules of each part of a question: those of its change with one answer together, and each rule with other answers by itself. Rules that
 * go with it are in the part with an answer in common; a member or an enumeration with none is a part as well.
 */
function partsOf(own: readonly AskedRule[], more: readonly AskedRule[]): readonly (readonly AskedRule[])[] {
  const all = [...own, ...more];
  // A rename may have the map of the values: both are one decision then.
  const renamed = all.toReversed().filter(({ rules }) => rules.length > 1);
  const withValues = new Map(renamed.map((rule) => [valuesIn(rule), rule]));
  const mapped = new Map(
    all.flatMap((rule) => {
      const values = rule.rules.length === 1 ? valuesIn(rule) : '';
      const around = values === '' ? undefined : withValues.get(values);
      return around === undefined ? [] : [[rule, around] as const];
    }),
  );
  const isFirst = (rule: AskedRule): boolean => isSeveral(rule) && !mapped.has(rule);
  const several = new Set(own.filter(isFirst).slice(0, MAX_ANSWERED));
  const parts = new QuestionParts();
  for (const rule of own) if (!several.has(rule) && !mapped.has(rule)) parts.add(rule, 0);
  for (const rule of several) parts.add(rule);
  const late = more.filter((rule) => !mapped.has(rule));
  for (const rule of late.toSorted((one, other) => Number(isSeveral(other)) - Number(isSeveral(one))))
    parts.add(rule, parts.placeFor(rule));
  const places = new Map(parts.all.flatMap((part) => part.map((rule) => [rule, part])));
  for (const [rule, around] of mapped) places.get(around)?.push({ ...rule, keys: around.keys?.slice(0, 1) });
  return parts.all;
}

const LEFT_OUT = 'A member that you leave out gets a question by itself';

/** The rules of a question about one conversion of several members: those of one member are a line. */
function linesOf(all: readonly AskedRule[]): readonly (readonly AskedRule[])[] {
  return [...Map.groupBy(all, lineWords).values()];
}

/** A member of V1 and its place in V2. */
function lineWords({ named, rules: [rule] }: AskedRule): string {
  if (named?.rule === 'rename')
    return `${pathText(named.in, named.member)} → ${pathText([...named.in, named.to])}`;
  if (named?.rule === 'move')
    return `${pathText(named.in, named.member)} → ${pathText([...named.in, ...named.to])}`;
  if (named !== undefined && 'member' in named && 'in' in named) return pathText(named.in, named.member);
  return rule === undefined ? '' : `${placeIn(rule) ?? ''} → ${String(rule['to'] ?? '')}`;
}

function namesOfLines(rules: readonly AskedRule[]): readonly string[] {
  return [...new Set(rules.map((rule) => lineWords(rule).replace(/ → .*$/, '')))];
}

/** The answers to a line of a list: that it is so, or a question by itself. */
function lineAnswers(part: Part): readonly DraftAnswer[] {
  const [yes] = answersOf(part);
  const words = [...new Set(part.rules.map(lineWords))].join(', ');
  return [
    ...(yes === undefined ? [] : [{ ...yes, words }]),
    { key: APART, words: 'Ask by itself', lines: [] },
  ];
}

/** The pairs of values that the rules map, in any order and direction; empty for none. */
function valuesIn({ rules }: AskedRule): string {
  const pairs = rules.flatMap(({ map }) => (Array.isArray(map) ? map : []));
  const texts = pairs.map((pair) => JSON.stringify([pair].flat().map(String).toSorted()));
  return texts.toSorted().join(' ');
}

/** The rules of a part of a question, with the meanings of its answers. */
interface Part {
  readonly rules: readonly AskedRule[];
  /** For each rule the first one that has an answer in common with it. */
  readonly leads: ReadonlyMap<AskedRule, AskedRule>;
  /** The meanings of the answers beside yes and no; undefined for one that only its order identifies. */
  readonly further: readonly (string | undefined)[];
}

/** The answers of the first rule, and then those that only rules for other operations, or in other places, have. */
function partWith(rules: readonly AskedRule[]): Part {
  const firsts = new Map<string, AskedRule>();
  const leads = new Map<AskedRule, AskedRule>();
  const told: string[] = [];
  for (const rule of rules) {
    const { keys = [] } = rule;
    const lead = keys.flatMap((key) => firsts.get(key) ?? [])[0] ?? rule;
    leads.set(rule, lead);
    told.push(...(lead.keys?.[0] === keys[0] ? keys.slice(1) : keys));
    for (const key of keys) if (!firsts.has(key)) firsts.set(key, rule);
  }
  const [first] = rules;
  const further =
    first === undefined || first.keys !== undefined
      ? [...new Set(told)].filter((key) => key !== first?.keys?.[0])
      : first.others.map(() => undefined);
  return { rules, leads, further };
}

/** The key of the rule's answer where `key` is that to its part; undefined if the rule has no such answer. */
function answerTo({ leads, further }: Part, rule: AskedRule, key: string): string | undefined {
  if (key === APART) return undefined;
  if (key === 'no' || rule.keys === undefined) return key;
  const meaning = key === 'yes' ? leads.get(rule)?.keys?.[0] : further[Number(key)];
  if (meaning === undefined) return key;
  const isOtherForm = / \(\d+\)$/.test(meaning) && !rule.keys.includes(meaning);
  // Without the values of a rename, those that go with it stay as well.
  if (isOtherForm && rule.rules.every((one) => 'map' in one)) return undefined;
  // A rule without such a form of the answer has its first one.
  const plain = (meaning.startsWith(ALSO) ? meaning.slice(ALSO.length) : meaning).replace(/ \(\d+\)$/, '');
  const at = rule.keys.includes(meaning) ? rule.keys.indexOf(meaning) : rule.keys.indexOf(plain);
  return at < 0 ? undefined : at === 0 ? 'yes' : String(at - 1);
}

/** The rules that an answer to the part chooses. */
function chosenRules(part: Part, rule: AskedRule, key: string): readonly BookRule[] {
  const own = answerTo(part, rule, key);
  if (own === undefined || own === 'no') return [];
  return own === 'yes' ? rule.rules : (rule.others[Number(own)] ?? []);
}

/** The members of one of several parts, before its evidence; empty for a part about no member. */
function subjectOf({ rules }: Part): string {
  const named = rules.flatMap((one) => one.named ?? []);
  const names = named.flatMap((one) =>
    'member' in one && 'in' in one ? [pathText(one.in, one.member)] : [],
  );
  const all =
    names.length > 0
      ? names
      : rules.flatMap(({ rules: [rule] }) => (rule ? (placeIn(rule) ?? strippedBy(rule)) : []));
  return all.length === 0 ? '' : `for ${listOf([...new Set(all)])}: `;
}

function whyOf(rules: readonly AskedRule[]): string {
  const [first = '', ...more] = [...new Set(rules.map(({ why }) => why))].slice(0, 3);
  // Each is a sentence, of which the last is ended where it is shown.
  return more.reduce(
    (said, why) => `${said}${/[.?]$/.test(said) ? '' : '.'} ${why.slice(0, 1).toUpperCase()}${why.slice(1)}`,
    first,
  );
}

function answersOf(part: Part): readonly DraftAnswer[] {
  const mapped = new Map<string, number>();
  return ['yes', ...part.further.keys(), 'no'].map(String).map((key) => {
    const chosen = part.rules.map((rule) => ({ rule, rules: chosenRules(part, rule, key) }));
    const lines = linesFor(part, part.rules, key);
    const isAlso = part.further[Number(key)]?.startsWith(ALSO) === true;
    const said = key === 'no' ? 'No rule' : answerWords(chosen, isAlso);
    const values = chosen.flatMap(({ rules }) =>
      rules.map(({ map }) => (Array.isArray(map) ? map.length : 0)),
    );
    const count = values.reduce((sum, one) => sum + one, 0);
    const isFewer = count < (mapped.get(said) ?? 0);
    mapped.set(said, Math.max(count, mapped.get(said) ?? 0));
    const words = isFewer ? `${said}, without the values that only their places pair` : said;
    return { key, words, lines, ...lackOf(lines) };
  });
}

/** The lines of an answer to a part, for some of its rules. */
function linesFor(part: Part, rules: readonly AskedRule[], key: string): readonly string[] {
  return [...new Set(rules.flatMap((rule) => chosenRules(part, rule, key).map(printRule)))];
}

/** What an answer does, in words: where V2 has a member, that it is gone, or that the rules apply. */
function answerWords(
  all: readonly { readonly rule: AskedRule; readonly rules: readonly BookRule[] }[],
  isAlso: boolean,
): string {
  const chosen = all.filter(({ rules }) => rules.length > 0);
  const rules = chosen.flatMap((one) => one.rules);
  const members = new Set(chosen.flatMap(({ rule, rules: own }) => membersIn(rule, own)));
  const isMany = members.size > 1;
  if (rules.length > 0 && rules.every((rule) => 'strip' in rule || givesNull(rule))) {
    const isSent = chosen.some(({ rule: { list } }) => list !== 'response');
    const out = `eave ${isMany ? 'them' : 'it'} out`;
    if (!isSent && !rules.some(givesNull)) return `L${out}`;
    const what = [...(isSent ? [`l${out}`] : []), ...(rules.some(givesNull) ? ['clients get null'] : [])];
    return `${isMany ? 'They are' : 'It is'} gone: ${what.join(', and ')}`;
  }
  if (rules.length > 0 && rules.every((rule) => 'default' in rule)) return 'Send this one';
  const [first] = chosen;
  const { rename, move, alias, to } = first?.rules.find((rule) => placeIn(rule) !== undefined) ?? {};
  const place = alias ?? (first?.rule.list === 'response' ? (rename ?? move) : to);
  if (isMany || typeof place !== 'string' || first?.rule.isOfResource === true)
    return rules.length === 1 ? 'Apply this rule' : 'Apply these rules';
  const path = pathText(readPath(place).slice(first?.rule.base));
  const end = rules.some(({ at }) => at !== undefined) ? ', which has the end of that day' : '';
  return `It is ${path}${end}${isAlso ? ', and clients get both names' : ''}`;
}

/** The members that rules give a place or leave out; those of errors by V2's names. */
function membersIn({ named }: AskedRule, rules: readonly BookRule[]): readonly string[] {
  const all = rules.flatMap((rule) => placeIn(rule) ?? strippedBy(rule));
  if (named === undefined) return all;
  return 'member' in named && (all.length > 0 || rules.some(givesNull)) ? [named.member] : all;
}

/** The member that a rule gives another name or place. */
function placeIn({ rename, move, alias }: BookRule): string | undefined {
  const place = rename ?? move ?? alias;
  return typeof place === 'string' ? place : undefined;
}

function givesNull({ default: filled }: BookRule): boolean {
  return Array.isArray(filled) && filled.every((pair) => Array.isArray(pair) && pair[1] === null);
}

function lackOf(lines: readonly string[]): { readonly lacksValue?: true } {
  return lines.some(lacksValue) ? { lacksValue: true } : {};
}

/** Why the answers to the parts of a question, which `answers` may have left open, exclude each other; undefined if they do not. */
export function clashOf(
  book: ProposedRuleBook,
  answers: GivenAnswers,
  { id }: DraftQuestion,
  { chosen }: GivenAnswer,
): string | undefined {
  const all = [...decisionsOf(book), ...decidedWith(book, answers).left];
  const { parts = [] } = all.find(({ question }) => question.id === id) ?? {};
  const place = commonPlace(
    parts.map((part, at) =>
      part.rules.map((rule) => ({ on: rule.on, rules: chosenRules(part, rule, chosen[at] ?? 'no') })),
    ),
  );
  return place && `Two of these answers are about ${place}: choose another one for one of the parts.`;
}

/** The lines with the value that a person has given: a text, as header fields, queries and releases are. */
function filled(lines: readonly string[], value: string | undefined): readonly string[] {
  return lines.map((line) =>
    value === undefined ? line : line.replace(scalar(BLANK), () => JSON.stringify(textIn(value))),
  );
}

/** The rules with the value that a person has given. */
function filledRules(rules: readonly BookRule[], value: string | undefined): readonly BookRule[] {
  const isBlank = (own: unknown): boolean => own === BLANK && value !== undefined;
  return rules.map((rule) =>
    Object.fromEntries(
      Object.entries(rule).map(([name, own]) => [name, isBlank(own) ? textIn(value ?? '') : own]),
    ),
  );
}

/** A short hash of a text: a draft has too few questions for two to be equal. */
function digest(text: string): string {
  let hash = 0;
  for (let at = 0; at < text.length; at += 1) hash = (Math.imul(hash, 31) + text.charCodeAt(at)) >>> 0;
  return hash.toString(36);
}

/**
 * The draft with these answers: a confirmed rule applies; a rejected rule is left out. A person who removes the marks of the former and
 * deletes the latter gets the same rules.
 */
export function answeredDraft(book: ProposedRuleBook, answers: GivenAnswers): ProposedRuleBook {
  const operations = answeredOperations(book.operations, answers);
  const declined = new Set(
    book.operations.flatMap(({ id, moved }, at) =>
      moved !== undefined && operations[at]?.moved === undefined ? [id] : [],
    ),
  );
  const { gone = [] } = book;
  const placed = gone.flatMap((one) => placedOperation(one, answers));
  const isOver = (key: string): boolean => ['yes', OWN].includes(answers.get(`note ${key}`)?.chosen[0] ?? '');
  const { changes: decided, written, taken } = decidedWith(book, answers);
  const changes = withSettled(decided, taken).flatMap((change) => withoutDeclined(change, declined));
  const made = madeIn(decided, written);
  const isMade = (id: string, { required }: Question): boolean =>
    required?.every((path) => made(id, path)) === true;
  const questions = [...book.questions].map(
    ([id, all]) => [id, all.filter((one) => !isOver(noteKey(one)) && !isMade(id, one))] as const,
  );
  return {
    ...book,
    operations: [...operations, ...placed],
    keys: book.keys.flatMap((key) => answeredKey(key, answers)),
    changes,
    written,
    questions: new Map(questions),
    gone: gone.filter((one) => {
      const given = answers.get(isAskedAlone(one, gone) && one.named ? goneId(one.named) : 'gone');
      return given === undefined || given.chosen[0] === LATER;
    }),
  };
}

/** The changes with the rules that a person wrote, under ids that no other change has. */
function writtenChanges(
  book: ProposedRuleBook,
  changes: readonly ProposedChange[],
  left: readonly Decision[],
  answers: GivenAnswers,
): readonly WrittenChange[] {
  if (![...answers.values()].some(({ chosen }) => chosen.includes(OWN))) return [];
  const ids = new Set(changes.map(({ id }) => id));
  const asked = [...draftQuestions(book), ...left.map(({ question }) => question)];
  return asked.flatMap(({ id: question, own }): readonly WrittenChange[] => {
    const given = answers.get(question);
    if (own === undefined || given?.own === undefined || !given.chosen.includes(OWN)) return [];
    const { id: wanted, on } = own;
    return placedLists({ on, lists: ownLists(given.own) }, changes).map((placed) => {
      const id = Array.from({ length: ids.size + 1 }, (_, at) =>
        at === 0 ? wanted : `${wanted}-${at + 1}`,
      ).find((one) => !ids.has(one));
      ids.add(id ?? wanted);
      return { id: id ?? wanted, summary: summaryWritten(placed.lists), on, ...placed };
    });
  });
}

/** The lists that have rules. */
export function ownLists(own: OwnRules): WrittenChange['lists'] {
  const { query = '', headers = '', request = '', response = '' } = own;
  const lists = [
    ['query', ownLines(query)],
    ['headers', ownLines(headers)],
    ['request', ownLines(request)],
    ['response', response.trim() === 'inverse' ? 'inverse' : ownLines(response)],
  ] as const;
  return new Map(lists.filter(([, lines]) => lines.length > 0));
}

/** The lines of a list of rules: a line that is not indented is a rule of the list, with its hyphen or without. */
function ownLines(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '')
    .map((line) => (/^(?:- |[ #])/.test(line) ? line : `- ${line}`));
}

/** An operation that V2 does not describe, with a person's decision about it. */
function placedOperation(
  { named, candidates, unused = [] }: ProposedGone,
  answers: GivenAnswers,
): readonly ProposedOperation[] {
  const given = named && answers.get(goneId(named));
  if (named === undefined || given === undefined) return [];
  const [key = 'yes'] = given.chosen;
  if (key === 'gone') return [{ ...named, gone: textIn(given.value ?? '') }];
  const to = key === PLACE ? given.value?.trim() : [...candidates, ...unused][Number(key)];
  return to === undefined ? [] : [{ ...named, moved: { to, evidence: SETTLED } }];
}

function answeredOperations(
  operations: readonly ProposedOperation[],
  answers: GivenAnswers,
): readonly ProposedOperation[] {
  return operations.map((operation) => {
    const { moved, prefixed, ...plain } = operation;
    const choice = prefixed && answers.get(`prefix ${prefixed.why}`)?.chosen[0];
    if (choice !== undefined)
      return choice === 'yes' ? { ...plain, moved: { to: prefixed?.to ?? '', evidence: SETTLED } } : plain;
    const given = moved?.doubt === undefined ? undefined : answers.get(`operation ${moveKey(operation)}`);
    if (moved === undefined || given === undefined) return operation;
    const [key = 'no'] = given.chosen;
    const { doubt: _, others: _others, word, ...settled } = moved;
    const to = key === PLACE ? given.value?.trim() : placeOf(operation, key);
    const own = key === 'yes' && word !== undefined && { word };
    return {
      ...operation,
      moved: key === 'no' || to === undefined ? undefined : { ...settled, to, ...own },
    };
  });
}

function answeredKey(key: ProposedKey, answers: GivenAnswers): readonly ProposedKey[] {
  const given = key.question === undefined ? undefined : answers.get(`key ${key.key}`);
  if (given === undefined) return [key];
  const { question: _, ...settled } = key;
  return given.chosen[0] === 'yes' ? [{ ...settled, lines: filled(key.lines, given.value) }] : [];
}

/** A change without the operations that V2 does not have, if it asks anything; none if no operation is left. */
function withoutDeclined(change: ProposedChange, declined: ReadonlySet<string>): readonly ProposedChange[] {
  const { on } = change;
  if (on === 'every' || declined.size === 0) return [change];
  const left = on.filter((id) => !declined.has(id));
  const isAsked = askedRules(change).length > 0;
  if (!isAsked || left.length === on.length) return [change];
  return left.length === 0 ? [] : [{ ...change, on: left }];
}

/** What answers decide, and leave. */
interface Decided {
  readonly changes: readonly ProposedChange[];
  /** The changes with the rules that a person wrote. */
  readonly written: readonly WrittenChange[];
  /** The places that both give to members of V1. */
  readonly taken: readonly TakenPlace[];
  /** The questions that the answers leave. */
  readonly left: readonly Decision[];
}

function decidedWith(book: ProposedRuleBook, answers: GivenAnswers): Decided {
  const once = withAnswers(book.changes, decisionsOf(book), answers);
  const left = leftDecisions(once);
  const changes = left.length === 0 ? once : withAnswers(once, left, answers);
  const written = writtenChanges(book, changes, left, answers);
  const places = written.flatMap(({ on, lists }) => {
    const [own, isAlways] = [lists.get('response') === 'inverse', false];
    const requests = { list: 'rules', on, isAlways } as const;
    return [
      ...placesIn(requests, writtenRules(lists, 'request'), own),
      ...placesIn({ ...requests, list: 'response' }, writtenRules(lists, 'response'), false),
    ];
  });
  return { changes, written, taken: [...takenPlaces(changes), ...places], left };
}

/** The questions about rules that the answers to their first questions said nothing about. */
function leftDecisions(changes: readonly ProposedChange[]): readonly Decision[] {
  const isLeft = changes.some((change) => askedRules(change).some((rule) => rule.isLeft));
  if (!isLeft) return [];
  return decisionsOf({
    changes: withSettled(changes, takenPlaces(changes)).filter((change) =>
      askedRules(change).every((rule) => rule.isLeft),
    ),
  });
}

function withAnswers(
  changes: readonly ProposedChange[],
  decisions: readonly Decision[],
  answers: GivenAnswers,
): readonly ProposedChange[] {
  const chosen = new Map<string, readonly [key: string | undefined, value: string | undefined]>();
  const settled = new Set<string>();
  const apart = new Map<string, string>();
  for (const { question, parts } of decisions) {
    const given = answers.get(question.id);
    if (given === undefined) continue;
    for (const [at, part] of parts.entries()) {
      const chosenKey = given.chosen[at] ?? 'no';
      // The rules that a person wrote replace those of the question.
      const key = chosenKey === OWN ? 'no' : chosenKey;
      // A rule for any depth is one rule, even if the question is about several depths.
      const isOne = part.rules.some((rule) => chosenRules(part, rule, key).some((own) => own['in'] === '**'));
      for (const [number, rule] of part.rules.entries()) {
        const own = isOne && number > 0 ? 'no' : answerTo(part, rule, key);
        chosen.set(placeKey(rule), [own, given.value]);
        settled.add(rule.change);
        if (own === undefined) apart.set(rule.change, `${question.id} ${at}`);
      }
    }
  }
  const answered = changes.flatMap((change) => {
    if (!settled.has(change.id)) return [change];
    const choiceOf = (list: RuleList, at: number): Choice => chosen.get(`${change.id} ${list} ${at}`);
    const { isShown: _, asWith: _other, conversion: _same, ...rest } = change;
    const asWith = apart.get(change.id);
    const rules = change.rules.flatMap((rule, at) => {
      const choice = choiceOf('rules', at);
      if (choice === undefined) return [rule];
      const [key, value] = choice;
      if (key === undefined) return [{ ...rule, isLeft: true as const }];
      const found = key === 'yes' ? rule.found : (rule.others?.[Number(key)] ?? rule.found);
      return key === 'no'
        ? []
        : [{ ...rule, found: withValue(found, value), others: [], isSettled: true as const }];
    });
    const chosenIn = (list: 'query' | 'headers' | 'response'): NonNullable<ProposedChange[typeof list]> =>
      (change[list] ?? []).flatMap((rule, at) => {
        const choice = choiceOf(list, at);
        if (choice === undefined) return [rule];
        const [key, value] = choice;
        if (key === undefined) return [{ ...rule, isLeft: true as const }];
        const own = key === 'yes' ? rule.rules : (rule.others?.[Number(key)] ?? rule.rules);
        const settledRule = { ...rule, rules: filledRules(own, value), others: [], isSettled: true as const };
        return key === 'no' ? [] : [settledRule];
      });
    const [query, headers, response] = [chosenIn('query'), chosenIn('headers'), chosenIn('response')];
    const isAsProposed = LISTS.every((list) =>
      (change[list] ?? []).every((_, at) => (choiceOf(list, at)?.[0] ?? 'yes') === 'yes'),
    );
    const shown = (change.response ?? []).flatMap(({ meanings = [], named }, at) => {
      const key = choiceOf('response', at)?.[0] ?? 'yes';
      const [first] = meanings;
      const found = key === 'yes' ? first : (meanings[Number(key) + 1] ?? first);
      return key === 'no' || found === undefined ? [] : [namedAs(found, first, named)];
    });
    if (rules.length + query.length + headers.length + response.length === 0) return [];
    // A response does not have a stripped member, so there is nothing to undo.
    const hasInverse = rules.some(({ found }) => found.rule !== 'strip');
    const { isInverse, ...plain } = rest;
    const saidOfBodies = summaryOf([...rules.map(({ found }) => found), ...shown]);
    const said = [...saidOfHeads('query parameter', query), ...saidOfHeads('header field', headers)].join(
      ' ',
    );
    const summary = said !== '' ? said : isAsProposed || saidOfBodies === '' ? plain.summary : saidOfBodies;
    const inverse = isInverse === true && hasInverse && { isInverse };
    return [
      {
        ...plain,
        summary,
        rules,
        query,
        headers,
        response,
        ...inverse,
        ...(asWith !== undefined && { asWith }),
      },
    ];
  });
  return withLeaders(answered);
}

/** Another meaning of a rule as sentences name it: with its path from the resource. */
function namedAs(found: FoundRule, first: FoundRule | undefined, named: FoundRule | undefined): FoundRule {
  if (!('in' in found) || !first || !('in' in first) || !named || !('in' in named)) return found;
  return { ...found, in: found.in.slice(first.in.length - named.in.length) };
}

/** What the rules for parameters or fields do: which ones have another name, and which ones are gone. */
function saidOfHeads(
  what: string,
  all: readonly { readonly rules: readonly BookRule[] }[],
): readonly string[] {
  const rules = all.flatMap((one) => one.rules);
  const gone = rules.flatMap(strippedBy);
  const are = gone.length === 1 ? `${what} ${gone.join('')} is` : `${what}s ${listOf(gone)} are`;
  return [
    ...rules.flatMap(({ rename, to }) =>
      rename === undefined ? [] : [`The ${what} ${String(rename)} becomes ${String(to)}.`],
    ),
    ...(gone.length === 0 ? [] : [`The ${are} gone.`]),
  ];
}

/** Whether answers make a member of V2 in requests of an operation, the object around it, or a part of it. */
function madeIn(
  changes: readonly ProposedChange[],
  written: readonly WrittenChange[],
): (id: string, path: readonly string[]) => boolean {
  const all = [
    ...changes.map(({ on, rules }) => {
      const settled = rules.filter(({ isSettled }) => isSettled === true);
      return { on, paths: madeBy(settled.flatMap(({ found }) => bookRules(found))) };
    }),
    ...written.map(({ on, lists }) => ({ on, paths: madeBy(writtenRules(lists, 'request')) })),
  ];
  const isWithin = (one: readonly string[], other: readonly string[]): boolean =>
    other.every((name, at) => one[at] === name);
  return (id, path) =>
    all.some(
      ({ on, paths }) =>
        (on === 'every' || on.includes(id)) &&
        paths.some((one) => one.length > 0 && (isWithin(path, one) || isWithin(one, path))),
    );
}

/**
 * Changes that go with those which a person has settled: without defaults of members that have V1's value, and without the rules that leave a
 * member of V2 out of a response before it is given V1's name.
 */
function withSettled(
  changes: readonly ProposedChange[],
  taken: readonly TakenPlace[],
): readonly ProposedChange[] {
  if (taken.length === 0) return changes;
  return changes.flatMap((change): readonly ProposedChange[] => {
    const { on, query = [], headers = [], isInverse, ...rest } = change;
    const left = change.rules.flatMap((rule) => withoutFilled(rule, on, taken));
    const response = (change.response ?? []).filter(
      ({ rules }) => !rules.some((rule) => isSource(rule, on, taken)),
    );
    const isSame = left.length === change.rules.length && response.length === (change.response ?? []).length;
    if (!isSame && [left, query, headers, response].flat().length === 0) return [];
    // The inverse of a default would leave the member out of responses.
    const isFilled = left.every(({ found }) =>
      bookRules(found).some((rule) => filledBy(rule, on, taken, isForSame) !== undefined),
    );
    const inverse = isInverse === true && !isFilled && { isInverse };
    return [{ ...rest, on, query, headers, rules: left, response, ...inverse }];
  });
}

/** A rule of requests that is a question, as far as what a person has settled leaves it open. */
function withoutFilled(
  rule: ProposedChange['rules'][number],
  on: ProposedChange['on'],
  taken: readonly TakenPlace[],
): ProposedChange['rules'] {
  const [first] = isProposed(rule) ? [] : bookRules(rule.found);
  const filled = first && filledBy(first, on, taken);
  if (filled === undefined) return [rule];
  return filled.isAlways ? [] : [{ ...rule, evidence: '', doubt: absentWords(filled) }];
}

/** Why V2 may still need a default for a member that has V1's value. */
function absentWords({ old, path }: TakenPlace): string {
  return `a request may lack ${old}, and V2 requires ${path}`;
}

/**
 * The questions of a draft once these answers are given: what they decide is no longer asked, and no answer offers a place of V2 that they
 * have given to another member.
 */
export function openQuestions(book: ProposedRuleBook, answers: GivenAnswers): readonly DraftQuestion[] {
  const { left, taken } = decidedWith(book, answers);
  const decided = new Map([...decisionsOf(book), ...left].map((one) => [one.question.id, one]));
  const notes = new Map(noteQuestions(answeredDraft(book, answers)).map((one) => [one.id, one]));
  return [...draftQuestions(book), ...left.map(({ question }) => question)].flatMap(
    (question): readonly DraftQuestion[] => {
      if (question.about === 'note' && !answers.has(question.id))
        return [notes.get(question.id) ?? []].flat();
      const asked = decided.get(question.id);
      if (taken.length === 0 || asked === undefined || answers.has(question.id)) return [question];
      const all = asked.parts.flatMap(({ rules }) => rules);
      const rest = all.filter((rule) => !isOver([rule], taken));
      if (rest.length === 0) return [];
      const parts = question.parts.flatMap((part, at) => {
        const own = asked.parts[at];
        return own === undefined ? [] : [openPart(part, own, taken)];
      });
      return [{ ...question, parts, ...(rest.length < all.length && { text: asked.title(rest) }) }];
    },
  );
}

/** True if answers about other members have decided about all that the rules would do. */
function isOver(rules: readonly AskedRule[], taken: readonly TakenPlace[]): boolean {
  return rules.every(({ list, rules: own, on }) =>
    list === 'response'
      ? own.every((rule) => isSource(rule, on, taken))
      : own.every((rule) => filledBy(rule, on, taken)?.isAlways === true),
  );
}

function openPart(shown: QuestionPart, part: Part, taken: readonly TakenPlace[]): QuestionPart {
  const { rules } = part;
  const isNone = ({ key }: DraftAnswer): boolean => key === 'no' || key === APART;
  const rest = rules.filter((rule) => !isOver([rule], taken));
  if (rest.length === 0) return { why: '', answers: shown.answers.filter(isNone) };
  const [filled] = rules.flatMap(({ rules: [first], on }) => (first && filledBy(first, on, taken)) ?? []);
  const isLeft = ({ key }: DraftAnswer): boolean => {
    const all = rules.flatMap((rule) => {
      const chosen = chosenRules(part, rule, key);
      return chosen.length === 0 ? [] : [{ rule, chosen }];
    });
    return all.length === 0 || !all.every(({ rule, chosen }) => isTaken(chosen, rule, taken));
  };
  const answers = shown.answers
    .filter((answer) => isNone(answer) || isLeft(answer))
    .map((answer) =>
      rest.length === rules.length ? answer : { ...answer, lines: linesFor(part, rest, answer.key) },
    );
  const why = filled === undefined ? shown.why : absentWords(filled);
  const isOpen = shown.isOpen === true || answers[0]?.key !== shown.answers[0]?.key;
  return { why, answers, ...(isOpen && { isOpen }) };
}

type Choice = readonly [key: string | undefined, value: string | undefined] | undefined;

function withValue(found: FoundRule, value: string | undefined): FoundRule {
  return found.rule === 'default' && found.value === undefined && value !== undefined
    ? { ...found, value: valueIn(value) }
    : found;
}

/** The value that a person has written: a number or a boolean if it is one, else a text, with or without quotes. */
function valueIn(text: string): FoundValue {
  const plain = text.trim();
  if (plain === 'true' || plain === 'false') return plain === 'true';
  if (/^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?$/.test(plain)) return Number(plain);
  return textIn(plain);
}

/** The text that a person has written, with or without quotes. */
function textIn(text: string): string {
  const plain = text.trim();
  return /^"(?<inside>[^"\\]*)"$/.exec(plain)?.groups?.['inside'] ?? plain;
}
