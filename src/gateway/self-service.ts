import { bytesOfText } from '../json/names.ts';
import { preferredType } from '../http/content.ts';
import { headerValues } from '../http/header-list.ts';
import { clientField, printClientField } from '../rewrite/client-key.ts';
import { failure } from '../migrate/failure.ts';
import { gatewayFailure, tooManyRequests } from './failures.ts';
import type { OwnReportOutcome, OwnReportType } from '../report/own-report.ts';
import { type Mode, PLAIN, type ProxiedExchange } from './proxied-exchange.ts';

/** Responds to a V1 client with its own report and guide, as JSON or as an HTML page, and sends nothing to V1 or V2. */
export const OWN_REPORT: Mode = {
  ...PLAIN,
  request(exchange) {
    respondWithReport(exchange).catch((error: unknown) => exchange.failInternally(error));
  },
};

/** Responds after the key has selected the report. */
async function respondWithReport(exchange: ProxiedExchange): Promise<void> {
  const { apiKey, gateway, received, rules } = exchange;
  const { method, headers } = received.exchange;
  const field = clientField(rules.ruleBook);
  if (method !== 'GET' && method !== 'HEAD') {
    exchange.refuse(gatewayFailure('only-get', undefined, ['Allow', 'GET, HEAD']));
    return;
  }
  if (apiKey === undefined || NO_KEY.test(apiKey)) {
    const isUsual = rules.ruleBook.client === undefined;
    const detail = isUsual ? undefined : `Send the API key as ${printClientField(field)}.`;
    // A challenge must name a scheme (RFC 9110 §11.6.1), but no scheme is registered for keys in other fields.
    const scheme = isUsual ? 'Bearer' : 'ApiKey';
    exchange.refuse(gatewayFailure('no-api-key', detail, ['WWW-Authenticate', scheme]));
    return;
  }
  const { unseenKeys, reportReads } = gateway.selfServiceLimits;
  const [, network] = exchange.client;
  // Before the key is looked up: otherwise, guessing would reveal which keys are known.
  if (unseenKeys.isSpent(network)) {
    exchange.refuse(tooManyRequests(unseenKeys.waitSeconds(network)));
    return;
  }
  const client = await gateway.parts.clientOf(apiKey);
  if (!reportReads.take(client)) {
    exchange.refuse(tooManyRequests(reportReads.waitSeconds(client)));
    return;
  }
  const accept = headerValues(headers, 'accept').join(',');
  const type = preferredType(accept, ['application/json', 'text/html']);
  const outcome = await gateway.parts.ownReport?.(client, type);
  // Others of the network may have tried unknown keys meanwhile.
  if (outcome?.kind === 'not-seen' ? !unseenKeys.take(network) : unseenKeys.isSpent(network)) {
    exchange.refuse(tooManyRequests(unseenKeys.waitSeconds(network)));
    return;
  }
  exchange.guarded(() => respondWith(exchange, outcome, type));
}

function respondWith(
  exchange: ProxiedExchange,
  outcome: OwnReportOutcome | undefined,
  type: OwnReportType,
): void {
  switch (outcome?.kind) {
    case undefined:
      exchange.refuse(failure('not-found'));
      return;
    case 'not-seen': {
      const detail = `The gateway has seen no V1 request with this API key since ${outcome.since}.`;
      exchange.refuse(gatewayFailure('not-seen', detail));
      return;
    }
    case 'busy':
      exchange.refuse(gatewayFailure('overloaded', undefined, ['Retry-After', '1']));
      return;
    case 'report': {
      exchange.entry.verdict = 'served';
      const body = bytesOfText(outcome.text);
      const own = ['Content-Type', TYPES[type], 'Content-Length', String(body.length)];
      const field = clientField(exchange.rules.ruleBook);
      const vary = 'header' in field ? `Accept, ${field.header}` : 'Accept';
      const { date } = exchange.gateway.hopFields;
      exchange.respond(200, [...own, 'Date', date, 'Vary', vary, ...FIELDS], body);
    }
  }
}

const NO_KEY = /^\s*(?:bearer\s*)?$/i;

const TYPES = { 'application/json': 'application/json', 'text/html': 'text/html; charset=utf-8' } as const;

/** The response is for one reader: no cache may store it, and a browser may run nothing in it. */
const FIELDS: readonly string[] = [
  'Cache-Control',
  'no-store',
  'X-Content-Type-Options',
  'nosniff',
  'Content-Security-Policy',
  "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
];
