import { statusFrom } from './entry-outcome.ts';
import type { Entry } from './entry.ts';

/** Who found an error: the gateway, a service, a dry run, or V2's schema, without asking V2. */
export type ErrorSource = 'gateway' | 'v1' | 'v2' | 'would' | 'schema';

/** One error of an exchange. */
export interface EntryError {
  readonly by: ErrorSource;
  /** Failure code of the gateway, status of a service, or `invalid` of the schema. */
  readonly code: string;
  /** Pointer into the body that its finder read; absent when no place is known. */
  readonly pointer?: string;
}

/** The errors of an entry: one for each place that a 4xx of a service names. */
export function errorsOf(entry: Entry): readonly EntryError[] {
  const { failure, pointer, status, errorPointers = [], would } = entry;
  const from = statusFrom(entry);
  const errors: EntryError[] = [];
  if (failure !== undefined) errors.push(errorAt('gateway', failure, pointer));
  if (from !== undefined && from !== 'gateway' && status >= 400) {
    const places = errorPointers.length === 0 ? [undefined] : [...new Set(errorPointers)];
    errors.push(...places.map((place) => errorAt(from, String(status), place)));
  }
  if (would?.verdict === 'refused') errors.push(errorAt('would', would.failure ?? 'refused', would.pointer));
  if (would?.v2 === 'invalid') errors.push(errorAt('schema', 'invalid', would.at));
  return errors;
}

/** The name of an error, as the filter field `error` takes it: `v2-422 /property/suburb`. */
export function errorName({ by, code, pointer }: EntryError): string {
  return `${by}-${code}${pointer === undefined ? '' : ` ${pointer === '' ? '/' : pointer}`}`;
}

function errorAt(by: ErrorSource, code: string, pointer: string | undefined): EntryError {
  return pointer === undefined ? { by, code } : { by, code, pointer };
}
