import type { RequestRuleName } from '../rules/rule.ts';
import type { Draft, DraftMember, DraftObject } from './draft.ts';
import { currentPointer, objectPointer, originPointer } from './pointer.ts';
import type { EditRecord, PatchOperation } from './rewrite.ts';

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

/**
 * Maximum characters of pointers recorded for one body, where each record counts for some: a body of a million members beside the
 * wrapper must not become a log line ten times its size.
 */
const MAX_POINTER_CHARACTERS = 32_768;
const RECORD_CHARACTERS = 64;

interface PendingRecord {
  readonly rule: RuleName;
  readonly from: string | undefined;
  readonly member: DraftMember | undefined;
  readonly note: string | undefined;
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
    if (this.remainingCharacters <= 0) {
      this.omitted += 1;
      return;
    }
    this.write({ rule, from: originPointer(this.draft, member, node), member, note });
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
    if (this.remainingCharacters <= 0) {
      this.omitted += 1;
      return;
    }
    this.write({ rule, from: originPointer(this.draft, member), member, note });
    this.clearRemoved();
    this.patch.push({ op: 'move', from: before, path: currentPointer(this.draft, member) ?? '' });
  }

  /** Called after the value of `member` was replaced by `value`. */
  replace(rule: RuleName, member: DraftMember, value: string | number | boolean | null): void {
    if (this.remainingCharacters <= 0) {
      this.omitted += 1;
      return;
    }
    this.write({ rule, from: originPointer(this.draft, member), member, note: undefined });
    this.patch.push({ op: 'replace', path: currentPointer(this.draft, member) ?? '', value });
  }

  /** Returns the records, with pointers into the current body. */
  finish(): Records {
    const records = this.records.map((record) => this.resolve(record));
    return { records, patch: this.omitted > 0 ? [] : this.patch, omitted: this.omitted };
  }

  private clearRemoved(): void {
    // Clearing a set, even an empty one, allocates a new table.
    if (this.removed.size > 0) this.removed.clear();
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
