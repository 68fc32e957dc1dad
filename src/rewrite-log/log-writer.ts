import type { Entry } from './entry.ts';

/** Minimum level of the entries to write. */
export type LogThreshold = Entry['level'] | 'silent';

const SEVERITIES: Readonly<Record<LogThreshold, number>> = { info: 0, warn: 1, error: 2, silent: 3 };

/** Returns a function that writes the entries from a level on. */
export function logWriter(from: LogThreshold, write: (entry: Entry) => void): (entry: Entry) => void {
  const threshold = SEVERITIES[from];
  return (entry) => {
    if (SEVERITIES[entry.level] >= threshold) write(entry);
  };
}
