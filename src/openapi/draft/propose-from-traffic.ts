import { canBeRewritten, OperationTable } from '../../rules/rule-book.ts';
import { Components } from '../components.ts';
import { describedOperations, type Description, elementsOf, isObject, memberOf } from '../description.ts';
import { ANY_SHAPE, type MemberShape, type Shape } from '../shape.ts';
import { requestShape } from './bodies.ts';
import { ComparedPairs } from './compared-pairs.ts';
import type { ShapeSource } from './comparison.ts';
import { pathText, type Question } from './found-rules.ts';
import type { ProposedRuleBook } from './print-rule-book.ts';
import { namedOperations, proposeFor } from './propose-rule-book.ts';

/** A recorded V1 request with a JSON body. */
export interface RecordedRequest extends RecordedBody {
  readonly method: string;
  /** The path below `/api/v1`. */
  readonly rest: string;
}

/** Stands for a value that was not recorded. */
const MASKED = '…';

/** Proposes a rule book from recorded V1 requests and V2's description: it removes the members that V2 does not describe. */
export function proposeFromTraffic(v2: Description, requests: readonly RecordedRequest[]): ProposedRuleBook {
  const components = new Components(v2);
  const named = namedOperations(
    describedOperations(v2, 'v2').map((operation) => ({ v1: operation, v2: operation })),
  );
  const table = new OperationTable(
    named.map(({ operation: { id, method, template } }) => ({ id, method, template, assumed: false })),
  );
  const byOperation = new Map<string, RecordedRequest[]>();
  for (const request of requests) {
    const id = table.match(request.method, request.rest)?.id ?? '';
    byOperation.set(id, [...(byOperation.get(id) ?? []), request]);
  }
  const recorded = new Map<string, RecordedBodies & { readonly v2: Shape }>();
  for (const { pair, operation } of named) {
    const shape = canBeRewritten(operation.method) ? requestShape(pair.v2, components) : undefined;
    const bodies = byOperation.get(operation.id);
    if (shape === undefined || bodies === undefined) continue;
    recorded.set(operation.id, { ...recordedShape(bodies, shape), v2: shape });
  }
  const pairs = named.flatMap(({ operation: { id, method } }) => {
    const found = recorded.get(id);
    return found === undefined ? [] : [{ id, method, v1: found.shape, v2: found.v2 }];
  });
  const known = new ComparedPairs();
  const { changes, questions } = proposeFor(pairs, (id) => sourceOf(recorded.get(id), known));
  const unknown = byOperation.get('')?.length ?? 0;
  const general =
    unknown === 0
      ? []
      : [
          `${unknown === 1 ? '1 recorded request is for an operation' : `${unknown} recorded requests are for operations`} that V2 does not describe.`,
        ];
  return {
    origin: [
      "A draft of a rule book, from V2's description and recorded V1 requests.",
      `${recorded.size === 1 ? '1 operation has' : `${recorded.size} operations have`} recorded bodies. Attributes that no request had are not in it.`,
    ],
    keys: [],
    operations: named.map(({ operation }) => operation),
    changes,
    questions: new Map([
      ['', general.map((text) => ({ path: [], text }))],
      ...[...recorded].map(
        ([id, { v2: shape }]) => [id, [...(questions.get(id) ?? []), ...onlyQuestion(shape)]] as const,
      ),
    ]),
  };
}

function sourceOf(recorded: RecordedBodies | undefined, pairs: ComparedPairs): ShapeSource {
  const requests = recorded?.requests ?? 0;
  return {
    isRecorded: true,
    pairs,
    whyGone: (path, name) => {
      const count = recorded?.counts.get(recordedKey(path, name)) ?? 0;
      const times = count === 0 ? '' : `; ${count} of ${requests} recorded requests send it`;
      return `V2's description does not have it${times}`;
    },
  };
}

/** The question about a rule that keeps only the members that V2 describes, for attributes that no recorded request had. */
function onlyQuestion(v2: Shape): readonly Question[] {
  if (v2.members.size === 0) return [];
  const names = [...v2.members.keys()].map((name) => pathText([name])).join(', ');
  return [
    { path: [], text: `to remove all that V2 does not describe, instead of strip: { only: [${names}] }` },
  ];
}

/** The bodies of one operation, as recorded: their shape, and how many requests have a member. */
interface RecordedBodies {
  readonly shape: Shape;
  readonly requests: number;
  /** By the names from the body to the member; `*` is any element. */
  readonly counts: ReadonlyMap<string, number>;
}

/** A recorded body, and the number of requests like it. */
interface RecordedBody {
  readonly value: unknown;
  readonly count: number;
}

/**
 * The shape of recorded bodies. Where most of them have the wrapper, the others are taken as if they had it, and members
 * beside it are left out, as V1 ignored them. A wrapper that has no object is no member.
 */
function recordedShape(bodies: readonly RecordedBody[], v2: Shape): RecordedBodies {
  const wrapper = wrapperIn(bodies, v2);
  const inner = bodies.map(({ value, count }) => {
    const inside = wrapper === undefined ? undefined : memberOf(value, wrapper);
    return { value: isObject(inside) ? inside : without(value, wrapper), count };
  });
  const counts = new Map<string, number>();
  for (const { value, count } of inner) {
    for (const path of new Set(pathsIn(value, []))) counts.set(path, (counts.get(path) ?? 0) + count);
  }
  const shape = merged(inner.map(({ value }) => value));
  const requests = bodies.reduce((sum, { count }) => sum + count, 0);
  if (wrapper === undefined) return { shape, requests, counts };
  const members = new Map([[wrapper, { shape, required: true }]]);
  return { shape: { ...ANY_SHAPE, types: new Set(['object']), members }, requests, counts };
}

function without(value: unknown, member: string | undefined): unknown {
  if (member === undefined || !isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== member));
}

/** The key of a member in the counts. */
function recordedKey(path: readonly string[], name: string): string {
  return JSON.stringify([...path, name]);
}

/** The member with an object (or a value that was not recorded) that V2 does not have and at least half of the requests do. */
function wrapperIn(bodies: readonly RecordedBody[], v2: Shape): string | undefined {
  const counts = new Map<string, number>();
  let all = 0;
  for (const { value, count } of bodies) {
    all += count;
    for (const [name, inside] of Object.entries(isObject(value) ? value : {})) {
      if (isObject(inside) || inside === MASKED) counts.set(name, (counts.get(name) ?? 0) + count);
    }
  }
  const [best] = [...counts]
    .filter(([name]) => !v2.members.has(name) && hasKnownMembers(name, bodies, v2))
    .toSorted(([, one], [, other]) => other - one);
  return best === undefined || best[1] * 2 < all ? undefined : best[0];
}

/** True if V2 has members of the object: an object that V2 does not have at all is not a wrapper. */
function hasKnownMembers(member: string, bodies: readonly RecordedBody[], v2: Shape): boolean {
  const names = bodies.flatMap(({ value }) => Object.keys(objectMember(value, member)));
  return names.some((name) => isKnown(name, v2));
}

function isKnown(name: string, v2: Shape): boolean {
  return v2.members.has(name) || [...v2.members.values()].some(({ shape }) => shape.members.has(name));
}

function objectMember(value: unknown, name: string): object {
  const found = memberOf(value, name);
  return isObject(found) ? found : {};
}

function pathsIn(value: unknown, path: readonly string[]): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((element) => pathsIn(element, [...path, '*']));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, inside]) => [
    recordedKey(path, name),
    ...pathsIn(inside, [...path, name]),
  ]);
}

function merged(values: readonly unknown[]): Shape {
  const objects = values.filter((value) => isObject(value));
  const names = new Set(objects.flatMap((value) => Object.keys(value)));
  const members = [...names].map((name): readonly [string, MemberShape] => {
    const found = objects.filter((value) => Object.hasOwn(value, name)).map((value) => value[name]);
    return [name, { shape: merged(found), required: found.length === values.length }];
  });
  const elements = values.flatMap((value) => elementsOf(value));
  return {
    ...ANY_SHAPE,
    types: new Set(values.flatMap((value) => typeOf(value))),
    members: new Map(members),
    element: elements.length === 0 ? undefined : merged(elements),
  };
}

function typeOf(value: unknown): readonly string[] {
  if (value === null || value === MASKED) return [];
  if (Array.isArray(value)) return ['array'];
  if (typeof value === 'number') return [Number.isInteger(value) ? 'integer' : 'number'];
  // An integer beyond what a double holds is kept as its text.
  return [typeof value === 'object' && !isObject(value) ? 'integer' : typeof value];
}
