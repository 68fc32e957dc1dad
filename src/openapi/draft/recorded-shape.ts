import { elementsOf, isObject, memberOf } from '../json-object.ts';
import { ANY_SHAPE, type MemberShape, type Shape } from '../shape.ts';

/** The value that stands for one that was not recorded. */
const MASKED = '…';

/** The bodies of one operation, as recorded: their shape, and how many requests have a member. */
export interface RecordedBodies {
  readonly shape: Shape;
  readonly requests: number;
  /** By the names from the body to the member; `*` is any element. */
  readonly counts: ReadonlyMap<string, number>;
}

/** A recorded body, and the number of requests like it. */
export interface RecordedBody {
  readonly value: unknown;
  readonly count: number;
}

/**
 * The shape of recorded bodies. Where most of them have the wrapper, the others are taken as if they had it too, and members
 * beside it are left out, as V1 ignored them. A wrapper that has no object is no member.
 */
export function recordedShape(bodies: readonly RecordedBody[], v2: Shape): RecordedBodies {
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
export function recordedKey(path: readonly string[], name: string): string {
  return JSON.stringify([...path, name]);
}

/** The member with an object, as far as values are known, that V2 does not have, in at least half of the requests. */
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
    .filter(([name]) => !v2.members.has(name) && holdsKnown(name, bodies, v2))
    .toSorted(([, one], [, other]) => other - one);
  return best === undefined || best[1] * 2 < all ? undefined : best[0];
}

/** True when V2 has what is in a member: a sub-object that V2 no longer has is no wrapper. */
function holdsKnown(member: string, bodies: readonly RecordedBody[], v2: Shape): boolean {
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
