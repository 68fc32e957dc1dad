import { BodyMemory } from '../../src/node/body-memory.ts';

/** What memory for bodies holds once it is released. */
export const OVERWRITTEN = '!';

// In all tests, memory is overwritten as soon as it is released: code that still reads it gets other bytes at once, and not
// only where another exchange has begun to use it.
const { value: release } = Object.getOwnPropertyDescriptor(BodyMemory.prototype, 'release') as {
  readonly value: (buffer: Uint8Array) => void;
};

BodyMemory.prototype.release = function overwriteAndRelease(buffer) {
  const acquired: WeakSet<Uint8Array> = Reflect.get(this, 'acquired');
  // One that has moved to a thread has no bytes.
  if (acquired.has(buffer) && buffer.length > 0) buffer.fill(OVERWRITTEN.charCodeAt(0));
  Reflect.apply(release, this, [buffer]);
};
