import { STRING } from '../json/tape.ts';
import { type NameTable, stringText } from '../json/member-name.ts';
import type { ErrorsRule, RequestRule } from '../rules/rule.ts';
import type { ResponseRun, CompiledResponseRule } from './response-run.ts';
import { DraftObject, find, markChanged, type DraftMember } from './draft.ts';
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
  /** Members of an error whose text may contain attribute names. */
  readonly sentences: readonly number[];
}

/** Compiles an `errors` rule for an operation with these request rules. */
export function compileErrors(
  rule: ErrorsRule,
  change: string,
  names: NameTable,
  request: readonly RequestRule[],
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
    sentences: [names.add('title'), names.add('detail')],
  };
}

/** Converts the pointer of an error, and the names and sentences in its text, back to those of V1. */
export function errors(rule: CompiledErrors, run: ResponseRun, error: DraftObject): void {
  const { draft, context } = run;
  const source = find(error, rule.source);
  const place = source === undefined ? undefined : draft.open(source, source.node);
  if (place instanceof DraftObject) {
    const pointer = find(place, rule.pointer);
    if (pointer !== undefined)
      rewriteString(rule, run, pointer, (raw) => v1Pointer(rule.v1, raw, context.isWrapped));
    const parameter = find(place, rule.parameter);
    if (parameter !== undefined) rewriteString(rule, run, parameter, (raw) => v1Sentence(rule.v1, raw));
  }
  for (const id of rule.sentences) {
    const sentence = find(error, id);
    if (sentence !== undefined) rewriteString(rule, run, sentence, (raw) => v1Text(rule, raw));
  }
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

/** Serializers of some languages write `\/`; a pointer with any other escape is left unchanged. */
function v1Pointer(v1: V1Names, raw: string, isWrapped: boolean): string {
  const isEscaped = raw.includes(String.raw`\/`);
  const plain = raw.replaceAll(String.raw`\/`, '/');
  if (plain.includes('\\')) return raw;
  const changed = v1.pointer(plain, isWrapped);
  return isEscaped ? changed.replaceAll('/', String.raw`\/`) : changed;
}

/** A sentence of the rule takes the place of V2's; in any other, names become V1's. */
function v1Text(rule: CompiledErrors, raw: string): string {
  const sentence = rule.details.size === 0 ? undefined : rule.details.get(stringText(raw));
  return sentence === undefined ? v1Sentence(rule.v1, raw) : JSON.stringify(sentence).slice(1, -1);
}

/** Matches only whole words and names joined by dots; the letter of an escape is not part of a word. */
function v1Sentence(v1: V1Names, raw: string): string {
  return raw.replaceAll(/\\(?:u[0-9a-fA-F]{4}|.)|[A-Za-z_]\w*(?:\.[A-Za-z_0-9]\w*)*/g, (word) =>
    word.startsWith('\\') ? word : v1.name(word),
  );
}
