import { STRING } from '../json/tape.ts';
import { type NameTable, stringText } from '../json/member-name.ts';
import type { ErrorsRule, RequestRule } from '../rules/rule.ts';
import type { ResponseRun, CompiledResponseRule } from './response-run.ts';
import { DraftObject, find, markChanged, type DraftMember } from './draft.ts';
import type { QueryPlan } from './query-plan.ts';
import { V1Names } from './v1-names.ts';

/** An `errors` rule, compiled: `path` is the path of each error in the service's envelope. */
export interface CompiledErrors extends CompiledResponseRule {
  readonly rule: 'errors';
  readonly v1: V1Names;
  /** V1's sentences by V2's. */
  readonly details: ReadonlyMap<string, string>;
  readonly source: number;
  readonly pointer: number;
  readonly parameter: number;
  /** The query rules of the operation; undefined without any. */
  readonly query: QueryPlan | undefined;
  /** Members of an error whose text may contain attribute names. */
  readonly sentences: readonly number[];
}

/** Compiles an `errors` rule for an operation with these request rules. */
export function compileErrors(
  rule: ErrorsRule,
  change: string,
  names: NameTable,
  request: readonly RequestRule[],
  query: QueryPlan | undefined,
): CompiledErrors {
  return {
    change,
    rule: 'errors',
    status: rule.status,
    path: [names.add('errors'), -1],
    v1: new V1Names(request),
    details: new Map(Object.entries(rule.details)),
    source: names.add('source'),
    pointer: names.add('pointer'),
    parameter: names.add('parameter'),
    query,
    sentences: [names.add('title'), names.add('detail')],
  };
}

/** Converts the pointer of an error, and the names and sentences in its text, back to those of V1. */
export function errors(rule: CompiledErrors, run: ResponseRun, error: DraftObject): void {
  const { draft, context } = run;
  const source = find(error, rule.source);
  const place = source === undefined ? undefined : draft.open(source, source.node);
  const pointer = place instanceof DraftObject ? find(place, rule.pointer) : undefined;
  if (pointer !== undefined)
    rewriteString(rule, run, pointer, (raw) => v1Pointer(rule.v1, raw, context.isWrapped));
  const parameter = place instanceof DraftObject ? find(place, rule.parameter) : undefined;
  const renamed = parameter === undefined ? undefined : v1Parameter(rule, run, parameter);
  for (const id of rule.sentences) {
    const sentence = find(error, id);
    if (sentence === undefined) continue;
    rewriteString(rule, run, sentence, (raw) =>
      renamed === undefined ? v1Text(rule, raw) : withoutName(raw, renamed),
    );
  }
}

/** A query parameter that V1 calls otherwise. */
interface RenamedParameter {
  readonly v2: string;
  readonly v1: string;
}

/** Converts the name of a query parameter, and returns both names; undefined if V1 has the same. */
function v1Parameter(
  rule: CompiledErrors,
  run: ResponseRun,
  parameter: DraftMember,
): RenamedParameter | undefined {
  let renamed: RenamedParameter | undefined;
  rewriteString(rule, run, parameter, (raw) => {
    const text = stringText(raw);
    const name = rule.query?.v1Name(text) ?? text;
    if (name === text) return v1Sentence(rule.v1, raw);
    renamed = { v2: raw, v1: spelled(name) };
    return renamed.v1;
  });
  return renamed;
}

/** An error about a parameter names only that one: it may be a common word, such as `limit`, so it counts nowhere else. */
function withoutName(raw: string, { v2, v1 }: RenamedParameter): string {
  return raw.split(v2).reduce((before, after) => {
    const isWord = !/\w$/.test(before) && !/^\w/.test(after);
    return before + (isWord ? v1 : v2) + after;
  });
}

/** Replaces the text of a string between its quotes, as spelled in the response: escapes are not decoded. */
function rewriteString(
  rule: CompiledErrors,
  run: ResponseRun,
  member: DraftMember,
  change: (raw: string) => string,
): void {
  const { bytes, tape } = run.draft;
  const { node } = member;
  if (node < 0 || member.literal !== undefined || tape.kind(node) !== STRING) return;
  const raw = decoder.decode(bytes.subarray(tape.start(node) + 1, tape.end(node) - 1));
  const changed = change(raw);
  if (changed === raw) return;
  member.literal = encoder.encode(`"${changed}"`);
  if (member.holder !== undefined) markChanged(member.holder);
  run.replace(rule, member);
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const encoder = new TextEncoder();

/** Serializers of some languages write `\/`, others nothing but ASCII: a token that V1 has too keeps its spelling. */
function v1Pointer(v1: V1Names, raw: string, isWrapped: boolean): string {
  const plain = raw.replaceAll(/\\(.)/g, (escape, letter: string) => (letter === '/' ? letter : escape));
  const spellings = new Map(plain.split('/').map((token) => [stringText(token), token]));
  const changed = v1
    .pointer(stringText(plain), isWrapped)
    .replaceAll(/[^/]+/g, (token) => spellings.get(token) ?? spelled(token));
  return plain === raw ? changed : changed.replaceAll('/', String.raw`\/`);
}

/** A sentence of the rule takes the place of V2's; in any other, names become V1's. */
function v1Text(rule: CompiledErrors, raw: string): string {
  const sentence = rule.details.size === 0 ? undefined : rule.details.get(stringText(raw));
  return sentence === undefined ? v1Sentence(rule.v1, raw) : spelled(sentence);
}

/** Matches only whole words and names joined by dots; the letter of an escape is not part of a word. */
function v1Sentence(v1: V1Names, raw: string): string {
  return raw.replaceAll(/\\(?:u[0-9a-fA-F]{4}|.)|[A-Za-z_]\w*(?:\.[A-Za-z_0-9]\w*)*/g, (word) =>
    word.startsWith('\\') ? word : spelled(v1.name(word)),
  );
}

/** The text of a string between its quotes. */
function spelled(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
