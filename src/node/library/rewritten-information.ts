import type { ServerResponse } from 'node:http';
import type { Migration } from '../../library/migration.ts';
import type { RequestOfResponse } from '../../library/v1-response.ts';
import { pairsOf } from './outgoing-arguments.ts';

/** Points the links of informational responses (RFC 9110 §15.2), such as early hints, to V1. */
export function rewriteInformation(
  migration: Migration,
  request: RequestOfResponse,
  outgoing: ServerResponse,
): void {
  const inV1 = (fields: unknown): unknown => {
    // What has no fields, or not in pairs, is Node's to take or to refuse.
    const pairs = typeof fields === 'object' && fields !== null ? pairsOf(fields) : undefined;
    if (pairs === undefined) return fields;
    const rewritten = pairs.map(([name, value]) => [name, valueInV1(migration, request, name, value)]);
    return Array.isArray(fields) ? rewritten : Object.fromEntries(rewritten);
  };
  // Since Node 24.18 it writes early hints, too.
  if (typeof outgoing.writeInformation === 'function') {
    const write = outgoing.writeInformation.bind(outgoing);
    const writeInformation = (status: unknown, fields: unknown, ...rest: unknown[]): unknown =>
      Reflect.apply(write, undefined, [status, inV1(fields), ...rest]);
    Object.assign(outgoing, { writeInformation });
    return;
  }
  const write = outgoing.writeEarlyHints.bind(outgoing);
  const writeEarlyHints = (hints: unknown, ...rest: unknown[]): unknown =>
    Reflect.apply(write, undefined, [inV1(hints), ...rest]);
  Object.assign(outgoing, { writeEarlyHints });
}

/** Returns a value, or the values of several lines, with links to V1. */
function valueInV1(migration: Migration, request: RequestOfResponse, name: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((line) => valueInV1(migration, request, name, line));
  if (typeof value !== 'string') return value;
  const [field] = migration.startResponse(request, 103, [[name, value]]).unchanged.headers;
  return field === undefined ? value : field[1];
}
