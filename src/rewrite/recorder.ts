import type { RequestRuleName } from '../rules/rule.ts';
import type { Draft, DraftMember, DraftObject } from './draft.ts';
import { currentPointer, objectPointer, originPointer } from './pointer.ts';
import type { EditRecord, PatchOperation } from './rewrite.ts';

/** What names a rule in a record. */
export interface RuleName {
  readonly change: string;
  readonly rule: RequestRuleName;
}

interface PendingRecord extends RuleName {
  readonly from: string | undefined;
  readonly member: DraftMember | undefined;
  readonly note: string | undefined;
}

/** Writes down what the rules do, for people (edit records) and for programs (an RFC 6902 patch). */
export class Recorder {
  readonly #draft: Draft;
  readonly #records: PendingRecord[] = [];
  readonly #patch: PatchOperation[] = [];
  /** What was removed since something else was done. */
  readonly #removed = new Set<string>();

  constructor(draft: Draft) {
    this.#draft = draft;
  }

  /** The body had no wrapper. */
  flat(rule: RuleName): void {
    this.#records.push({ ...rule, from: '', member: undefined, note: 'already-flat' });
  }

  /** The value of `member` is about to become the body. */
  unwrap(rule: RuleName, member: DraftMember): void {
    this.#records.push({ ...rule, from: this.#from(member), member: undefined, note: undefined });
    this.#removed.clear();
    this.#patch.push({ op: 'move', from: currentPointer(this.#draft, member) ?? '', path: '' });
  }

  /** `member` is about to be dropped; `note` tells why, where no rule asked for it. */
  drop(rule: RuleName, member: DraftMember, note?: string): void {
    this.#records.push({ ...rule, from: this.#from(member), member, note });
    const path = currentPointer(this.#draft, member);
    // A repeated name is one member to a patch: it was removed with the first.
    if (note === 'duplicate' || path === undefined || this.#removed.has(path)) return;
    this.#removed.add(path);
    this.#patch.push({ op: 'remove', path });
  }

  /** An object named `name` was made in `object`. */
  make(object: DraftObject, token: string): void {
    this.#patch.push({ op: 'add', path: `${objectPointer(this.#draft, object) ?? ''}/${token}`, value: {} });
  }

  /** `member` stood at the pointer `before` and now stands elsewhere or is called otherwise. */
  move(rule: RuleName, member: DraftMember, before: string, note?: string): void {
    this.#records.push({ ...rule, from: this.#from(member), member, note });
    this.#removed.clear();
    this.#patch.push({ op: 'move', from: before, path: currentPointer(this.#draft, member) ?? '' });
  }

  /** Returns what was written down, with pointers into the body as it is now. */
  finish(): { readonly records: readonly EditRecord[]; readonly patch: readonly PatchOperation[] } {
    return { records: this.#records.map((record) => this.#resolve(record)), patch: this.#patch };
  }

  /** Where `member` stood in the V1 body; nowhere when a rule made it. */
  #from(member: DraftMember): string | undefined {
    return member.node < 0 ? undefined : originPointer(this.#draft, member.node);
  }

  #resolve({ change, rule, from, member, note }: PendingRecord): EditRecord {
    const path = member === undefined ? '' : currentPointer(this.#draft, member);
    return {
      change,
      rule,
      ...(from === undefined ? {} : { from }),
      ...(path === undefined ? {} : { path }),
      ...(note === undefined ? {} : { note }),
    };
  }
}
