import { readFileSync } from 'node:fs';
import { isExplainRequest } from '../../inspector/explain/explain-request.ts';
import { type CommandFault, unreadable } from '../command-fault.ts';
import type { ExplainRequest } from '../../inspector/api.ts';
import type { Outcome } from '../../inspector/explain/explained-outcome.ts';

/** One line of a fixture. */
export interface Recording {
  readonly name: string;
  /** Number of similar exchanges. */
  readonly count: number;
  readonly request: ExplainRequest;
  readonly outcome: Outcome;
}

/** Prints recordings as JSON Lines. */
export function printFixture(recordings: readonly Recording[]): string {
  return recordings.map((recording) => `${JSON.stringify(recording)}\n`).join('');
}

/** Reads a fixture. */
export function readFixture(path: string): readonly Recording[] | CommandFault {
  try {
    const lines = readFileSync(path, 'utf8').split('\n');
    const recordings: Recording[] = [];
    for (const [at, line] of lines.entries()) {
      if (line === '') continue;
      const value: unknown = JSON.parse(line);
      if (!isRecording(value)) return { fault: `${path}:${at + 1} is no recording.`, isJunk: true };
      recordings.push(value);
    }
    return recordings;
  } catch (error) {
    return unreadable(path, error);
  }
}

function isRecording(value: unknown): value is Recording {
  if (typeof value !== 'object' || value === null || !('request' in value) || !('outcome' in value))
    return false;
  const { outcome } = value;
  return (
    isExplainRequest(value.request) &&
    'name' in value &&
    typeof value.name === 'string' &&
    'count' in value &&
    typeof value.count === 'number' &&
    typeof outcome === 'object' &&
    outcome !== null &&
    'verdict' in outcome
  );
}
