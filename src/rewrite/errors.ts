import { isSameList } from './caches.ts';
import { applyEdits, type Edit } from '../json/edit.ts';
import { bytesOfText, type NameTable, spelledText, stringText, textOfBytes } from '../json/names.ts';
import { fragmentOf, pointerToken, tokenName } from '../json/pointer.ts';
import { percentDecoded } from '../http/target.ts';
import { STRING } from '../json/tape.ts';
import type { Path, RequestRule } from '../rules/rule.ts';
import { ERROR_FORMS, type ErrorForm, type ErrorsRule } from '../rules/kinds/errors.ts';
import { type DraftMember, DraftObject, find, markChanged } from '../edits/draft.ts';
import {
  camel,
  isWordUnit,
  MAX_ROOTS,
  NameSpellings,
  type NamedRule,
  namedRules,
  V1Names,
  placesInV2,
} from './name-spellings.ts';
import type { QueryPlan } from './query-plan.ts';
import { responseBase, type RuleBase, type Run } from '../edits/run.ts';
import type { CompiledResponseRule } from '../rules/kinds/kinds.ts';
import { concatBytes } from '../http/byte-collector.ts';
import { JsonWalker, type WalkedNode } from '../json/document.ts';

/** An `errors` rule while it applies to each error in the service's envelope. */
interface Errors extends RuleBase {
  readonly path: readonly number[];
  readonly v1: V1Names;
  /** The same names for texts, in all their spellings. */
  readonly spellings: NameSpellings;
  /** V1's sentences by V2's. */
  readonly details: ReadonlyMap<string, string>;
  /** Maximum characters of a sentence of `details` as spelled in a response, where each may be an escape of six. */
  readonly detailLength: number;
  /** The ids on the path from an error to its pointer; empty if the form has none. */
  readonly pointer: readonly number[];
  /** The id of the member, beside the pointer, with the name of a query parameter. */
  readonly parameter: number;
  /** The query rules of the operation; undefined without any. */
  readonly query: QueryPlan | undefined;
  /** Members of an error whose text may contain attribute names. */
  readonly sentences: readonly number[];
  /** The member whose errors are keyed by name; absent in other forms. */
  readonly keyed?: { readonly id: number; readonly errors: RailsErrors };
  /** Other members that may contain errors, although the form does not name them; absent in the rules of the form. */
  readonly any?: AnyErrors;
}

interface AnyErrors {
  /** The ids of the members, and of V1's names for those that are names of V2. */
  readonly members: ReadonlyMap<number, number>;
  /** The id of the form's list. Elements with the form's pointer, or with texts only, are left to the rules of the form. */
  readonly list: number;
  readonly pointer: string | undefined;
  readonly texts: readonly string[];
  readonly errors: RailsErrors;
}

const BACKSLASH = 0x5c;

/** Converts an error's pointer, and the names and sentences in its text, back to V1's. */
function errors(rule: Errors, run: Run, error: DraftObject): void {
  const { draft } = run;
  if (rule.any !== undefined) anyErrors(rule, rule.any, run, error);
  if (rule.keyed !== undefined) keyedErrors(rule, rule.keyed, run, error);
  let place: ReturnType<typeof draft.open> = rule.pointer.length === 0 ? undefined : error;
  for (const id of rule.pointer.slice(0, -1)) {
    const holder: DraftMember | undefined = place instanceof DraftObject ? find(place, id) : undefined;
    place = holder === undefined ? undefined : draft.open(holder, holder.node);
  }
  const pointer = place instanceof DraftObject ? find(place, rule.pointer.at(-1) ?? 0) : undefined;
  if (pointer !== undefined) rewriteString(rule, run, pointer, (raw) => v1Place(rule, raw, run.isWrapped));
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

/** Rewrites a whole member with errors in the format of Rails; every byte outside names stays. */
function keyedErrors(rule: Errors, keyed: NonNullable<Errors['keyed']>, run: Run, body: DraftObject): void {
  const member = find(body, keyed.id);
  if (member === undefined || member.node < 0 || member.literal !== undefined) return;
  const { bytes, tape } = run.draft;
  const value = bytes.subarray(tape.start(member.node), tape.end(member.node));
  const edits = keyed.errors.edits(value, (raw, named) => v1Text(rule, raw, named));
  if (edits.length > 0) replaceText(rule, run, member, applyEdits(value, edits));
}

function replaceText(rule: Errors, run: Run, member: DraftMember, literal: Uint8Array): void {
  member.literal = literal;
  markChanged(member.holder);
  run.recorder?.reword(rule, member);
}

/** Bytes of a member that is read whole; errors are small. */
const MAX_ANY_BYTES = 65_536;

/** Restores V1's names in errors of any other shape, such as those of a framework: `{"detail":[{"loc":[…],"msg":"…"}]}`. */
function anyErrors(rule: Errors, any: AnyErrors, run: Run, body: DraftObject): void {
  const { bytes, tape, names } = run.draft;
  for (const member of body.members) {
    const v1 = any.members.get(member.id);
    if (v1 === undefined || member.node < 0 || member.literal !== undefined) continue;
    const value = bytes.subarray(tape.start(member.node), tape.end(member.node));
    if (value.length > MAX_ANY_BYTES || (member.id === any.list && isOfForm(value, any))) continue;
    const edits = any.errors.anywhere(value, names.name(member.id), {
      isWrapped: run.isWrapped,
      place: (raw) => v1Place(rule, raw, run.isWrapped),
      text: (raw, named) => v1Text(rule, raw, named),
      spellings: rule.spellings,
    });
    if (edits.length > 0) replaceText(rule, run, member, applyEdits(value, edits));
    if (v1 === member.id || find(body, v1) !== undefined) continue;
    const before = run.pointerOf(member);
    member.id = v1;
    member.isRenamed = true;
    markChanged(body);
    run.recorder?.move(rule, member, before);
  }
}

/** True for a list of errors in the form of the rule book, whose rules then cover all of it. */
function isOfForm(list: Uint8Array, { pointer, texts }: AnyErrors): boolean {
  let isOf = false;
  let names = new Set<string>();
  new JsonWalker(MAX_LEVELS).walk(list, {
    enter: ({ kind, path: [index, name, ...deeper] }) => {
      if (index === undefined) return kind === 'array';
      if (name === undefined) names = new Set();
      else if (deeper.length === 0) names.add(String(name));
      return name === undefined;
    },
    leave: ({ path }) => {
      if (path.length !== 1) return;
      const isPlaced = PLACES.some((place) => names.has(place));
      isOf ||= names.has(pointer ?? '') || (!isPlaced && texts.some((text) => names.has(text)));
    },
  });
  return isOf;
}

/** Replaces the text of a string between its quotes, as spelled in the response: escapes are not decoded. */
function rewriteString(rule: Errors, run: Run, member: DraftMember, change: (raw: string) => string): void {
  const { bytes, tape } = run.draft;
  const { node } = member;
  if (node < 0 || member.literal !== undefined || tape.kind(node) !== STRING) return;
  const raw = textOfBytes(bytes.subarray(tape.start(node) + 1, tape.end(node) - 1));
  const changed = change(raw);
  if (changed !== raw) replaceText(rule, run, member, bytesOfText(`"${changed}"`));
}

/** Converts a pointer, also in a fragment (RFC 6901 §6), a path from the root, or a name; returns any other text unchanged. */
function v1Place(rule: Errors, raw: string, isWrapped: boolean): string {
  if (raw.startsWith('#')) return v1Fragment(rule, raw.slice(1), isWrapped);
  if (/^(?:\/|\\\/)/.test(raw) || raw === '') return v1Pointer(rule, raw, isWrapped);
  const text = rule.spellings.text(raw);
  const [wrapper] = rule.v1.path([], isWrapped);
  return wrapper === undefined || !/^\$[.[]/.test(raw) ? text : `$.${spelledText(wrapper)}${text.slice(1)}`;
}

/** Converts a pointer in a fragment: decoded, if it is percent-encoded, and encoded again. */
function v1Fragment(rule: Errors, raw: string, isWrapped: boolean): string {
  const isEncoded = raw.includes('%') && raw.length < MAX_ANY_BYTES;
  const pointer = isEncoded ? percentDecoded(stringText(raw)) : undefined;
  if (pointer === undefined) return `#${v1Pointer(rule, raw, isWrapped)}`;
  const spelled = spelledText(pointer);
  const v1 = v1Pointer(rule, spelled, isWrapped);
  return v1 === spelled ? `#${raw}` : spelledText(fragmentOf(stringText(v1)));
}

/** Serializers of some languages write `\/`, others escape all but ASCII: a token that is the same in V1 keeps its spelling. */
function v1Pointer({ v1, spellings }: Errors, raw: string, isWrapped: boolean): string {
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
    // No rule has such a long name, and decoding megabytes of escapes would block the event loop.
    const isLong = token.length > v1.spelledLength;
    const texts = isLong ? [token] : stringText(token).split('/');
    for (const text of texts) names.push(isLong ? text : tokenName(text));
    if (texts.length === 1) asSent.set(names.at(-1) ?? '', token);
    start = isLast ? raw.length + 1 : next + 1;
  }
  if (names[0] !== '') return raw;
  const tokens = spellings
    .pointer(names.slice(1), isWrapped)
    .map((name) => slash + (asSent.get(name) ?? spelledText(pointerToken(name))));
  return tokens.join('') + (end === raw.length ? '' : slash + raw.slice(end + 1));
}

/** Returns where the first `count` tokens of a pointer end: at a slash, or at its end. */
function endOf(pointer: string, count: number): number {
  let end = 0;
  for (let token = 0; token < count; token += 1) {
    end = pointer.indexOf('/', end + 1);
    if (end === -1) return pointer.length;
  }
  return end;
}

/** True if the character at `at` of a JSON string is escaped by a backslash before it. */
function isEscaped(raw: string, at: number): boolean {
  let first = at;
  while (raw.charCodeAt(first - 1) === BACKSLASH) first -= 1;
  return (at - first) % 2 === 1;
}

/** A query parameter with another name in V1. */
interface RenamedParameter {
  readonly v2: string;
  readonly v1: string;
}

/** Converts the name of a query parameter, and returns both names; undefined if V1 uses the same name. */
function v1Parameter(rule: Errors, run: Run, parameter: DraftMember): RenamedParameter | undefined {
  let renamed: RenamedParameter | undefined;
  rewriteString(rule, run, parameter, (raw) => {
    const text = stringText(raw);
    const name = rule.query?.v1Name(text) ?? text;
    if (name === text) return rule.spellings.text(raw);
    renamed = { v2: raw, v1: spelledText(name) };
    return renamed.v1;
  });
  return renamed;
}

/** Replaces V2's sentence if the rule has one for it; otherwise converts the names in it to V1's. */
function v1Text(rule: Errors, raw: string, named = raw): string {
  const sentence = raw.length > rule.detailLength ? undefined : rule.details.get(stringText(raw));
  return sentence === undefined ? rule.spellings.text(named) : spelledText(sentence);
}

/** For an error about a parameter, only that parameter is renamed. It may be a common word, such as `limit`, so other texts keep it. */
function withoutName(raw: string, { v2, v1 }: RenamedParameter): string {
  const [first = '', ...rest] = raw.split(v2);
  const pieces = [first];
  // Only the last unit of the text so far is tested: testing all of it for each name would take quadratic time.
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
  declared: ErrorForm | undefined,
): readonly CompiledResponseRule[] {
  const form: ErrorForm = declared ?? ERROR_FORMS['json-api'];
  const details = new Map(Object.entries(rule.details));
  const rules = namedRules(request);
  const v1 = new V1Names(rules);
  const base = responseBase({ change, rule: rule.rule });
  const common = {
    ...base,
    v1,
    spellings: new NameSpellings(rules, v1),
    details,
    detailLength: 6 * Math.max(0, ...[...details.keys()].map((detail) => detail.length)),
    parameter: names.add('parameter'),
    query,
  };
  const ids = (path: Path): readonly number[] => path.map((name) => names.add(name));
  const compiled = (place: Omit<Errors, keyof typeof common>): CompiledResponseRule => {
    const { path, pointer } = place;
    const whole = { ...common, ...place };
    return {
      ...base,
      status: rule.status,
      path,
      readsTexts: true,
      reach: path.length + Math.max(1, pointer.length),
      open: ({ objects }) => {
        for (const id of pointer.slice(0, -1)) objects[id] = true;
      },
      apply: (run, error) => {
        errors(whole, run, error);
        return undefined;
      },
    };
  };
  const ofEach = compiled({
    path: [...ids(form.list), -1],
    pointer: ids(form.pointer),
    sentences: ids(form.text),
  });
  const ofAll = { path: [], pointer: [], sentences: ids(form.about) };
  const rails = new RailsErrors(rules, v1);
  if (form.isKeyed === true) {
    const keyed = { id: names.add(form.list[0] ?? ''), errors: rails };
    return [compiled({ ...ofAll, keyed })];
  }
  if (form.about.length > 0) return [compiled(ofAll), ofEach];
  if (declared !== undefined) return [ofEach];
  const members = [...ANY_MEMBERS.map((name) => [name, name] as const), ...namesInV2(rules, common)];
  const any: AnyErrors = {
    members: new Map(members.map(([name, own]) => [names.add(name), names.add(own)])),
    list: names.add(form.list[0] ?? ''),
    pointer: form.pointer[0],
    texts: form.text,
    errors: rails,
  };
  // Before the rules of the form, which ignore a member whose content has changed.
  return [...[[], [-1]].map((path) => compiled({ ...ofAll, path, any })), ofEach];
}

/** Top-level members for errors in the bodies of common frameworks, validators and gateways. */
const ANY_MEMBERS: readonly string[] = (
  '_embedded cause description detail details error error_description error_message errorMessage errors exception fault field ' +
  'field_errors fieldErrors fields instancePath invalid-params invalid_params invalidParams issues loc message messages msg name ' +
  'non_field_errors param parameter path pointer problems property propertyPath reason title validation validation_errors ' +
  'validationErrors violations'
).split(' ');

/** The top-level names of V2's body by which errors may be keyed, in all spellings, with V1's. */
function namesInV2(
  rules: readonly NamedRule[],
  { spellings }: Pick<Errors, 'spellings'>,
): readonly (readonly [string, string])[] {
  return placesInV2(rules).flatMap(([name = '', ...rest]) =>
    [name, camel(name), camel(`_${name}`), name.replaceAll('_', '-')].flatMap((spelling) => {
      const v1 = rest.length === 0 ? spellings.text(spelling) : spelling;
      return v1 === spelling && rest.length === 0 ? [] : [[spelling, v1] as const];
    }),
  );
}

/** Names and sentences for restoring errors to V1. */
interface AnyNames {
  readonly isWrapped: boolean;
  readonly spellings: NameSpellings;
  readonly place: (raw: string) => string;
  readonly text: (raw: string, named: string) => string;
}

/** Members of an error that name the attribute it is about. */
const PLACES: readonly string[] =
  'attribute dataPath field instancePath key loc location name param parameter path pointer property propertyPath'.split(
    ' ',
  );

/** Those whose value may be a list of the names on a path. */
const PATHS: ReadonlySet<string> = new Set(['dataPath', 'loc', 'location', 'path']);

/** Members with values of the client, words for programs, and references to other documents. */
const OPAQUE: ReadonlySet<string> = new Set(
  (
    'about actual attemptedValue attempted_value class code enum expected given help href id input instance keyword logref objectName ' +
    'received rejectedValue rejected_value requestId request_id schema schemaPath see stack status timestamp trace traceId trace_id ' +
    'type uri url value values'
  ).split(' '),
);

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
 * Restores V1's names in Rails errors: attributes as keys of an object (`{"items[0].name":["is blank"]}`), or humanised at the start of
 * each sentence of a list (`["Highlight type is blank"]`).
 */
export class RailsErrors {
  private readonly v1: V1Names;
  /** V1's humanised names by V2's; undefined if several V1 names fit. */
  private readonly sentences = new Map<string, string | undefined>();
  private readonly longest: number;
  private readonly walker = new JsonWalker(MAX_LEVELS);

  /** `rules` are the request rules of the operation, in order. */
  constructor(rules: readonly NamedRule[], v1: V1Names) {
    this.v1 = v1;
    for (const place of placesInV2(rules))
      for (let from = 0; from < place.length; from += 1) this.addSentence(place.slice(from), from === 0);
    this.longest = Math.max(0, ...[...this.sentences.keys()].map((name) => name.length));
  }

  /**
   * Returns the edits of a JSON text with errors. `text` converts one sentence, as spelled in JSON; it gets the sentence and the same
   * with V1's name at its start.
   */
  edits(errors: Uint8Array, text: (raw: string, named: string) => string): readonly Edit[] {
    const edits: Edit[] = [];
    const objects: Entry[][] = [];
    const leave = (node: WalkedNode): void => {
      if (node.kind === 'object') edits.push(...mergedKeys(errors, objects.pop() ?? [], edits));
    };
    this.walker.walk(errors, {
      enter: (node) => {
        const name = node.path.at(-1);
        if (typeof name === 'string') this.addEntry(objects.at(-1), node, name);
        if (node.kind === 'object') objects.push([]);
        if (node.kind !== 'string') return true;
        const raw = textOfBytes(errors.subarray(node.start + 1, node.end - 1));
        const isWhole = node.path.every((step) => typeof step === 'number');
        const changed = text(raw, isWhole ? this.sentence(raw) : raw);
        if (changed !== raw)
          edits.push({ start: node.start + 1, end: node.end - 1, insert: bytesOfText(changed) });
        return true;
      },
      leave,
    });
    return outermost(edits);
  }

  /**
   * Returns the edits of the member `root` of a body with errors in a form that the rule book does not name: names as keys of objects,
   * also of objects that V1 does not have, paths as lists, and names and paths in texts.
   */
  anywhere(value: Uint8Array, root: string, names: AnyNames): readonly Edit[] {
    const edits: Edit[] = [];
    const objects: Entry[][] = [];
    const inside = new Map<number, Inside>();
    this.walker.walk(value, {
      enter: (node) => {
        const { kind, path, start, end } = node;
        const name = path.at(-1);
        const about = path.findLast((step) => typeof step === 'string') ?? root;
        if (typeof name === 'string') this.addEntry(objects.at(-1), node, name, names.place(name));
        if (typeof name === 'string' && OPAQUE.has(name)) return false;
        if (kind === 'object') objects.push([]);
        if (kind === 'array' && PATHS.has(about)) {
          const turned = pathInV1(value.subarray(start, end), names);
          if (turned !== undefined) edits.push({ start, end, insert: bytesOfText(turned) });
          return turned === undefined;
        }
        if (kind !== 'string') return true;
        const raw = textOfBytes(value.subarray(start + 1, end - 1));
        const isPlace = /^#?(?:\/|\\\/)\S*$/.test(raw) || /^\$[.[]\S*$/.test(raw);
        const changed = isPlace ? names.place(raw) : names.text(raw, this.sentence(raw));
        if (changed !== raw) edits.push({ start: start + 1, end: end - 1, insert: bytesOfText(changed) });
        return true;
      },
      leave: ({ kind, path, start }) => {
        if (kind !== 'object') return;
        const entries = objects.pop() ?? [];
        const steps = [root, ...path.filter((step) => typeof step === 'string')];
        const opened = this.opened(entries, steps, inside);
        inside.set(start, {
          members: entries,
          v1: entries.flatMap((entry) => opened.get(entry) ?? [entry.v1]),
        });
        for (const { node } of opened.keys()) edits.push(...withoutBraces(value, node));
        const kept = entries.filter((entry) => !opened.has(entry));
        edits.push(...mergedKeys(value, kept, edits));
      },
    });
    return outermost(edits);
  }

  /**
   * The members of an object that only V2 has, because a rule nests its contents, with V1's names. Their errors move to the surrounding
   * object, unless it has a member with the same name.
   */
  private opened(
    entries: readonly Entry[],
    steps: readonly string[],
    inside: ReadonlyMap<number, Inside>,
  ): ReadonlyMap<Entry, readonly string[]> {
    const opened = new Map<Entry, readonly string[]>();
    const taken = new Set<string>();
    for (const entry of entries) {
      const { members, v1 } =
        (entry.node.kind === 'object' ? inside.get(entry.node.start) : undefined) ?? EMPTY;
      const path = [...steps, entry.name];
      const isOpened = (child: Entry): boolean =>
        path.some((_, from) => {
          const place = [...path.slice(from), child.name];
          const turned = this.v1.loosely(place);
          const isAround = turned.length === place.length - 1 && turned.at(-1) === child.v1;
          return isAround && !turned.includes(entry.name);
        });
      const isTaken = v1.some(
        (name) =>
          taken.has(name) ||
          entries.some((other) => other !== entry && (other.name === name || other.v1 === name)),
      );
      if (members.length === 0 || isTaken || new Set(v1).size < v1.length || !members.every(isOpened))
        continue;
      opened.set(entry, v1);
      for (const name of v1) taken.add(name);
    }
    return opened;
  }

  /** Returns the sentence with V1's name if it starts with a name of V2. */
  private sentence(raw: string): string {
    for (let end = Math.min(this.longest, raw.length); end > 0; end -= 1) {
      if (end < raw.length && raw.charCodeAt(end) !== SPACE) continue;
      const name = this.sentences.get(raw.slice(0, end));
      if (name !== undefined) return spelledText(name) + raw.slice(end);
    }
    return raw;
  }

  /** A single plain word could be the name of another object, so it counts only if it is the whole place. */
  private addSentence(place: readonly string[], isWhole: boolean): void {
    const name = humanised(place);
    const v1 = humanised(this.v1.loosely(place));
    if (name === v1 || (!isWhole && !name.includes(' '))) return;
    const known = this.sentences.has(name) && this.sentences.get(name) !== v1;
    this.sentences.set(name, known ? undefined : v1);
  }

  private addEntry(
    entries: Entry[] | undefined,
    node: WalkedNode,
    name: string,
    v1 = this.v1.attribute(name),
  ): void {
    const { kind, keyStart, keyEnd, start, end } = node;
    const before = entries?.at(-1)?.node.end ?? keyStart;
    entries?.push({
      node: { kind, keyStart, keyEnd, start, end },
      name,
      v1,
      before,
    });
  }
}

/** The members of an object of errors, and V1's names for the members that replace it. */
interface Inside {
  readonly members: readonly Entry[];
  readonly v1: readonly string[];
}

const EMPTY: Inside = { members: [], v1: [] };

/** Returns the edits in order, without those inside another edit, which already includes them. */
function outermost(edits: readonly Edit[]): readonly Edit[] {
  let end = 0;
  return edits
    .toSorted((one, other) => one.start - other.start || other.end - one.end)
    .filter((edit) => {
      const isFree = edit.start >= end;
      if (isFree) end = edit.end;
      return isFree;
    });
}

/** The edits that remove the name and the braces of an object that has members. */
function withoutBraces(value: Uint8Array, node: Entry['node']): readonly Edit[] {
  const first = value.findIndex((byte, at) => at > node.start && byte > SPACE);
  return [
    { start: node.keyStart, end: first, insert: new Uint8Array() },
    { start: node.end - 1, end: node.end, insert: new Uint8Array() },
  ];
}

/** Converts a list of names and indexes to V1's, as JSON; undefined for any other list, and if nothing changes. */
function pathInV1(list: Uint8Array, { isWrapped, spellings }: AnyNames): string | undefined {
  const given: string[] = [];
  const indexes = new Set<string>();
  let isPath = true;
  new JsonWalker(1).walk(list, {
    enter: ({ kind, path, start, end }) => {
      if (path.length === 0) return true;
      const text = textOfBytes(list.subarray(start, end));
      if (kind === 'string') given.push(stringText(text.slice(1, -1)));
      else if (/^\d{1,9}$/.test(text)) {
        given.push(text);
        indexes.add(text);
      } else isPath = false;
      return false;
    },
  });
  const roots = given[0] === 'body' ? 1 : 0;
  const names = given.slice(roots);
  const turned = isPath ? spellings.pointer(names, isWrapped) : names;
  if (isSameList(turned, names)) return undefined;
  const steps = [...given.slice(0, roots), ...turned];
  return `[${steps.map((step) => (indexes.has(step) ? step : JSON.stringify(step))).join(',')}]`;
}

const SPACE = 0x20;

/** The edits that rename members to V1's names. Lists of members that share one V1 name become one list, with the edits `within` them. */
function mergedKeys(errors: Uint8Array, entries: readonly Entry[], within: readonly Edit[]): readonly Edit[] {
  const edits: Edit[] = [];
  for (const named of Map.groupBy(entries, ({ v1 }) => v1).values()) {
    const [first, ...others] = named;
    const isRenamed = named.some(({ name, v1 }) => name !== v1);
    if (first === undefined || !isRenamed) continue;
    const isMerged = named.every(({ node }) => node.kind === 'array');
    // Neither value is a list: dropping one would lose an error.
    if (others.length > 0 && !isMerged) continue;
    if (first.name !== first.v1) {
      const { keyStart, keyEnd } = first.node;
      edits.push({ start: keyStart, end: keyEnd, insert: bytesOfText(JSON.stringify(first.v1)) });
    }
    if (others.length === 0) continue;
    const at = first.node.end - 1;
    const added = others
      .map(({ node }) => elementsOf(errors, node, within))
      .filter((elements) => elements.length > 0)
      .flatMap((elements, index) =>
        index > 0 || elementsOf(errors, first.node, within).length > 0 ? [COMMA, elements] : [elements],
      );
    edits.push({ start: at, end: at, insert: concatBytes(added) });
    for (const { before, node } of others)
      edits.push({ start: before, end: node.end, insert: new Uint8Array() });
  }
  return edits;
}

/** The elements of a list with the edits within it, without brackets and surrounding white space. */
function elementsOf(errors: Uint8Array, { start, end }: Entry['node'], within: readonly Edit[]): Uint8Array {
  const inside = outermost(within.filter((edit) => edit.start > start && edit.end < end)).map((edit) => ({
    ...edit,
    start: edit.start - start - 1,
    end: edit.end - start - 1,
  }));
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
