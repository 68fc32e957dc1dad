import type { Path } from '../../rules/rule.ts';
import {
  type Conversion,
  type Evidence,
  type FoundRule,
  type FoundValue,
  isProposed,
  pathText,
} from './compare-shapes.ts';
import type { ProposedChange, ProposedText } from './propose-changes.ts';

/** An operation of a proposed rule book. */
export interface ProposedOperation {
  readonly id: string;
  readonly method: string;
  readonly template: string;
  /** Method and path in V2 of one that moved, with the evidence. */
  readonly moved?: { readonly to: string; readonly evidence: string } | undefined;
  /** Where its responses carry the resource, where that is not where those of the rule book do. */
  readonly resource?: string | undefined;
}

/** A proposed rule book, before it is text. */
export interface ProposedRuleBook {
  /** Where it comes from, in sentences. */
  readonly origin: readonly string[];
  /** The keys at the top: prefixes, release, resource, forms of errors. */
  readonly keys: readonly ProposedKey[];
  readonly operations: readonly ProposedOperation[];
  readonly changes: readonly ProposedChange[];
  /** What could not be decided, by operation id; the empty id is for none. */
  readonly questions: ReadonlyMap<string, readonly string[]>;
}

/** A key at the top of a rule book. */
export interface ProposedKey {
  readonly key: string;
  readonly lines: readonly string[];
  /** Why it is so, as a sentence; absent where the value says it. */
  readonly evidence?: string;
  /** What a person has to answer before it holds: its lines are comments until then. */
  readonly question?: string;
}

const RESERVED = /^(?:true|false|null|yes|no|on|off|y|n|nan|inf)$/i;

/** Prints a proposed rule book as YAML: each rule with its evidence, doubtful rules and open questions as comments; `schema` is for editors. */
export function printRuleBook(book: ProposedRuleBook, schema?: string): string {
  const { origin, keys, operations, changes } = book;
  const sure = partOf(changes, true);
  const doubtful = partOf(changes, false);
  return [
    ...(schema === undefined ? [] : [`# yaml-language-server: $schema=${schema}`, '#']),
    ...origin.map((sentence) => comment(sentence, '')),
    '# Confidence is an estimate from 0 to 1. Read each rule before you use it; docs/rule-book.md describes them.',
    '',
    ...printKeys(keys),
    '',
    operations.length === 0 ? 'operations: {}' : 'operations:',
    ...printOperations(book),
    '',
    sure.length > 0
      ? 'changes:'
      : `changes: []${doubtful.length === 0 ? '' : ' # Remove the brackets with the first marks.'}`,
    ...printChanges(book),
    ...printQuestions(book),
    '',
  ]
    .join('\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trimEnd()
    .concat('\n');
}

/** The keys at the top of a proposed rule book, as its lines. */
export function printKeys(keys: readonly ProposedKey[]): readonly string[] {
  const [sure, asked] = [keys.filter((key) => !('question' in key)), keys.filter((key) => 'question' in key)];
  return [
    ...sure.flatMap(({ lines, evidence }) => [
      ...(evidence === undefined ? [] : [comment(evidence, '')]),
      ...lines,
    ]),
    ...asked.flatMap((key) => ['', ...keyQuestion(key)]),
  ];
}

/** A key that is a question: its lines are comments. */
export function keyQuestion({ lines, question = '' }: ProposedKey): readonly string[] {
  return [
    comment(`${TODO} ${question} Remove the marks, or delete these lines.`, ''),
    ...lines.map((line) => `# ${line}`),
  ];
}

function printOperation({ id, method, template, moved, resource }: ProposedOperation): readonly string[] {
  const match = scalar(`${method} ${template}`);
  if (moved === undefined && resource === undefined) return [`  ${scalar(id)}: ${match}`];
  const to = moved === undefined ? '' : `, to: ${scalar(moved.to)}`;
  const at = resource === undefined ? '' : `, resource: ${scalar(resource)}`;
  return [
    ...(moved === undefined ? [] : [comment(moved.evidence, '  ')]),
    `  ${scalar(id)}: { match: ${match}${to}${at} }`,
  ];
}

/** The operations of a proposed rule book, as the lines of its mapping. */
export function printOperations({ operations }: ProposedRuleBook): readonly string[] {
  return operations.flatMap((operation) => printOperation(operation));
}

/** The changes of a proposed rule book, as the lines of its list: those that are questions are comments. */
export function printChanges({ changes }: ProposedRuleBook): readonly string[] {
  const [sure, doubtful] = [partOf(changes, true), partOf(changes, false)];
  return [
    ...sure.flatMap((change) => [...printChange(change), '']),
    ...(doubtful.length === 0
      ? []
      : [
          '  # Not sure enough to apply, or able to lose or change a value. Decide: remove the marks (# ) or the rule, and its TODO line.',
        ]),
    ...doubtful.flatMap((change) => [
      comment(questionOf(change.id), '  '),
      ...printChange(change).map((line) => `  # ${line.slice(2)}`),
      '',
    ]),
  ];
}

/** The question whether a change that is commented out applies. */
export function questionOf(id: string): string {
  return `${TODO} does ${id} hold? Remove its marks, or delete it.`;
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

function printChange(change: ProposedChange): readonly string[] {
  const { id, summary, on, rules, query, headers, response, isInverse } = change;
  return [
    `  - id: ${scalar(id)}`,
    `    summary: ${scalar(summary)}`,
    `    on: ${on === 'every' ? on : list(on)}`,
    ...printRules(
      'request',
      rules.map((rule) => ({ ...rule, texts: printRule(rule.found) })),
    ),
    ...printRules('query', query),
    ...printRules('headers', headers),
    ...printRules('response', response),
    ...(isInverse === true
      ? [comment("V1's responses have V1's names and places.", '    '), '    response: inverse']
      : []),
  ];
}

/** The rules under a key of a change, each with the evidence for it, and what speaks against it. */
function printRules(name: string, rules: readonly ProposedText[] = []): readonly string[] {
  if (rules.length === 0) return [];
  return [
    `    ${name}:`,
    ...rules.flatMap(({ texts, confidence, evidence, doubt }) => {
      const words = [evidence, doubt === undefined ? '' : `but ${doubt}`].filter((part) => part !== '');
      return [
        comment(`confidence ${confidence.toFixed(2)}: ${words.join('; ')}`, '      '),
        ...texts.map((text) => `      - ${text}`),
      ];
    }),
  ];
}

function printRule(found: FoundRule): readonly string[] {
  if (found.rule === 'unwrap') return [`{ unwrap: ${scalar(pathText([found.member]))} }`];
  switch (found.rule) {
    case 'rename': {
      const to = scalar(pathText([found.to]));
      const rename = `{ rename: ${scalar(pathText(found.in, found.member))}, to: ${to} }`;
      return [rename, ...(found.conversions ?? []).map((one) => printConversion(one, found.in, found.to))];
    }
    case 'convert':
      return found.conversions.map((one) => printConversion(one, found.in, found.member));
    case 'default': {
      // Whoever answers the question knows the value.
      const value = found.value === undefined ? '"…"' : scalar(found.value);
      return [`{ default: { ${scalar(pathText(found.in, found.member))}: ${value} } }`];
    }
    case 'strip':
      return [`{ strip: ${scalar(pathText(found.in, found.member))} }`];
    case 'nest': {
      const members = list(found.members.map((name) => pathText([name])));
      return [`{ nest: ${members}${place(found.in)}, under: ${scalar(pathText([found.under]))} }`];
    }
    case 'map':
      return [printValueMap(found.values, pathText([found.member]), found.in)];
  }
}

/** A `map` of the values of a member or a query parameter, as a rule book writes it. */
export function printValueMap(
  pairs: readonly (readonly [from: FoundValue, to: FoundValue])[],
  name: string,
  path: Path = [],
): string {
  const values = pairs.map(([from, to]) => `${key(from)}: ${scalar(to)}`).join(', ');
  return `{ map: { ${values} }, of: ${scalar(name)}${place(path)} }`;
}

function printConversion({ word, options }: Conversion, path: Path, member: string): string {
  const beside = options.map(([name, value]) => `, ${name}: ${scalar(value)}`).join('');
  return `{ ${word}: ${scalar(pathText(path, member))}${beside} }`;
}

/** The response rules that undo a rule in the objects at `base` of a response, in their order. */
export function printUndone(found: FoundRule, base: Path): readonly string[] {
  if (found.rule === 'unwrap' || found.rule === 'strip') return [];
  const path = [...base, ...found.in];
  switch (found.rule) {
    case 'rename': {
      const converted = (found.conversions ?? []).toReversed();
      const rename = `{ rename: ${scalar(pathText(path, found.to))}, to: ${scalar(pathText([found.member]))} }`;
      return [...converted.map((one) => printConversion(undone(one), path, found.to)), rename];
    }
    case 'convert':
      return found.conversions.toReversed().map((one) => printConversion(undone(one), path, found.member));
    case 'default':
      return [`{ strip: ${scalar(pathText(path, found.member))} }`];
    case 'nest': {
      const members = list(found.members.map((name) => pathText([name])));
      return [`{ unnest: ${scalar(pathText(path, found.under))}, members: ${members} }`];
    }
    case 'map': {
      const pairs = found.values.map(([from, to]) => [to, from] as const);
      return [printValueMap(pairs, pathText(path, found.member))];
    }
  }
}

function undone({ word, options }: Conversion): Conversion {
  const option = (name: string): FoundValue => options.find(([own]) => own === name)?.[1] ?? '';
  switch (word) {
    case 'quote':
      return { word: 'unquote', options };
    case 'unquote':
      return { word: 'quote', options };
    case 'prefix':
      return { word: 'unprefix', options };
    case 'unprefix':
      return { word: 'prefix', options };
    case 'date':
      return {
        word,
        options: [
          ['from', option('to')],
          ['to', option('from')],
        ],
      };
    case 'scale':
      return {
        word,
        options: options.map(([name, value]) => [name, name === 'by' ? 1 / Number(value) : value] as const),
      };
  }
}

function place(path: readonly string[]): string {
  return path.length === 0 ? '' : `, in: ${scalar(pathText(path))}`;
}

/** The start of a comment that a person has to answer: `serve` refuses a book that has one. */
const TODO = 'TODO:';

/** The members, by operation, about which a rule that is commented out asks already. */
function askedByRules(
  doubtful: readonly ProposedChange[],
  operations: readonly ProposedOperation[],
): (id: string, question: string) => boolean {
  const asked = new Map<string, string[]>();
  for (const { on, rules } of doubtful) {
    const paths = rules.flatMap(({ found }) => {
      if (found.rule === 'unwrap') return [];
      const members = found.rule === 'nest' ? found.members : [found.member];
      return members.map((member) => pathText(found.in, member));
    });
    for (const id of on === 'every' ? operations.map((one) => one.id) : on)
      asked.set(id, [...(asked.get(id) ?? []), ...paths]);
  }
  return (id, question) =>
    (asked.get(id) ?? []).some(
      (path) =>
        question.startsWith(`${path}: `) || question.startsWith(`${path} is required in V2 and not in V1`),
    );
}

/** The questions of a proposed rule book that no rule asks, as comments. */
export function printQuestions({ changes, operations, questions }: ProposedRuleBook): readonly string[] {
  const isAsked = askedByRules(partOf(changes, false), operations);
  /** Operations by question: many ask the same. */
  const open = new Map<string, string[]>();
  for (const [id, sentences] of questions) {
    for (const sentence of sentences) {
      if (isAsked(id, sentence)) continue;
      open.set(sentence, [...(open.get(sentence) ?? []), id]);
    }
  }
  if (open.size === 0) return [];
  return [
    '# Questions that the descriptions leave open. Answer each, and delete its line.',
    ...[...open].map(([sentence, ids]) => {
      const named = ids.filter((id) => id !== '').join(', ');
      return comment(`${TODO} ${named === '' ? '' : `${named}: `}${sentence}`, '');
    }),
  ];
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

/** A scalar as YAML: plain where no reader could take it for anything else, and otherwise as JSON, which YAML 1.2 contains. */
export function scalar(value: string | number | boolean): string {
  if (typeof value !== 'string') return String(value);
  const isPlain =
    /^[A-Za-z_][\w./ -]*[\w/.]$|^[A-Za-z_]$/.test(value) && !RESERVED.test(value) && !value.includes('  ');
  if (isPlain) return value;
  return JSON.stringify(value).replaceAll(/[\u007f-\u009f\u2028\u2029\ufeff]|\p{Cs}/gu, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
