import { BodyMemory } from '../../src/node/body-memory.ts';

/** What memory for bodies holds once it is given back. */
export const OVERWRITTEN = '!';

// In all tests, memory is overwritten as soon as it is given back: whoever still reads it gets other bytes then and there, and not
// only where another exchange has begun to use it.
const { value: give } = Object.getOwnPropertyDescriptor(BodyMemory.prototype, 'give') as {
  readonly value: (buffer: Uint8Array) => void;
};

BodyMemory.prototype.give = function overwriteAndGive(buffer) {
  const taken: WeakSet<Uint8Array> = Reflect.get(this, 'taken');
  // One that has moved to a thread has no bytes.
  if (taken.has(buffer) && buffer.length > 0) buffer.fill(OVERWRITTEN.charCodeAt(0));
  Reflect.apply(give, this, [buffer]);
};
