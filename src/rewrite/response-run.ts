import type { NameTable } from '../json/member-name.ts';
import { pointerToken } from '../json/json-pointer.ts';
import type { Path, ResponseRuleName, StatusPattern } from '../rules/rule.ts';
import type { ResponseContext, ResponseRecord } from './response-rewrite.ts';
import { type Draft, type DraftMember, type DraftObject, takeAll } from './draft.ts';
import { currentName, currentPointer, objectPointer, originObjectPointer, originToken } from './pointer.ts';
import type { PatchOperation } from './rewrite.ts';
import { pathIds } from './run.ts';
import type { SeenIds, SeenNames } from './seen-names.ts';

/** Properties of every compiled response rule. */
export interface CompiledResponseRule {
  readonly change: string;
  readonly rule: ResponseRuleName;
  readonly status: readonly StatusPattern[];
  /** Ids of the names on the path to the objects that the rule applies to; -1 for `*`. */
  readonly path: readonly number[];
}

/** Maximum records of one response: a page of a list can have thousands of elements, and a log line must not. */
const MAX_RECORDS = 64;

/** The reason for an edit that no rule requires: the V1 name was there too, or a member occurred twice. */
export type ResponseNote = 'conflict' | 'duplicate';

interface Edited {
  readonly rule: CompiledResponseRule;
  readonly at: DraftMember;
  /** The member in V2's body that it was, or was copied from. */
  readonly source: DraftMember | undefined;
  readonly note: ResponseNote | undefined;
}

/** One run of the response rules over one response: the draft and its changes so far. */
export class ResponseRun {
  readonly draft: Draft;
  readonly context: ResponseContext;
  /** True if a rule has read a string or a scalar: the shape of the response then does not determine its effect. */
  hasReadValues = false;
  /** The operations so far, in a run that makes the patch. */
  private readonly patch: PatchOperation[] | undefined;
  private readonly ids: SeenIds;
  private readonly edited: Edited[] = [];
  private count = 0;
  private hasTexts = false;
  /** Objects of the record before: most records are about members of one object. */
  private lastHome: { readonly object: DraftObject; readonly pointer: string } | undefined;
  private lastHolder: { readonly object: DraftObject; readonly pointer: string | undefined } | undefined;

  /** `ids` is scratch memory that runs share, one after the other. */
  constructor(draft: Draft, context: ResponseContext, ids: SeenIds, makesPatch: boolean) {
    this.draft = draft;
    this.context = context;
    this.ids = ids;
    this.patch = makesPatch ? [] : undefined;
  }

  /** Calls `visit` with each object at the rule's path; of a repeated name, the last is used, as parsers do. */
  each(rule: CompiledResponseRule, visit: (object: DraftObject) => void): void {
    this.draft.each<never>(
      rule.path,
      (object) => {
        visit(object);
        return undefined;
      },
      () => undefined,
    );
  }

  /** An empty set of names that rules use; emptied again by the next call. */
  seenIds(): SeenNames {
    this.ids.clear();
    return this.ids;
  }

  /** True if nothing was changed. */
  get isIdle(): boolean {
    return this.count === 0;
  }

  /** Number of edits beyond those that are recorded. */
  get omitted(): number {
    return Math.max(0, this.count - MAX_RECORDS);
  }

  /** True if a patch can say all: every edit is recorded, and none has a sentence, which may contain values. */
  get isPatchable(): boolean {
    return this.omitted === 0 && !this.hasTexts;
  }

  /** The current pointer of a member, for a patch; empty in a run that makes none. */
  pointerOf(member: DraftMember): string {
    return this.patch === undefined ? '' : (currentPointer(this.draft, member) ?? '');
  }

  /** Called after `member` was moved or renamed; `before` is its previous {@link pointerOf}. */
  move(rule: CompiledResponseRule, member: DraftMember, before: string): void {
    this.write({ rule, at: member, source: member, note: undefined });
    this.patch?.push({ op: 'move', from: before, path: this.pointerOf(member) });
  }

  /** Called after `copy` of `source` was added. */
  copy(rule: CompiledResponseRule, copy: DraftMember, source: DraftMember): void {
    this.write({ rule, at: copy, source, note: undefined });
    this.patch?.push({ op: 'copy', from: this.pointerOf(source), path: this.pointerOf(copy) });
  }

  /** Called after a member was added whose value the gateway made. */
  add(rule: CompiledResponseRule, made: DraftMember, value: unknown): void {
    this.write({ rule, at: made, source: undefined, note: undefined });
    this.make(made, value);
  }

  /** Called after an object was added for a member that the gateway adds. */
  make(made: DraftMember, value: unknown): void {
    this.patch?.push({ op: 'add', path: this.pointerOf(made), value });
  }

  /** Called after the text of a member was replaced; `source` is given where V2's own value stands in its place. */
  replace(rule: CompiledResponseRule, member: DraftMember, source?: DraftMember): void {
    this.hasTexts = true;
    this.write({ rule, at: member, source, note: undefined });
  }

  /** Drops the members of `object` with the name `id`, except `kept`. */
  dropNamed(
    rule: CompiledResponseRule,
    object: DraftObject,
    id: number,
    kept: DraftMember | undefined,
    note: ResponseNote,
  ): void {
    let dropped: DraftMember[] | undefined;
    for (const member of object.members) {
      if (member.id === id && member !== kept) (dropped ??= []).push(member);
    }
    if (dropped !== undefined) this.drop(rule, object, dropped, note);
  }

  /** Drops `members` of `object`. */
  drop(
    rule: CompiledResponseRule,
    object: DraftObject,
    members: readonly DraftMember[],
    note: ResponseNote | undefined,
  ): void {
    for (const member of members) this.write({ rule, at: member, source: member, note });
    // To a patch, members with one name are one member.
    if (note !== 'duplicate') {
      const names = this.patch === undefined ? [] : members.map((member) => currentName(this.draft, member));
      for (const name of new Set(names)) this.removeName(object, name);
    }
    takeAll(object, members);
  }

  /** Called after `member` was taken from `object` because nothing is left in it. */
  remove(object: DraftObject, member: DraftMember): void {
    if (this.patch !== undefined) this.removeName(object, currentName(this.draft, member));
  }

  /** Returns the records, with pointers into the current response, and the patch if this run makes one. */
  finish(): { readonly records: readonly ResponseRecord[]; readonly patch: readonly PatchOperation[] } {
    return { records: this.edited.map((edited) => this.recordOf(edited)), patch: this.patch ?? [] };
  }

  private fromOf(member: DraftMember): string | undefined {
    const { home, node } = member;
    if (node < 0) return undefined;
    if (this.lastHome?.object !== home)
      this.lastHome = { object: home, pointer: originObjectPointer(this.draft, home) };
    return `${this.lastHome.pointer}/${originToken(this.draft, node)}`;
  }

  private pathOf(member: DraftMember): string | undefined {
    const { holder } = member;
    if (member.isRemoved || holder === undefined) return undefined;
    if (this.lastHolder?.object !== holder)
      this.lastHolder = { object: holder, pointer: objectPointer(this.draft, holder) };
    const { pointer } = this.lastHolder;
    return pointer === undefined ? undefined : `${pointer}/${pointerToken(currentName(this.draft, member))}`;
  }

  private removeName(object: DraftObject, name: string): void {
    const around = objectPointer(this.draft, object) ?? '';
    this.patch?.push({ op: 'remove', path: `${around}/${pointerToken(name)}` });
  }

  private write(edited: Edited): void {
    this.count += 1;
    if (this.edited.length < MAX_RECORDS) this.edited.push(edited);
  }

  private recordOf({ rule: { change, rule }, at, source, note }: Edited): ResponseRecord {
    const from = source === undefined ? undefined : this.fromOf(source);
    const path = this.pathOf(at);
    const record: { -readonly [Key in keyof ResponseRecord]: ResponseRecord[Key] } = { change, rule };
    if (from !== undefined) record.from = from;
    if (path !== undefined) record.path = path;
    if (note !== undefined) record.note = note;
    return record;
  }
}

/** True if one of the patterns includes the status. */
export function isAbout(status: readonly StatusPattern[], code: number): boolean {
  const family = `${Math.floor(code / 100)}xx`;
  return status.some((pattern) => pattern === code || pattern === family);
}

/** Splits the path of a member into the compiled path of its object and its name. */
export function memberPlace(
  path: Path,
  names: NameTable,
): { readonly path: readonly number[]; readonly name: string } {
  return { path: pathIds(path.slice(0, -1), names), name: path.at(-1) ?? '' };
}
