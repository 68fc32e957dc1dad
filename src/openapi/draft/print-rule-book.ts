import { isProposed, pathText } from './compare-shapes.ts';
import type { ProposedChange, ProposedQueryRule, ProposedRule } from './propose-changes.ts';

/** An operation of a proposed rule book. */
export interface ProposedOperation {
  readonly id: string;
  readonly method: string;
  readonly template: string;
}

/** A proposed rule book, before it is text. */
export interface ProposedRuleBook {
  /** Where it comes from, in sentences. */
  readonly origin: readonly string[];
  readonly version: string;
  readonly operations: readonly ProposedOperation[];
  readonly changes: readonly ProposedChange[];
  /** What could not be decided, by operation id; the empty id is for none. */
  readonly questions: ReadonlyMap<string, readonly string[]>;
}

const RESERVED = /^(?:true|false|null|yes|no|on|off|y|n|nan|inf)$/i;

/** Prints a proposed rule book as YAML: each rule with its evidence, doubtful rules and open questions as comments. */
export function printRuleBook(book: ProposedRuleBook): string {
  const { origin, version, operations, changes, questions } = book;
  const [sure, doubtful] = [partOf(changes, true), partOf(changes, false)];
  return [
    '# yaml-language-server: $schema=./rules.schema.json',
    '#',
    ...origin.map((sentence) => comment(sentence, '')),
    '# Confidence is an estimate from 0 to 1. Read each rule before you use it; docs/rule-book.md describes them.',
    '',
    `version: ${version}`,
    '',
    operations.length === 0 ? 'operations: {}' : 'operations:',
    ...operations.map(({ id, method, template }) => `  ${scalar(id)}: ${scalar(`${method} ${template}`)}`),
    '',
    sure.length === 0 ? 'changes: []' : 'changes:',
    ...sure.flatMap((change) => [...printChange(change, '  '), '']),
    ...(doubtful.length === 0
      ? []
      : ['  # Not sure enough to apply, or able to lose or change a value. Decide, and remove the marks.']),
    ...doubtful.flatMap((change) => [...printChange(change, '  ').map(commentedOut), '']),
    ...printQuestions(questions),
    '',
  ]
    .join('\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trimEnd()
    .concat('\n');
}

/** The changes with the rules that apply, or with those that are questions. */
function partOf(changes: readonly ProposedChange[], isSure: boolean): readonly ProposedChange[] {
  return changes
    .map((change) => ({
      ...change,
      rules: change.rules.filter((rule) => isProposed(rule) === isSure),
      query: (change.query ?? []).filter((rule) => isProposed(rule) === isSure),
    }))
    .filter(hasRules);
}

function hasRules({ rules, query = [] }: ProposedChange): boolean {
  return rules.length + query.length > 0;
}

function printChange(
  { id, summary, on, rules, query = [], isInverse }: ProposedChange,
  indent: string,
): readonly string[] {
  return [
    `${indent}- id: ${scalar(id)}`,
    `${indent}  summary: ${scalar(summary)}`,
    `${indent}  on: ${on === 'every' ? on : list(on)}`,
    ...(rules.length === 0 ? [] : [`${indent}  request:`]),
    ...rules.flatMap((rule) => [...reasons(rule, `${indent}    `), `${indent}    - ${printRule(rule)}`]),
    ...(query.length === 0 ? [] : [`${indent}  query:`]),
    ...query.flatMap((rule) => [
      ...reasons(rule, `${indent}    `),
      `${indent}    - { rename: ${scalar(rule.rename)}, to: ${scalar(rule.to)} }`,
    ]),
    ...(isInverse === true
      ? [comment("V1's responses have V1's names and places.", `${indent}  `), `${indent}  response: inverse`]
      : []),
  ];
}

/** The evidence for a rule, and what speaks against it. */
function reasons(
  { confidence, evidence, doubt }: ProposedRule | ProposedQueryRule,
  indent: string,
): readonly string[] {
  const words = [evidence, ...(doubt === undefined ? [] : [`but ${doubt}`])].filter((part) => part !== '');
  return [comment(`confidence ${confidence.toFixed(2)}: ${words.join('; ')}`, indent)];
}

function printRule({ found }: ProposedRule): string {
  if (found.rule === 'unwrap') return `{ unwrap: ${scalar(pathText([found.member]))} }`;
  switch (found.rule) {
    case 'rename':
      return `{ rename: ${scalar(pathText(found.in, found.member))}, to: ${scalar(pathText([found.to]))} }`;
    case 'strip':
      return `{ strip: ${scalar(pathText(found.in, found.member))} }`;
    case 'nest': {
      const members = list(found.members.map((name) => pathText([name])));
      return `{ nest: ${members}${place(found.in)}, under: ${scalar(pathText([found.under]))} }`;
    }
    case 'map': {
      const values = found.values.map(([from, to]) => `${key(from)}: ${scalar(to)}`).join(', ');
      return `{ map: { ${values} }, of: ${scalar(pathText([found.member]))}${place(found.in)} }`;
    }
  }
}

function place(path: readonly string[]): string {
  return path.length === 0 ? '' : `, in: ${scalar(pathText(path))}`;
}

function printQuestions(questions: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const asked = [...questions].filter(([, sentences]) => sentences.length > 0);
  if (asked.length === 0) return [];
  return [
    '# Questions that the descriptions leave open:',
    ...asked.flatMap(([id, sentences]) =>
      sentences.map((sentence) => comment(`- ${id === '' ? '' : `${id}: `}${sentence}`, '')),
    ),
  ];
}

/** A comment on one line: a line break in a name would end it. */
function comment(text: string, indent: string): string {
  return `${indent}# ${oneLine(text)}`;
}

function commentedOut(line: string): string {
  return line.trim() === '' ? '' : `  # ${line.slice(2)}`;
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

/** A scalar: plain where no reader could take it for anything else, and otherwise as JSON, which YAML 1.2 contains. */
function scalar(value: string | number | boolean): string {
  if (typeof value !== 'string') return String(value);
  const isPlain =
    /^[A-Za-z_][\w./ -]*[\w/.]$|^[A-Za-z_]$/.test(value) && !RESERVED.test(value) && !value.includes('  ');
  if (isPlain) return value;
  return JSON.stringify(value).replaceAll(/[\u007f-\u009f\u2028\u2029\ufeff]|\p{Cs}/gu, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
