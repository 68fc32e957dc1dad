import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Bytes from which a new buffer is checked: getting the memory in use takes longer than allocating a small one. */
const CHECKED_BYTES = 2 ** 20;

const TYPED_ARRAYS = [
  'Int8Array',
  'Uint8Array',
  'Uint8ClampedArray',
  'Int16Array',
  'Uint16Array',
  'Int32Array',
  'Uint32Array',
  'Float32Array',
  'Float64Array',
  'BigInt64Array',
  'BigUint64Array',
] as const;

/** Bytes of a page of WebAssembly. */
const PAGE_BYTES = 64 * 1024;

/**
 * True if this thread has more than that in buffers and other memory outside its heap, which `resourceLimits` does not limit. Unused
 * memory does not count, so it is collected first: the engine collects it late, because it only sees that the objects are small.
 */
export function hasOutsideHeap(bytes: number): boolean {
  if (getHeapStatistics().external_memory <= bytes) return false;
  collect ??= garbageCollector();
  collect();
  return getHeapStatistics().external_memory > bytes;
}

let collect: (() => void) | undefined;

/** Node has no other API for collecting garbage now; other runtimes collect when they choose. */
function garbageCollector(): () => void {
  try {
    setFlagsFromString('--expose-gc');
    const collectNow: unknown = runInNewContext('gc');
    if (typeof collectNow === 'function') return () => void Reflect.apply(collectNow, undefined, []);
  } catch {
    // Another engine.
  }
  return () => {};
}

/**
 * Makes this thread refuse large buffers that would exceed a limit of memory outside the heap, with a `RangeError` like the engine's when
 * there is no memory. A buffer of a gigabyte is filled in a single step that no other thread can interrupt; many small ones are counted
 * by the thread that watches this one. It prevents accidents of a module, not attacks.
 */
export function limitBuffers(maxBytes: number): void {
  const check = (bytes: number): void => {
    if (bytes < CHECKED_BYTES || (bytes <= maxBytes && !hasOutsideHeap(maxBytes - bytes))) return;
    throw new RangeError('Array buffer allocation failed');
  };
  guardConstructor(globalThis, 'ArrayBuffer', (length) => check(Number(length)));
  guardConstructor(globalThis, 'SharedArrayBuffer', (length) => check(Number(length)));
  for (const name of TYPED_ARRAYS) {
    const size = globalThis[name].BYTES_PER_ELEMENT;
    guardConstructor(globalThis, name, (source) => check(elementsOf(source) * size));
  }
  for (const name of ['alloc', 'allocUnsafe', 'allocUnsafeSlow'] as const)
    guardCall(Buffer, name, (length) => check(Number(length)));
  if (typeof WebAssembly !== 'object') return;
  guardConstructor(WebAssembly, 'Memory', (options) => check(initialPages(options) * PAGE_BYTES));
  guardCall(WebAssembly.Memory.prototype, 'grow', (pages) => check(Number(pages) * PAGE_BYTES));
}

/** The number of elements of a new typed array; 0 for a view of a buffer, or an array made from an iterator. */
function elementsOf(source: unknown): number {
  if (typeof source === 'number') return source;
  if (typeof source !== 'object' || source === null || source instanceof ArrayBuffer) return 0;
  const length: unknown = Reflect.get(source, 'length');
  return typeof length === 'number' ? length : 0;
}

function initialPages(options: unknown): number {
  const initial: unknown =
    typeof options === 'object' && options !== null ? Reflect.get(options, 'initial') : 0;
  return typeof initial === 'number' ? initial : 0;
}

type CheckFirst = (first: unknown) => void;

function guardConstructor(owner: object, name: string, check: CheckFirst): void {
  const original: unknown = Reflect.get(owner, name);
  if (typeof original !== 'function') return;
  const guarded: object = new Proxy(original, {
    construct: (target, given: readonly unknown[], maker): object => {
      check(given[0]);
      return Reflect.construct(target, given, maker === guarded ? target : maker);
    },
  });
  Reflect.set(owner, name, guarded);
  // Methods such as `slice` create their result with it.
  Reflect.set(original.prototype, 'constructor', guarded);
}

function guardCall(owner: object, name: string, check: CheckFirst): void {
  const original: unknown = Reflect.get(owner, name);
  if (typeof original !== 'function') return;
  Reflect.set(owner, name, function guarded(this: unknown, ...given: readonly unknown[]): unknown {
    check(given[0]);
    return Reflect.apply(original, this, given);
  });
}
