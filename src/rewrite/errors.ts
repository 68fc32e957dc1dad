import { applyEdits } from '../json/edit.ts';
import { type NameTable, stringText } from '../json/names.ts';
import { pointerToken, tokenName } from '../json/pointer.ts';
import { STRING } from '../json/tape.ts';
import type { ErrorForm, ErrorsRule, Path, RequestRule } from '../rules/rule.ts';
import { type DraftMember, DraftObject, find, markChanged } from './draft.ts';
import { isWordUnit, MAX_ROOTS, NameSpellings } from './name-spellings.ts';
import type { QueryPlan } from './query-plan.ts';
import { RailsErrors } from './rails-errors.ts';
import type { CompiledResponseRule, ResponseRun } from './response-rules.ts';
import { V1Names } from './v1-names.ts';

/** An `errors` rule, compiled: `path` is the path of each error in the service's envelope. */
export interface CompiledErrors extends CompiledResponseRule {
  readonly rule: 'errors';
  readonly v1: V1Names;
  /** The same in texts, and in other spellings. */
  readonly spellings: NameSpellings;
  /** V1's sentences by V2's. */
  readonly details: ReadonlyMap<string, string>;
  /** Maximum characters of a sentence of `details` as spelled in a response, where each may be an escape of six. */
  readonly detailLength: number;
  /** The ids on the path from an error to its pointer; empty where it has none. */
  readonly pointer: readonly number[];
  /** The id of the member, beside the pointer, with the name of a query parameter. */
  readonly parameter: number;
  /** The query rules of the operation; undefined without any. */
  readonly query: QueryPlan | undefined;
  /** Members of an error whose text may contain attribute names. */
  readonly sentences: readonly number[];
  /** The member with errors by the name of what is wrong; absent in other forms. */
  readonly keyed?: { readonly id: number; readonly errors: RailsErrors };
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const encoder = new TextEncoder();

const BACKSLASH = 0x5c;

/** Converts the pointer of an error, and the names and sentences in its text, back to those of V1. */
export function errors(rule: CompiledErrors, run: ResponseRun, error: DraftObject): void {
  const { draft, context } = run;
  if (rule.keyed !== undefined) keyedErrors(rule, rule.keyed, run, error);
  let place: ReturnType<typeof draft.open> = rule.pointer.length === 0 ? undefined : error;
  for (const id of rule.pointer.slice(0, -1)) {
    const holder: DraftMember | undefined = place instanceof DraftObject ? find(place, id) : undefined;
    place = holder === undefined ? undefined : draft.open(holder, holder.node);
  }
  const pointer = place instanceof DraftObject ? find(place, rule.pointer.at(-1) ?? 0) : undefined;
  if (pointer !== undefined)
    rewriteString(rule, run, pointer, (raw) => v1Place(rule, raw, context.isWrapped));
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

/** Replaces a member with errors of Rails as a whole, byte for byte the same outside of names. */
function keyedErrors(
  rule: CompiledErrors,
  keyed: NonNullable<CompiledErrors['keyed']>,
  run: ResponseRun,
  body: DraftObject,
): void {
  const member = find(body, keyed.id);
  if (member === undefined || member.node < 0 || member.literal !== undefined) return;
  const { bytes, tape } = run.draft;
  const value = bytes.subarray(tape.start(member.node), tape.end(member.node));
  const edits = keyed.errors.edits(value, (raw, named) => v1Text(rule, raw, named));
  if (edits.length === 0) return;
  member.literal = applyEdits(value, edits);
  if (member.holder !== undefined) markChanged(member.holder);
  run.replace(rule, member);
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

/** A pointer, the same in a fragment (RFC 6901 §6), a path from the root, or a name; any other text stays. */
function v1Place(rule: CompiledErrors, raw: string, isWrapped: boolean): string {
  if (raw.startsWith('#')) return `#${v1Pointer(rule, raw.slice(1), isWrapped)}`;
  if (/^(?:\/|\\\/)/.test(raw) || raw === '') return v1Pointer(rule, raw, isWrapped);
  const text = rule.spellings.text(raw);
  const [wrapper] = rule.v1.path([], isWrapped);
  return wrapper === undefined || !/^\$[.[]/.test(raw) ? text : `$.${spelled(wrapper)}${text.slice(1)}`;
}

/** Serializers of some languages write `\/`, others nothing but ASCII: a token that V1 has too keeps its spelling. */
function v1Pointer({ v1, spellings }: CompiledErrors, raw: string, isWrapped: boolean): string {
  const end = endOf(raw, v1.depth + MAX_ROOTS);
  let slash = '/';
  const names: string[] = [];
  const asSent = new Map<string, string>();
  for (let start = 0; start <= end;) {
    const next = raw.indexOf('/', start);
    const isLast = next === -1;
    const isSlashEscaped = !isLast && isEscaped(raw, next);
    if (isSlashEscaped) slash = String.raw`\/`;
    const token = raw.slice(start, isLast ? raw.length : isSlashEscaped ? next - 1 : next);
    // No rule has a name as long as that: to decode megabytes of escapes takes a turn of the event loop for itself.
    const isLong = token.length > v1.spelledLength;
    const texts = isLong ? [token] : stringText(token).split('/');
    for (const text of texts) names.push(isLong ? text : tokenName(text));
    if (texts.length === 1) asSent.set(names.at(-1) ?? '', token);
    start = isLast ? raw.length + 1 : next + 1;
  }
  if (names[0] !== '') return raw;
  const tokens = spellings
    .pointer(names.slice(1), isWrapped)
    .map((name) => slash + (asSent.get(name) ?? spelled(pointerToken(name))));
  return tokens.join('') + (end === raw.length ? '' : slash + raw.slice(end + 1));
}

/** Where the first tokens of a pointer end, `count` at most: at a slash, or at the end. */
function endOf(pointer: string, count: number): number {
  let end = 0;
  for (let token = 0; token < count; token += 1) {
    end = pointer.indexOf('/', end + 1);
    if (end === -1) return pointer.length;
  }
  return end;
}

/** True for the character of a JSON string at `at` that a backslash before it makes an escape. */
function isEscaped(raw: string, at: number): boolean {
  let first = at;
  while (raw.charCodeAt(first - 1) === BACKSLASH) first -= 1;
  return (at - first) % 2 === 1;
}

/** The text of a string between its quotes. */
function spelled(text: string): string {
  return JSON.stringify(text).slice(1, -1);
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
    if (name === text) return rule.spellings.text(raw);
    renamed = { v2: raw, v1: spelled(name) };
    return renamed.v1;
  });
  return renamed;
}

/** A sentence of the rule takes the place of V2's; in any other, names become V1's. */
function v1Text(rule: CompiledErrors, raw: string, named = raw): string {
  const sentence = raw.length > rule.detailLength ? undefined : rule.details.get(stringText(raw));
  return sentence === undefined ? rule.spellings.text(named) : spelled(sentence);
}

/** An error about a parameter names only that one: it may be a common word, such as `limit`, so it counts nowhere else. */
function withoutName(raw: string, { v2, v1 }: RenamedParameter): string {
  const [first = '', ...rest] = raw.split(v2);
  const pieces = [first];
  // Only the last unit of the text so far is looked at: to test all of it again for each name would be quadratic.
  let last = first.at(-1) ?? '';
  for (const after of rest) {
    const name = isWordUnit(last.charCodeAt(0)) || isWordUnit(after.charCodeAt(0)) ? v2 : v1;
    pieces.push(name, after);
    last = after.at(-1) ?? name.at(-1) ?? last;
  }
  return pieces.join('');
}

/** Compiles an `errors` rule for an operation with these request rules. */
export function compileErrors(
  rule: ErrorsRule,
  change: string,
  names: NameTable,
  request: readonly RequestRule[],
  query: QueryPlan | undefined,
  form: ErrorForm,
): readonly CompiledErrors[] {
  const details = new Map(Object.entries(rule.details));
  const v1 = new V1Names(request);
  const compiled = {
    change,
    rule: 'errors' as const,
    status: rule.status,
    v1,
    spellings: new NameSpellings(request, v1),
    details,
    detailLength: 6 * Math.max(0, ...[...details.keys()].map((detail) => detail.length)),
    parameter: names.add('parameter'),
    query,
  };
  const ids = (path: Path): readonly number[] => path.map((name) => names.add(name));
  const ofEach = {
    ...compiled,
    path: [...ids(form.list), -1],
    pointer: ids(form.pointer),
    sentences: ids(form.text),
  };
  if (form.isKeyed === true) {
    const keyed = { id: names.add(form.list[0] ?? ''), errors: new RailsErrors(request, compiled.v1) };
    return [{ ...compiled, path: [], pointer: [], sentences: ids(form.about), keyed }];
  }
  if (form.about.length === 0) return [ofEach];
  return [{ ...compiled, path: [], pointer: [], sentences: ids(form.about) }, ofEach];
}
