import { templateShape } from '../../rules/rule.ts';
import type { Components } from '../components.ts';
import {
  type DescribedOperation,
  type Description,
  elementsOf,
  followed,
  jsonSchemaIn,
  type MatchedOperation,
  memberOf,
  objectIn,
  templateOf,
} from '../description.ts';
import { ANY_SHAPE, type MemberShape, type Shape, shapeOf } from '../shape.ts';
import { findRenames, type FoundRule, isProposed, NO_LINK } from './compare-shapes.ts';
import type { ProposedChange, ProposedQueryRule } from './propose-changes.ts';

/** The resources in the responses of both versions, by the path of their collection. */
type ResourceShapes = ReadonlyMap<string, readonly { readonly v1: Shape; readonly v2: Shape }[]>;

/** A description, and what its references lead to. */
interface ResolvedDescription {
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

/** Finds query parameters that V2 calls otherwise, as a body does in `known`; those that are merely gone are questions. */
export function findQueryRenames(
  named: readonly { readonly pair: MatchedOperation; readonly operation: { readonly id: string } }[],
  v1: ResolvedDescription,
  v2: ResolvedDescription,
  known: readonly ProposedChange[],
): { readonly changes: readonly ProposedChange[]; readonly questions: readonly string[] } {
  const changes = new Map<string, { readonly on: string[]; readonly rule: ProposedQueryRule }>();
  const questions: string[] = [];
  for (const { pair, operation } of named) {
    const [old, young] = [queryShape(pair.v1, v1), queryShape(pair.v2, v2)];
    const { accepted } = findRenames(old, young, { nests: [], isRecorded: false });
    for (const { from, to, confidence, evidence, ...found } of accepted) {
      const doubt = found.doubt === NO_LINK && isKnown(from, to, known) ? undefined : found.doubt;
      const key = JSON.stringify([from, to, doubt === undefined]);
      const change = changes.get(key) ?? { on: [], rule: { rename: from, to, confidence, evidence, doubt } };
      changes.set(key, change);
      change.on.push(operation.id);
      if (doubt !== undefined)
        questions.push(`${operation.id}: is the query parameter ${from} called ${to} in V2? But ${doubt}.`);
    }
    for (const name of old.members.keys()) {
      if (young.members.has(name) || accepted.some(({ from }) => from === name)) continue;
      questions.push(`${operation.id}: V2 does not describe the query parameter ${name}.`);
    }
  }
  const proposed = [...changes.values()].map(({ on, rule }): ProposedChange => ({
    id: `${rule.to}-parameter`
      .replaceAll(/[^\w.-]|_/g, '-')
      .replace(/^[^A-Za-z]+/, '')
      .slice(0, 60),
    summary: `The query parameter ${rule.rename} is called ${rule.to}.`,
    on,
    rules: [],
    query: [rule],
  }));
  return { changes: proposed, questions };
}

/** True when a body has the member of one name by the other one, for certain. */
function isKnown(from: string, to: string, known: readonly ProposedChange[]): boolean {
  return known.some(({ rules }) =>
    rules.some((rule) => {
      const { found } = rule;
      return isProposed(rule) && found.rule === 'rename' && found.member === from && found.to === to;
    }),
  );
}

/** The query parameters of an operation as the members of an object. */
function queryShape(
  { operation, item }: DescribedOperation,
  { description, components }: ResolvedDescription,
): Shape {
  const declared = [...elementsOf(item['parameters']), ...elementsOf(operation['parameters'])];
  const members = declared.flatMap((one) => parameterIn(followed(description, one), components));
  return { ...ANY_SHAPE, members: new Map(members) };
}

function parameterIn(
  parameter: unknown,
  components: Components,
): readonly (readonly [string, MemberShape])[] {
  const name = memberOf(parameter, 'name');
  if (memberOf(parameter, 'in') !== 'query' || typeof name !== 'string') return [];
  const shape = shapeOf(memberOf(parameter, 'schema'), components);
  const text = memberOf(parameter, 'description');
  const described = typeof text === 'string' ? { ...shape, text } : shape;
  return [[name, { shape: described, required: memberOf(parameter, 'required') === true }]];
}
