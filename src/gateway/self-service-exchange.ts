import { preferredType } from '../http/content.ts';
import { API_METHODS } from '../http/request-head.ts';
import { headerValues } from '../http/header-list.ts';
import { clientField, printClientField } from '../rewrite/client-key.ts';
import { failure } from '../migrate/failure.ts';
import { gatewayFailure, tooManyRequests } from './failures.ts';
import type { OwnReportOutcome, OwnReportType } from '../report/own-report.ts';
import { ProxiedExchange } from './proxied-exchange.ts';

/** Responds to a V1 client with its own report and guide, as JSON or as an HTML page, and sends nothing to V1 or V2. */
export class SelfServiceExchange extends ProxiedExchange {
  /** Responds, once the key has selected the report. */
  async start(): Promise<void> {
    const { exchange } = this.received;
    const field = clientField(this.rules.ruleBook);
    if (exchange.method !== 'GET' && exchange.method !== 'HEAD') {
      this.refuse(gatewayFailure('only-get', undefined, ['Allow', 'GET, HEAD']));
      return;
    }
    const { apiKey } = this;
    if (apiKey === undefined || NO_KEY.test(apiKey)) {
      const isUsual = this.rules.ruleBook.client === undefined;
      const detail = isUsual ? undefined : `Send the API key as ${printClientField(field)}.`;
      // A challenge must name a scheme (RFC 9110 §11.6.1), and keys of one's own have none that is registered.
      this.refuse(gatewayFailure('no-api-key', detail, ['WWW-Authenticate', isUsual ? 'Bearer' : 'ApiKey']));
      return;
    }
    const { unseenKeys, reportReads } = this.gateway.selfServiceLimits;
    // Before the key is looked up: guesses would learn which keys are known.
    if (unseenKeys.isSpent(exchange.remote)) {
      this.refuse(tooManyRequests(unseenKeys.waitSeconds(exchange.remote)));
      return;
    }
    const client = await this.gateway.parts.clientOf(apiKey);
    if (!reportReads.take(client)) {
      this.refuse(tooManyRequests(reportReads.waitSeconds(client)));
      return;
    }
    const accept = headerValues(exchange.headers, 'accept').join(',');
    const type = preferredType(accept, ['application/json', 'text/html']);
    const outcome = await this.gateway.parts.ownReport?.(client, type);
    if (outcome?.kind === 'not-seen') unseenKeys.take(exchange.remote);
    this.guarded(() => this.respondWith(outcome, type));
  }

  private respondWith(outcome: OwnReportOutcome | undefined, type: OwnReportType): void {
    switch (outcome?.kind) {
      case undefined:
        this.refuse(failure('not-found'));
        return;
      case 'not-seen':
        this.refuse(
          gatewayFailure(
            'not-seen',
            `The gateway has seen no V1 request with this API key since ${outcome.since}.`,
          ),
        );
        return;
      case 'busy':
        this.refuse(gatewayFailure('overloaded', undefined, ['Retry-After', '1']));
        return;
      case 'report': {
        this.entry.verdict = 'served';
        const body = new TextEncoder().encode(outcome.text);
        const own = ['Content-Type', TYPES[type], 'Content-Length', String(body.length)];
        const field = clientField(this.rules.ruleBook);
        const vary = 'header' in field ? `Accept, ${field.header}` : 'Accept';
        this.respond(200, [...own, 'Date', this.gateway.hopFields.date, 'Vary', vary, ...FIELDS], body);
      }
    }
  }
}

/** Responds to an OPTIONS that asks about the gateway itself (RFC 9110 §9.3.7), and sends nothing to V1 or V2. */
export class OptionsExchange extends ProxiedExchange {
  start(): void {
    this.entry.verdict = 'served';
    this.respond(204, ['Allow', API_METHODS.join(', '), 'Date', this.gateway.hopFields.date], NOTHING);
  }
}

const NOTHING = new Uint8Array();

const NO_KEY = /^\s*(?:bearer\s*)?$/i;

const TYPES = { 'application/json': 'application/json', 'text/html': 'text/html; charset=utf-8' } as const;

/** It is for one reader: no cache may keep it, and a browser may run nothing in it. */
const FIELDS: readonly string[] = [
  'Cache-Control',
  'no-store',
  'X-Content-Type-Options',
  'nosniff',
  'Content-Security-Policy',
  "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
];
