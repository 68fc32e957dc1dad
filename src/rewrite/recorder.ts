import type { RequestRuleName } from '../rules/rule.ts';
import type { Draft, DraftMember, DraftObject } from './draft.ts';
import { currentPointer, objectPointer, originPointer } from './pointer.ts';
import type { EditRecord, PatchOperation } from './rewrite.ts';

/** What names a rule in a record. */
export interface RuleName {
  readonly change: string;
  readonly rule: RequestRuleName;
}

/** What the rules did to a body: for people, and as a patch. */
export interface Records {
  readonly records: readonly EditRecord[];
  /** Empty when something was omitted: half a patch would lead nowhere. */
  readonly patch: readonly PatchOperation[];
  /** Edits that were carried out, but not written down. */
  readonly omitted: number;
}

/**
 * Characters of pointers that are written down of one body, each record counting for some: a body of a million members
 * beside the wrapper must not become a line of the log ten times its size.
 */
const MOST_CHARACTERS = 32_768;
const RECORD_CHARACTERS = 64;

interface PendingRecord {
  readonly rule: RuleName;
  readonly from: string | undefined;
  readonly member: DraftMember | undefined;
  readonly note: string | undefined;
}

/** Writes down what the rules do, for people (edit records) and for programs (an RFC 6902 patch). */
export class Recorder {
  private readonly draft: Draft;
  private readonly records: PendingRecord[] = [];
  private readonly patch: PatchOperation[] = [];
  /** What was removed since something else was done. */
  private readonly removed = new Set<string>();
  /** Characters that may still be written down. */
  private left = MOST_CHARACTERS;
  private omitted = 0;

  constructor(draft: Draft) {
    this.draft = draft;
  }

  /** The body had no wrapper. */
  flat(rule: RuleName): void {
    this.records.push({ rule, from: '', member: undefined, note: 'already-flat' });
  }

  /** The value of `member` is about to become the body. */
  unwrap(rule: RuleName, member: DraftMember): void {
    const from = originPointer(this.draft, member);
    this.records.push({ rule, from, member: undefined, note: undefined });
    this.forgetRemoved();
    this.patch.push({ op: 'move', from: currentPointer(this.draft, member) ?? '', path: '' });
  }

  /** `member` is about to be dropped; `note` tells why, where no rule asked for it. */
  drop(rule: RuleName, member: DraftMember, note?: string): void {
    const { tape } = this.draft;
    for (let { node } = member; node !== member.last; node = tape.next(node))
      this.dropMember(rule, member, node, note);
    this.dropMember(rule, member, member.last, note);
  }

  private dropMember(rule: RuleName, member: DraftMember, node: number, note: string | undefined): void {
    if (this.left <= 0) {
      this.omitted += 1;
      return;
    }
    this.write({ rule, from: originPointer(this.draft, member, node), member, note });
    const path = currentPointer(this.draft, member, node);
    // A repeated name is one member to a patch: it was removed with the first.
    if (note === 'duplicate' || path === undefined || this.removed.has(path)) return;
    this.removed.add(path);
    this.patch.push({ op: 'remove', path });
  }

  /** An object named `name` was made in `object`. */
  make(object: DraftObject, token: string): void {
    this.patch.push({ op: 'add', path: `${objectPointer(this.draft, object) ?? ''}/${token}`, value: {} });
  }

  /** `member` stood at the pointer `before` and now stands elsewhere or is called otherwise. */
  move(rule: RuleName, member: DraftMember, before: string, note?: string): void {
    if (this.left <= 0) {
      this.omitted += 1;
      return;
    }
    this.write({ rule, from: originPointer(this.draft, member), member, note });
    this.forgetRemoved();
    this.patch.push({ op: 'move', from: before, path: currentPointer(this.draft, member) ?? '' });
  }

  /** Returns what was written down, with pointers into the body as it is now. */
  finish(): Records {
    const records = this.records.map((record) => this.resolve(record));
    return { records, patch: this.omitted > 0 ? [] : this.patch, omitted: this.omitted };
  }

  private forgetRemoved(): void {
    // To clear a set, even an empty one, makes a new table.
    if (this.removed.size > 0) this.removed.clear();
  }

  private write(record: PendingRecord): void {
    this.left -= RECORD_CHARACTERS + (record.from?.length ?? 0);
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
