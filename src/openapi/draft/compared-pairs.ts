const knownPairs = new WeakMap<object, WeakMap<object, object>>();

/** Returns a key for two objects: the same one each time. */
export function pairOf(one: object, other: object): object {
  const others = knownPairs.get(one) ?? new WeakMap<object, object>();
  knownPairs.set(one, others);
  const pair = others.get(other) ?? {};
  others.set(other, pair);
  return pair;
}

/** The results of `differs` by pairs of objects, which hold for all bodies of requests, or of responses. */
export const requestDifferences = new WeakMap<object, boolean>();
export const responseDifferences = new WeakMap<object, boolean>();
