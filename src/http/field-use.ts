import { isBodyField } from './body-fields.ts';
import { isForwarding } from './forwarded.ts';
import { isHopByHop } from './hop-by-hop.ts';

/**
 * What a field is to the gateway: the name of one that it reads or sets, or a kind. `hop-by-hop` and `body` are those that have no name
 * of their own here, `forwarding` claim where a request came from, a `range` asks for a part, a `link` has an address or the path of
 * a cookie, and an `alias` may be read as another field.
 */
export type FieldUse =
  | NamedUse
  | 'hop-by-hop'
  | 'body'
  | 'forwarding'
  | 'if-match'
  | 'range'
  | 'link'
  | 'via'
  | 'max-forwards'
  | 'date'
  | 'alias'
  | 'other';

type NamedUse = (typeof NAMED_USES)[number];

const NAMED_USES = [
  'host',
  'authorization',
  'content-type',
  'content-length',
  'content-encoding',
  'transfer-encoding',
  'x-api-version',
  'x-request-id',
  'traceparent',
  'tracestate',
  'connection',
  'keep-alive',
  'proxy-connection',
  'trailer',
  'upgrade',
  'expect',
  'accept-encoding',
] as const;

const USES_BY_NAME: ReadonlyMap<string, FieldUse> = new Map(NAMED_USES.map((name) => [name, name]));

/** The uses of hop-by-hop fields. */
export const HOP_BY_HOP_USES: ReadonlySet<FieldUse> = new Set<FieldUse>([
  'hop-by-hop',
  ...NAMED_USES.filter(isHopByHop),
]);

/** The uses of fields that describe one body. */
export const BODY_USES: ReadonlySet<FieldUse> = new Set<FieldUse>([
  'body',
  ...NAMED_USES.filter(isBodyField),
]);

const KINDS: ReadonlyMap<string, FieldUse> = new Map<string, FieldUse>([
  ['location', 'link'],
  ['content-location', 'link'],
  ['link', 'link'],
  ['set-cookie', 'link'],
  ['if-match', 'if-match'],
  ['range', 'range'],
  ['if-range', 'range'],
  ['via', 'via'],
  ['max-forwards', 'max-forwards'],
  ['date', 'date'],
]);

/** Names of other fields that nearly every client sends. */
const COMMON_NAMES = ['accept', 'accept-language', 'user-agent', 'cookie', 'origin'];

/** Names in lower case that most fields have. */
export const USUAL_NAMES: readonly string[] = [...NAMED_USES, ...COMMON_NAMES];

/** The use of a field by its name, in any case. */
export function useOfName(name: string): FieldUse {
  return usesBySpelling.get(name) ?? useOfLower(name.toLowerCase());
}

/** The use of a field by its name in lower case. */
export function useOfLower(lower: string): FieldUse {
  const use = USES_BY_NAME.get(lower) ?? KINDS.get(lower);
  if (use !== undefined) return use;
  if (isHopByHop(lower)) return 'hop-by-hop';
  if (isBodyField(lower)) return 'body';
  if (isForwarding(lower)) return 'forwarding';
  return lower.includes('_') && isAlias(lower) ? 'alias' : 'other';
}

/** Servers that follow CGI read X_API_VERSION as X-API-VERSION, which would bypass every check. */
function isAlias(lower: string): boolean {
  const plain = lower.replaceAll('_', '-');
  const isRead = USES_BY_NAME.has(plain) && plain !== 'expect' && plain !== 'accept-encoding';
  return isRead || isHopByHop(plain) || isForwarding(plain);
}

/** Uses by the two spellings that nearly all clients send, so that most names take one lookup and no conversion. */
const usesBySpelling: ReadonlyMap<string, FieldUse> = new Map(
  USUAL_NAMES.flatMap((lower): [string, FieldUse][] => [
    [lower, useOfLower(lower)],
    [lower.replaceAll(/(?<![a-z])[a-z]/g, (letter) => letter.toUpperCase()), useOfLower(lower)],
  ]),
);
