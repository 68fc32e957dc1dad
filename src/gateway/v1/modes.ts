import { FieldNames, type HeaderList } from '../../http/header-list.ts';
import { isRead } from '../../http/request-head.ts';
import type { MigrateDecision } from '../../migrate/decision.ts';
import { plainSpelling } from '../../rules/rule.ts';
import type { Mode } from '../proxied-exchange.ts';
import type { V1Mode } from './v1-exchange.ts';

/** The rarely used modes, whose code an isolate at the edge loads on demand. */
export interface OtherModes {
  readonly describe: V1Mode;
  readonly observe: V1Mode;
  readonly shadow: V1Mode;
  readonly verify: V1Mode;
  readonly ownReport: Mode;
}

/** Fields that ask for less than a whole response (RFC 9110 §13.1, §14.2). */
export const CONDITIONAL_FIELDS = [
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'range',
];

/** Fields with which a client asks for less than the whole response: a 304 or 206 does not show what V1 would send. */
const CONDITIONAL = new FieldNames(CONDITIONAL_FIELDS);

/**
 * True for requests that may be sent to two origins: their methods are safe (RFC 9110 §9.2.1), they have no body, and a migration does not
 * refuse them.
 */
export function mayGoToBoth(
  method: string,
  hasBody: boolean,
  { v2Method, refusal }: MigrateDecision,
): boolean {
  return isRead(method) && isRead(v2Method) && !hasBody && refusal === undefined;
}

/** True for a read that may be sent to both services, and whose client asks for the whole response. */
export function mayBeVerified(
  method: string,
  hasBody: boolean,
  decision: MigrateDecision,
  headers: HeaderList,
): boolean {
  const isPartial = headers.some((name, at) => at % 2 === 0 && CONDITIONAL.has(name));
  return mayGoToBoth(method, hasBody, decision) && !isPartial;
}

/** True for a request for V1's description. */
export function asksForDescription(method: string, decision: MigrateDecision): boolean {
  return isRead(method) && plainSpelling(decision.target.rest) === '/openapi.json';
}
