import { prefixOf } from '../../http/target.ts';
import type { MigrateDecision } from '../../migrate/decision.ts';
import { hasLinks, rewriteLinks } from '../../migrate/migrated.ts';
import type { RequestMigration } from '../../migrate/migration.ts';
import type { CompiledRuleBook } from '../../rewrite/compiled-rule-book.ts';
import { type BodyLinks, linkPrefixes, type LinkRewriting, restoredLink } from '../../rewrite/links.ts';
import { gatewayAddress, type GatewayContext, type ReceivedRequest } from '../gateway-context.ts';
import type { Origin } from '../resilience.ts';

/** The exchange whose response has links. */
interface LinkedExchange {
  readonly gateway: GatewayContext;
  readonly received: ReceivedRequest;
  readonly rules: CompiledRuleBook;
  readonly migration: RequestMigration;
  readonly decision: MigrateDecision;
  readonly origin: Origin;
}

/** Where the links lead that fields of a response have, as plain data. */
export function linksInFields({ gateway, received, rules, decision, origin }: LinkedExchange): LinkRewriting {
  const { hosts, path, version } = origin;
  const isV2 = version === 'v2';
  return {
    upstreamHosts: hosts,
    upstreamPath: path,
    ...linkPrefixes(rules.prefixes, prefixOf(decision.target), version === 'v1' ? 'v1' : 'v2'),
    fields: rules.linkFields,
    gateway: gatewayAddress(received, gateway.trustedProxies),
    base: isV2 && rules.moves ? { v1: decision.target.raw, v2: path + decision.v2Target } : undefined,
  };
}

/** What turns links in a body of V2 back; undefined where the rule book leaves them. */
export function linksInBodies(exchange: LinkedExchange): BodyLinks | undefined {
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

/** Points the links in the fields of a response to V1 of the gateway, in place. */
export function translateLinks(exchange: LinkedExchange, headers: string[]): void {
  const { rules, migration, origin } = exchange;
  if (!hasLinks(headers, rules.linkFields)) return;
  const places = linksInFields(exchange);
  if (origin.version === 'v2')
    rewriteLinks(headers, { ...places, restore: (link) => restoredLink(migration.facts, rules, link) });
  else rewriteLinks(headers, places);
}
