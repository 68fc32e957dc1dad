import { templateShape } from '../../rules/template.ts';
import type { Components } from '../components.ts';
import {
  type DescribedOperation,
  type Description,
  followed,
  jsonSchemaIn,
  templateOf,
} from '../description.ts';
import type { FoundRule } from './finding.ts';
import { objectIn } from '../json-object.ts';
import type { MatchedOperation } from './match-operations.ts';
import type { ProposedChange } from './propose-changes.ts';
import { type Shape, shapeOf } from '../shape.ts';

/** The resources in the responses of both versions, by the path of their collection. */
export type ResourceShapes = ReadonlyMap<string, readonly { readonly v1: Shape; readonly v2: Shape }[]>;

/** A description, and what its references lead to. */
export interface ResolvedDescription {
  readonly description: Description;
  readonly components: Components;
}

/** Reads the resources that successful responses have in `data`, alone or in a list. */
export function resourceShapes(
  matched: readonly MatchedOperation[],
  v1: ResolvedDescription,
  v2: ResolvedDescription,
): ResourceShapes {
  const shapes = new Map<string, { readonly v1: Shape; readonly v2: Shape }[]>();
  for (const pair of matched) {
    const key = resourceKey(pair.v1);
    const [old, young] = [dataShape(pair.v1, v1), dataShape(pair.v2, v2)];
    if (key === undefined || old === undefined || young === undefined) continue;
    shapes.set(key, [...(shapes.get(key) ?? []), { v1: old, v2: young }]);
  }
  return shapes;
}

/** The path of an operation without a parameter at its end: operations with the same one concern one resource. */
export function resourceKey(operation: DescribedOperation): string | undefined {
  const template = templateOf(operation);
  return template === undefined ? undefined : templateShape(template).replace(/\/\{\}$/, '');
}

/** Lets a change be undone in responses if V1's responses show it: with V1's names and places where V2's have their own. */
export function withInverse(
  change: ProposedChange,
  resources: readonly (string | undefined)[],
  shapes: ResourceShapes,
): ProposedChange {
  const pairs = resources.flatMap((key) => (key === undefined ? [] : (shapes.get(key) ?? [])));
  const isShown = change.rules.some(({ found }) => pairs.some(({ v1, v2 }) => isUndone(found, v1, v2)));
  return isShown ? { ...change, isInverse: true } : change;
}

function isUndone(found: FoundRule, v1: Shape, v2: Shape): boolean {
  if (found.rule !== 'rename' && found.rule !== 'nest') return false;
  const [old, young] = [shapeAt(v1, found.in), shapeAt(v2, found.in)];
  if (young === undefined) return false;
  if (found.rule === 'rename') {
    // A rename behind a nest: V1 has the member in the object around.
    const [around, now] = [v1, v2].map((shape) => shapeAt(shape, found.in.slice(0, -1)));
    const isNested = around?.has(found.member) === true && now?.has(found.member) !== true;
    const wasHere = old?.has(found.member) === true || isNested;
    // Where V1's response has the new name as well, it is another member, which would get the old name.
    return wasHere && old?.has(found.to) !== true && !young.has(found.member) && young.has(found.to);
  }
  if (old === undefined) return false;
  return young.has(found.under) && found.members.some((name) => old.has(name) && !young.has(name));
}

function shapeAt(shape: Shape, path: readonly string[]): Shape['members'] | undefined {
  let current: Shape | undefined = shape;
  for (const name of path) current = name === '*' ? current?.element : current?.members.get(name)?.shape;
  return current?.members;
}

function dataShape(
  { operation }: DescribedOperation,
  { description, components }: ResolvedDescription,
): Shape | undefined {
  const responses = Object.entries(objectIn(operation, 'responses'));
  // `default` has the statuses that no other key names.
  const successes = responses.filter(([status]) => status.startsWith('2'));
  const others = responses.filter(([status]) => status === 'default');
  for (const [, declared] of [...successes, ...others]) {
    const schema = jsonSchemaIn(objectIn(followed(description, declared), 'content'));
    const data = schema === undefined ? undefined : shapeOf(schema, components).members.get('data')?.shape;
    if (data !== undefined) return data.element ?? data;
  }
  return undefined;
}
