import type { TallyEntry } from '../../src/report/tally/tally-entry.ts';

/** A V1 order of a client's, as tallies count it, at a time in RFC 3339. */
export function v1TallyEntry(client: string, time: string, over: Partial<TallyEntry> = {}): TallyEntry {
  return {
    time,
    client,
    route: 'migrate',
    operation: 'create_client',
    verdict: 'rewritten',
    status: 201,
    edits: [],
    ...over,
  };
}
