import { pointerToken } from '../json/pointer.ts';
import {
  currentName,
  currentPointer,
  type Draft,
  type DraftMember,
  type DraftObject,
  hasRepeatedNames,
  objectAround,
  objectPointer,
  originObjectPointer,
  originPointer,
  originToken,
  pointerAside,
} from './draft.ts';
import type { RecordedEdit, PatchOperation, Records, RuleName } from './records.ts';

const RECORD_CHARACTERS = 64;

/** How much of the effect of rules on one body is recorded. */
export interface RecorderLimits {
  /** Maximum records. */
  readonly records: number;
  /** Maximum characters of pointers; each record counts for a few more. */
  readonly characters: number;
  /** True if a patch may have values that rules converted. */
  readonly saysValues: boolean;
}

/** For requests: a body of a million members beside the wrapper must not become a log line ten times its size. */
export const REQUEST_RECORDS: RecorderLimits = {
  records: Infinity,
  characters: 32_768,
  saysValues: true,
};

/** Maximum records of one response: a page of a list can have thousands of elements, too many for a log line. */
export const MAX_RECORDS = 64;

/** Whether a list of records takes one more: beyond `most`, only the first of each rule, because reports count by rule. */
export function takesRecord(list: readonly RuleName[], { change, rule }: RuleName, most: number): boolean {
  return list.length < most || !list.some((one) => one.change === change && one.rule === rule);
}

/** Maximum operations in a patch for the change of one value; if it needs more, there is no patch. */
const MAX_STEPS = 256;

/** For responses, whose patches contain no values of V2. */
export const RESPONSE_RECORDS: RecorderLimits = {
  records: MAX_RECORDS,
  characters: Infinity,
  saysValues: false,
};

interface PendingRecord<Rule extends string> extends RuleName<Rule> {
  readonly from: string | undefined;
  readonly member: DraftMember | undefined;
  readonly note: string | undefined;
}

/** The patch operations for members that are joined. */
interface Joined {
  readonly before: string;
  readonly others: readonly DraftMember[];
  readonly places: readonly string[];
  readonly value: unknown;
}

/** Records the edits of the rules for one body, for people (edit records) and, if asked, for programs (an RFC 6902 patch). */
export class Recorder<Rule extends string = string> {
  readonly makesPatch: boolean;
  private readonly draft: Draft;
  private readonly limits: RecorderLimits;
  private readonly records: PendingRecord<Rule>[] = [];
  private readonly patch: PatchOperation[] = [];
  /** Pointers removed since the last other operation. */
  private readonly removed = new Set<string>();
  /** Characters that may still be recorded. */
  private remainingCharacters: number;
  /** Number of edits beyond those that are recorded. */
  omitted = 0;
  /** True after a change that the patch cannot express: a number outside JavaScript's range, or a value of V2. */
  private isUnsayable = false;
  /** Objects without repeated names, and whose containers have none either. */
  private readonly plain = new Set<DraftObject>();
  /** The object of the previous record: most records are about members of one object. */
  private lastHome: { readonly object: DraftObject; readonly pointer: string } | undefined;
  private lastHolder: { readonly object: DraftObject; readonly pointer: string | undefined } | undefined;

  constructor(draft: Draft, limits: RecorderLimits, makesPatch = true) {
    this.draft = draft;
    this.limits = limits;
    this.makesPatch = makesPatch;
    this.remainingCharacters = limits.characters;
  }

  get length(): number {
    return this.records.length;
  }

  /** Called after edits of an object that no rule names: a pointer of a patch cannot pass a name that occurs twice. */
  reached(object: DraftObject): void {
    if (!this.makesPatch) return;
    for (
      let at: DraftObject | undefined = object;
      at !== undefined && !this.isUnsayable;
      at = objectAround(at)
    ) {
      if (this.plain.has(at)) return;
      this.plain.add(at);
      this.isUnsayable = hasRepeatedNames(this.draft, at);
    }
  }

  /** True if a patch can express all edits. */
  get isPatchable(): boolean {
    return this.omitted === 0 && !this.isUnsayable;
  }

  /** Records that the body had no wrapper. */
  flat(rule: RuleName<Rule>): void {
    this.push(rule, '', undefined, 'already-flat');
  }

  /** Called before the value of `member` becomes the body. */
  unwrap(rule: RuleName<Rule>, member: DraftMember): void {
    const from = originPointer(this.draft, member);
    this.push(rule, from, undefined, undefined);
    this.clearRemoved();
    this.say({ op: 'move', from: currentPointer(this.draft, member) ?? '', path: '' });
  }

  /** Called after the body became the value of `member`. A patch cannot move a value into itself. */
  wrap(rule: RuleName<Rule>, member: DraftMember): void {
    this.isUnsayable = true;
    this.push(rule, '', member, undefined);
  }

  /** Called before `member` is dropped; `note` gives the reason if no rule requires it. */
  drop(rule: RuleName<Rule>, member: DraftMember, note?: string): void {
    const { tape } = this.draft;
    for (let { node } = member; node !== member.last; node = tape.next(node))
      this.dropMember(rule, member, node, note);
    this.dropMember(rule, member, member.last, note);
  }

  private dropMember(
    rule: RuleName<Rule>,
    member: DraftMember,
    node: number,
    note: string | undefined,
  ): void {
    if (!this.record(rule, member, note, member, node)) return;
    // In a patch, a repeated name is one member: it was removed with the first.
    if (!this.makesPatch || note === 'duplicate') return;
    const path = currentPointer(this.draft, member, node);
    if (path === undefined || this.removed.has(path)) return;
    this.removed.add(path);
    this.patch.push({ op: 'remove', path });
  }

  /** Adds to the patch that `member` was removed from `object` because it became empty. */
  remove(object: DraftObject, member: DraftMember): void {
    if (!this.makesPatch) return;
    const around = objectPointer(this.draft, object) ?? '';
    this.say({ op: 'remove', path: `${around}/${pointerToken(currentName(this.draft, member))}` });
  }

  /** Adds to the patch that an object was created in `object`; `token` is its escaped name. */
  make(object: DraftObject, token: string): void {
    if (!this.makesPatch) return;
    this.say({ op: 'add', path: `${objectPointer(this.draft, object) ?? ''}/${token}`, value: {} });
  }

  /** Called after `member` was moved or renamed; `before` is its previous pointer. */
  move(rule: RuleName<Rule>, member: DraftMember, before: string, note?: string): void {
    if (!this.record(rule, member, note)) return;
    this.clearRemoved();
    if (this.makesPatch) this.say({ op: 'move', from: before, path: this.pathOf(member) ?? '' });
  }

  /** Called after `copy` of `source` was added. */
  copy(rule: RuleName<Rule>, copy: DraftMember, source: DraftMember): void {
    if (!this.record(rule, copy, undefined, source)) return;
    this.clearRemoved();
    if (this.makesPatch)
      this.say({ op: 'copy', from: this.pathOf(source) ?? '', path: this.pathOf(copy) ?? '' });
  }

  /** Called after `member` was added with `value`. */
  add(rule: RuleName<Rule>, member: DraftMember, value: unknown): void {
    if (!this.record(rule, member)) return;
    this.clearRemoved();
    if (this.makesPatch) this.say({ op: 'add', path: this.pathOf(member) ?? '', value });
  }

  /** Adds to the patch that a member moved to a temporary place, from which its next move is possible. */
  moveAside(from: string, path: string): void {
    this.clearRemoved();
    this.say({ op: 'move', from, path });
  }

  /** Called after the value of `member` was replaced by `value`. */
  replace(rule: RuleName<Rule>, member: DraftMember, value: unknown): void {
    if (this.record(rule, member)) this.rewrite(member, value);
  }

  /**
   * Called after the text of `member` was changed in place, or a value of V2 was added. There is then no patch, because it would contain
   * values.
   */
  reword(rule: RuleName<Rule>, member: DraftMember): void {
    this.isUnsayable = true;
    if (this.hasRoom(rule)) this.write(rule, member, undefined, undefined, -1);
  }

  /**
   * Records that a value which the rule cannot convert was kept, that only a part of a list is left, or that nothing was found for a key.
   */
  keep(rule: RuleName<Rule>, member: DraftMember, note: 'value' | 'more' | 'lookup'): void {
    this.record(rule, member, note);
  }

  /**
   * Called after the value of `member`, at `before` until then, was converted to another form. `steps` returns the patch operations for a
   * value at `path`, with a free temporary place; undefined if no patch can express the change.
   */
  reshape(
    rule: RuleName<Rule>,
    member: DraftMember,
    before: string,
    steps: (path: string, aside: string) => readonly PatchOperation[] | undefined,
  ): void {
    if (!this.record(rule, member)) return;
    this.moveInPatch(before, member);
    const { holder } = member;
    if (!this.makesPatch || holder === undefined) return;
    const aside = pointerAside(this.draft, holder, currentName(this.draft, member));
    const said = steps(this.pathOf(member) ?? '', aside);
    this.remainingCharacters -= (said?.length ?? 0) * RECORD_CHARACTERS;
    this.isUnsayable ||=
      said === undefined ||
      said.length > MAX_STEPS ||
      (!this.limits.saysValues && said.some(({ op }) => op === 'replace'));
    if (!this.isUnsayable) for (const operation of said ?? []) this.say(operation);
  }

  /** Called after the value of `member`, at `before` until then, became the only element of a list, or an empty list. */
  enlist(rule: RuleName<Rule>, member: DraftMember, before: string, isEmpty: boolean): void {
    if (!this.record(rule, member)) return;
    this.clearRemoved();
    if (!this.makesPatch) return;
    const path = this.pathOf(member) ?? '';
    const { holder } = member;
    const aside =
      path === before && holder !== undefined
        ? pointerAside(this.draft, holder, currentName(this.draft, member))
        : before;
    if (isEmpty) this.say({ op: 'remove', path: before });
    else if (path === before) this.moveAside(before, aside);
    this.say({ op: 'add', path, value: [] });
    if (!isEmpty) this.say({ op: 'move', from: aside, path: `${path}/0` });
  }

  /** Called after the list at `before` was replaced by its first element, or by null if it was empty. */
  first(rule: RuleName<Rule>, member: DraftMember, before: string, isEmpty: boolean): void {
    if (!this.record(rule, member)) return;
    this.clearRemoved();
    if (!this.makesPatch) return;
    const path = this.pathOf(member) ?? '';
    if (isEmpty) this.say({ op: 'add', path, value: null });
    else this.say({ op: 'move', from: `${before}/0`, path });
    if (path !== before) this.say({ op: 'remove', path: before });
  }

  /** Called after `others`, at `places` until then, were joined to `first`, at `before` until then. */
  join(rule: RuleName<Rule>, first: DraftMember, { before, others, places, value }: Joined): void {
    if (!this.hasRoom(rule, 1 + others.length)) return;
    for (const member of [first, ...others]) this.write(rule, first, undefined, member, member.node);
    for (const path of places) this.say({ op: 'remove', path });
    this.moveInPatch(before, first);
    this.rewrite(first, value);
  }

  /** Called after `member`, at `before` until then, was split; `made` are the members for all parts but the first. */
  split(
    rule: RuleName<Rule>,
    member: DraftMember,
    before: string,
    made: readonly DraftMember[],
    values: readonly unknown[],
  ): void {
    if (!this.hasRoom(rule, 1 + made.length)) return;
    this.moveInPatch(before, member);
    for (const [index, part] of [member, ...made].entries()) {
      this.write(rule, part, undefined, member, member.node);
      if (index > 0 && this.makesPatch) this.say({ op: 'add', path: this.pathOf(part) ?? '', value: null });
      this.rewrite(part, values[index]);
    }
  }

  private moveInPatch(before: string, member: DraftMember): void {
    this.clearRemoved();
    if (!this.makesPatch) return;
    const path = this.pathOf(member) ?? '';
    if (path !== before) this.say({ op: 'move', from: before, path });
  }

  /** Adds to the patch that a member has another value, which `withoutValues` removes again. */
  private rewrite(member: DraftMember, value: unknown): void {
    this.isUnsayable ||= !this.limits.saysValues;
    if (this.makesPatch) this.say({ op: 'replace', path: this.pathOf(member) ?? '', value });
  }

  private say(operation: PatchOperation): void {
    const { value } = operation;
    if (typeof value === 'number' && !Number.isFinite(value)) this.isUnsayable = true;
    if (this.makesPatch) this.patch.push(operation);
  }

  /** Returns the records, with pointers into the current body, and the patch; no patch if it cannot express all edits. */
  finish(): Records<Rule> {
    this.lastHolder = undefined;
    const records = this.records.map((record) => this.resolve(record));
    return { records, patch: this.isPatchable ? this.patch : [], omitted: this.omitted };
  }

  private clearRemoved(): void {
    // Clearing a set, even an empty one, allocates a new table.
    if (this.removed.size > 0) this.removed.clear();
  }

  /** False if there is no room for so many edits: they then count as omitted. */
  private hasRoom(rule: RuleName<Rule>, edits = 1): boolean {
    if (takesRecord(this.records, rule, this.remainingCharacters > 0 ? this.limits.records : 0)) return true;
    this.omitted += edits;
    return false;
  }

  /** Records an edit of `member`, whose value was that of `source`; false if there is no room: the edit is then counted as omitted. */
  private record(
    rule: RuleName<Rule>,
    member: DraftMember,
    note?: string,
    source = member,
    node = source.node,
  ): boolean {
    if (!this.hasRoom(rule)) return false;
    this.write(rule, member, note, source, node);
    return true;
  }

  private write(
    rule: RuleName<Rule>,
    member: DraftMember,
    note: string | undefined,
    source: DraftMember | undefined,
    node: number,
  ): void {
    const from = source === undefined ? undefined : this.fromOf(source, node);
    this.remainingCharacters -= RECORD_CHARACTERS + (from?.length ?? 0);
    this.push(rule, from, member, note);
  }

  private push(
    { change, rule }: RuleName<Rule>,
    from: string | undefined,
    member: DraftMember | undefined,
    note: string | undefined,
  ): void {
    this.records.push({ change, rule, from, member, note });
  }

  private fromOf(member: DraftMember, node: number): string | undefined {
    const { home } = member;
    if (node < 0 || member.isElement) return originPointer(this.draft, member);
    if (this.lastHome?.object !== home)
      this.lastHome = { object: home, pointer: originObjectPointer(this.draft, home) };
    return `${this.lastHome.pointer}/${originToken(this.draft, node)}`;
  }

  /** The pointer of a member in the current body; undefined if it is not in it. */
  private pathOf(member: DraftMember): string | undefined {
    return currentPointer(this.draft, member);
  }

  private resolve({ change, rule, from, member, note }: PendingRecord<Rule>): RecordedEdit<Rule> {
    const path = member === undefined ? '' : this.resolvedPath(member);
    const record: { -readonly [Key in keyof RecordedEdit<Rule>]: RecordedEdit<Rule>[Key] } = { change, rule };
    if (from !== undefined) record.from = from;
    if (path !== undefined) record.path = path;
    if (note !== undefined) record.note = note;
    return record;
  }

  /** The same since the last edit, while objects stay where they are. */
  private resolvedPath(member: DraftMember): string | undefined {
    const { holder } = member;
    if (member.isRemoved || holder === undefined) return undefined;
    if (this.lastHolder?.object !== holder)
      this.lastHolder = { object: holder, pointer: objectPointer(this.draft, holder) };
    const { pointer } = this.lastHolder;
    return pointer === undefined ? undefined : `${pointer}/${pointerToken(currentName(this.draft, member))}`;
  }
}
