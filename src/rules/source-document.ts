import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import type * as z from 'zod';
import { isJsonObject } from '../json/values.ts';
import { didYouMean, type SourceFault, type SourcePath } from './rule-book-fault.ts';
import type { RuleWords } from './rule-book-source.ts';

/** A line and a column, from 1. */
interface Position {
  readonly line: number;
  readonly column: number;
}

/** A fault of the text itself, which has no path. */
interface TextFault extends Position {
  readonly message: string;
}

/** A number as RFC 8259 §6 writes it: YAML has others. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

const SENTENCES: Readonly<Record<string, string>> = {
  MULTIPLE_DOCS: 'a second document begins here; keep one in the file',
  NON_STRING_KEY: 'a key must be a plain name',
};

const NOUNS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'a mapping',
  record: 'a mapping',
  array: 'a list',
};

const EXAMPLES: ReadonlyMap<unknown, string> = new Map([
  ['version', 'version: 2025-01-01'],
  ['operations', 'operations: { create_client: POST /clients }'],
  ['changes', 'changes: and a list of them'],
  ['id', 'id: and a name for the change'],
  ['summary', 'summary: and one sentence for people'],
  ['on', 'on: every, or on: and a list of operation ids'],
  ['match', 'match: POST /clients, for example'],
  ['under', 'under: and the name of the sub-object'],
  ['to', 'to: and the new name'],
  ['as', 'as: and the V1 name'],
  ['of', 'of: and the name of the member'],
  ['by', 'by: and the factor, such as 100'],
  ['with', 'with: and its text'],
  ['from', 'from: and the form of the date, such as date'],
  ['version.value', 'value: and the release, such as 2025-01-01'],
  ['value', 'value: and the name of the member'],
  ['pointer', 'pointer: and the member that says where, such as field'],
  ['origins', "origins: and a list of them, or ['*']"],
  ['sign', 'sign: { scheme: standard-webhooks, verify: V2_SECRET, with: OUR_SECRET }'],
]);

/**
 * The text of a rule book, YAML 1.2 or JSON, as plain values with their positions. `value` is undefined if the text cannot be read at
 * all. Every key is a string, even one that looks like a number; no key is `__proto__`.
 */
export class SourceDocument {
  readonly value: unknown;
  readonly faults: readonly TextFault[];
  private readonly root: unknown;
  private readonly targets: ReadonlyMap<unknown, Node>;
  private readonly lines = new LineCounter();

  constructor(text: string) {
    const document = parseDocument(text, {
      version: '1.2',
      schema: 'core',
      merge: false,
      stringKeys: true,
      // The parser's own check compares each key with all others, which takes quadratic time.
      uniqueKeys: false,
      prettyErrors: false,
      lineCounter: this.lines,
    });
    this.root = document.contents;
    const syntaxErrors = syntaxFaults(document, text);
    const values = new Values((node) => this.at(offsetOf(node)));
    const value = syntaxErrors.length === 0 ? values.of(document.contents, 0) : undefined;
    this.value = values.hasGaps ? undefined : value;
    this.targets = values.targets;
    this.faults = [
      ...syntaxErrors.map(({ offset, message }) => ({ ...this.at(offset), message })),
      ...values.faults,
    ];
  }

  /** The position of the key or the value at a path; for a missing one, the position of its container. */
  positionOf(path: SourcePath, blame: 'key' | 'value' = 'value'): Position {
    let located: unknown = this.root;
    let node: unknown = this.root;
    for (const [depth, step] of path.entries()) {
      node = this.targets.get(node) ?? node;
      const next = isSeq(node) ? { key: undefined, value: node.items[Number(step)] } : member(node, step);
      if (next === undefined) break;
      located = blame === 'key' && depth === path.length - 1 ? next.key : (next.value ?? next.key);
      node = next.value;
    }
    return this.at(offsetOf(located));
  }

  /** The value at a path as JSON text; a number keeps its digits if JSON allows them. */
  jsonAt(path: SourcePath): string {
    return this.json(this.nodeAt(path));
  }

  /** The number at a path as written. */
  numberAt(path: SourcePath): string {
    const node = this.nodeAt(path);
    const target = this.targets.get(node) ?? node;
    return isScalar(target) ? (target.source ?? String(target.value)) : '';
  }

  private nodeAt(path: SourcePath): unknown {
    let node: unknown = this.root;
    for (const step of path) {
      node = this.targets.get(node) ?? node;
      node = isSeq(node) ? node.items[Number(step)] : member(node, step)?.value;
    }
    return node;
  }

  private json(node: unknown): string {
    const target = this.targets.get(node) ?? node;
    if (isSeq(target)) return `[${target.items.map((item) => this.json(item)).join()}]`;
    if (isMap(target)) {
      const pairs = target.items.map(({ key, value }) => {
        const name = isScalar(key) ? String(key.value) : '';
        return `${JSON.stringify(name)}:${this.json(value)}`;
      });
      return `{${pairs.join()}}`;
    }
    if (!isScalar(target)) return 'null';
    const { value, source } = target;
    if (typeof value === 'number' && source !== undefined && NUMBER.test(source)) return source;
    return JSON.stringify(value ?? null);
  }

  private at(offset: number): Position {
    const { line, col } = this.lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  }
}

/** Converts nodes to plain values, limits the values that aliases add, and reports content that no rule book may have. */
class Values {
  readonly faults: TextFault[] = [];
  /** True if a part could not be read; faults that result from the gap are not reported. */
  hasGaps = false;
  /** The target of each alias. */
  readonly targets = new Map<unknown, Node>();
  private readonly anchors = new Map<string, Node>();
  private readonly open = new Set<Node>();
  private readonly position: (node: unknown) => Position;
  private copied = 0;
  private copying = 0;

  constructor(position: (node: unknown) => Position) {
    this.position = position;
  }

  of(node: unknown, depth: number): unknown {
    if (depth > 64) return this.gap(node, 'nested deeper than 64 levels, the limit for rule books');
    if (this.copying > 0) this.copied += 1;
    if (isAlias(node)) return this.copy(node, node.source, depth);
    if (isScalar(node)) {
      if (node.anchor !== undefined) this.name(node.anchor, node);
      return node.value;
    }
    if (!isMap(node) && !isSeq(node)) return null;
    if (node.anchor !== undefined) this.name(node.anchor, node);
    this.open.add(node);
    const value = isSeq(node)
      ? node.items.map((item) => this.of(item, depth + 1))
      : this.mapping(node.items, depth);
    this.open.delete(node);
    return value;
  }

  private mapping(
    pairs: readonly { key: unknown; value: unknown }[],
    depth: number,
  ): Record<string, unknown> {
    const value: Record<string, unknown> = {};
    const seen = new Map<string, unknown>();
    for (const pair of pairs) {
      const key = isScalar(pair.key) ? String(pair.key.value) : '';
      const first = seen.get(key);
      if (first !== undefined) {
        const { line } = this.position(first);
        this.fault(pair.key, `the key ${JSON.stringify(key)} is already in line ${line}; keep one of them`);
        continue;
      }
      seen.set(key, pair.key);
      if (key === '__proto__') {
        this.fault(pair.key, 'no key of a rule book may be "__proto__"; use another name');
        continue;
      }
      value[key] = this.of(pair.value, depth + 1);
    }
    return value;
  }

  /** A few lines of nested aliases can expand to more values than fit into memory. */
  private copy(alias: Node, name: string, depth: number): unknown {
    const target = this.anchors.get(name);
    if (target === undefined)
      return this.gap(
        alias,
        `the alias "*${name}" has no anchor "&${name}" before it; add the anchor, or write the value out`,
      );
    if (this.open.has(target))
      return this.gap(alias, `the alias "*${name}" is inside its own anchor; write the value out`);
    if (this.copied > 100_000) {
      if (this.copied < Infinity) this.gap(alias, 'aliases add more than 100,000 values; write them out');
      this.copied = Infinity;
      return null;
    }
    this.targets.set(alias, target);
    this.copying += 1;
    const value = this.of(target, depth);
    this.copying -= 1;
    return value;
  }

  /** An alias refers to the last preceding node with that anchor; a copy is not a new node. */
  private name(anchor: string, node: Node): void {
    if (this.copying === 0) this.anchors.set(anchor, node);
  }

  private gap(node: unknown, message: string): null {
    this.hasGaps = true;
    this.fault(node, message);
    return null;
  }

  private fault(node: unknown, message: string): void {
    this.faults.push({ ...this.position(node), message });
  }
}

function syntaxFaults(
  document: Document.Parsed,
  text: string,
): readonly { offset: number; message: string }[] {
  const language = /^\s*[{[]/.test(text) ? 'JSON or YAML' : 'YAML';
  const { directives, errors, warnings } = document;
  const exhausted = errors.find((error) => error.code === 'RESOURCE_EXHAUSTION');
  if (exhausted !== undefined) {
    return [{ offset: exhausted.pos[0], message: 'nested too deep to be read; the limit is 64 levels' }];
  }
  const faults = [...errors, ...warnings].map(({ code, message, pos }) => ({
    offset: pos[0],
    message: SENTENCES[code] ?? `cannot be read as ${language}: ${message}`,
  }));
  if (directives.yaml.explicit === true && directives.yaml.version !== '1.2') {
    const { version } = directives.yaml;
    faults.push({
      offset: 0,
      message: `says it is YAML ${version}; remove the directive: YAML 1.2 is read`,
    });
  }
  return faults;
}

function member(node: unknown, key: string | number): { key: unknown; value: unknown } | undefined {
  if (!isMap(node)) return undefined;
  return node.items.find((pair) => isScalar(pair.key) && pair.key.value === key);
}

function offsetOf(node: unknown): number {
  const range = isScalar(node) || isMap(node) || isSeq(node) || isAlias(node) ? node.range : undefined;
  return range?.[0] ?? 0;
}

/** Converts the schema's issues with `source` to faults: each says which part is wrong, its value and how to fix it. */
export function schemaFaults(
  issues: readonly z.core.$ZodIssue[],
  source: unknown,
  words: RuleWords,
): readonly SourceFault[] {
  return issues.flatMap((issue) => faultsOf(issue, [], { source, words }));
}

type Issue = z.core.$ZodIssue;

/** A source, and the names of rules in it. */
interface Written {
  readonly source: unknown;
  readonly words: RuleWords;
}

function faultsOf(issue: Issue, base: SourcePath, written: Written): readonly SourceFault[] {
  const path = [...base, ...steps(issue.path)];
  const value = valueAt(written.source, path);
  const label = printSourcePath(path);
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => unknownKey([...path, key], key, path, issue.message));
    case 'invalid_key': {
      const reasons = issue.issues.map((inner) => inner.message).join('; ');
      return [{ path, blame: 'key', message: `${label} ${reasons}` }];
    }
    case 'invalid_union':
      return unionFaults(issue.errors, issue.message, path, written);
    case 'invalid_type':
      return [typeFault(path, value, NOUNS[issue.expected] ?? issue.expected)];
    case 'invalid_value': {
      if (value === undefined) return [typeFault(path, value, '')];
      const words = issue.values.map(String);
      const hint = typeof value === 'string' ? didYouMean(value, words) : '';
      return [{ path, message: `${label} must be ${listed(words)}, not ${show(value)}${hint}` }];
    }
    case 'too_small':
    case 'too_big':
      return [{ path, message: `${label} ${sizeSentence(issue, value)}` }];
    case 'invalid_format':
    case 'custom': {
      // A webhook may contain a secret, or an address with one, by mistake, and faults are logged.
      const isHidden = typeof value === 'object' || path[0] === 'webhooks';
      const shown = isHidden ? label : `${label} ${show(value)}`;
      return [{ path, message: `${shown} ${issue.message}` }];
    }
    case 'invalid_element':
    case 'not_multiple_of':
      return [{ path, message: `${label} ${show(value)}: ${issue.message}` }];
  }
}

/** Reports on the alternative that the author meant; if none matches, the message lists the alternatives. */
function unionFaults(
  alternatives: readonly (readonly Issue[])[],
  expected: string,
  path: SourcePath,
  written: Written,
): readonly SourceFault[] {
  const value = valueAt(written.source, path);
  const words = wordsFor(path, written.words);
  if (words !== undefined && isJsonObject(value)) {
    const [word, other] = words.filter((candidate) => Object.hasOwn(value, candidate));
    if (word === undefined) return [missingRuleFault(path, value, words)];
    if (other !== undefined) {
      const message = `${printSourcePath(path)} is two rules, ${word} and ${other}; write them as two entries of the list`;
      return [{ path, message }];
    }
    return (alternatives[words.indexOf(word)] ?? []).flatMap((issue) => faultsOf(issue, path, written));
  }
  const candidates = alternatives.filter((issues) => !issues.some(isAboutType));
  if (candidates.length !== 1) return [typeFault(path, value, expected)];
  return (candidates[0] ?? []).flatMap((issue) => faultsOf(issue, path, written));
}

function isAboutType(issue: Issue): boolean {
  if (issue.path.length > 0) return false;
  if (issue.code === 'invalid_union') return issue.errors.every((issues) => issues.some(isAboutType));
  return issue.code === 'invalid_type' || issue.code === 'invalid_value';
}

function wordsFor(path: SourcePath, words: RuleWords): readonly string[] | undefined {
  if (path[0] !== 'changes') return undefined;
  if (path.length === 6 && path[4] === 'headers') return words.responseHeaders;
  if (path.length !== 4) return undefined;
  const [, , place] = path;
  if (place === 'request' || place === 'query' || place === 'headers') return words[place];
  return place === 'response' ? words.response : undefined;
}

function missingRuleFault(path: SourcePath, value: object, words: readonly string[]): SourceFault {
  const [key = ''] = Object.keys(value);
  const hint = didYouMean(key, words);
  return {
    path,
    message: `${printSourcePath(path)} is not a rule: it needs ${listed(words)}${hint}`,
  };
}

/** The policies that apply to whole bodies and requests, so no change can override them. */
const BOOK_POLICIES: ReadonlySet<unknown> = new Set([
  'malformed',
  'unsupported',
  'forms',
  'media',
  'signed',
  'half-close',
  'future',
]);

function unknownKey(path: SourcePath, key: string, holder: SourcePath, known: string): SourceFault {
  const where = holder.length === 0 ? '' : ` in ${printSourcePath(holder)}`;
  if (holder.length > 1 && BOOK_POLICIES.has(key)) {
    const subject = key === 'future' ? 'requests' : 'bodies';
    const message = `the policy ${key} applies to whole ${subject}, before any change; move it to the policies of the rule book`;
    return { path, blame: 'key', message };
  }
  const hint = didYouMean(key, known.split(', '));
  const message = `unknown key ${JSON.stringify(key)}${where}${hint === '' ? '; ' : `${hint} `}known here: ${known}`;
  return { path, blame: 'key', message };
}

function typeFault(path: SourcePath, value: unknown, expected: string): SourceFault {
  const label = printSourcePath(path);
  const isPrefix = path.length === 1 && (path[0] === 'from' || path[0] === 'to');
  const example = isPrefix
    ? undefined
    : (EXAMPLES.get(path.slice(-2).join('.')) ?? EXAMPLES.get(path.at(-1)));
  const suggestion = example === undefined ? '' : `; write ${example}`;
  if (value === undefined) return { path, message: `${label} is missing${suggestion}` };
  const quotes = typeof value === 'number' || typeof value === 'boolean' || value === null;
  const hint = expected === 'a text' && quotes ? '; put it in quotes' : (unitHint(path, value) ?? suggestion);
  return { path, message: `${label} must be ${expected}, not ${show(value)}${hint}` };
}

/** Limits are plain numbers; settings have units. */
function unitHint(path: SourcePath, value: unknown): string | undefined {
  const [holder, key] = path;
  if (holder !== 'limits' || key === 'depth' || typeof value !== 'string') return undefined;
  return key === 'transform'
    ? '; write the number of milliseconds, such as 50'
    : '; write the number of bytes, such as 10485760 for 10 MiB';
}

function sizeSentence(issue: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig, value: unknown): string {
  const bound = issue.code === 'too_small' ? issue.minimum : issue.maximum;
  if (Array.isArray(value)) return 'is an empty list; name at least one, or remove the line';
  if (typeof value === 'string') return 'is empty; write a value, or remove the line';
  return `must be ${issue.code === 'too_small' ? 'at least' : 'at most'} ${bound}, not ${show(value)}`;
}

function valueAt(source: unknown, path: SourcePath): unknown {
  let value: unknown = source;
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = Reflect.get(value, step);
  }
  return value;
}

function steps(path: readonly PropertyKey[]): SourcePath {
  return path.map((step) => (typeof step === 'symbol' ? String(step) : step));
}

function printSourcePath(path: SourcePath): string {
  if (path.length === 0) return 'the rule book';
  return path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`))
    .join('')
    .slice(1);
}

function show(value: unknown): string {
  if (value === null) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a mapping';
  const text = typeof value === 'number' ? String(value) : JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

function listed(words: readonly string[]): string {
  if (words.length < 2) return words.join('');
  return `${words.slice(0, -1).join(', ')} or ${words.at(-1) ?? ''}`;
}
