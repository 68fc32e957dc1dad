import type * as zod from 'zod';
import { declareMembers, type Blocks, type Book, formOf, objectsAt } from './book.ts';
import { beginsWith, printPath, readName } from './paths.ts';
import { type NameTable, spelledText } from '../../json/names.ts';
import { type Draft, type DraftMember, type DraftObject, find, takeAll } from '../../edits/draft.ts';
import { type CompiledRule, type Path, pathIds, PLAIN, type RuleBase, type Stop } from '../../edits/run.ts';
import { decoded, jsonOf, NULL, overwrite, renameTo } from '../../edits/values.ts';
import { isString } from './conversion.ts';
import type { Kind, StatusPattern, Words, Lens } from './kind.ts';

/** Joins strings, or splits one, at a separator. */
interface Separated {
  readonly with: string;
  /** Which separators split a string that has more of them than the parts need. */
  readonly at: 'first' | 'last';
}

/** Joins the strings in `members` of each object at `in` to one member `to`. */
export interface JoinRule extends Separated {
  readonly rule: 'join';
  readonly members: readonly string[];
  readonly in: Path;
  readonly to: string;
}

/** Joins the strings in `members` of each object at `path` of a response to one member `to`. */
export interface ResponseJoinRule extends Separated {
  readonly rule: 'join';
  readonly members: readonly string[];
  readonly path: Path;
  readonly to: string;
  readonly status: readonly StatusPattern[];
}

/** Splits the string in the member at `path` of a response into the members `to`. */
export interface ResponseSplitRule extends Separated {
  readonly rule: 'split';
  readonly path: Path;
  readonly to: readonly string[];
  readonly status: readonly StatusPattern[];
}

/** How `join` changes the bytes of requests. */
export const kind: Kind<JoinRule> = { compile };

/** `inverse` splits the string again. */
export const lens: Lens<JoinRule, ResponseSplitRule> = {
  changesValue: true,
  joins: true,
  moves: ({ members, to }) => members.slice(0, 1).map((member) => ({ from: [member], to: [to] })),
  inverse: ({ members, to, with: separator, at }, objects) => [
    { rule: 'split', path: [...objects, to], to: members, with: separator, at },
  ],
};

/** How messages and guides describe `join`. */
export const words: Words<JoinRule, ResponseJoinRule> = {
  of: 'both',
  named: ({ members }) => members.map((member) => [member]),
  say: ({ members, to }, _, where) => `join ${members.join(', ')}${where} to ${to}`,
  remark: () => 'now a part of a joined text',
  done: ({ name, to }) => `${name} becomes a part of ${to}.`,
};

/** How a rule book writes `join`. */
export const book: Book<JoinRule, ResponseJoinRule> = {
  request: {
    form: (blocks) =>
      formOf(
        blocks
          .strict({
            join: namesOfParts(blocks).describe('The members, in the order of their strings.'),
            in: blocks.inside,
            to: blocks.name.describe('The member with the joined string.'),
            ...separation(blocks),
          })
          .describe('Joins strings into one.'),
        (source, place) =>
          declareMembers(place, 'join', { in: source.in, of: source.join }, (objects) => {
            return { rule: 'join', ...objects, to: readName(source.to), ...separatedBy(source) };
          }),
      ),
    policies: ['conflict', 'value'],
    learn: ({ in: objects, members, to }, facts) => facts.become(objects, members, [to]),
    gives: 'joined',
    inexact: (rule) => [
      `the inverse of join to ${printPath([...rule.in, rule.to])} is not exact: a text with more of ${JSON.stringify(rule.with)} is split at the ${rule.at}, and absent parts are not known`,
    ],
    patched: ({ in: objects, members, to }) =>
      `with only some of ${members.join(' and ')} replaces the whole of ${printPath([...objects, to])}`,
  },
  response: {
    form: (blocks) =>
      formOf(
        blocks
          .strict({
            join: namesOfParts(blocks),
            in: blocks.inside,
            to: blocks.name,
            ...separation(blocks),
            status: blocks.status,
          })
          .describe('Joins strings into one.'),
        (source, { status }) => {
          const members = source.join.map(readName);
          const path = objectsAt(source.in);
          const to = readName(source.to);
          return [{ rule: { rule: 'join', members, path, to, ...separatedBy(source), status } }];
        },
      ),
    effect: ['joins '],
    effectOn: ({ path, members }) => members.map((member) => [...path, member]),
    same: ({ members }) => [members],
    takes: (rule, path) =>
      rule.members.some((member) => member !== rule.to && beginsWith(path, [...rule.path, member])),
  },
};

export function namesOfParts({ z, name }: Blocks): zod.ZodArray<zod.ZodString> {
  return z
    .array(name)
    .refine((names) => names.length > 1, 'needs at least two names')
    .refine((names) => new Set(names).size === names.length, 'has a name twice; remove one of them');
}

/** The keys for the separator of a string's parts. */
export function separation({ z, optional, text }: Blocks): {
  readonly with: zod.ZodString;
  readonly at: zod.ZodExactOptional<zod.ZodEnum<{ first: 'first'; last: 'last' }>>;
} {
  return {
    with: text.describe('The text between the parts.'),
    at: optional(
      z.enum(['first', 'last']),
      'Which separators split a string that has too many: the first or the last; last when absent.',
    ),
  };
}

/** Reads those keys. */
export function separatedBy({
  with: separator,
  at = 'last',
}: {
  readonly with: string;
  readonly at?: Separated['at'];
}): Separated {
  return { with: separator, at };
}

/** Joins the strings of the named members that are present; the result takes the place of the first of them. */
function compile(rule: JoinRule, base: RuleBase, names: NameTable): CompiledRule {
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
      // The others are recorded at the place of the joined member, which has its new name by then.
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

/** The members of `object` with these names, and the first of them in the object. */
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
    if (json === undefined || (json !== NULL && !isString(json))) return member;
    if (json !== NULL) values.push(json);
  }
  return values;
}

/** JSON strings, joined with a text between them. */
function joinedOf(values: readonly string[], separator: string): string {
  return values.length === 0
    ? NULL
    : `"${values.map((json) => json.slice(1, -1)).join(spelledText(separator))}"`;
}
