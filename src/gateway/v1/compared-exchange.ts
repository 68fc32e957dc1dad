import { readCoding } from '../../http/content.ts';
import { FieldNames, type HeaderList, headerValues } from '../../http/header-list.ts';
import { isRead } from '../../http/request-head.ts';
import type { ResponseHead } from '../../http/response-head.ts';
import type { MigrateDecision } from '../../migrate/decision.ts';
import { mappedStatus } from '../../migrate/migrated.ts';
import type { Comparison } from '../../rollout/rollout-tally.ts';
import { ForwardedRequest } from '../forwarded-request.ts';
import type { GatewayContext, ReceivedRequest } from '../gateway-context.ts';
import type { Origin } from '../resilience.ts';
import type { UpstreamCall, UpstreamReceiver, UpstreamRequest } from '../upstream.ts';
import { unknownComparison } from './compare.ts';
import { CONDITIONAL_FIELDS, MigrateExchange } from './migrate-exchange.ts';
import { type CollectedResponse, type CollectFault, ResponseCopy } from './response.ts';
import { type V1Routing, V1Exchange } from './v1-exchange.ts';
import { hasFailed } from '../../rewrite-log/entry.ts';
import type { Body } from '../exchange.ts';
import { type CheckableBody, DryRun, wouldOf } from './dry-run.ts';

/** Forwards a V1 request to V1 unchanged, and logs the outcome that a migration would have had. */
export class ObserveExchange extends V1Exchange {
  private dryRun: DryRun | undefined = undefined;
  protected isFlushed = false;
  private checkable: CheckableBody | undefined = undefined;

  constructor(
    gateway: GatewayContext,
    received: ReceivedRequest,
    decision: MigrateDecision,
    routing: V1Routing,
    origin: Origin,
  ) {
    super(gateway, received, decision, routing);
    this.origin = origin;
    this.entry.verdict = 'passed';
    this.entry.origin = 'v1';
  }

  override start(): void {
    const { exchange } = this.received;
    if (exchange.hasBody) exchange.open();
    else this.onBody(null);
  }

  override onBody(body: Body): void {
    this.dryRun = new DryRun(this.migration, {
      take: (bytes) => this.takeResponse(bytes),
      judge: (bytes, next) => this.judgeDigests(bytes, next),
      decode: (coding, bytes, limit, done) => this.decodeBody(coding, bytes, limit, done),
      rewrite: (bytes, done, lost) => this.rewriteRequest(bytes, done, lost),
      transform: (job, done) => this.callTransform(job, done),
      done: (end, read) => {
        this.entry.would = wouldOf(end);
        if (end.verdict !== 'refused') this.noteEdits(end);
        if (read !== undefined) this.recorder?.recordRequestBody(read);
        this.checkable = this.gateway.bodyChecks.keep(end.verdict === 'refused' ? undefined : end.json);
      },
      over: () => {
        if (this.isFlushed) this.flushed();
      },
      lost: this.failInternally,
      copyLost: this.gateway.parts.onUnexpectedError,
    });
    this.dryRun.run(body, (forwarded) => this.forward(forwarded));
  }

  /** A copy may still be read when the client has its response: the log entry waits for it, the client does not. */
  override flushed(): void {
    this.isFlushed = true;
    if (this.isDryRunning) this.releaseSlot();
    else super.flushed();
  }

  protected get isDryRunning(): boolean {
    return this.dryRun?.isReading === true;
  }

  /** Checks the body for V2 last, so that nobody waits for it. */
  protected override onFinished(status: number): void {
    super.onFinished(status);
    const { checkable, entry, decision } = this;
    if (checkable === undefined || entry.would === undefined) return;
    const { bodyChecks } = this.gateway;
    const { operation, v2Method } = decision;
    const { operations } = this.rules.ruleBook;
    // A body that a module made is JSON without a type of its own.
    const mediaType = this.migration.isTransformed ? undefined : this.received.head.contentType;
    const request = { operations, operation, mediaType };
    const check = bodyChecks.check(v2Method, this.restAtV2, checkable, hasFailed(entry), request);
    if (check !== undefined) entry.would = { ...entry.would, ...check };
  }

  /** The path below V2's prefix. */
  private get restAtV2(): string {
    const [path = ''] = this.decision.v2Target.split('?', 1);
    return path.slice(this.rules.prefixes.v2.length);
  }

  protected override receiver(): UpstreamReceiver {
    return this;
  }

  /** The request for V1: with the end-to-end fields unchanged. */
  protected v1Request(body: Body): UpstreamRequest {
    const { received, gateway, origin } = this;
    const target = origin.path + this.decision.target.raw;
    return new ForwardedRequest(gateway, received, received.head, target, body);
  }

  private forward(body: Body): void {
    this.upstreamTarget = this.decision.target.raw;
    this.send(this.v1Request(body));
  }
}

/** A response for a comparison, or why there is none. */
type Outcome = CollectedResponse | CollectFault;

/** The responses that a comparison is made of, and the requests for them that run in the background. */
class Copies {
  private readonly gateway: GatewayContext;
  private readonly owner: V1Exchange;
  private readonly calls: UpstreamCall[] = [];

  constructor(gateway: GatewayContext, owner: V1Exchange) {
    this.gateway = gateway;
    this.owner = owner;
  }

  /** Sends a read in the background; a circuit that is not closed is left alone. */
  send(origin: Origin, request: UpstreamRequest, done: (outcome: Outcome) => void): void {
    const copy = this.of((outcome) => this.owner.guarded(() => this.decode(outcome, done)));
    if (origin.breaker.state !== 'closed') {
      copy.fail({ kind: 'unreachable', mayHaveArrived: false, cause: 'circuit-open' });
      return;
    }
    const { headers } = request;
    this.calls.push(origin.upstream.send({ ...request, headers, isBackground: true }, copy));
  }

  /** Copies leave half of the budget to requests that clients wait for. */
  of(done: (outcome: Outcome) => void): ResponseCopy {
    const take = (bytes: number): boolean =>
      this.gateway.budget.fits(bytes, 1 / 2) && this.owner.takeResponse(bytes);
    return new ResponseCopy(this.owner.responseLimit, take, done);
  }

  /** Undoes the content coding of a response. */
  decode(outcome: Outcome, done: (outcome: Outcome) => void): void {
    if (typeof outcome === 'string' || outcome.body.length === 0) {
      done(outcome);
      return;
    }
    const coding = readCoding(headerValues(outcome.headers, 'content-encoding').join(','));
    if (coding === undefined || coding === 'unsupported') {
      done(outcome);
      return;
    }
    this.owner.decodeResponse(coding, outcome.body, (body) => {
      done(typeof body === 'string' ? 'too-large' : { ...outcome, body });
    });
  }

  /** Ends what is under way: a response that was too large is still being received. */
  abort(): void {
    for (const call of this.calls) call.abort();
  }
}

/** Requests that may be sent twice, to two origins: those with safe methods (RFC 9110 §9.2.1) and without a body. */
function mayGoToBoth(method: string, hasBody: boolean, { v2Method }: MigrateDecision): boolean {
  return isRead(method) && isRead(v2Method) && !hasBody;
}

/**
 * Compares both origins on a read: the client gets V1's response; afterwards the gateway sends the request to V2, and to V1 once
 * more to find the fields that differ by themselves. The log entry waits for the comparison; the client does not, nor do other
 * requests: the exchange no longer counts as in flight, and both requests run in the background, within half of the connections
 * and of the bytes.
 */
export class ShadowExchange extends ObserveExchange {
  private v1Outcome: Outcome | undefined = undefined;
  private v1Repeat: Outcome | undefined = undefined;
  private v2Outcome: Outcome | undefined = undefined;
  private readonly copies = new Copies(this.gateway, this);
  private isComparing = false;

  /** True for a read that may be sent to both services. */
  static isFor = mayGoToBoth;

  protected override receiver(): UpstreamReceiver {
    this.copy = this.copies.of((outcome) => {
      this.v1Outcome = outcome;
    });
    return this;
  }

  override head(head: ResponseHead): void {
    this.copy?.head(head);
    super.head(head);
  }

  override flushed(): void {
    if (this.isDryRunning || this.v1Outcome === undefined || typeof this.v1Outcome === 'string') {
      super.flushed();
      return;
    }
    if (this.entry.would?.failure === 'transform-failed') {
      this.onCompared(unknownComparison('transform-failed'));
      return;
    }
    this.releaseSlot();
    this.isComparing = true;
    this.guarded(() => this.sendToBoth());
  }

  override disconnected(): void {
    this.copies.abort();
    super.disconnected();
  }

  private sendToBoth(): void {
    const { copies, gateway } = this;
    const { v2 } = gateway;
    copies.send(v2, this.v2Request(v2.path + this.decision.v2Target, null, false), (outcome) => {
      this.v2Outcome = outcome;
      this.compare();
    });
    copies.send(this.origin, this.v1Request(null), (outcome) => {
      this.v1Repeat = outcome;
      this.compare();
    });
  }

  private compare(): void {
    const { v1Outcome, v1Repeat, v2Outcome } = this;
    if (!this.isComparing || v1Outcome === undefined || v1Repeat === undefined || v2Outcome === undefined)
      return;
    this.isComparing = false;
    this.copies.abort();
    this.copies.decode(v1Outcome, (decoded) => this.compareAll(decoded, v1Repeat, v2Outcome));
  }

  private compareAll(v1: Outcome, repeat: Outcome, v2: Outcome): void {
    const fault = [v1, repeat, v2].find((outcome) => typeof outcome === 'string');
    if (typeof v1 === 'string' || typeof repeat === 'string' || typeof v2 === 'string') {
      this.onCompared(unknownComparison(fault ?? 'closed'));
      return;
    }
    const response = this.migrateResponse(v2.status);
    response.begin(v2.headers);
    this.driveResponse(response, response.finish(v2.body), v2.body, (end) => {
      if (end.verdict === 'refused') {
        this.onCompared(unknownComparison('transform-failed'));
        return;
      }
      const status = mappedStatus(response.status, this.migration.facts, this.rules);
      this.onCompared(this.gateway.comparisons.compare(v1, repeat, { status, body: end.body }));
    });
  }

  private onCompared(comparison: Comparison): void {
    this.entry.comparison = comparison;
    this.gateway.comparisons.add(this.decision.operation?.id, comparison, false);
    super.flushed();
  }
}

/** Reads that are verified at once: a V1 that is slow holds no more of them. */
const MAX_VERIFYING = 64;

/** Fields by which a client asks for less than the whole response: 304 and 206 say nothing about what V1 would send. */
const CONDITIONAL = new FieldNames(CONDITIONAL_FIELDS);

/**
 * Migrates a read, and compares the response that its client got with V1's: once the client has it, V1 gets the request as it
 * came, and once more to find the fields that differ by themselves. The log entry waits for the comparison; the client does not,
 * nor do other requests. V1's behaviour only reaches the log: its circuit and its failures concern nothing but the comparison.
 */
export class VerifyExchange extends MigrateExchange {
  private readonly v1: Origin;
  private v2Outcome: Outcome | undefined = undefined;
  private readonly v1Outcomes: CollectedResponse[] = [];
  private readonly copies = new Copies(this.gateway, this);
  private isComparing = false;

  constructor(
    gateway: GatewayContext,
    received: ReceivedRequest,
    decision: MigrateDecision,
    routing: V1Routing,
    v1: Origin,
  ) {
    super(gateway, received, decision, routing);
    this.v1 = v1;
  }

  /** True for a read that may be sent to both services, and whose whole response its client asks for. */
  static isFor(method: string, hasBody: boolean, decision: MigrateDecision, headers: HeaderList): boolean {
    const isPartial = headers.some((name, at) => at % 2 === 0 && CONDITIONAL.has(name));
    return mayGoToBoth(method, hasBody, decision) && decision.refusal === undefined && !isPartial;
  }

  /** What the client gets: after response rules, and with the status that it reads. */
  override head(head: ResponseHead): void {
    super.head(head);
    this.copy = this.copies.of((outcome) => {
      this.v2Outcome = outcome;
    });
    this.copy.head({
      status: mappedStatus(head.status, this.migration.facts, this.rules),
      headers: head.headers,
    });
  }

  override flushed(): void {
    const { v2Outcome, gateway } = this;
    if (v2Outcome === undefined || typeof v2Outcome === 'string') {
      super.flushed();
      return;
    }
    if (gateway.comparisons.verifying >= MAX_VERIFYING) {
      this.onCompared(unknownComparison('budget'));
      return;
    }
    gateway.comparisons.verifying += 1;
    this.isComparing = true;
    this.releaseSlot();
    this.guarded(() => this.askV1());
  }

  override disconnected(): void {
    this.copies.abort();
    super.disconnected();
  }

  protected override onFinished(status: number): void {
    if (this.isComparing) this.gateway.comparisons.verifying -= 1;
    this.isComparing = false;
    super.onFinished(status);
  }

  private askV1(): void {
    const { gateway, received, v1 } = this;
    const target = v1.path + this.decision.target.raw;
    const request = new ForwardedRequest(gateway, received, received.head, target, null);
    this.copies.send(v1, request, (outcome) => {
      // One after the other: V1 is on its way out, and one that fails is not asked again.
      if (typeof outcome === 'string') this.onCompared(unknownComparison(outcome));
      else if (this.v1Outcomes.push(outcome) < 2) this.askV1();
      else this.compare();
    });
  }

  private compare(): void {
    const { v2Outcome } = this;
    const [v1, repeat] = this.v1Outcomes;
    if (v1 === undefined || repeat === undefined || v2Outcome === undefined) return;
    this.copies.decode(v2Outcome, (v2) => {
      this.onCompared(
        typeof v2 === 'string' ? unknownComparison(v2) : this.gateway.comparisons.compare(v1, repeat, v2),
      );
    });
  }

  private onCompared(comparison: Comparison): void {
    // A response that was too large is still being received.
    this.copies.abort();
    this.entry.comparison = comparison;
    this.gateway.comparisons.add(this.decision.operation?.id, comparison, true);
    super.flushed();
  }
}
