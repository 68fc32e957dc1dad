import { entryLine } from './entry-line.ts';
import type { Entry } from './entry.ts';

/** Minimum level of the entries to write. */
export type LogThreshold = Entry['level'] | 'silent';

const SEVERITIES: Readonly<Record<LogThreshold, number>> = { info: 0, warn: 1, error: 2, silent: 3 };

/** Returns a function that writes the line of each entry from a level on, with the line feed. */
export function logWriter(from: LogThreshold, write: (line: string) => void): (entry: Entry) => void {
  const threshold = SEVERITIES[from];
  return (entry) => {
    if (SEVERITIES[entry.level] >= threshold) write(entryLine(entry));
  };
}
