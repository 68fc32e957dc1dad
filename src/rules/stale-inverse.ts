import type { DeclaredChange } from './declared-change.ts';
import { isInverse, resourceOf } from './inverse.ts';
import { printPath } from './path-text.ts';
import type { Change, Operation } from './rule-book.ts';
import type { SourceFault } from './rule-book-fault.ts';
import type { RuleBookSource } from './rule-book-source.ts';
import type { Path, RequestRule } from './rule.ts';

/** Finds what `inverse` cannot undo because of other changes, and resources that are embedded although nothing of them is undone. */
export function staleInverse(
  changes: readonly DeclaredChange[],
  operations: readonly Operation[],
  source: RuleBookSource['operations'] = {},
): readonly SourceFault[] {
  return [
    ...changes.flatMap((declared, at) => hidden(declared, changes.slice(at + 1))),
    ...staleEmbeds(changes, operations, source),
  ];
}

/** A later change that is not undone leaves a member where the inverse of an earlier one does not look. */
function hidden(
  { change, response }: DeclaredChange,
  later: readonly DeclaredChange[],
): readonly SourceFault[] {
  const inverse = response.find(({ rule }) => rule.rule === 'inverse');
  if (inverse === undefined) return [];
  for (const { change: other } of later) {
    if (isInverse(other) || !concernSame(change, other)) continue;
    const moved = other.request.flatMap(movedFrom);
    const lost = change.request
      .flatMap(writtenTo)
      .find((path) => moved.some((from) => from.every((name, at) => path[at] === name)));
    if (lost === undefined) continue;
    const message = `change "${change.id}": inverse cannot find ${printPath(lost)}: change "${other.id}" moves it after it, and is not undone; give that one response: inverse, too`;
    return [{ path: inverse.path, blame: 'value', message }];
  }
  return [];
}

function concernSame(one: Change, other: Change): boolean {
  if (one.on === 'every' || other.on === 'every') return true;
  const ids = new Set(one.on);
  return other.on.some((id) => ids.has(id));
}

/** The paths that a rule takes members away from. */
function movedFrom(rule: RequestRule): readonly Path[] {
  if (rule.rule === 'rename') return [[...rule.in, rule.member]];
  return rule.rule === 'nest' ? rule.members.map((member) => [...rule.in, member]) : [];
}

/** The paths that the inverse of a rule looks for. */
function writtenTo(rule: RequestRule): readonly Path[] {
  if (rule.rule === 'rename') return [[...rule.in, rule.to]];
  return rule.rule === 'nest' ? rule.members.map((member) => [...rule.in, rule.under, member]) : [];
}

function staleEmbeds(
  changes: readonly DeclaredChange[],
  operations: readonly Operation[],
  source: NonNullable<RuleBookSource['operations']>,
): readonly SourceFault[] {
  const resources = new Map(operations.map((operation) => [operation.id, resourceOf(operation)]));
  const undone = new Set(
    changes.flatMap(({ change }) =>
      isInverse(change) && change.on !== 'every' ? change.on.map((id) => resources.get(id)) : [],
    ),
  );
  // What is embedded may embed in turn, and a change on every concerns all resources.
  const embedding = new Set(
    operations.flatMap(({ id, embeds }) => (embeds === undefined ? [] : resources.get(id))),
  );
  if (changes.some(({ change }) => isInverse(change) && change.on === 'every')) return [];
  return Object.entries(source).flatMap(([id, declared]) =>
    Object.entries(typeof declared === 'string' ? {} : (declared.embeds ?? {})).flatMap(([path, writer]) => {
      const resource = resources.get(writer);
      if (resource === undefined || undone.has(resource) || embedding.has(resource)) return [];
      const message = `operation "${id}": embeds has no effect: no change with response: inverse concerns the resource of "${writer}"; remove it`;
      return [{ path: ['operations', id, 'embeds', path], blame: 'value' as const, message }];
    }),
  );
}
