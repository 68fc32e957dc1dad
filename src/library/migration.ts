import { readHead } from '../http/request-head.ts';
import { decide } from '../migrate/decision.ts';
import { CompiledRuleBook } from '../rewrite/compiled-rule-book.ts';
import { SignalHeaders } from '../rollout/signal-headers.ts';
import type { RuleBook } from '../rules/rule-book.ts';
import { type HeadersLike, headerListOf } from './header-fields.ts';
import { refusedRequest } from './refused-request.ts';
import type { RequestVerdict } from './request-verdict.ts';
import type { ResponseVerdict } from './response-verdict.ts';
import type { RequestBodyFacts, StartedRequest } from './started-request.ts';
import type { StartedResponse } from './started-response.ts';
import { startV1Request } from './v1-request.ts';
import { type RequestOfResponse, startV1Response } from './v1-response.ts';
import { isJsonText } from './web-body.ts';

/** A body: bytes, or text that is sent in UTF-8. */
export type BodyLike = Uint8Array | string | null | undefined;

/** Limits that an application sets instead of those of its rule book. */
export interface MigrationOptions {
  /** Maximum bytes of a request body to rewrite, received or decoded; by default that of the rule book. */
  readonly bodyLimit?: number;
}

/**
 * Compiles a rule book, for requests of V1 clients and responses to them. Throws a TypeError for what is no rule book, and for a limit
 * that is no number of bytes.
 */
export function createMigration(ruleBook: RuleBook, options: MigrationOptions = {}): Migration {
  if (!('operations' in Object(ruleBook)))
    throw new TypeError('A migration needs a checked rule book, such as the ruleBook of readRuleBook.');
  const { bodyLimit = 0 } = options;
  if (!(bodyLimit >= 0)) throw new TypeError(`bodyLimit is a number of bytes, not ${bodyLimit}.`);
  return new Migration(ruleBook, options);
}

/**
 * Migrates V1 requests to V2, and V2's responses back, by the decision and the plans of the gateway. It keeps no state of requests.
 * Every V1 request is migrated: modes, pinned versions, brownouts and the sunset of the rule book are not applied.
 */
export class Migration {
  readonly ruleBook: RuleBook;
  private readonly rules: CompiledRuleBook;
  private readonly signals: SignalHeaders | undefined;
  private readonly options: MigrationOptions;

  constructor(ruleBook: RuleBook, options: MigrationOptions) {
    const signals = ruleBook.rollout?.signals;
    this.ruleBook = ruleBook;
    this.rules = new CompiledRuleBook(ruleBook);
    this.signals = signals && new SignalHeaders(signals);
    this.options = options;
  }

  /**
   * Migrates a request with the raw path and query `target`. A body with a content coding is refused with 415, because decoding
   * has to wait: decode it before, and leave `Content-Encoding` out.
   */
  request(method: string, target: string, headers: HeadersLike, body?: BodyLike): RequestVerdict {
    const bytes = bytesOf(body);
    const hasBody = bytes.length > 0;
    const started = this.startRequest(method, target, headers, { hasBody, codings: [] });
    switch (started.action) {
      case 'pass':
        return { verdict: 'passed' };
      case 'refuse':
        return started.refused;
      case 'forward':
        return { ...started.request, body: hasBody ? bytes : null };
      case 'collect':
        return bytes.length > started.bodyLimit ? started.tooLarge() : started.finish(bytes);
    }
  }

  /**
   * Returns V2's response to a migrated request as the V1 client reads it. A body with a content coding is left as it is, with the
   * note `response-undecodable`, unless it is JSON already: `fetch` decodes bodies and leaves their `Content-Encoding`.
   */
  response(
    request: RequestOfResponse,
    status: number,
    headers: HeadersLike,
    body?: BodyLike,
  ): ResponseVerdict {
    const bytes = bytesOf(body);
    const started = this.startResponse(request, status, headers);
    if (started.action === 'forward')
      return { ...started.unchanged, body: bytes.length === 0 ? null : bytes };
    if (bytes.length > started.limit)
      return { ...started.unchanged, body: bytes, note: 'response-too-large' };
    if (started.coding !== undefined && !isJsonText(bytes) && bytes.length > 0)
      return started.finish('undecodable', bytes);
    return started.finish(bytes);
  }

  /** Decides on a request from its head, for adapters that stream or decode its body. */
  startRequest(method: string, target: string, headers: HeadersLike, body: RequestBodyFacts): StartedRequest {
    const { hasBody, codings } = body;
    const list = headerListOf(headers);
    const received = readHead(list, NO_LIMITS, true);
    const { host } = received;
    // Names and addresses are the server's matter: without `Host`, the decision is made for any.
    const head = host === undefined ? readHead([...list, 'Host', 'localhost'], NO_LIMITS, true) : received;
    const decision = decide({ method, target, version: '1.1', head, hasBody }, this.rules, {
      bodyLimit: this.options.bodyLimit,
      codings,
    });
    switch (decision.route) {
      case 'none':
        return { action: 'refuse', refused: refusedRequest(decision.failure, undefined) };
      case 'pass':
      case 'self-service':
      case 'options':
        return { action: 'pass' };
      case 'migrate': {
        const { rules, signals } = this;
        return startV1Request({ rules, signals, method, head, host, decision, codings }, hasBody);
      }
    }
  }

  /** Decides on the response to a migrated request from its head, for adapters that stream or decode its body. */
  startResponse(request: RequestOfResponse, status: number, headers: HeadersLike): StartedResponse {
    const { rules, signals } = this;
    return startV1Response({ rules, signals, request, status, headers: headerListOf(headers) });
  }
}

/** The server in front has limits of its own. */
const NO_LIMITS = { count: Infinity, bytes: Infinity };

const EMPTY = new Uint8Array();

function bytesOf(body: BodyLike): Uint8Array {
  if (body === undefined || body === null) return EMPTY;
  if (typeof body === 'string') return new TextEncoder().encode(body);
  if (ArrayBuffer.isView(body) && 'length' in body) return body;
  throw new TypeError('A body is a Uint8Array, text, null or undefined.');
}
