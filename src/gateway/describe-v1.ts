import { bareHost } from '../http/request-head.ts';
import { hasByteOrderMark } from '../json/document.ts';
import { Scanner } from '../json/scanner.ts';
import { type DerivationRules, deriveV1, v1Url } from '../openapi/derive/derive-v1.ts';
import { isDescription, printJsonText, readJsonText } from '../openapi/description.ts';
import { rewrittenLink } from '../rewrite/links.ts';
import { digestOf } from '../rules/hash.ts';
import type { DescriptionJob, DescriptionText } from './description.ts';

/** Maximum nesting of a description. */
const MAX_DEPTH = 200;

/**
 * Derives the text of V1's description; undefined if the source is not an OpenAPI description in JSON, or if its schemas refer to
 * each other too often.
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
  const derived = deriveV1(description, rules, (url) => serverForClients(url, v2, rules));
  if (!derived.isComplete) return undefined;
  const body = new Uint8Array(new TextEncoder().encode(printJsonText(derived.description)));
  return { body, etag: `"${rules.hash}-${await digestOf(body, 16)}"` };
}

/** V2's address is not for V1 clients, so the server is given relative to the gateway. */
function serverForClients(
  url: string,
  { hosts, path }: DescriptionJob['v2'],
  rules: Pick<DerivationRules, 'from' | 'to'>,
): string {
  const { from: clientPrefix, to: prefix } = rules;
  const places = { upstreamHosts: hosts, upstreamPath: path, prefix, clientPrefix, gateway: undefined };
  const linked = rewrittenLink(url, places);
  if (linked !== url) return linked;
  const named = URL.parse(url);
  return named !== null && hosts.some((own) => bareHost(own) === bareHost(named.host))
    ? '/'
    : v1Url(url, rules);
}
