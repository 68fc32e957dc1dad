import { type Coding, readCoding } from '../http/content-coding.ts';
import { type HeaderList, headerValue, headerValues } from '../http/header-list.ts';
import { tellForwarded } from '../http/forwarded.ts';
import { isHost } from '../http/host.ts';
import { readJsonType } from '../http/media-type.ts';
import type { Target } from '../http/target.ts';
import type { AnswerRewrite } from '../rewrite/answer-rewrite.ts';
import { isWrapped } from '../rewrite/deprecated-attributes.ts';
import type { ResponsePlan } from '../rewrite/response-plan.ts';
import type { Operation } from '../rules/rule-book.ts';
import { AnswerCollector, type AnswerNote, type AnswerOwner } from './answer-collector.ts';
import type { AnswerRules } from './answer-rules.ts';
import { chooseApiVersion } from './api-version.ts';
import type { Arrival } from './arrival.ts';
import { Crossing } from './crossing.ts';
import type { Decoded, Gateway } from './gateway.ts';
import type { Retired } from './retirement.ts';
import type { HeldRequest } from './rate-shield.ts';
import { isInScope } from './scope.ts';
import { removeField, setField } from './set-field.ts';
import { isRequestId, newTrace } from './trace-context.ts';
import { leadsSomewhere, turnBack } from './turn-back.ts';
import type { UpstreamReceiver } from './upstream.ts';
import { isFailed, type V1Way } from './v1-way.ts';
import { WaitTold } from './wait-told.ts';

/** A V1 exchange: its answer is one that a V1 client can read (rewriting contract §4). */
export class V1Crossing extends Crossing implements AnswerOwner, HeldRequest {
  protected readonly target: Target;
  protected readonly operation: Operation | undefined;
  protected readonly way: V1Way | undefined;
  /** Bytes of a body that is rewritten at the most. */
  protected readonly bodyLimit: number;
  private readonly answerRules: AnswerRules;
  private readonly answerPlan: ResponsePlan;
  private wait: WaitTold | undefined = undefined;

  constructor(gateway: Gateway, arrival: Arrival, target: Target, way?: V1Way) {
    super(gateway, arrival, 'migrate');
    this.target = target;
    this.way = way;
    this.bodyLimit = gateway.options.bodyLimit ?? this.inForce.ruleBook.limits.body;
    if (way !== undefined && way.choice.mode.mode !== 'migrate') this.facts.mode = way.choice.mode.mode;
    this.operation = this.inForce.match(arrival.exchange.method, target.rest);
    this.facts.operation = this.operation?.id;
    this.answerRules = gateway.answerRules.of(this.inForce.ruleBook);
    this.answerPlan = this.answerRules.plans.of(this.operation, arrival.exchange.method);
  }

  /** Begins to take the request in. */
  start(): void {}

  protected override ended(status: number): void {
    const { choice } = this.way ?? {};
    const failed = choice?.canary === undefined ? undefined : isFailed(this.facts, status);
    if (choice !== undefined && this.facts.attempts > 0) this.gateway.rollout.requests[choice.lane] += 1;
    if (choice !== undefined && failed !== undefined) this.gateway.rollout.count(choice, failed);
  }

  /** It is its turn by the rate limit of the service; `heldMs` is how long it waited. */
  release(heldMs: number): void {
    if (heldMs > 0) this.facts.heldMs = heldMs;
    this.attempt(() => this.start());
  }

  override head(status: number, reason: string, headers: HeaderList): void {
    const isShielded = this.inForce.ruleBook.rollout?.shield !== undefined;
    if (status === 429 && isShielded) this.wait = new WaitTold(headers, this.gateway.parts.time());
    super.head(status, reason, headers);
  }

  override data(chunk: Uint8Array): void {
    this.wait?.data(chunk);
    super.data(chunk);
  }

  override end(trailers: HeaderList): void {
    const { wait, way } = this;
    if (wait !== undefined && way?.sender.client !== undefined && this.origin.version === 'v2') {
      this.gateway.shield.block(way.sender.client, wait.seconds ?? 0);
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
    const { way, inForce } = this;
    if (way === undefined) return undefined;
    return inForce.ruleBook.rollout?.pins.find((pin) => isInScope(pin, way.sender))?.version;
  }

  /** The header fields for V2; the version is said in the log, and a trace is begun where there is none. */
  protected v2Headers(): string[] {
    const { exchange, head } = this.arrival;
    const { parts, options } = this.gateway;
    const headers = [...head.crossing];
    const version = chooseApiVersion(head.apiVersion, this.inForce.ruleBook.version, this.pinned());
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
    tellForwarded(headers, options.forwarded, {
      address: exchange.remote,
      secure: exchange.secure,
      host: head.host,
    });
    return headers;
  }

  // The answer.

  get answerLimit(): number {
    return this.inForce.ruleBook.limits.response;
  }

  planAnswer(status: number, headers: HeaderList): { readonly coding: Coding | undefined } | undefined {
    this.noteAnswered();
    const deprecated = this.answerRules.deprecated.of(this.facts.edits);
    if (!this.answerPlan.appliesTo(status, deprecated.length > 0)) return undefined;
    if (readJsonType(headerValue(headers, 'content-type')) !== 'json') return undefined;
    const encoding = headerValues(headers, 'content-encoding');
    const coding = encoding.length === 0 ? undefined : readCoding(encoding.join(','));
    if (coding === 'unsupported') return this.unread('answer-undecodable');
    if (status === 206 || headerValue(headers, 'content-range') !== undefined)
      return this.unread('answer-partial');
    if (Number(headerValue(headers, 'content-length')) > this.answerLimit)
      return this.unread('answer-too-large');
    return { coding };
  }

  takeAnswer(bytes: number): boolean {
    if (!this.gateway.budget.take(bytes)) return false;
    this.taken += bytes;
    return true;
  }

  decodeAnswer(coding: Coding, body: Uint8Array, done: (outcome: Decoded) => void): void {
    this.gateway.parts.decode(coding, body, this.answerLimit, (outcome) => this.attempt(() => done(outcome)));
  }

  rewriteAnswer(status: number, body: Uint8Array): AnswerRewrite {
    const outcome = this.v1Answer(status, body);
    if (outcome.verdict === 'rewritten') this.facts.answerEdits = outcome.records;
    return outcome;
  }

  /** The answer of V2 as a V1 client would get it. */
  protected v1Answer(status: number, body: Uint8Array): AnswerRewrite {
    const { edits } = this.facts;
    const deprecated = this.answerRules.deprecated.of(edits);
    return this.answerPlan.rewrite(body, { status, deprecated, isWrapped: isWrapped(edits) });
  }

  noteAnswer(note: AnswerNote): void {
    this.facts.answerNote = note;
  }

  observeAnswer(body: Uint8Array): void {
    this.observed?.v2Body(body);
  }

  protected override receiver(): UpstreamReceiver {
    if (this.answerPlan.isEmpty || this.arrival.exchange.method === 'HEAD') return this;
    return new AnswerCollector(this);
  }

  protected override answerHeaders(_status: number, headers: string[]): string[] {
    if (leadsSomewhere(headers)) {
      const { host, path, version } = this.origin;
      turnBack(headers, {
        upstreamHost: host,
        upstreamPath: path,
        prefix: `/api/${version}`,
        gateway: gatewayAddress(this.arrival),
      });
    }
    this.signal(headers);
    return headers;
  }

  protected override signal(headers: string[]): void {
    const { signals, deprecated } = this.answerRules;
    signals?.addTo(headers, deprecated.of(this.facts.edits));
  }

  private unread(note: AnswerNote): undefined {
    this.noteAnswer(note);
    return undefined;
  }
}

/** The gateway as the client addressed it; what a trusted proxy says of that stands above what its connection shows. */
function gatewayAddress({ exchange, head }: Arrival): string | undefined {
  const host = headerValue(head.crossing, 'x-forwarded-host') ?? head.host;
  if (host === undefined || !isHost(host)) return undefined;
  const told = headerValue(head.crossing, 'x-forwarded-proto')?.toLowerCase();
  const scheme = told === 'http' || told === 'https' ? told : exchange.secure ? 'https' : 'http';
  return `${scheme}://${host}`;
}
