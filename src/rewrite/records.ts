import type { Edit } from '../json/edit.ts';
import { pointerSteps, tokenName } from '../json/pointer.ts';
import type { JsonFault } from '../json/scanner.ts';
import type { RequestRuleName } from '../rules/rule.ts';
import {
  currentName,
  currentPointer,
  type Draft,
  type DraftMember,
  type DraftObject,
  objectPointer,
  originPointer,
  pointerAside,
} from './draft.ts';

/** One edit, for people: its change and rule, and its place in the V1 request and in the V2 request. */
export interface EditRecord {
  readonly change: string;
  /** `transform` for the module of the operation. */
  readonly rule: RequestRuleName | 'transform';
  /** RFC 6901 pointer into the V1 body; for a query parameter a question mark and its name. */
  readonly from?: string;
  /** RFC 6901 pointer into the V2 body, or the name of a parameter like `from`; absent if V2 does not get it. */
  readonly path?: string;
  /** The header field as the client named it, for an edit of the header section, which has no pointers; the new one, where the client had none. */
  readonly header?: string;
  /** The header field as V2 reads it; absent if V2 does not get it, and for any other edit. */
  readonly to?: string;
  /** The reason for a special case: `conflict`, `sibling`, `duplicate`, `value`, `unmapped`, `already-flat`, `byte-order-mark`. */
  readonly note?: string;
}

/**
 * Maximum characters of pointers recorded for one body, where each record counts for some: a body of a million members beside the
 * wrapper must not become a log line ten times its size.
 */
const MAX_POINTER_CHARACTERS = 32_768;
const RECORD_CHARACTERS = 64;

/** The id in edits that drop the name of another method, in place of a change's. */
export const METHOD_OVERRIDE = 'method-override';

/** True for an edit of the query, whose places are parameters. */
export function isOfQuery({ from, path }: Pick<EditRecord, 'from' | 'path'>): boolean {
  return (from ?? path)?.startsWith('?') === true;
}

/** True for an edit of the body, whose places are pointers. */
export function isOfBody(record: Pick<EditRecord, 'from' | 'path' | 'header'>): boolean {
  return record.header === undefined && !isOfQuery(record);
}

/** Where an edit takes a value from and where it puts it, as people read it: a field name ends with its colon. */
export function placesOfEdit({
  from,
  path,
  header,
  to,
}: Pick<EditRecord, 'from' | 'path' | 'header' | 'to'>): { readonly from?: string; readonly path?: string } {
  if (header === undefined)
    return { ...(from === undefined ? {} : { from }), ...(path === undefined ? {} : { path }) };
  return { from: from ?? `${header}:`, ...(to === undefined ? {} : { path: `${to}:` }) };
}

/**
 * One operation of an RFC 6902 patch from the V1 body to the V2 body, or from V2's response to the client's. `value` is one that the
 * gateway created, or the value of a map that took the place of the client's, which says what that was.
 */
export interface PatchOperation {
  readonly op: 'add' | 'remove' | 'move' | 'copy' | 'replace';
  readonly path: string;
  readonly from?: string;
  readonly value?: unknown;
}

/** Why a body is refused: a failure code (`malformed-json`, `duplicate-member`, `wrapper-not-object`, …), and the position. */
export interface Refusal {
  readonly code: string;
  /** HTTP status of the response. */
  readonly status: number;
  /** One sentence that says which part is wrong and how to fix it. Never contains a value of the body. */
  readonly detail: string;
  /** RFC 6901 pointer into the V1 body, if a member is the cause. */
  readonly pointer?: string;
  /** Byte offset in the body, from 0, with line and column from 1, if a position is the cause. */
  readonly position?: { readonly offset: number; readonly line: number; readonly column: number };
  /** What is wrong at the position, in a few words. */
  readonly reason?: string;
}

/** The outcome of rewriting one body. `body` is for V2; if `unchanged`, it is the argument itself. */
export type Rewrite =
  | {
      readonly verdict: 'rewritten';
      readonly body: Uint8Array;
      /** Byte edits against the V1 body, in order, not overlapping. */
      readonly edits: readonly Edit[];
      readonly records: readonly EditRecord[];
      readonly patch: readonly PatchOperation[];
      /** Edits applied in addition to the recorded ones; if there are any, the patch is empty. */
      readonly omitted: number;
    }
  | {
      readonly verdict: 'unchanged';
      readonly body: Uint8Array;
      readonly records: readonly EditRecord[];
      /** The reason, such as the policy `flat: forward`. */
      readonly note?: string;
    }
  | { readonly verdict: 'refused'; readonly refusal: Refusal };

/** The change and the rule that a record names. */
export interface RuleName {
  readonly change: string;
  readonly rule: RequestRuleName;
}

/** The effect of the rules on a body: for people, and as a patch. */
export interface Records {
  readonly records: readonly EditRecord[];
  /** Empty if any edit was omitted, because an incomplete patch would be wrong. */
  readonly patch: readonly PatchOperation[];
  /** Number of edits that were applied but not recorded. */
  readonly omitted: number;
}

interface PendingRecord {
  readonly rule: RuleName;
  readonly from: string | undefined;
  readonly member: DraftMember | undefined;
  readonly note: string | undefined;
}

/** What a patch says of members that are joined. */
interface Joined {
  readonly before: string;
  readonly others: readonly DraftMember[];
  readonly places: readonly (string | undefined)[];
  readonly value: unknown;
}

/** Records the edits of the rules, for people (edit records) and for programs (an RFC 6902 patch). */
export class Recorder {
  private readonly draft: Draft;
  private readonly records: PendingRecord[] = [];
  private readonly patch: PatchOperation[] = [];
  /** Pointers removed since the last other operation. */
  private readonly removed = new Set<string>();
  /** Characters that may still be recorded. */
  private remainingCharacters = MAX_POINTER_CHARACTERS;
  private omitted = 0;
  /** True after a value that no patch can have: a number beyond those of JavaScript. */
  private isUnsayable = false;

  constructor(draft: Draft) {
    this.draft = draft;
  }

  /** Records that the body had no wrapper. */
  flat(rule: RuleName): void {
    this.records.push({ rule, from: '', member: undefined, note: 'already-flat' });
  }

  /** Called before the value of `member` becomes the body. */
  unwrap(rule: RuleName, member: DraftMember): void {
    const from = originPointer(this.draft, member);
    this.records.push({ rule, from, member: undefined, note: undefined });
    this.clearRemoved();
    this.patch.push({ op: 'move', from: currentPointer(this.draft, member) ?? '', path: '' });
  }

  /** Called before `member` is dropped; `note` gives the reason if no rule requires it. */
  drop(rule: RuleName, member: DraftMember, note?: string): void {
    const { tape } = this.draft;
    for (let { node } = member; node !== member.last; node = tape.next(node))
      this.dropMember(rule, member, node, note);
    this.dropMember(rule, member, member.last, note);
  }

  private dropMember(rule: RuleName, member: DraftMember, node: number, note: string | undefined): void {
    if (!this.record(rule, member, note, originPointer(this.draft, member, node))) return;
    const path = currentPointer(this.draft, member, node);
    // In a patch, a repeated name is one member: it was removed with the first.
    if (note === 'duplicate' || path === undefined || this.removed.has(path)) return;
    this.removed.add(path);
    this.patch.push({ op: 'remove', path });
  }

  /** Records that an object was created in `object`; `token` is its escaped name. */
  make(object: DraftObject, token: string): void {
    this.patch.push({ op: 'add', path: `${objectPointer(this.draft, object) ?? ''}/${token}`, value: {} });
  }

  /** Called after `member` was moved or renamed; `before` is its previous pointer. */
  move(rule: RuleName, member: DraftMember, before: string, note?: string): void {
    if (!this.record(rule, member, note)) return;
    this.clearRemoved();
    this.patch.push({ op: 'move', from: before, path: currentPointer(this.draft, member) ?? '' });
  }

  /** Called after `member` was added with `value`. */
  add(rule: RuleName, member: DraftMember, value: unknown): void {
    if (!this.record(rule, member)) return;
    this.clearRemoved();
    this.say({ op: 'add', path: currentPointer(this.draft, member) ?? '', value });
  }

  /** Records that a member moved within the patch, to a place from which its next move is possible. */
  moveAside(from: string, path: string): void {
    this.clearRemoved();
    this.patch.push({ op: 'move', from, path });
  }

  /** Called after the value of `member` was replaced by `value`. */
  replace(rule: RuleName, member: DraftMember, value: unknown): void {
    if (this.record(rule, member)) this.rewrite(member, value);
  }

  /** Records that a value which the rule cannot convert was kept. */
  keep(rule: RuleName, member: DraftMember): void {
    this.record(rule, member, 'value');
  }

  /** Called after the value of `member`, before at `before`, became the one element of a list, or an empty one. */
  enlist(rule: RuleName, member: DraftMember, before: string, isEmpty: boolean): void {
    if (!this.record(rule, member)) return;
    this.clearRemoved();
    const path = currentPointer(this.draft, member) ?? '';
    const { holder } = member;
    const aside =
      path === before && holder !== undefined
        ? pointerAside(this.draft, holder, currentName(this.draft, member))
        : before;
    if (isEmpty) this.patch.push({ op: 'remove', path: before });
    else if (path === before) this.moveAside(before, aside);
    this.patch.push({ op: 'add', path, value: [] });
    if (!isEmpty) this.patch.push({ op: 'move', from: aside, path: `${path}/0` });
  }

  /** Called after `others` were joined to `first`, whose pointer before was `before`, and theirs `places`. */
  join(rule: RuleName, first: DraftMember, { before, others, places, value }: Joined): void {
    if (this.remainingCharacters <= 0) {
      this.omitted += 1 + others.length;
      return;
    }
    for (const member of [first, ...others])
      this.write({ rule, from: originPointer(this.draft, member), member: first, note: undefined });
    for (const path of places) if (path !== undefined) this.patch.push({ op: 'remove', path });
    this.moveInPatch(before, first);
    this.rewrite(first, value);
  }

  /** Called after `member`, whose pointer before was `before`, was split; `made` are the members for all parts but the first. */
  split(
    rule: RuleName,
    member: DraftMember,
    before: string,
    made: readonly DraftMember[],
    values: readonly unknown[],
  ): void {
    if (this.remainingCharacters <= 0) {
      this.omitted += 1 + made.length;
      return;
    }
    this.moveInPatch(before, member);
    for (const [index, part] of [member, ...made].entries()) {
      this.write({ rule, from: originPointer(this.draft, member), member: part, note: undefined });
      if (index > 0)
        this.patch.push({ op: 'add', path: currentPointer(this.draft, part) ?? '', value: null });
      this.rewrite(part, values[index]);
    }
  }

  private moveInPatch(before: string, member: DraftMember): void {
    this.clearRemoved();
    const path = currentPointer(this.draft, member) ?? '';
    if (path !== before) this.patch.push({ op: 'move', from: before, path });
  }

  /** Says in the patch that a member has another value: `withoutValues` takes it away again. */
  private rewrite(member: DraftMember, value: unknown): void {
    this.say({ op: 'replace', path: currentPointer(this.draft, member) ?? '', value });
  }

  private say(operation: PatchOperation & { readonly value: unknown }): void {
    const { value } = operation;
    if (typeof value === 'number' && !Number.isFinite(value)) this.isUnsayable = true;
    this.patch.push(operation);
  }

  /** Returns the records, with pointers into the current body. */
  finish(): Records {
    const records = this.records.map((record) => this.resolve(record));
    const isWhole = this.omitted === 0 && !this.isUnsayable;
    return { records, patch: isWhole ? this.patch : [], omitted: this.omitted };
  }

  private clearRemoved(): void {
    // Clearing a set, even an empty one, allocates a new table.
    if (this.removed.size > 0) this.removed.clear();
  }

  /** Records an edit of `member`; false when there is no more room, and it is counted as omitted. */
  private record(
    rule: RuleName,
    member: DraftMember,
    note?: string,
    from = originPointer(this.draft, member),
  ): boolean {
    if (this.remainingCharacters <= 0) {
      this.omitted += 1;
      return false;
    }
    this.write({ rule, from, member, note });
    return true;
  }

  private write(record: PendingRecord): void {
    this.remainingCharacters -= RECORD_CHARACTERS + (record.from?.length ?? 0);
    this.records.push(record);
  }

  private resolve({ rule: { change, rule }, from, member, note }: PendingRecord): EditRecord {
    const path = member === undefined ? '' : currentPointer(this.draft, member);
    const record: { -readonly [Key in keyof EditRecord]: EditRecord[Key] } = { change, rule };
    if (from !== undefined) record.from = from;
    if (path !== undefined) record.path = path;
    if (note !== undefined) record.note = note;
    return record;
  }
}

/** Refuses a body that is not JSON in UTF-8, or is nested deeper than `depth` levels. */
export function malformed(fault: JsonFault, depth: number): Refusal {
  const { offset, line, column, message } = fault;
  const found = { status: 400, position: { offset, line, column }, reason: message };
  if (fault.code === 'depth') return { ...tooDeep(depth), ...found };
  const detail =
    fault.code === 'utf-8'
      ? 'The body is not UTF-8: send JSON in UTF-8.'
      : 'The body is not valid JSON: send one JSON object.';
  return { code: 'malformed-json', detail, ...found };
}

/** True for the outcome for a body that is not JSON in UTF-8, or is nested too deeply, whatever the policy does with it. */
export function isMalformed(outcome: Rewrite): boolean {
  if (outcome.verdict === 'rewritten') return false;
  const code = outcome.verdict === 'refused' ? outcome.refusal.code : outcome.note;
  return code === 'malformed-json' || code === 'too-deep';
}

/** Refuses a body that is nested deeper than `depth` levels. */
export function tooDeep(depth: number): Refusal {
  return { code: 'too-deep', status: 400, detail: `The body is nested too deep: at most ${depth} levels.` };
}

/** The sentence of a refusal, with its position and reason if it has them. */
export function refusalText({
  detail,
  position,
  reason,
}: Pick<Refusal, 'detail' | 'position' | 'reason'>): string {
  if (position === undefined) return detail;
  const { offset, line, column } = position;
  const place = `Byte ${offset}, line ${line}, column ${column}`;
  return `${detail} ${place}${reason === undefined ? '' : `: ${reason}`}.`;
}

/** What was done to a body in one of several steps. */
interface PatchedStep {
  readonly verdict?: string;
  readonly records?: readonly Pick<EditRecord, 'from' | 'path' | 'header' | 'note'>[] | undefined;
  readonly patch?: readonly PatchOperation[] | undefined;
  readonly omitted?: number | undefined;
}

/** The patch of steps that were taken one after the other; empty where one of them has none, because the rest leads elsewhere. */
export function joinedPatch(steps: readonly PatchedStep[]): readonly PatchOperation[] {
  const areSaid = steps.every(
    ({ records = [], patch = [], omitted = 0 }) =>
      omitted === 0 &&
      (patch.length > 0 ||
        records.every((record) => !isOfBody(record) || QUIET_NOTES.has(record.note ?? ''))),
  );
  return areSaid ? steps.flatMap(({ patch = [] }) => patch) : [];
}

/** The notes of what no patch says, since the value is the same. */
const QUIET_NOTES: ReadonlySet<string> = new Set(['already-flat', 'byte-order-mark', 'duplicate', 'value']);

/**
 * Returns the patch without the values that tell something of the V1 body, the same list if there are none. Similar requests share
 * their patches, and so do the results.
 */
export function withoutValues(patch: readonly PatchOperation[]): readonly PatchOperation[] {
  return patch.some(({ op }) => op === 'replace')
    ? patch.map((operation) =>
        operation.op === 'replace' ? { op: 'replace', path: operation.path } : operation,
      )
    : patch;
}

/** An attribute of a V1 request that V2 no longer has under that name or in that place. */
export interface DeprecatedAttribute {
  /** Member names joined by dots, inside the wrapper: `property.suburb`. */
  readonly attribute: string;
  /** A sentence for people: how the attribute changed. */
  readonly message: string;
}

/** Returns the deprecated attributes in a request with these records, each once, in the order of the rules. */
export const deprecatedAttributes = listedOnce(isAttribute);

/** Those that V1 itself called deprecated: the stripped ones. Others only have another name or place in V2. */
export const deprecatedInV1 = listedOnce(isStripped);

/** Whether the request had the wrapper, so that its pointers begin with it. */
export function isWrapped(records: readonly EditRecord[]): boolean {
  return wrapperOf(records) !== '';
}

/** Similar requests share their records, so each list is created once. */
function listedOnce(
  isListed: (record: EditRecord) => boolean,
): (records: readonly EditRecord[]) => readonly DeprecatedAttribute[] {
  const lists = new WeakMap<readonly EditRecord[], readonly DeprecatedAttribute[]>();
  return (records) => {
    const list = lists.get(records) ?? listOf(records, isListed);
    lists.set(records, list);
    return list;
  };
}

function isStripped(record: EditRecord): boolean {
  return record.rule === 'strip' && isAttribute(record);
}

/** The name of another method in a form is none of V1's attributes. */
function isAttribute({ change }: EditRecord): boolean {
  return change !== METHOD_OVERRIDE;
}

function listOf(
  records: readonly EditRecord[],
  isListed: (record: EditRecord) => boolean,
): readonly DeprecatedAttribute[] {
  const wrapper = wrapperOf(records);
  const messages = new Map<string, string>();
  for (const record of records) {
    if (!isListed(record)) continue;
    const change = changeOf(record);
    if (change === undefined || record.from === undefined) continue;
    const attribute = dottedName(record.from.slice(wrapper.length));
    if (!messages.has(attribute)) messages.set(attribute, `${attribute} is deprecated: it ${change} in V2.`);
  }
  return [...messages].map(([attribute, message]) => ({ attribute, message }));
}

function wrapperOf(records: readonly EditRecord[]): string {
  const unwrapped = records.find(({ rule, note }) => rule === 'unwrap' && note !== 'already-flat');
  return unwrapped?.from ?? '';
}

/** How the member changed; undefined for records that do not concern a deprecated attribute, such as those of the query. */
function changeOf(record: EditRecord): string | undefined {
  const { rule, path, note } = record;
  if (!isOfBody(record)) return undefined;
  if (rule === 'strip' || rule === 'only') return note === undefined ? 'is gone' : undefined;
  const tokens = path?.split('/') ?? [];
  if (rule === 'rename' && path !== undefined) return `is called ${tokenName(tokens.at(-1) ?? '')}`;
  if (rule === 'move' && path !== undefined) return `is ${tokens.slice(1).map(tokenName).join('.')}`;
  if (rule === 'nest' && path !== undefined) return `belongs in the ${tokenName(tokens.at(-2) ?? '')} object`;
  return undefined;
}

function dottedName(pointer: string): string {
  return pointerSteps(pointer).join('.');
}
