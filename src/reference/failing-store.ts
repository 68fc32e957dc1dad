import type { Store } from './store.ts';

/** A store that fails with every call, as one does whose disk is gone: with it, a client meets a 500 of the service. */
export const FAILING_STORE: Store = {
  create: fail,
  read: fail,
  list: fail,
  update: fail,
  remove: fail,
  atomically: fail,
  close: () => {},
};

function fail(): never {
  throw new Error('The store fails for this key, as the service was told.');
}
