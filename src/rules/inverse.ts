import type { NoInverse, ResponsePlace, StatusPattern } from './kinds/kind.ts';
import { kindOf, type KindOfResponseRule, lensOf } from './kinds/kinds.ts';
import { inverseValues } from './kinds/map.ts';
import { shapeAtV2 } from './move.ts';
import type { Change, Operation } from './rule-book.ts';
import type { HeaderRule, Path, RequestRule, ResponseHeaderRule } from './rule.ts';

/** A response rule that undoes a request rule, and the id of the change that both belong to. */
export interface InvertedRule {
  readonly change: string;
  readonly rule: KindOfResponseRule;
}

/**
 * Finds the rules of `inverse` changes, by operation. A change applies wherever the resource that its operations write is in a response:
 * to other operations of the resource, and to those of resources that embed it. One on `every` applies to all.
 */
export class InverseIndex {
  private readonly changes: readonly Change[];
  /** Operations by the key of their resource. */
  private readonly resources: ReadonlyMap<string, readonly Operation[]>;
  private readonly byId: ReadonlyMap<string, Operation>;
  private readonly hasInverse: boolean;
  private readonly resource: Path;
  /** The changes of the operations of a resource, by its key. */
  private readonly changesByKey = new Map<string, readonly Change[]>();

  /** `resource` is the place of the resource in responses, unless an operation names another. */
  constructor(
    operations: readonly Operation[],
    changes: readonly Change[],
    resource: Path = DEFAULT_RESOURCE,
  ) {
    this.resource = resource;
    this.changes = changes;
    this.resources = Map.groupBy(operations, resourceOf);
    this.byId = new Map(operations.map((operation) => [operation.id, operation]));
    this.hasInverse = changes.some(isInverse);
  }

  /** The rules for responses to `operation`, in order: the last request rule is undone first. */
  of(operation: Operation | undefined): readonly InvertedRule[] {
    if (!this.hasInverse) return [];
    const at = resourcePath(operation, this.resource);
    return this.placesOf(operation, [], []).flatMap(({ resource, prefix }) => {
      const changes = this.changesOf(resource);
      return [...undo(changes, [...at, ...prefix]), ...undo(changes, [...at, '*', ...prefix])];
    });
  }

  /** The changes of the requests that write the resource of an operation, in the order of the rule book. */
  writing(operation: Operation | undefined): readonly Change[] {
    return this.changesOf(keyOf(operation));
  }

  /** The places of resources within a resource: its own, and those of the resources that it embeds. */
  private placesOf(
    operation: Operation | undefined,
    prefix: Path,
    around: readonly string[],
  ): readonly ResourcePlace[] {
    const resource = keyOf(operation);
    const own: ResourcePlace = { resource, prefix };
    // Following a resource that embeds itself would never end.
    if (around.includes(resource)) return [];
    const embeds = (this.resources.get(resource) ?? []).flatMap((one) => one.embeds ?? []);
    const inner = embeds.flatMap(({ path, operation: id }) => {
      const writer = this.byId.get(id);
      return writer === undefined ? [] : this.placesOf(writer, [...prefix, ...path], [...around, resource]);
    });
    return [own, ...inner];
  }

  private changesOf(resource: string): readonly Change[] {
    const known = this.changesByKey.get(resource);
    if (known !== undefined) return known;
    const ids = new Set((this.resources.get(resource) ?? []).map(({ id }) => id));
    const found = this.changes.filter(({ on }) => on === 'every' || on.some((id) => ids.has(id)));
    this.changesByKey.set(resource, found);
    return found;
  }
}

/** The default place of the resource in a response. */
const DEFAULT_RESOURCE: Path = ['data'];

/** The path to the resource in responses to an operation; `general` is that of the rule book. Empty for the body itself. */
export function resourcePath(operation: Operation | undefined, general: Path = DEFAULT_RESOURCE): Path {
  return operation?.resource ?? general;
}

/** The key of a resource. Requests without an operation have a space, which no path has. */
function keyOf(operation: Operation | undefined): string {
  return operation === undefined ? ' ' : resourceOf(operation);
}

interface ResourcePlace {
  readonly resource: string;
  readonly prefix: Path;
}

/** The key of an operation's resource: its path at V2, whose resources are in responses, without a parameter at the end. */
export function resourceOf(operation: Pick<Operation, 'template' | 'to'>): string {
  return shapeAtV2(operation).replace(/\/\{\}$/, '');
}

/** True for a change whose request rules are undone in responses. */
export function isInverse({ response }: Change): boolean {
  return response.some(({ rule }) => rule === 'inverse');
}

/** Why a request rule cannot be undone in a response; undefined if it can. */
export function whyNoInverse(rule: RequestRule): NoInverse | undefined {
  const found = inverseOf(rule, [], { inside: (path) => path, hasNulls: false });
  return typeof found === 'string' ? found : undefined;
}

/** The statuses of responses in which rules are undone. */
const UNDONE_IN: readonly StatusPattern[] = ['2xx'];

/** The rules that undo a rule for the resource at `base` of a response. */
function inverseOf(
  rule: RequestRule,
  base: Path,
  place: ResponsePlace,
): readonly KindOfResponseRule[] | NoInverse {
  const lens = lensOf(rule);
  const inside = place.inside('in' in rule ? rule.in : []);
  if (inside === undefined && lens.leadsIn !== true) return 'outside';
  const undone = lens.inverse(rule, [...base, ...(inside ?? [])], place);
  return typeof undone === 'string' ? undone : undone.map((one) => ({ ...one, status: UNDONE_IN }));
}

/** Undoes `changes`, the last first, on the resource at `base`. */
function undo(changes: readonly Change[], base: Path): readonly InvertedRule[] {
  const undone: InvertedRule[] = [];
  /** The member that contains the parameters, for rules before the unwrap: their paths begin with it. */
  let wrapper: string | undefined;
  for (const change of changes.toReversed()) {
    for (const rule of change.request.toReversed()) {
      wrapper = kindOf(rule).unwraps?.(rule) ?? wrapper;
      if (!isInverse(change)) continue;
      const inverse = inverseOf(rule, base, placeIn(wrapper, hasNulls(change)));
      if (typeof inverse === 'string') continue;
      undone.push(...inverse.map((one) => ({ change: change.id, rule: one })));
    }
  }
  return undone;
}

/** True if V1 always had the members that a `nest` moves, with null for those without a value. */
function hasNulls({ response }: Change): boolean {
  return response.some((rule) => rule.rule === 'inverse' && rule.members === 'null');
}

function placeIn(wrapper: string | undefined, hasNulls: boolean): ResponsePlace {
  const inside = (path: Path): Path | undefined => {
    if (wrapper === undefined || path[0] === '**') return path;
    return path[0] === wrapper ? path.slice(1) : undefined;
  };
  return { inside, hasNulls };
}

/** The rule that undoes a header rule in a response; undefined if there is nothing to undo. */
export function inverseHeaderRule(rule: HeaderRule): ResponseHeaderRule['rule'] | undefined {
  if ('values' in rule) {
    const values = inverseValues(rule.values);
    return values.length === 0 ? undefined : { ...rule, values };
  }
  if (!('field' in rule) || !('to' in rule) || rule.as !== undefined) return undefined;
  return { ...rule, field: rule.to, to: rule.field };
}
