import { declareMember, type Book, formOf } from './book.ts';
import { readName, readPath } from './paths.ts';
import type { NameTable } from '../../json/names.ts';
import { addLast, type DraftMember, type DraftObject } from '../../edits/draft.ts';
import { aboutMember, type CompiledRule, type Path, PLAIN, type RuleBase } from '../../edits/run.ts';
import { decoded, jsonOf, NULL, overwrite, renameTo } from '../../edits/values.ts';
import { rawIndex, textOf } from './conversion.ts';
import {
  type JoinRule,
  namesOfParts,
  type ResponseJoinRule,
  type ResponseSplitRule,
  separatedBy,
  separation,
} from './join.ts';
import type { Kind, Words, Lens } from './kind.ts';

/** Splits the string in the member `member` of each object at `in` into the members `to`. */
export interface SplitRule extends Pick<JoinRule, 'with' | 'at'> {
  readonly rule: 'split';
  readonly member: string;
  readonly in: Path;
  readonly to: readonly string[];
  /** True if every value is a text, as in a form, which writes null as an empty text. */
  readonly isOfTexts?: true;
}

/** How `split` changes the bytes of requests. */
export const kind: Kind<SplitRule> = { compile };

/** `inverse` joins the parts again. */
export const lens: Lens<SplitRule, ResponseJoinRule> = {
  changesValue: true,
  moves: ({ member, to }) => to.map((part) => ({ from: [member], to: [part] })),
  inverse: ({ member, to, with: separator, at }, objects) => [
    { rule: 'join', path: objects, members: to, to: member, with: separator, at },
  ],
};

/** How messages and guides describe `split`. */
export const words: Words<SplitRule, ResponseSplitRule> = {
  of: 'both',
  named: ({ member }) => [[member]],
  say: ({ to }, name, where) => `split ${name}${where} into ${to.join(', ')}`,
  remark: () => 'a part of the text',
  done: ({ name, to }) => `A part of ${name} becomes ${to}.`,
};

/** How a rule book writes `split`. */
export const book: Book<SplitRule, ResponseSplitRule> = {
  request: {
    form: (blocks) =>
      formOf(
        blocks
          .strict({
            split: blocks.memberPath,
            in: blocks.inside,
            to: namesOfParts(blocks).describe('The members for the parts, in order.'),
            ...separation(blocks),
          })
          .describe('Splits a string into several members.'),
        (source, place) =>
          declareMember(place, 'split', { in: source.in, of: source.split }, (objects) => {
            return { rule: 'split', ...objects, to: source.to.map(readName), ...separatedBy(source) };
          }),
      ),
    policies: ['conflict', 'value'],
    learn: ({ in: objects, member, to }, facts) => facts.become(objects, [member], to),
    gives: 'split',
  },
  response: {
    mayBeAnywhere: true,
    form: (blocks) =>
      formOf(
        blocks
          .strict({
            split: blocks.memberPath,
            to: namesOfParts(blocks),
            ...separation(blocks),
            status: blocks.status,
          })
          .describe('Splits a string into several members.'),
        (source, { status }) => {
          const to = source.to.map(readName);
          return [
            { rule: { rule: 'split', path: readPath(source.split), to, ...separatedBy(source), status } },
          ];
        },
      ),
    effect: ['splits '],
    takes: ({ path, to }) => !to.some((part) => part === path.at(-1)),
  },
};

/** Splits the string of the named member: the first part takes its place, the others are added at the end; for null, each part is null. */
function compile(rule: SplitRule, base: RuleBase, names: NameTable): CompiledRule {
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

/** The parts of a string; for any other value, `count` times the JSON text `none`. */
function partsOf(
  { to, with: separator, at }: Pick<SplitRule, 'to' | 'with' | 'at'>,
  json: string | undefined,
  none: string,
): readonly string[] | undefined {
  if (json === none) return to.map(() => none);
  return json === undefined ? undefined : splitString(json, separator, to.length, at);
}

/** Puts the first part in place of `member`, adds members for the others at the end, and returns them. */
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

/** Splits a JSON string into `count` strings at the first or the last separators; undefined if it has too few. */
function splitString(
  json: string,
  separator: string,
  count: number,
  at: 'first' | 'last',
): readonly string[] | undefined {
  const text = textOf(json);
  if (text === undefined) return undefined;
  const raw = json.slice(1, -1);
  const places: number[] = [];
  let place = at === 'first' ? 0 : text.length;
  while (places.length < count - 1) {
    if (at === 'last' && place < separator.length) return undefined;
    const found =
      at === 'first' ? text.indexOf(separator, place) : text.lastIndexOf(separator, place - separator.length);
    if (found === -1) return undefined;
    places.push(found);
    place = at === 'first' ? found + separator.length : found;
  }
  if (at === 'last') places.reverse();
  const parts: string[] = [];
  let start = 0;
  for (const found of places) {
    parts.push(`"${raw.slice(start, rawIndex(raw, found))}"`);
    start = rawIndex(raw, found + separator.length);
  }
  return [...parts, `"${raw.slice(start)}"`];
}
