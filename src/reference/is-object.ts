import type { Attributes } from './store.ts';

/** Whether a JSON value is an object. */
export function isObject(value: unknown): value is Attributes {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
