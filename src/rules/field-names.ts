import { BODY_KINDS, isHopByHop, kindOfName } from '../http/fields.ts';
import { isFieldName, isFieldValue } from '../http/header-list.ts';

/** Fields that the gateway sets itself, in lower case. */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  'date',
  'deprecation',
  'max-forwards',
  'sunset',
  'traceparent',
  'tracestate',
  'via',
  'x-gateway-error',
  'x-request-id',
]);

/** Conditional and range fields, which the gateway adapts to the bodies that it rewrites, in lower case. */
const STEERED_FIELDS: ReadonlySet<string> = new Set([
  'accept-encoding',
  'etag',
  'if-match',
  'if-none-match',
  'if-range',
  'link',
  'location',
  'range',
  'set-cookie',
]);

/** Returns why a rule book cannot name this field, and what to do instead; undefined if it can. */
export function fieldFault(name: string): string | undefined {
  const lower = name.toLowerCase();
  if (!isFieldName(name)) return 'is not the name of a header field; write a name such as X-Account';
  if (lower === 'host') return "is the service's host; set it with GATEWAY_UPSTREAM, and remove it here";
  if (lower === 'expect' || lower === 'content-length' || isHopByHop(lower) || lower.startsWith('proxy-'))
    return 'belongs to one connection, and the gateway writes its own; remove it';
  if (lower === 'x-api-version') return "names V2's release; write version instead";
  if (OWN_FIELDS.has(lower) || kindOfName(lower) === 'forwarding')
    return 'is a field that the gateway itself sends; remove it';
  if (lower.startsWith('content-') || BODY_KINDS.has(kindOfName(lower)))
    return 'describes the body, which the gateway reads and writes; remove it';
  if (STEERED_FIELDS.has(lower) || kindOfName(lower) === 'method-override')
    return 'is a field that the gateway itself translates; remove it';
  if (kindOfName(lower) === 'alias' || kindOfName(lower) === 'claimed-alias')
    return `is read as ${lower.replaceAll('_', '-')} by some services, and V2 never gets it; remove it`;
  return undefined;
}

/** True for a valid value of one header field that is forwarded unchanged (RFC 9110 §5.5). */
export function isOneValue(text: string): boolean {
  return text !== '' && text === text.trim() && isFieldValue(text);
}
