import { declareMember, type Book, formOf, type NameFacts } from './book.ts';
import { readName, readPath } from './paths.ts';
import { conflictNote, filled, badRequest } from '../../edits/header-run.ts';
import { isNamed } from '../../http/header-list.ts';
import { withName } from '../../http/target.ts';
import type { NameTable } from '../../json/names.ts';
import { find, markChanged } from '../../edits/draft.ts';
import { type CompiledRule, openLike, type Path, pathIds, PLAIN, type RuleBase } from '../../edits/run.ts';
import type { HeaderKind, Kind, Lens, QueryKind, StatusPattern, Words } from './kind.ts';

/** Renames the member `member` of each object at `in` to `to`; its value keeps its bytes and its position. */
export interface RenameRule {
  readonly rule: 'rename';
  readonly member: string;
  readonly in: Path;
  readonly to: string;
}

/** Gives the member at `path` of a response its V1 name `to`; its value keeps its bytes and its place. */
export interface RenameBackRule {
  readonly rule: 'rename';
  readonly path: Path;
  readonly to: string;
  readonly status: readonly StatusPattern[];
}

/** Renames every query parameter `parameter` of a V1 request to `to`. */
export interface QueryRenameRule {
  readonly rule: 'rename';
  readonly parameter: string;
  readonly to: string;
}

/** Renames each field `field` of a request to `to`; with `as`, its value is put in place of the braces of that text. */
export interface HeaderRenameRule {
  readonly rule: 'rename';
  readonly field: string;
  readonly to: string;
  readonly as?: string;
}

/** How `rename` changes the bytes of requests. */
export const kind: Kind<RenameRule> = { compile };

/** `inverse` restores the old name. */
export const lens: Lens<RenameRule, RenameBackRule> = {
  moves: ({ member, to }) => [{ from: [member], to: [to] }],
  isOfName: true,
  became: (place) => place && `is called ${place.at(-1)}`,
  inverse: ({ member, to }, objects) => [{ rule: 'rename', path: [...objects, to], to: member }],
};

/** How `rename` changes queries. V1 had only the old name, so parameters with the new one are dropped. */
export const query: QueryKind<QueryRenameRule> = {
  compile: ({ parameter, to }) => ({
    apply: (run) => {
      const renamed = run.named(parameter);
      if (renamed === undefined) return;
      const isConflict = run.drop(to, 'conflict');
      run.rename(parameter, to);
      run.record(renamed, isConflict ? 'conflict' : undefined);
    },
    restore: (part) => (part.name === to ? withName(part, parameter) : part),
  }),
  renames: ({ parameter, to }) => ({ from: parameter, to }),
};

/** How `rename` changes header fields. V1 had only the old name, so fields with the new one are dropped. */
export const header: HeaderKind<HeaderRenameRule> = {
  apply: ({ field, to, as }, run) => {
    const renamed = run.named(field);
    const [first] = renamed;
    if (first === undefined) return undefined;
    // For these fields, servers could read two lines as different requests (RFC 9110 §5.3).
    if (renamed.length > 1 && isNamed(to, 'authorization'))
      return badRequest(`The header ${first.name.toLowerCase()} occurs twice.`);
    const settled = run.settle(to, `The header field ${field}`);
    if (typeof settled !== 'boolean') return settled;
    for (const one of renamed) {
      one.name = to;
      if (as !== undefined) one.value = filled(as, one.value);
    }
    run.record(first.origin ?? field, { to, ...conflictNote(settled) });
    return undefined;
  },
  moves: ({ field, to, as }) => [{ from: { header: field }, to, as }],
};

/** How messages and guides describe `rename`. */
export const words: Words<RenameRule, RenameBackRule> = {
  of: 'both',
  named: ({ member }) => [[member]],
  say: ({ to }, name, where) => `rename ${name} to ${to}${where}`,
  none: ({ member }, place) => `${place} has no member ${member}.`,
  done: ({ name, to }) => `${name} is now called ${to}.`,
};

/** How a rule book writes `rename`: for members, parameters and fields. */
export const book: Book<RenameRule, RenameBackRule, QueryRenameRule, HeaderRenameRule> = {
  request: {
    form: ({ strict, memberPath, inside, name }) =>
      formOf(
        strict({
          rename: memberPath,
          in: inside,
          to: name.describe('The new name, in the same object.'),
        }).describe('Gives a member a new name; its value keeps its bytes and its place.'),
        (source, place) =>
          declareMember(place, 'rename', { in: source.in, of: source.rename }, (member) => {
            return { rule: 'rename', ...member, to: readName(source.to) };
          }),
      ),
    policies: ['conflict'],
    faults: ({ rule, inside, members }, fault) => {
      if (rule.member === rule.to) fault(members[0] ?? inside, sameName(rule.to));
    },
    learn: ({ in: objects, member, to }, facts) => facts.rename(objects, member, to),
    gives: 'renamed',
    fate: ({ to }) => `then renames to "${to}"`,
  },
  response: {
    mayBeAnywhere: true,
    form: ({ strict, memberPath, name, status }) =>
      formOf(
        strict({
          rename: memberPath,
          to: name.describe('The V1 name, in the same object.'),
          status,
        }).describe('Gives a member of a response its V1 name; its value keeps its bytes and its place.'),
        (source, place) => [
          {
            rule: {
              rule: 'rename',
              path: readPath(source.rename),
              to: readName(source.to),
              status: place.status,
            },
          },
        ],
      ),
    faults: ({ rule }, at, fault) => {
      if (rule.path.at(-1) === rule.to)
        fault([...at, 'to'], `rename gives "${rule.to}" the name it has; write the V1 name in to`);
    },
    effect: ['renames '],
    takes: () => true,
  },
  query: {
    form: ({ strict, parameter }) =>
      formOf(
        strict({ rename: parameter, to: parameter.describe('The new name.') }).describe(
          'Gives a query parameter a new name, each time it occurs.',
        ),
        ({ rename, to }, { path }) => [
          { rule: { rule: 'rename', parameter: rename, to }, parts: [[...path, 'rename']] },
        ],
      ),
    faults: ({ rule, parts }, fault) => {
      if (rule.parameter === rule.to) fault(parts[0] ?? [], sameName(rule.to));
    },
    looksFor: ({ parameter }) => [parameter],
    learn: ({ parameter, to }, names) => learnRename(parameter, to, names),
  },
  headers: {
    form: ({ strict, field, template }) =>
      formOf(
        strict({ rename: field, to: field.describe('The new name.'), as: template }).describe(
          'Gives a header field a new name, each time it occurs.',
        ),
        ({ rename, to, as }, { path }) => [
          {
            rule: { rule: 'rename', field: rename, to, ...(as === undefined ? {} : { as }) },
            parts: [[...path, 'rename']],
          },
        ],
      ),
    hasConflict: true,
    faults: ({ rule, parts }, fault) => {
      if (rule.as !== undefined || rule.field.toLowerCase() !== rule.to.toLowerCase()) return;
      const message = `rename gives "${rule.to}" the name it has, as case does not count; write another in to`;
      fault(parts[0] ?? [], message);
    },
    looksFor: ({ field }) => [field],
    learn: ({ field, to }, names) => learnRename(field, to, names),
  },
};

function sameName(to: string): string {
  return `rename gives "${to}" the name it has; write the V2 name in to`;
}

function learnRename(from: string, to: string, names: NameFacts): void {
  names.take(from, `renames "${from}" to "${to}"`);
  names.add(to);
}

/** Renames the named member; an existing member with the new name is dropped, because each version has only one such attribute. */
function compile(rule: RenameRule, base: RuleBase, names: NameTable): CompiledRule {
  const [id, to] = [names.add(rule.member), names.add(rule.to)];
  return {
    ...base,
    path: pathIds(rule.in, names),
    open: (opened) => openLike(opened, id, to),
    apply: (run, object) => {
      const member = find(object, id);
      const other = find(object, to);
      // A request with the new name twice is ambiguous even without the old one.
      if (member === undefined && run.response !== undefined) return undefined;
      const stop =
        (member && run.settleRepeated(base, id, member)) ?? (other && run.settleRepeated(base, to, other));
      if (stop !== undefined || member === undefined) return stop;
      const conflict = other && run.settleConflict(base, base.code, other);
      if (conflict !== undefined) return conflict;
      const before = run.pointerOf(member);
      member.id = to;
      member.isRenamed = true;
      markChanged(object);
      run.step(base.code + PLAIN);
      run.recorder?.move(base, member, before, other === undefined ? undefined : 'conflict');
      return undefined;
    },
  };
}
