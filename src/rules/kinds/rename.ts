import type { NameTable } from '../../json/names.ts';
import { find, markChanged } from '../../edits/draft.ts';
import { type CompiledRule, openLike, type Path, pathIds, PLAIN, type RuleBase } from '../../edits/run.ts';
import type { Kind, StatusPattern, Words, Lens } from './kind.ts';

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

/** Its work on the bytes of requests. */
export const kind: Kind<RenameRule> = { compile };

/** The old name comes back. */
export const lens: Lens<RenameRule, RenameBackRule> = {
  moves: ({ member, to }) => [{ from: [member], to: [to] }],
  inverse: ({ member, to }, objects) => [{ rule: 'rename', path: [...objects, to], to: member }],
};

/** What people read of it. */
export const words: Words<RenameRule, RenameBackRule> = {
  of: 'both',
  named: ({ member }) => [[member]],
  say: ({ to }, name, where) => `rename ${name} to ${to}${where}`,
  none: ({ member }, place) => `${place} has no member ${member}.`,
  done: ({ name, to }) => `${name} is now called ${to}.`,
};

/** Renames the named member; an existing member with the new name is dropped, because each side has only one such attribute. */
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
