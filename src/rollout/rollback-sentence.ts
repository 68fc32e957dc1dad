import type { Rollback } from './rollout-state.ts';

/** Says what was rolled back, and why. */
export function rollbackSentence({ operation, share, migrated, v1, by }: Rollback): string {
  const canary = `canary of ${share} % ${operation === undefined ? '' : `of ${operation} `}rolled back to observe`;
  const who = by === undefined ? '' : ` by ${by}`;
  return `${canary}${who}: ${migrated.failures} of ${migrated.requests} migrated requests failed, ${v1.failures} of ${v1.requests} on V1. It stays in observe until an operator sets a mode.`;
}
