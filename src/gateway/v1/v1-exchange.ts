import { type Coding, readCoding } from '../../http/content-coding.ts';
import { type HeaderList, headerValue, headerValues } from '../../http/header-list.ts';
import { addForwarded } from '../../http/forwarded.ts';
import { isHost } from '../../http/host.ts';
import { readJsonType } from '../../http/media-type.ts';
import type { Target } from '../../http/target.ts';
import type { ResponseRewrite } from '../../rewrite/response-rewrite.ts';
import { isWrapped } from '../../rewrite/deprecated-attributes.ts';
import type { ResponsePlan } from '../../rewrite/response-plan.ts';
import type { Operation } from '../../rules/rule-book.ts';
import { ResponseCollector, type ResponseNote, type ResponseCollectorOwner } from './response-collector.ts';
import type { ResponseRules } from './response-rules.ts';
import { chooseApiVersion } from '../../migrate/api-version.ts';
import type { ReceivedRequest } from '../received-request.ts';
import { ProxiedExchange } from '../proxied-exchange.ts';
import type { Decoded, Gateway } from '../gateway.ts';
import type { Retired } from '../../rollout/retirement.ts';
import type { QueuedRequest } from '../../rollout/rate-limit-queue.ts';
import { isInScope } from '../../rollout/scope.ts';
import { removeField, setField } from '../../http/set-field.ts';
import { isRequestId, newTrace } from '../../http/trace-context.ts';
import { hasLinks, rewriteLinks } from './rewrite-links.ts';
import { beginSpan, withSpan } from './trace-span.ts';
import type { UpstreamReceiver, UpstreamRequest } from '../upstream.ts';
import { isFailed, type V1Routing } from './v1-routing.ts';
import { RateLimitReset } from '../../rollout/rate-limit-reset.ts';

/** A V1 exchange: its response is one that a V1 client can read (rewriting contract §4). */
export class V1Exchange extends ProxiedExchange implements ResponseCollectorOwner, QueuedRequest {
  protected readonly target: Target;
  protected readonly operation: Operation | undefined;
  protected readonly routing: V1Routing | undefined;
  /** Bytes of a body that is rewritten at the most. */
  protected readonly bodyLimit: number;
  private readonly responseRules: ResponseRules;
  private readonly responsePlan: ResponsePlan;
  private rateLimitReset: RateLimitReset | undefined = undefined;

  constructor(gateway: Gateway, received: ReceivedRequest, target: Target, way?: V1Routing) {
    super(gateway, received, 'migrate');
    this.target = target;
    this.routing = way;
    this.bodyLimit = gateway.options.bodyLimit ?? this.rules.ruleBook.limits.body;
    if (way !== undefined && way.routed.mode.mode !== 'migrate') this.facts.mode = way.routed.mode.mode;
    this.operation = this.rules.match(received.exchange.method, target.rest);
    this.facts.operation = this.operation?.id;
    this.responseRules = gateway.responseRules.of(this.rules.ruleBook);
    this.responsePlan = this.responseRules.plans.of(this.operation, received.exchange.method);
  }

  /** Begins to take the request in. */
  start(): void {}

  protected override send(request: UpstreamRequest): void {
    const headers = this.beginSpan() ? withSpan(request.headers, this.facts) : request.headers;
    super.send(headers === request.headers ? request : { ...request, headers });
  }

  /** True while spans are exported. */
  private beginSpan(): boolean {
    const { observer, newTraceHex } = this.gateway.parts;
    const isSampled = observer?.isSampled;
    if (isSampled === undefined) return false;
    beginSpan(this.facts, this.received.head.traceparent, { isSampled, newTraceHex });
    return true;
  }

  protected override onFinished(status: number): void {
    this.beginSpan();
    const { routed } = this.routing ?? {};
    const failed = routed?.canary === undefined ? undefined : isFailed(this.facts, status);
    if (routed !== undefined && this.facts.attempts > 0) this.gateway.rollout.requests[routed.origin] += 1;
    if (routed !== undefined && failed !== undefined) this.gateway.rollout.count(routed, failed);
  }

  /** It is its turn by the rate limit of the service; `heldMs` is how long it waited. */
  release(heldMs: number): void {
    if (heldMs > 0) this.facts.heldMs = heldMs;
    this.guarded(() => this.start());
  }

  override head(status: number, reason: string, headers: HeaderList): void {
    const isShielded = this.rules.ruleBook.rollout?.shield !== undefined;
    if (status === 429 && isShielded)
      this.rateLimitReset = new RateLimitReset(headers, this.gateway.parts.time());
    super.head(status, reason, headers);
  }

  override data(chunk: Uint8Array): void {
    this.rateLimitReset?.data(chunk);
    super.data(chunk);
  }

  override end(trailers: HeaderList): void {
    const { rateLimitReset, routing } = this;
    if (
      rateLimitReset !== undefined &&
      routing?.sender.client !== undefined &&
      this.origin.version === 'v2'
    ) {
      this.gateway.rateLimitQueue.block(routing.sender.client, rateLimitReset.seconds ?? 0);
    }
    super.end(trailers);
  }

  /** Refuses the request because V1 comes to its end. */
  retire({ failure, note }: Retired): void {
    this.facts.note = note;
    this.refuse(failure);
  }

  /** The dated release that the rule book has for this client or operation. */
  private pinned(): string | undefined {
    const { routing, rules } = this;
    if (routing === undefined) return undefined;
    return rules.ruleBook.rollout?.pins.find((pin) => isInScope(pin, routing.sender))?.version;
  }

  /** The header fields for V2; the version is said in the log, and a trace is begun where there is none. */
  protected v2Headers(): string[] {
    const { exchange, head } = this.received;
    const { parts, options } = this.gateway;
    const headers = [...head.forwardedHeaders];
    const version = chooseApiVersion(head.apiVersion, this.rules.ruleBook.version, this.pinned());
    this.facts.apiVersion = version;
    if (version.why !== 'client') setField(headers, 'x-api-version', version.sent);
    if (!isRequestId(head.requestId)) setField(headers, 'x-request-id', this.facts.requestId);
    if (this.facts.traceId === undefined) {
      const trace = newTrace(parts.newTraceHex());
      this.facts.traceId = trace.traceId;
      this.facts.spanId = trace.spanId;
      setField(headers, 'traceparent', trace.header);
      // The state of a trace that was not taken over says nothing of the new one (W3C Trace Context §3.3).
      removeField(headers, 'tracestate');
    }
    addForwarded(headers, options.forwarded, {
      address: exchange.remote,
      secure: exchange.secure,
      host: head.host,
    });
    return headers;
  }

  // The response.

  get responseLimit(): number {
    return this.rules.ruleBook.limits.response;
  }

  planResponse(status: number, headers: HeaderList): { readonly coding: Coding | undefined } | undefined {
    this.noteResponseTime();
    const deprecated = this.responseRules.deprecated.of(this.facts.edits);
    if (!this.responsePlan.appliesTo(status, deprecated.length > 0)) return undefined;
    if (readJsonType(headerValue(headers, 'content-type')) !== 'json') return undefined;
    const encoding = headerValues(headers, 'content-encoding');
    const coding = encoding.length === 0 ? undefined : readCoding(encoding.join(','));
    if (coding === 'unsupported') return this.unread('response-undecodable');
    if (status === 206 || headerValue(headers, 'content-range') !== undefined)
      return this.unread('response-partial');
    if (Number(headerValue(headers, 'content-length')) > this.responseLimit)
      return this.unread('response-too-large');
    return { coding };
  }

  takeResponse(bytes: number): boolean {
    if (!this.gateway.budget.take(bytes)) return false;
    this.bufferedBytes += bytes;
    return true;
  }

  decodeResponse(coding: Coding, body: Uint8Array, done: (outcome: Decoded) => void): void {
    this.gateway.parts.decode(coding, body, this.responseLimit, (outcome) =>
      this.guarded(() => done(outcome)),
    );
  }

  rewriteResponse(status: number, body: Uint8Array): ResponseRewrite {
    const outcome = this.v1Response(status, body);
    if (outcome.verdict === 'rewritten') this.facts.responseEdits = outcome.records;
    return outcome;
  }

  /** The response of V2 as a V1 client would get it. */
  protected v1Response(status: number, body: Uint8Array): ResponseRewrite {
    const { edits } = this.facts;
    const deprecated = this.responseRules.deprecated.of(edits);
    return this.responsePlan.rewrite(body, { status, deprecated, isWrapped: isWrapped(edits) });
  }

  noteResponse(note: ResponseNote): void {
    this.facts.responseNote = note;
  }

  observeResponse(body: Uint8Array): void {
    this.recorder?.upstreamBody(body);
  }

  protected override receiver(): UpstreamReceiver {
    if (this.responsePlan.isEmpty || this.received.exchange.method === 'HEAD') return this;
    return new ResponseCollector(this);
  }

  protected override responseHeaders(_status: number, headers: string[]): string[] {
    if (hasLinks(headers)) {
      const { host, path, version } = this.origin;
      rewriteLinks(headers, {
        upstreamHost: host,
        upstreamPath: path,
        prefix: `/api/${version}`,
        gateway: gatewayAddress(this.received),
      });
    }
    this.addSignals(headers);
    return headers;
  }

  protected override addSignals(headers: string[]): void {
    const { signals, deprecated } = this.responseRules;
    signals?.addTo(headers, deprecated.of(this.facts.edits));
  }

  private unread(note: ResponseNote): undefined {
    this.noteResponse(note);
    return undefined;
  }
}

/** The gateway as the client addressed it; what a trusted proxy says of that stands above what its connection shows. */
function gatewayAddress({ exchange, head }: ReceivedRequest): string | undefined {
  const host = headerValue(head.forwardedHeaders, 'x-forwarded-host') ?? head.host;
  if (host === undefined || !isHost(host)) return undefined;
  const told = headerValue(head.forwardedHeaders, 'x-forwarded-proto')?.toLowerCase();
  const scheme = told === 'http' || told === 'https' ? told : exchange.secure ? 'https' : 'http';
  return `${scheme}://${host}`;
}
