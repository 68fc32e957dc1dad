import { Failures } from './failures.ts';
import type { Health } from './past.ts';
import { UnfitCalls } from './unfit-calls.ts';

/** The requests of all operations, and the calls that no operation fitted. */
export interface KnownHealth {
  readonly all: ReadonlyMap<string, Health>;
  readonly unfit: UnfitCalls;
}

/** What is known as a text that can be sent from a thread. */
export function printHealth(known: KnownHealth): string {
  return JSON.stringify(known, (_, value: unknown) => (value instanceof Map ? [...value] : value));
}

/** What {@link printHealth} printed. */
export function readHealth(text: string): KnownHealth {
  return JSON.parse(text, (key, value) => {
    if (key === 'failures') return Failures.read(value);
    if (key === 'unfit') return new UnfitCalls(value);
    return key === 'all' || key === 'clients' || key === 'byClient' ? new Map(value) : value;
  });
}
