import type { Path } from '../../edits/run.ts';
import type { Kind, Lens, StatusPattern, Words } from './kind.ts';
import { compilePlaced } from './move.ts';
import type { ResponseStripRule } from './strip.ts';

/** Copies the member at `from` of each object at `in` to `to` in the same object; the objects on the way there are made. */
export interface CopyRule {
  readonly rule: 'copy';
  /** The objects that both paths have in common, up to the last `*`. */
  readonly in: Path;
  readonly from: Path;
  readonly to: Path;
}

/** Copies the member at `from` of each object at `path` of a response to `to`. */
export interface ResponseCopyRule {
  readonly rule: 'copy';
  /** The objects that both paths have in common, up to the last `*`. */
  readonly path: Path;
  readonly from: Path;
  readonly to: Path;
  readonly status: readonly StatusPattern[];
}

/** Its work on the bytes of requests. */
export const kind: Kind<CopyRule> = { compile: compilePlaced };

/** V1 had no such member: the copy goes, whatever its value, and so do the objects around it that it leaves empty. */
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

/** What people read of it. */
export const words: Words<CopyRule, ResponseCopyRule> = {
  of: 'both',
  keeps: true,
  named: ({ from }) => [from],
  say: (rule) => {
    const objects = 'in' in rule ? rule.in : rule.path;
    return `copy ${[...objects, ...rule.from].join('.')} to ${[...objects, ...rule.to].join('.')}`;
  },
  none: ({ from }, place) => `${place} has no ${from.join('.')}.`,
  done: ({ name, place }) => `${name} is copied to ${place}.`,
};
