import { isHopByHop, kindOfName } from '../http/fields.ts';
import { isFieldName, isFieldValue } from '../http/header-list.ts';
import type { SourceFault } from './rule-book-fault.ts';
import type { RuleBookSource } from './rule-book-source.ts';
import { isReleaseDate, VERSION_HEADER, type VersionField } from './rule-book.ts';
import { DEFAULT_FROM, DEFAULT_TO } from './rule.ts';

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

/** Fields of conditions and parts, which the gateway keeps in step with the bodies that it rewrites, in lower case. */
const STEERED_FIELDS: ReadonlySet<string> = new Set([
  'accept-encoding',
  'accept-ranges',
  'etag',
  'if-match',
  'if-none-match',
  'if-range',
  'link',
  'location',
  'range',
  'set-cookie',
]);

/** Returns why a rule book cannot name this field, and what to do instead; undefined for one that it can. */
export function fieldFault(name: string): string | undefined {
  const lower = name.toLowerCase();
  if (!isFieldName(name)) return 'is not the name of a header field; write a name such as X-Account';
  if (lower === 'host') return 'is that of the service; set it with GATEWAY_UPSTREAM, and remove it here';
  if (lower === 'expect' || lower === 'content-length' || isHopByHop(lower) || lower.startsWith('proxy-'))
    return 'belongs to one connection, and the gateway writes its own; remove it';
  if (lower === 'x-api-version') return "names V2's release; write version instead";
  if (OWN_FIELDS.has(lower) || kindOfName(lower) === 'forwarding')
    return 'is one that the gateway itself sends; remove it';
  if (lower.startsWith('content-') || kindOfName(lower) === 'body')
    return 'describes the body, which the gateway reads and writes; remove it';
  if (STEERED_FIELDS.has(lower)) return 'is one that the gateway itself turns; remove it';
  if (kindOfName(lower) === 'alias')
    return `is read as ${lower.replaceAll('_', '-')} by some services, and requests with it are refused; remove it`;
  return undefined;
}

/** Fields that each request has a use of its own for, so that none of them can name a release. */
const TAKEN_FIELDS: ReadonlySet<string> = new Set(['accept', 'authorization', 'cookie', 'user-agent']);

/** Reads `version`, in its short or long form, and checks what depends on it. */
export function declareVersion({
  from = DEFAULT_FROM,
  to = DEFAULT_TO,
  version,
  pins = [],
  policies = {},
}: RuleBookSource): {
  readonly version: string | undefined;
  /** Undefined for a day in `x-api-version`. */
  readonly versionField: VersionField | undefined;
  readonly faults: readonly SourceFault[];
} {
  const faults: SourceFault[] = [];
  const fault = (path: SourceFault['path'], message: string, blame: SourceFault['blame'] = 'value'): void => {
    faults.push({ path, blame, message });
  };
  if (version === undefined) {
    if (from === to)
      fault(
        ['to'],
        'to is the same as from, and without version no field tells V1 and V2 apart; add version',
      );
    if (pins.length > 0)
      fault(
        ['pins'],
        'pins are for version, and this rule book has none; add version, or remove them',
        'key',
      );
    if (policies.future !== undefined)
      fault(
        ['policies', 'future'],
        'the policy future is for version, and this rule book has none; remove it',
        'key',
      );
    return { version, versionField: undefined, faults };
  }
  const {
    header = VERSION_HEADER,
    value,
    form = 'date',
  } = typeof version === 'string' ? { value: version } : version;
  const lower = header.toLowerCase();
  const reason =
    lower === VERSION_HEADER
      ? undefined
      : TAKEN_FIELDS.has(lower)
        ? 'has a meaning of its own; name another field'
        : fieldFault(header);
  if (reason !== undefined)
    fault(['version', 'header'], `version.header ${JSON.stringify(header)} ${reason}`);
  const check = (text: string, path: SourceFault['path'], name: string): void => {
    if (form === 'date' && !isReleaseDate(text))
      fault(
        path,
        `${name} ${JSON.stringify(text)} must be a real day, not before 2025-01-01${typeof version === 'string' ? '' : ', or the form text'}`,
      );
    if (form === 'text' && !(text !== '' && text === text.trim() && isFieldValue(text)))
      fault(
        path,
        `${name} ${JSON.stringify(text)} must be the value of a header field, without line breaks or spaces around it`,
      );
  };
  if (typeof version === 'object') check(value, ['version', 'value'], 'version.value');
  for (const [at, pin] of pins.entries()) check(pin.version, ['pins', at, 'version'], `pins[${at}].version`);
  if (form === 'text' && policies.future !== undefined)
    fault(
      ['policies', 'future'],
      'the policy future is for days, and the form of version is text; remove it',
      'key',
    );
  const isUsual = lower === VERSION_HEADER && form === 'date';
  return { version: value, versionField: isUsual ? undefined : { header: lower, form }, faults };
}
