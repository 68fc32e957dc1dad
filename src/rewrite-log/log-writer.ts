import { entryLine } from './entry-line.ts';
import type { Entry } from './entry.ts';

/** The lowest level of entries that are written. */
export type LogThreshold = Entry['level'] | 'silent';

const SEVERITIES: Readonly<Record<LogThreshold, number>> = { info: 0, warn: 1, error: 2, silent: 3 };

/** Returns a function that writes the line of each entry, line feed included, from a level on. */
export function logWriter(from: LogThreshold, write: (line: string) => void): (entry: Entry) => void {
  const least = SEVERITIES[from];
  return (entry) => {
    if (SEVERITIES[entry.level] >= least) write(entryLine(entry));
  };
}
