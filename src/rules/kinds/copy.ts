import { type Book, formOf } from './book.ts';
import { beginsWith, isSamePath, printPath } from './paths.ts';
import type { Kind, Lens, QueryKind, Words } from './kind.ts';
import { compilePlaced, type MoveRule, placesFault, placesOf, type ResponseMoveRule } from './move.ts';
import type { ResponseStripRule } from './strip.ts';

/** Copies the member at `from` of each object at `in` to `to` in the same object; missing objects on the path are created. */
export interface CopyRule extends Omit<MoveRule, 'rule'> {
  readonly rule: 'copy';
}

/** Copies the member at `from` of each object at `path` of a response to `to`. */
export interface ResponseCopyRule extends Omit<ResponseMoveRule, 'rule'> {
  readonly rule: 'copy';
}

/** Adds every query parameter `parameter` of a V1 request also under the name `to`. */
export interface QueryCopyRule {
  readonly rule: 'copy';
  readonly parameter: string;
  readonly to: string;
}

/** How `copy` changes queries. V1 had no parameter with the second name: an existing one is dropped, also in links. */
export const query: QueryKind<QueryCopyRule> = {
  compile: ({ parameter, to }) => ({
    apply: (run) => {
      if (run.named(parameter) === undefined) return;
      const isConflict = run.drop(to, 'conflict');
      run.record(run.copy(parameter, to), isConflict ? 'conflict' : undefined);
    },
    restore: (part) => (part.name === to ? undefined : part),
  }),
};

/** How `copy` changes the bytes of requests. */
export const kind: Kind<CopyRule> = { compile: compilePlaced };

/** `inverse` removes the copy with any value, because V1 had no such member, and the objects around it that become empty. */
export const lens: Lens<CopyRule, ResponseStripRule> = {
  moves: ({ from, to }) => [{ from, to }],
  inverse: (rule, path, { inside }) => {
    const copy = inside([...rule.in, ...rule.to]);
    if (copy === undefined) return 'outside';
    if (copy.length === 0) return 'wrapper';
    const to = copy.slice(inside(rule.in)?.length ?? 0);
    return [{ rule: 'strip', path: [...path, ...to], around: to.length - 1 }];
  },
  leadsIn: true,
};

/** How messages and guides describe `copy`. */
export const words: Words<CopyRule, ResponseCopyRule> = {
  of: 'both',
  keeps: true,
  named: ({ from }) => [from],
  say: (rule) => {
    const objects = 'in' in rule ? rule.in : rule.path;
    return `copy ${[...objects, ...rule.from].join('.')} to ${[...objects, ...rule.to].join('.')}`;
  },
  none: ({ from }, place) => `${place} has no ${from.join('.')}.`,
  remark: () => 'V2 needs it in both places',
  done: ({ name, place }) => `${name} is copied to ${place}.`,
};

const COPIED_TO = 'The path of the copy; missing objects on it are created. Each * is the one in copy.';

/** How a rule book writes `copy`. */
export const book: Book<CopyRule, ResponseCopyRule, QueryCopyRule> = {
  request: {
    form: ({ strict, memberPath, inside }) =>
      formOf(
        strict({ copy: memberPath, in: inside, to: memberPath.describe(COPIED_TO) }).describe(
          'Copies a member to another name or another object; the copy has the same bytes.',
        ),
        (source, { path }) => {
          const { path: objects, ...ends } = placesOf(source.copy, source.to, source.in);
          const at = [...path, 'copy'];
          return [{ rule: { rule: 'copy', in: objects, ...ends }, inside: at, members: [at] }];
        },
      ),
    policies: ['conflict'],
    faults: ({ rule, inside }, fault) => {
      const why = faultOf(rule);
      if (why !== undefined) fault([...inside.slice(0, -1), 'to'], why);
    },
    learn: (rule, facts) => facts.copy(rule.in, rule.from, rule.to),
    gives: 'copied',
  },
  response: {
    mayBeAnywhere: true,
    form: ({ strict, memberPath, status }) =>
      formOf(
        strict({ copy: memberPath, to: memberPath.describe(COPIED_TO), status }).describe(
          'Copies a member of a response to another name or another object.',
        ),
        (source, place) => [
          { rule: { rule: 'copy', ...placesOf(source.copy, source.to), status: place.status } },
        ],
      ),
    faults: ({ rule }, at, fault) => {
      const why = faultOf(rule);
      if (why !== undefined) fault([...at, 'to'], why);
    },
    effect: ['copies '],
    effectOn: ({ path, from }) => [[...path, ...from]],
    same: ({ from, to }) => [from, to],
  },
  query: {
    form: ({ strict, parameter }) =>
      formOf(
        strict({ copy: parameter, to: parameter.describe('The second name.') }).describe(
          'Adds a query parameter under another name as well, each time it occurs.',
        ),
        ({ copy, to }, { path }) => [
          { rule: { rule: 'copy', parameter: copy, to }, parts: [[...path, 'copy']] },
        ],
      ),
    faults: ({ rule, parts }, fault) => {
      if (rule.parameter === rule.to)
        fault(parts[0] ?? [], `copy gives "${rule.to}" the name it has; write another in to`);
    },
    looksFor: ({ parameter }) => [parameter],
    learn: ({ to }, names) => names.add(to),
  },
};

/** A member cannot be copied into itself. */
function faultOf({ from, to }: Pick<CopyRule, 'from' | 'to'>): string | undefined {
  const why = placesFault('copy', from, to);
  if (why !== undefined) return why;
  if (isSamePath(from, to)) return 'copy leads to the member itself; write another path';
  if (!beginsWith(from, to) && !beginsWith(to, from)) return undefined;
  const outer = printPath(from.length < to.length ? from : to);
  return `copy cannot put a member into itself, and both places are in ${outer}; write another path`;
}
