/** The constructors and namespaces whose objects a transform uses; everything they refer to is frozen as well. */
const ROOTS: readonly unknown[] = `
  Object Function Array Number Boolean String Symbol BigInt Math JSON Reflect Promise RegExp Date Map Set WeakMap WeakSet WeakRef
  FinalizationRegistry Iterator Intl Error AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError
  ArrayBuffer SharedArrayBuffer DataView Atomics Int8Array Uint8Array Uint8ClampedArray Int16Array Uint16Array Int32Array Uint32Array
  Float16Array Float32Array Float64Array BigInt64Array BigUint64Array URL URLSearchParams TextEncoder TextDecoder
`
  .trim()
  .split(/\s+/)
  .map((name) => Reflect.get(globalThis, name));

/** Properties that modules set for reading stacks; the engine only accepts a number and a function there. */
const SETTINGS: ReadonlySet<string | symbol> = new Set(['stackTraceLimit', 'prepareStackTrace']);

function* generated(): Generator<undefined> {
  yield undefined;
}

async function* generatedLater(): AsyncGenerator<undefined> {
  yield undefined;
}

/**
 * Freezes the prototypes and constructors of this realm, so that a module with a prototype pollution bug cannot change what the next
 * client's values inherit. Assigning an inherited name still creates an own property, as usual: a plain `Object.freeze` would refuse
 * `error.name = 'x'` and `object.toString = …` (the "override mistake" of JavaScript).
 */
export function freezeRealm(): void {
  for (const key of SETTINGS)
    Reflect.defineProperty(Error, key, {
      value: Reflect.get(Error, key),
      writable: true,
      configurable: true,
    });
  const seen = new Set<object>();
  const queue: unknown[] = [
    ...ROOTS,
    generated,
    generatedLater,
    async () => {},
    generated(),
    generatedLater(),
    [][Symbol.iterator](),
    new Map()[Symbol.iterator](),
    new Set()[Symbol.iterator](),
    ''[Symbol.iterator](),
    'a'.matchAll(/a/g),
    new URLSearchParams().entries(),
    helperOf(new Set().values()),
  ];
  while (queue.length > 0) {
    const value = queue.pop();
    if (!isObject(value) || seen.has(value)) continue;
    seen.add(value);
    queue.push(Reflect.getPrototypeOf(value));
    for (const key of Reflect.ownKeys(value)) {
      const property = Reflect.getOwnPropertyDescriptor(value, key);
      queue.push(property?.value, property?.get, property?.set);
    }
  }
  for (const object of seen) freeze(object);
}

/** The result of an iterator's `map`, whose prototype also has no name. */
function helperOf(iterator: object): unknown {
  const map: unknown = Reflect.get(iterator, 'map');
  return typeof map === 'function' ? Reflect.apply(map, iterator, [() => undefined]) : undefined;
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

function freeze(object: object): void {
  for (const key of Reflect.ownKeys(object)) {
    const property = Reflect.getOwnPropertyDescriptor(object, key);
    if (property?.configurable !== true || (object === Error && SETTINGS.has(key))) continue;
    const isAssigned = property.writable === true && typeof key === 'string';
    if (isAssigned) Reflect.defineProperty(object, key, inherited(object, key, property));
    else if (property.writable === undefined) Reflect.defineProperty(object, key, { configurable: false });
    else Reflect.defineProperty(object, key, { configurable: false, writable: false });
  }
  Object.preventExtensions(object);
}

/** Reads like the property, and becomes an own property of any other object when assigned there. */
function inherited(
  holder: object,
  key: string,
  { value, enumerable }: PropertyDescriptor,
): PropertyDescriptor {
  return {
    get: () => value,
    set(this: unknown, own: unknown) {
      const isMade =
        this !== holder &&
        isObject(this) &&
        Reflect.defineProperty(this, key, {
          value: own,
          writable: true,
          enumerable: true,
          configurable: true,
        });
      if (!isMade) throw new TypeError(`Cannot assign to read only property '${key}' of object`);
    },
    enumerable: enumerable === true,
    configurable: false,
  };
}
