import type { NameTable } from '../../json/names.ts';
import { joinStrings, splitString } from '../../rules/conversion.ts';
import type { JoinRule, SplitRule } from '../../rules/rule.ts';
import { addLast, type Draft, type DraftMember, type DraftObject, find, takeAll } from '../draft.ts';
import { aboutMember, type CompiledRule, pathIds, PLAIN, type RuleBase, type Stop } from '../run.ts';
import { decoded, jsonOf, NULL, overwrite, renameTo } from './values.ts';

/** Joins the strings of the named members that are there; the joined one takes the place of the first of them. */
export function compileJoin(rule: JoinRule, base: RuleBase, names: NameTable): CompiledRule {
  const ids = rule.members.map((member) => names.add(member));
  const to = names.add(rule.to);
  return {
    ...base,
    path: pathIds(rule.in, names),
    apply: (run, object) => {
      const { members, first } = membersOf(object, ids);
      if (first === undefined) return undefined;
      const read = firstStop(members, (member) => run.settleRead(base, member.id, member));
      if (read !== undefined) return read;
      run.readsValues();
      const values = stringsOf(run.draft, members);
      if (!('length' in values)) return run.settleValue(base, values, 'a string');
      const stop =
        firstStop(members, (member) => run.settleRepeated(base, member.id, member)) ??
        (ids.includes(to) ? undefined : run.settleName(base, object, to));
      if (stop !== undefined) return stop;
      const joined = joinedOf(values, rule.with);
      const others = members.filter((member) => member !== first);
      const before = run.pointerOf(first);
      // The place of the others is that of the joined one, which has its name by then.
      const places = others.map((other) => run.pointerOf(other));
      takeAll(object, others);
      renameTo(first, to);
      overwrite(first, joined);
      run.step(base.code + PLAIN);
      run.recorder?.join(base, first, { before, others, places, value: decoded(joined) });
      return undefined;
    },
  };
}

function firstStop(
  members: readonly DraftMember[],
  settle: (member: DraftMember) => Stop | undefined,
): Stop | undefined {
  for (const member of members) {
    const stop = settle(member);
    if (stop !== undefined) return stop;
  }
  return undefined;
}

/** The members of `object` with these names that are there, and the one of them that comes first. */
function membersOf(
  object: DraftObject,
  ids: readonly number[],
): { readonly members: readonly DraftMember[]; readonly first: DraftMember | undefined } {
  const members = ids.flatMap((id) => find(object, id) ?? []);
  return { members, first: object.members.find((member) => members.includes(member)) };
}

/** The strings of members, without nulls; the first member that is neither, if there is one. */
function stringsOf(draft: Draft, members: readonly DraftMember[]): readonly string[] | DraftMember {
  const values: string[] = [];
  for (const member of members) {
    const json = jsonOf(draft, member);
    if (json === undefined || (json !== NULL && !json.startsWith('"'))) return member;
    if (json !== NULL) values.push(json);
  }
  return values;
}

function joinedOf(values: readonly string[], separator: string): string {
  return values.length === 0 ? NULL : (joinStrings(values, separator) ?? NULL);
}

/** Splits the string of the named member: the first part takes its place, the others come at the end; of null, each part is null. */
export function compileSplit(rule: SplitRule, base: RuleBase, names: NameTable): CompiledRule {
  const id = names.add(rule.member);
  const ids = rule.to.map((name) => names.add(name));
  const none = rule.isOfTexts === true ? '""' : NULL;
  return aboutMember(rule, base, names, (run, object, member) => {
    run.readsValues();
    const parts = partsOf(rule, jsonOf(run.draft, member), none);
    if (parts === undefined)
      return run.settleValue(base, member, `a string with ${JSON.stringify(rule.with)} in it`);
    const stop = run.settleRepeated(base, id, member);
    if (stop !== undefined) return stop;
    for (const part of ids) {
      const conflict = part === id ? undefined : run.settleName(base, object, part);
      if (conflict !== undefined) return conflict;
    }
    const before = run.pointerOf(member);
    const made = putParts(ids, object, member, parts);
    run.step(base.code + PLAIN);
    run.recorder?.split(base, member, before, made, parts.map(decoded));
    return undefined;
  });
}

/** The parts of a string; each part of a value that is none, whose JSON text is `none`, is the same. */
function partsOf(
  { to, with: separator, at }: Pick<SplitRule, 'to' | 'with' | 'at'>,
  json: string | undefined,
  none: string,
): readonly string[] | undefined {
  if (json === none) return to.map(() => none);
  return json === undefined ? undefined : splitString(json, separator, to.length, at);
}

/** Puts the first part in the place of `member`, and returns the members of the others, at the end. */
function putParts(
  ids: readonly number[],
  object: DraftObject,
  member: DraftMember,
  parts: readonly string[],
): readonly DraftMember[] {
  renameTo(member, ids[0] ?? 0);
  overwrite(member, parts[0] ?? NULL);
  return ids.slice(1).map((id, index) => {
    const made = addLast(object, id);
    overwrite(made, parts[index + 1] ?? NULL);
    return made;
  });
}
