import { hasByteOrderMark } from '../json/byte-order-mark.ts';
import { Scanner } from '../json/scanner.ts';
import { bareHost } from '../http/host.ts';
import { type DerivationRules, deriveV1, v1Url } from '../openapi/derive/derive-v1.ts';
import { isDescription } from '../openapi/description.ts';
import { printJsonText, readJsonText } from '../openapi/json-text.ts';
import { digestOf } from '../rules/digest.ts';
import type { Origin } from './origin.ts';
import { rewrittenLink } from '../migrate/rewrite-links.ts';

/** V2's description as V2 sent it, and the data that V1's depends on besides. */
export interface DescriptionJob {
  readonly source: Uint8Array;
  readonly rules: DerivationRules;
  readonly v2: Pick<Origin, 'hosts' | 'path'>;
}

/** V1's description as it is sent. */
export interface DescriptionText {
  readonly body: Uint8Array;
  /** A strong entity tag (RFC 9110 §8.8.3). */
  readonly etag: string;
}

/** Nesting beyond which a text is not taken for a description. */
const MAX_DEPTH = 200;

/**
 * Derives the text of V1's description; undefined when the source is no OpenAPI description in JSON, or one whose schemas refer
 * to each other too often to be read.
 */
export async function describeV1({
  source,
  rules,
  v2,
}: DescriptionJob): Promise<DescriptionText | undefined> {
  const scanner = new Scanner({ depth: MAX_DEPTH, record: 0 });
  if (scanner.scan(source, hasByteOrderMark(source) ? 3 : 0) !== undefined) return undefined;
  const description = readJsonText(new TextDecoder().decode(source));
  if (!isDescription(description)) return undefined;
  const derived = deriveV1(description, rules, (url) => serverForClients(url, v2));
  if (!derived.isComplete) return undefined;
  const body = new Uint8Array(new TextEncoder().encode(printJsonText(derived.description)));
  return { body, etag: `"${rules.hash}-${await digestOf(body, 16)}"` };
}

/** V2's address is not for V1 clients: a server there is named relative to the gateway. */
function serverForClients(url: string, { hosts, path }: DescriptionJob['v2']): string {
  const places = { upstreamHosts: hosts, upstreamPath: path, prefix: '/api/v2', gateway: undefined } as const;
  const linked = rewrittenLink(url, places);
  if (linked !== url) return linked;
  const named = URL.parse(url);
  return named !== null && hosts.some((own) => bareHost(own) === bareHost(named.host)) ? '/' : v1Url(url);
}
