import { applyEdits, type Edit } from '../json/edit.ts';
import { type NameTable, stringText } from '../json/names.ts';
import { pointerToken, tokenName } from '../json/pointer.ts';
import { STRING } from '../json/tape.ts';
import type { ErrorForm, ErrorsRule, Path, RequestRule } from '../rules/rule.ts';
import { type DraftMember, DraftObject, find, markChanged } from './draft.ts';
import { isWordUnit, MAX_ROOTS, NameSpellings, V1Names, placesInV2 } from './name-spellings.ts';
import type { QueryPlan } from './query-plan.ts';
import type { CompiledResponseRule, ResponseRun } from './response-rules.ts';
import { concatBytes } from '../http/byte-collector.ts';
import { JsonWalker, type WalkedNode } from '../json/document.ts';

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

/** Levels of nested objects and lists in which errors are looked for. */
const MAX_LEVELS = 8;

const COMMA = Uint8Array.of(0x2c);

/** A member of an object of errors. */
interface Entry {
  readonly node: Pick<WalkedNode, 'kind' | 'keyStart' | 'keyEnd' | 'start' | 'end'>;
  readonly name: string;
  /** V1's name; the same if it has no other. */
  readonly v1: string;
  /** Where the member before it ends. */
  readonly before: number;
}

/**
 * Turns the errors of Rails back to V1's names: names of attributes as keys of an object (`{"items[0].name":["is blank"]}`), or humanised
 * at the start of each sentence of a list (`["Highlight type is blank"]`).
 */
export class RailsErrors {
  private readonly v1: V1Names;
  /** V1's humanised names by V2's; undefined where V1 has two. */
  private readonly sentences = new Map<string, string | undefined>();
  private readonly longest: number;
  private readonly walker = new JsonWalker(Number.POSITIVE_INFINITY, MAX_LEVELS);

  /** `rules` are the request rules of the operation, in order. */
  constructor(rules: readonly RequestRule[], v1: V1Names) {
    this.v1 = v1;
    for (const place of placesInV2(rules))
      for (let from = 0; from < place.length; from += 1) this.addSentence(place.slice(from), from === 0);
    this.longest = Math.max(0, ...[...this.sentences.keys()].map((name) => name.length));
  }

  /**
   * Returns the edits of a JSON text with errors. `text` turns one sentence back, as spelled in JSON, from what is given to it and from
   * the same with V1's name at its start.
   */
  edits(errors: Uint8Array, text: (raw: string, named: string) => string): readonly Edit[] {
    const texts: Edit[] = [];
    const keys: Edit[] = [];
    const objects: Entry[][] = [];
    const leave = (node: WalkedNode): void => {
      if (node.kind === 'object') keys.push(...mergedKeys(errors, objects.pop() ?? [], texts));
    };
    this.walker.walk(errors, {
      enter: (node) => {
        const name = node.path.at(-1);
        if (typeof name === 'string') this.addEntry(objects.at(-1), node, name);
        if (node.kind === 'object') objects.push([]);
        if (node.kind !== 'string') return true;
        const raw = decoder.decode(errors.subarray(node.start + 1, node.end - 1));
        const isWhole = node.path.every((step) => typeof step === 'number');
        const changed = text(raw, isWhole ? this.sentence(raw) : raw);
        if (changed !== raw)
          texts.push({ start: node.start + 1, end: node.end - 1, insert: encoder.encode(changed) });
        return true;
      },
      leave,
    });
    return [
      ...keys,
      ...texts.filter(({ start }) => !keys.some((key) => key.start <= start && start < key.end)),
    ].sort((one, other) => one.start - other.start);
  }

  /** The sentence with V1's name at its start, where that is one of V2. */
  private sentence(raw: string): string {
    for (let end = Math.min(this.longest, raw.length); end > 0; end -= 1) {
      if (end < raw.length && raw.charCodeAt(end) !== SPACE) continue;
      const name = this.sentences.get(raw.slice(0, end));
      if (name !== undefined) return JSON.stringify(name).slice(1, -1) + raw.slice(end);
    }
    return raw;
  }

  /** One plain word may be that of another object, unless it is the whole place. */
  private addSentence(place: readonly string[], isWhole: boolean): void {
    const name = humanised(place);
    const v1 = humanised(this.v1.loosely(place));
    if (name === v1 || (!isWhole && !name.includes(' '))) return;
    const known = this.sentences.has(name) && this.sentences.get(name) !== v1;
    this.sentences.set(name, known ? undefined : v1);
  }

  private addEntry(entries: Entry[] | undefined, node: WalkedNode, name: string): void {
    const { kind, keyStart, keyEnd, start, end } = node;
    const before = entries?.at(-1)?.node.end ?? keyStart;
    entries?.push({
      node: { kind, keyStart, keyEnd, start, end },
      name,
      v1: this.v1.attribute(name),
      before,
    });
  }
}

const SPACE = 0x20;

/** The edits that give members V1's names. The lists of those that V1 has one name for become one. */
function mergedKeys(errors: Uint8Array, entries: readonly Entry[], texts: readonly Edit[]): readonly Edit[] {
  const edits: Edit[] = [];
  for (const named of Map.groupBy(entries, ({ v1 }) => v1).values()) {
    const [first, ...others] = named;
    const isRenamed = named.some(({ name, v1 }) => name !== v1);
    if (first === undefined || !isRenamed) continue;
    const isMerged = named.every(({ node }) => node.kind === 'array');
    // Two values that are no lists: to drop one would lose an error.
    if (others.length > 0 && !isMerged) continue;
    if (first.name !== first.v1) {
      const { keyStart, keyEnd } = first.node;
      edits.push({ start: keyStart, end: keyEnd, insert: encoder.encode(JSON.stringify(first.v1)) });
    }
    if (others.length === 0) continue;
    const at = first.node.end - 1;
    const added = others
      .map(({ node }) => elementsOf(errors, node, texts))
      .filter((elements) => elements.length > 0)
      .flatMap((elements, index) =>
        index > 0 || elementsOf(errors, first.node, texts).length > 0 ? [COMMA, elements] : [elements],
      );
    edits.push({ start: at, end: at, insert: concatBytes(added) });
    for (const { before, node } of others)
      edits.push({ start: before, end: node.end, insert: new Uint8Array() });
  }
  return edits;
}

/** The elements of a list with the texts turned back, without the brackets and the white space at both ends. */
function elementsOf(errors: Uint8Array, { start, end }: Entry['node'], texts: readonly Edit[]): Uint8Array {
  const inside = texts
    .filter((edit) => edit.start > start && edit.end < end)
    .map((edit) => ({ ...edit, start: edit.start - start - 1, end: edit.end - start - 1 }));
  const elements = errors.subarray(start + 1, end - 1);
  const edited = inside.length === 0 ? elements : applyEdits(elements, inside);
  const first = edited.findIndex((byte) => byte > SPACE);
  return first === -1
    ? new Uint8Array()
    : edited.subarray(first, edited.findLastIndex((byte) => byte > SPACE) + 1);
}

/** The name of an attribute as Rails writes it in a sentence: indexes and `_id` left out, the first letter large. */
function humanised(place: readonly string[]): string {
  const words = place
    .filter((step) => !/^\d+$/.test(step))
    .join('_')
    .replace(/_id$/, '')
    .split('_')
    .filter((word) => word !== '')
    .join(' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
