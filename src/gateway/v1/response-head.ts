import type { Coding } from '../../http/content.ts';
import type { HeaderList } from '../../http/header-list.ts';
import type { ResponseHead } from '../../http/response-head.ts';
import { prefixOf } from '../../http/target.ts';
import type { MigrateDecision } from '../../migrate/decision.ts';
import { hasLinks, headerPlanOf, isRepresentationRead, rewriteLinks } from '../../migrate/migrated.ts';
import { fieldsForV1, type RequestMigration } from '../../migrate/migration.ts';
import type { CompiledRuleBook } from '../../rewrite/compiled-rule-book.ts';
import { type BodyLinks, linkPrefixes, type LinkRewriting, restoredLink } from '../../rewrite/links.ts';
import type { OpenEntry } from '../../rewrite-log/observer.ts';
import { gatewayAddress, type GatewayContext, type ReceivedRequest } from '../gateway-context.ts';
import type { Origin } from '../resilience.ts';

/** The exchange of a response. */
interface AnsweredExchange {
  readonly gateway: GatewayContext;
  readonly received: ReceivedRequest;
  readonly entry: OpenEntry;
  readonly rules: CompiledRuleBook;
  readonly migration: RequestMigration;
  readonly decision: MigrateDecision;
  readonly origin: Origin;
  /** True for a body that the gateway itself makes, such as V1's description, with its own tag. */
  readonly hasOwnTag: boolean;
  /** Whether a rewritten response gets V2's content coding again. */
  keepsCoding(coding: Coding): boolean;
}

/** True if more than hop-by-hop fields of the response change. */
export function changesFields(exchange: AnsweredExchange, { status, headers, lines }: ResponseHead): boolean {
  const { gateway, received, rules, decision, migration, entry, origin } = exchange;
  const { ruleBook, linkFields, namesTypes } = rules;
  const isFromV2 = origin.version === 'v2';
  if (decision.preflight !== undefined || received.exchange.method === 'HEAD' || status === 304) return true;
  if (lines === undefined || lines.kinds.includes('link') || (namesTypes && isFromV2)) return true;
  if (gateway.signals(ruleBook)?.mayConcern(decision.operation?.id, entry.newcomer) === true) return true;
  if (linkFields !== undefined && hasLinks(headers, linkFields)) return true;
  if (lines.kinds.includes('etag') && isFromV2 && marksTags(exchange)) return true;
  return headerPlanOf(migration.facts, rules)?.hasResponseRules === true;
}

/** True if rules may rewrite the response, even if they change nothing this time: the tag then also names the rules. */
function marksTags({ hasOwnTag, migration, rules }: AnsweredExchange): boolean {
  return !hasOwnTag && isRepresentationRead(migration.facts, rules);
}

/** V2's response fields translated for V1, and the effects of header rules; `status` is V2's, or a transform's. */
export function fieldsFromV2(
  exchange: AnsweredExchange,
  status: number,
  received: HeaderList,
): ReturnType<typeof fieldsForV1> {
  const { rules, migration } = exchange;
  return fieldsForV1(status, received, {
    rules,
    facts: migration.facts,
    preflight: migration.decision.preflight,
    places: () => linksInFields(exchange),
    keepsCoding: (coding) => exchange.keepsCoding(coding),
    marksTags: marksTags(exchange),
  });
}

/** The targets of links in response fields, as plain data. */
function linksInFields({ gateway, received, rules, decision, origin }: AnsweredExchange): LinkRewriting {
  const { hosts, path, version } = origin;
  const isV2 = version === 'v2';
  return {
    upstreamHosts: hosts,
    upstreamPath: path,
    ...linkPrefixes(rules.prefixes, prefixOf(decision.target), version === 'v1' ? 'v1' : 'v2'),
    fields: rules.linkFields,
    gateway: gatewayAddress(received, gateway.trustedProxies),
    base: isV2 ? { v1: decision.target.raw, v2: path + decision.v2Target } : undefined,
  };
}

/** The links in bodies of V2 to rewrite; undefined if the rule book leaves them. */
export function linksInBodies(exchange: AnsweredExchange): BodyLinks | undefined {
  const { rules, migration, gateway } = exchange;
  if (!rules.ruleBook.followsBodyLinks) return undefined;
  const { hosts, path } = gateway.v2;
  const places = {
    ...linksInFields(exchange),
    upstreamHosts: hosts,
    upstreamPath: path,
    ...linkPrefixes(rules.prefixes, prefixOf(exchange.decision.target), 'v2'),
  };
  return { request: migration.facts, places };
}

/** Rewrites the links in the fields of a response to V1's prefix at the gateway, in place. */
export function translateLinks(exchange: AnsweredExchange, headers: string[]): void {
  const { rules, migration, origin } = exchange;
  if (!hasLinks(headers, rules.linkFields)) return;
  const places = linksInFields(exchange);
  if (origin.version === 'v2')
    rewriteLinks(headers, { ...places, restore: (link) => restoredLink(migration.facts, rules, link) });
  else rewriteLinks(headers, places);
}
