import type { Entry } from './entry.ts';

/** True for what has the members that every entry has. */
export function isEntry(value: unknown): value is Entry {
  if (typeof value !== 'object' || value === null) return false;
  const {
    time,
    requestId,
    route,
    method,
    path,
    verdict,
    edits,
    status,
    totalMs,
    ruleBook,
  }: Partial<Record<keyof Entry, unknown>> = value;
  return (
    [time, requestId, route, method, path, verdict, ruleBook].every((text) => typeof text === 'string') &&
    [status, totalMs].every((number) => typeof number === 'number') &&
    Array.isArray(edits) &&
    edits.every((edit: unknown) => isEdit(edit))
  );
}

function isEdit(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    'change' in value &&
    typeof value.change === 'string' &&
    'rule' in value &&
    typeof value.rule === 'string'
  );
}
