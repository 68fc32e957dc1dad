import { BLANK, type BookRule, bookRules } from './book-rules.ts';
import { type Evidence, isProposed, pathText, type Question } from './found-rules.ts';
import type { GoneOperation, MovedOperation, PrefixedPath } from './match-operations.ts';
import type { ProposedChange, ProposedRules } from './propose-changes.ts';

/** An operation of a proposed rule book. */
export interface ProposedOperation {
  readonly id: string;
  readonly method: string;
  readonly template: string;
  /** The place in V2 of an operation that moved, or may have moved, with the evidence. */
  readonly moved?: MovedOperation | undefined;
  /** V2's path with the prefixes of its ids, as a question. */
  readonly prefixed?: PrefixedPath | undefined;
  /** The place of the resource in its responses, if it is not the rule book's. */
  readonly resource?: string | undefined;
  /** V2's status of success, and V1's, if they differ. */
  readonly status?: readonly [v2: string, v1: string] | undefined;
  /** The sentence for clients of an operation that V2 does not have. */
  readonly gone?: string;
}

/** A proposed rule book, before it is text. */
export interface ProposedRuleBook {
  /** Sentences about its sources. */
  readonly origin: readonly string[];
  /** The keys at the top: prefixes, release, resource, forms of errors. */
  readonly keys: readonly ProposedKey[];
  readonly operations: readonly ProposedOperation[];
  readonly changes: readonly ProposedChange[];
  /** Open questions by the id of the operation; under an empty id, those about no operation. */
  readonly questions: ReadonlyMap<string, readonly Question[]>;
  /** The operations that only V1 describes, and for which V2 has no candidate. */
  readonly gone?: readonly ProposedGone[];
  /** Changes whose rules a person wrote as the answer to a question; absent without any. */
  readonly written?: readonly WrittenChange[];
}

/** A change with rules as a person wrote them. */
export interface WrittenChange extends Pick<ProposedChange, 'id' | 'summary' | 'on'> {
  /** The lines of each list that has some, as YAML. */
  readonly lists: ReadonlyMap<WrittenList, readonly string[] | 'inverse'>;
  /** True for rules that come after those which put the resource into V1's place: they name members there. */
  readonly isLate?: true;
}

/** A list of rules that a person can write. */
export type WrittenList = 'request' | 'query' | 'headers' | 'response';

/** An operation that only V1 describes, with its name and path in a rule book, if it can have them. */
export interface ProposedGone extends GoneOperation {
  readonly named?: Pick<ProposedOperation, 'id' | 'method' | 'template'> | undefined;
}

/** A key at the top of a rule book. */
export interface ProposedKey {
  readonly key: string;
  readonly lines: readonly string[];
  /** The evidence, as a sentence; absent if the value is evidence enough. */
  readonly evidence?: string;
  /** A question to answer before it applies: until then its lines are comments. */
  readonly question?: string;
}

const RESERVED = /^(?:true|false|null|yes|no|on|off|y|n|nan|inf)$/i;

/** Whether the rules of questions are comments, as a person gets them, or rules, as if each question were answered with yes. */
export type Marks = 'marked' | 'unmarked';

/**
 * Prints a proposed rule book as YAML: each rule with its evidence, doubtful rules and open questions as comments; `schema` is for editors.
 */
export function printRuleBook(book: ProposedRuleBook, schema?: string, marks: Marks = 'marked'): string {
  const { origin, keys, operations, changes, written = [] } = book;
  const isAny =
    written.length > 0 ||
    changes.some((change) => isActive(change) || (marks === 'unmarked' && change.isShown !== true));
  return [
    ...(schema === undefined ? [] : [`# yaml-language-server: $schema=${schema}`, '#']),
    ...origin.map((sentence) => comment(sentence, '')),
    '# Confidence is an estimate from 0 to 1. Read each rule before you use it.',
    '# https://github.com/capture-gateway/capture-gateway/blob/main/docs/rule-book.md describes them.',
    '',
    ...printKeys(keys, marks),
    '',
    operations.length === 0 ? 'operations: {}' : 'operations:',
    ...printOperations(book, marks),
    '',
    isAny ? 'changes:' : `changes: ${changes.length === 0 ? '[]' : NO_CHANGE_YET}`,
    ...printChanges(book, marks),
    ...printQuestions(book),
    '',
  ]
    .join('\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trimEnd()
    .concat('\n');
}

/** The keys at the top of a proposed rule book, as its lines. */
export function printKeys(keys: readonly ProposedKey[], marks: Marks = 'marked'): readonly string[] {
  const [sure, asked] = [keys.filter((key) => !('question' in key)), keys.filter((key) => 'question' in key)];
  return [
    ...sure.flatMap(({ lines, evidence }) => [
      ...(evidence === undefined ? [] : [comment(evidence, '')]),
      ...lines,
    ]),
    ...asked.flatMap((key) => [
      '',
      ...(marks === 'marked'
        ? keyQuestion(key)
        : key.lines.map((line) => (lacksValue(line) ? `# ${line}` : line))),
    ]),
  ];
}

/** The list of changes if all of them are questions: comments alone are not a list. */
export const NO_CHANGE_YET = '[] # Remove the brackets with the first marks.';

/** A key that is a question: its lines are comments. A key that lacks a value remains a question without its mark. */
export function keyQuestion({ lines, question = '' }: ProposedKey): readonly string[] {
  const what = lines.some(lacksValue) ? 'Write the value and remove the marks' : 'Remove the marks';
  return [
    comment(`${TODO} ${question} ${what}, or delete these lines.`, ''),
    ...lines.map((line) => `# ${line}`),
  ];
}

/** True for a line in which a person has to write a value. */
export function lacksValue(line: string): boolean {
  return line.includes(scalar(BLANK));
}

function printOperation(
  { id, method, template, moved, prefixed, resource, status, gone }: ProposedOperation,
  marks: Marks,
  asked: Set<string>,
): readonly string[] {
  const match = scalar(`${method} ${template}`);
  if (gone !== undefined) return [`  ${scalar(id)}: { match: ${match}, gone: ${scalar(gone)} }`];
  const more = [
    ...(resource === undefined ? [] : [`resource: ${scalar(resource)}`]),
    ...(status === undefined ? [] : [`status: { ${status.join(': ')} }`]),
  ];
  const mark = marks === 'marked' ? '# ' : '';
  if (prefixed !== undefined)
    return [
      `  ${scalar(id)}:`,
      `    match: ${match}`,
      comment(prefixQuestion(prefixed, asked), '    '),
      `    ${mark}to: ${scalar(prefixed.to)}`,
      ...more.map((line) => `    ${line}`),
    ];
  if (moved === undefined && more.length === 0) return [`  ${scalar(id)}: ${match}`];
  if (moved?.doubt === undefined) {
    const to = moved === undefined ? '' : `, to: ${scalar(moved.to)}`;
    return [
      ...(moved === undefined ? [] : [comment(moved.evidence, '  ')]),
      `  ${scalar(id)}: { ${[`match: ${match}${to}`, ...more].join(', ')} }`,
    ];
  }
  return [
    `  ${scalar(id)}:`,
    `    match: ${match}`,
    ...moveQuestion({ id, method, template }, moved, asked),
    `    ${mark}to: ${scalar(moved.to)}`,
    ...(moved.others ?? []).map((other) => comment(`or instead: to: ${scalar(other.to)}`, '    ')),
    ...more.map((line) => `    ${line}`),
  ];
}

/** The question about a prefix in the path; operations with the same one share it. */
function prefixQuestion({ why }: PrefixedPath, asked: Set<string>): string {
  if (asked.has(why)) return `${why}: if it does so, as asked above, remove the mark of \`to\` here as well.`;
  asked.add(why);
  return `${TODO} ${why}. Does V1's value follow the prefix? Remove the mark of \`to\`, here and below, or delete it.`;
}

/**
 * The key of the question about a moved operation. Operations whose paths have the same new word in V2 share one question; those that also
 * have another method share another one.
 */
export function moveKey({ id, method, moved }: ProposedOperation): string {
  if (moved?.word === undefined) return id;
  const { from, to } = moved.word;
  const young = methodOf(moved.to);
  return young === method || from === method ? `${from} ${to}` : `${from} ${to} ${method} ${young}`;
}

/** The method of a place as a rule book writes it. */
export function methodOf(to: string): string {
  return to.split(' ', 1)[0] ?? '';
}

/** The question about the place of an operation in V2; operations with the same new word in their paths share it. */
function moveQuestion(
  { id, method, template }: ProposedOperation,
  { to, evidence, doubt = '', word, isGuess }: MovedOperation,
  asked: Set<string>,
): readonly string[] {
  const key = moveKey({ id, method, template, moved: { to, evidence, ...(word && { word }) } });
  if (word !== undefined && asked.has(key))
    return [
      comment(
        `If ${word.from} is ${word.to} in V2, as asked above, remove the mark of \`to\` here as well.`,
        '    ',
      ),
    ];
  if (word !== undefined) asked.add(key);
  const what = word === undefined ? '' : ` and is ${word.from} ${word.to} in V2, here and below`;
  return [
    comment(
      `${TODO} V2 does not describe ${method} ${template}. Is ${id} ${to}${what}? ${sentence(evidence)} But ${doubt}. Remove the marks of \`to\`, or delete it.${isGuess === true ? ' Then draft into this book: its bodies were not compared.' : ''} If the operation is gone, write \`gone: "what clients can do"\` instead: they get 410 with it.`,
      '    ',
    ),
  ];
}

function sentence(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
}

/** The operations of a proposed rule book, as the lines of its mapping. */
export function printOperations(
  { operations }: ProposedRuleBook,
  marks: Marks = 'marked',
): readonly string[] {
  const asked = new Set<string>();
  return operations.flatMap((operation) => printOperation(operation, marks, asked));
}

/** True if a rule of the change applies. */
function isActive(change: ProposedChange): boolean {
  return change.isShown !== true && partOf([change], true).length > 0;
}

/**
 * The changes of a proposed rule book, as the lines of its list, in the order in which their rules apply: those that are questions are
 * comments.
 */
export function printChanges(
  { changes, written = [] }: ProposedRuleBook,
  marks: Marks = 'marked',
): readonly string[] {
  const isAsked = changes.some((change) => partOf([change], false).length > 0);
  const at = changes.findIndex(({ response = [] }) => response.some(isLate));
  const before = at < 0 ? changes : changes.slice(0, at);
  return [
    ...(isAsked && marks === 'marked'
      ? [
          '  # Lines in marks (# ) are questions: their rules are not sure enough, or could lose or change a value. Decide: remove the marks, or the rule, and the line of its question.',
        ]
      : []),
    ...before.flatMap((change) => printProposed(change, marks)),
    ...written.filter((change) => change.isLate !== true).flatMap(printWritten),
    ...changes.slice(before.length).flatMap((change) => printProposed(change, marks)),
    ...written.filter((change) => change.isLate === true).flatMap(printWritten),
  ];
}

/** True for rules that come after those that a person writes: they leave out what is new, put the resource into V1's place, or are about errors. */
function isLate({ isNew, place, rules }: ProposedRules): boolean {
  return isNew === true || place !== undefined || rules.some(({ status }) => status !== undefined);
}

/** A change as the part that applies, and the part that is a question. */
function printProposed(change: ProposedChange, marks: Marks): readonly string[] {
  return [
    ...partOf([change], true).flatMap((sure) => [...printChange(sure, change.isShown), '']),
    ...partOf([change], false).flatMap((doubtful) => {
      if (marks === 'unmarked') return printChange(doubtful, change.isShown);
      const { id, asWith, conversion } = doubtful;
      const question =
        asWith === undefined
          ? questionOf(id, conversion)
          : conversion === undefined
            ? `Goes with ${asWith}: remove these marks if you keep that change, and delete these lines if you delete it.`
            : `Asked with ${asWith}: are the values here converted ${conversion} as well? Remove these marks if so, or delete these lines.`;
      const clash =
        ' Its lines have two marks, because another change has rules for the same place: remove both marks here, or the marks there.';
      return [
        comment(`${question}${change.isShown === true ? clash : ''}`, '  '),
        ...printChange(doubtful).map((line) => `  # ${line.slice(2)}`),
        '',
      ];
    }),
  ];
}

/** The question whether a change that is commented out applies. */
function questionOf(id: string, conversion: string | undefined): string {
  return conversion === undefined
    ? `${TODO} does ${id} hold? Remove its marks, or delete it.`
    : `${TODO} are the values here, and in the changes that go with ${id}, converted ${conversion}? Remove the marks of each change of which it is true, and delete the others.`;
}

/** The changes with the rules that apply, or with those that are questions. */
function partOf(changes: readonly ProposedChange[], isSure: boolean): readonly ProposedChange[] {
  const some = <Rule extends Evidence>(all: readonly Rule[] = []): readonly Rule[] =>
    all.filter((rule) => isProposed(rule) === isSure);
  return changes
    .map(({ rules, query, headers, response, ...change }) => ({
      ...change,
      rules: some(rules),
      query: some(query),
      headers: some(headers),
      response: some(response),
    }))
    .filter(({ rules, query, headers, response }) => [rules, query, headers, response].flat().length > 0);
}

function printChange(change: ProposedChange, isShown = false): readonly string[] {
  const { id, summary, on, rules, query, headers, response, isInverse, hasNulls } = change;
  const inverse = hasNulls === true ? '[{ inverse: true, members: null }]' : 'inverse';
  const lines = [
    `  - id: ${scalar(id)}`,
    `    summary: ${scalar(summary)}`,
    `    on: ${on === 'every' ? on : list(on)}`,
    ...printRules(
      'request',
      rules.map(({ others, ...rule }) => ({
        ...rule,
        rules: bookRules(rule.found),
        ...(others && { others: others.map(bookRules) }),
      })),
    ),
    ...printRules('query', query),
    ...printRules('headers', headers),
    ...printRules('response', response),
    ...(isInverse === true
      ? [comment("V1's responses have V1's names and places.", '    '), `    response: ${inverse}`]
      : []),
  ];
  return isShown ? lines.map((line) => `  # ${line.slice(2)}`) : lines;
}

function printWritten({ id, summary, on, lists }: WrittenChange): readonly string[] {
  return [
    `  - id: ${scalar(id)}`,
    `    summary: ${scalar(summary)}`,
    `    on: ${on === 'every' ? on : list(on)}`,
    ...[...lists].flatMap(([name, lines]) =>
      lines === 'inverse'
        ? [`    ${name}: inverse`]
        : [`    ${name}:`, ...lines.map((line) => `      ${line}`)],
    ),
    '',
  ];
}

/** Maximum rules of a question for which the other answers are written out. */
export const MAX_ANSWERED = 20;

/** The rules of a change that are questions, as a rule book writes them. */
export function printAskedRules({
  rules,
  query = [],
  headers = [],
  response = [],
}: ProposedChange): readonly string[] {
  const own = rules.map((rule) => ({ ...rule, rules: bookRules(rule.found), others: [] }));
  return [...own, ...query, ...headers, ...response]
    .filter((rule) => !isProposed(rule))
    .flatMap((rule) => rule.rules.map(printRule));
}

/** The evidence for what a person has decided; the doubt about it is settled. */
export const SETTLED = 'a person answered so';

/** The rules under a key of a change, with their evidence, doubts and other answers. */
function printRules(name: string, all: readonly ProposedRules[] = []): readonly string[] {
  if (all.length === 0) return [];
  let before = '';
  return [
    `    ${name}:`,
    ...all.flatMap(({ rules, confidence, evidence, doubt, others = [], isSettled }, at) => {
      const words = [evidence, doubt === undefined ? '' : `but ${doubt}`].filter((part) => part !== '');
      const guess = `confidence ${confidence.toFixed(2)}: ${words.join('; ')}`;
      const why = comment(isSettled === true ? SETTLED : guess, '      ');
      const isSame = why === before;
      before = why;
      return [
        ...(isSame ? [] : [why]),
        ...rules.map((rule) => `      - ${printRule(rule)}`),
        ...(at < MAX_ANSWERED && doubt !== undefined
          ? others.flatMap((answer) =>
              ['or instead:', ...answer.map((rule) => `- ${printRule(rule)}`)].map((line) =>
                comment(line, '      '),
              ),
            )
          : []),
      ];
    }),
  ];
}

/** A rule on one line, as a rule book writes it. */
export function printRule(rule: BookRule): string {
  const keys = Object.entries(rule).map(([name, value]) => `${name}: ${flow(value)}`);
  return `{ ${keys.join(', ')} }`;
}

function flow(value: BookRule[string]): string {
  if (value === null) return 'null';
  if (typeof value !== 'object') return scalar(value);
  const items = value.map((item) =>
    typeof item === 'string' ? scalar(item) : `${key(item[0])}: ${flow(item[1])}`,
  );
  return typeof value[0] === 'string' ? `[${items.join(', ')}]` : `{ ${items.join(', ')} }`;
}

/** The start of a comment that a person has to answer: `serve` refuses a book that has one. */
const TODO = 'TODO:';

/** Maximum names in a question; of more, it states the number. */
const MAX_NAMED = 8;

/** A question about one member of several operations, or at several places. */
interface OpenQuestion {
  readonly key: string;
  readonly text: string;
  readonly general: string | undefined;
  readonly ids: Set<string>;
  readonly paths: Set<string>;
}

/** The common key of notes that are printed as one line. */
export function noteKey({ path, text, general }: Question): string {
  return general ?? JSON.stringify([path.at(-1) ?? '', text]);
}

/** The questions that no rule asks, by their keys: a heading, and a sentence for each. */
export function openNotes({
  questions,
}: Pick<ProposedRuleBook, 'questions'>): ReadonlyMap<string, readonly string[]> {
  const open = new Map<string, OpenQuestion>();
  for (const [id, all] of questions) {
    for (const question of all) {
      const { path, text, general } = question;
      const key = JSON.stringify([path.at(-1) ?? '', text]);
      const known = open.get(key) ?? {
        key: noteKey(question),
        text,
        general,
        ids: new Set(),
        paths: new Set(),
      };
      open.set(key, known);
      if (id !== '') known.ids.add(id);
      if (path.length > 0) known.paths.add(pathText(path));
    }
  }
  const groups = Map.groupBy(open.values(), ({ key }) => key);
  return new Map(
    [...groups].map(([key, members]) => {
      const [{ general } = { general: undefined }] = members;
      const sentences = members.map(({ text, ids, paths }) => {
        const own = members.length > 1 && text === general ? '' : text;
        return [listed([...ids]), listed([...paths]), own].filter((part) => part !== '').join(': ');
      });
      return [
        key,
        general === undefined || members.length === 1
          ? sentences
          : [`of each of these, ${general}`, ...sentences],
      ];
    }),
  );
}

/** The questions that no rule asks, as comments, each once. */
export function printQuestions(book: ProposedRuleBook): readonly string[] {
  const asked = [...openNotes(book).values()].flatMap(([first = '', ...others]) => [
    comment(`${TODO} ${first}`, ''),
    ...others.map((one) => comment(`- ${one}`, '')),
  ]);
  return [
    ...(asked.length === 0
      ? []
      : ['# Questions that the descriptions leave open. Answer each, and delete its line.', ...asked]),
    ...printGone(book.gone ?? []),
  ];
}

function listed(names: readonly string[]): string {
  const more = names.length - MAX_NAMED;
  return `${names.slice(0, MAX_NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** Maximum number of gone operations that get a question each; if there are more, only those with candidates do. */
const MAX_GONE = 20;

/** True for an operation with a question of its own; the others have one together. */
export function isAskedAlone({ named, candidates }: ProposedGone, all: readonly ProposedGone[]): boolean {
  return named !== undefined && (candidates.length > 0 || all.length <= MAX_GONE);
}

/** The operations of V1 that V2 does not have, in one block: each TODO is a question. */
function printGone(gone: readonly ProposedGone[]): readonly string[] {
  if (gone.length === 0) return [];
  const [what, each] =
    gone.length === 1 ? ['this operation', 'it'] : [`these ${gone.length} operations`, 'one'];
  const told = `V2 does not describe ${what} of V1. If ${each} moved, write id: { match: …, to: … } among the operations; if ${each} is gone, write id: { match: …, gone: "what clients can do" }, and they get 410 with it. Without a line, requests get V2's response, such as 404.`;
  const lineOf = ({ operation: { method, rest }, hint, candidates }: ProposedGone): string =>
    [`${method} ${rest}`, hint, candidateWords(candidates)].filter((part) => part !== '').join(' ');
  const alone = gone.filter((one) => isAskedAlone(one, gone));
  const others = gone.filter((one) => !isAskedAlone(one, gone));
  return [
    '',
    comment(told, ''),
    ...alone.map((one) => comment(`${TODO} where is ${lineOf(one)}?`, '')),
    ...(others.length === 0 ? [] : [comment(`${TODO} are these gone?`, '')]),
    ...others.map((one) => comment(`- ${lineOf(one)}`, '')),
  ];
}

function candidateWords(candidates: readonly string[]): string {
  return candidates.length === 0 ? '' : `(perhaps ${candidates.join(' or ')})`;
}

/** A comment on one line: a line break in a name would end it. */
function comment(text: string, indent: string): string {
  return `${indent}# ${oneLine(text)}`;
}

/** YAML has more line breaks than JSON escapes. */
function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029\uFEFF]/gu, ' ');
}

function list(names: readonly string[]): string {
  return `[${names.map((name) => scalar(name)).join(', ')}]`;
}

/** A key of a mapping; a number or a boolean keeps its type as a value only. */
function key(value: string | number | boolean): string {
  return typeof value === 'string' ? scalar(value) : String(value);
}

/** A scalar as YAML: plain if every parser reads it as this value, otherwise as JSON, which YAML 1.2 contains. */
export function scalar(value: string | number | boolean): string {
  if (typeof value !== 'string') return String(value);
  const isPlain =
    /^[A-Za-z_][\w./ -]*[\w/.]$|^[A-Za-z_]$|^[45]xx$/.test(value) &&
    !RESERVED.test(value) &&
    !value.includes('  ');
  if (isPlain) return value;
  return JSON.stringify(value).replaceAll(/[\u007f-\u009f\u2028\u2029\ufeff]|\p{Cs}/gu, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
