import { concatBytes } from '../../http/byte-collector.ts';
import { readCoding, type TextFormat } from '../../http/content.ts';
import { type HeaderList, headerValues } from '../../http/header-list.ts';
import { isRead } from '../../http/request-head.ts';
import type { ResponseHead } from '../../http/response-head.ts';
import { type MigrateDecision } from '../../migrate/decision.ts';
import { JsonDocument } from '../../json/document.ts';
import { decideResponse, mappedStatus } from '../../migrate/migrated.ts';
import { transformsStatus } from '../../migrate/transform.ts';
import { isTransformed } from '../../rules/rule-book.ts';
import { hasFailed } from '../../rewrite-log/entry-outcome.ts';
import type { Comparison } from '../../rollout/rollout-tally.ts';
import type { Body } from '../exchange.ts';
import { ForwardedRequest } from '../forwarded-request.ts';
import type { GatewayContext } from '../gateway-context.ts';
import type { ReceivedRequest } from '../received-request.ts';
import type { Origin } from '../resilience.ts';
import type { UpstreamCall, UpstreamFault, UpstreamReceiver, UpstreamRequest } from '../upstream.ts';
import { type CheckableBody, DryRun, type DryRunParts } from './dry-run.ts';
import { type CollectedResponse, type CollectFault, ResponseCopy } from './response.ts';
import { V1Exchange, type V1Routing } from './v1-exchange.ts';

/** Forwards a V1 request to V1 unchanged and logs the outcome that migrating it would have had. */
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
    this.dryRun = new DryRun(this.decision, {
      take: (bytes) => this.takeResponse(bytes),
      decode: (coding, bytes, limit, done) => this.decodeBody(coding, bytes, limit, done),
      rewrite: (bytes, done, lost) => this.rewriteRequest(bytes, done, lost),
      transform: this.dryTransform,
      done: (outcome) => {
        if (outcome.v2Target !== undefined) this.decision = { ...this.decision, v2Target: outcome.v2Target };
        this.entry.would = outcome.would;
        this.entry.edits = outcome.edits;
        this.entry.note = outcome.note;
        if (outcome.patch !== undefined) this.entry.patch = this.loggedPatch(outcome.patch);
        const { madePatch = [] } = outcome;
        if (madePatch.length > 0 && outcome.omitted === undefined)
          this.entry.patch = [...(this.entry.patch ?? []), ...this.madePatch(madePatch)];
        if (outcome.omitted !== undefined) this.entry.editsOmitted = outcome.omitted;
        if (outcome.body !== undefined) this.recorder?.recordRequestBody(outcome.body);
        this.checkable = this.gateway.bodyChecks.keep(outcome.migrated);
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

  private get dryTransform(): DryRunParts['transform'] {
    if (!isTransformed(this.rules.ruleBook, this.decision.operation, 'request')) return undefined;
    return (query, body, done) => this.callTransform('request', { query, status: undefined, body }, done);
  }

  /** Checks the body for V2 last, so that nobody waits for it. */
  protected override onFinished(status: number): void {
    super.onFinished(status);
    const { checkable, entry, decision } = this;
    if (checkable === undefined || entry.would === undefined) return;
    const { bodyChecks } = this.gateway;
    const check = bodyChecks.check(decision.v2Method, this.restAtV2, checkable, hasFailed(entry));
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

/**
 * Compares both origins on a read: the client gets V1's response; afterwards the request is sent to V2, and to V1 once more to
 * find the fields that differ by themselves. The log entry waits for the comparison; the client does not, nor do other requests:
 * the exchange no longer counts as in flight, and both requests run in the background, within half of the connections and of the
 * bytes.
 */
export class ShadowExchange extends ObserveExchange {
  private copy: ResponseCopy | undefined = undefined;
  private v1Outcome: CollectedResponse | CollectFault | undefined = undefined;
  private v1Repeat: CollectedResponse | CollectFault | undefined = undefined;
  private v2Outcome: CollectedResponse | CollectFault | undefined = undefined;
  private readonly calls: UpstreamCall[] = [];
  private isComparing = false;

  /** Requests that may be sent twice, to two origins: those with safe methods (RFC 9110 §9.2.1) and without a body. */
  static isFor(method: string, hasBody: boolean, { v2Method }: MigrateDecision): boolean {
    return isRead(method) && isRead(v2Method) && !hasBody;
  }

  protected override receiver(): UpstreamReceiver {
    this.copy = this.newCopy((outcome) => {
      this.v1Outcome = outcome;
    });
    return this;
  }

  override head(head: ResponseHead): void {
    this.copy?.head(head);
    super.head(head);
  }

  override data(chunk: Uint8Array, isLast?: boolean): void {
    this.copy?.data(chunk);
    super.data(chunk, isLast);
  }

  override end(trailers: HeaderList): void {
    this.copy?.end();
    super.end(trailers);
  }

  override fail(fault: UpstreamFault): void {
    this.copy?.fail(fault);
    super.fail(fault);
  }

  override flushed(): void {
    if (this.isDryRunning || this.v1Outcome === undefined || typeof this.v1Outcome === 'string') {
      super.flushed();
      return;
    }
    if (this.entry.would?.failure === 'transform-failed') {
      this.onCompared(unknown('transform-failed'));
      return;
    }
    this.releaseSlot();
    this.isComparing = true;
    this.guarded(() => this.sendToBoth());
  }

  override disconnected(): void {
    for (const call of this.calls) call.abort();
    super.disconnected();
  }

  private sendToBoth(): void {
    const { v2 } = this.gateway;
    this.sendCopy(v2, this.v2Request(v2.path + this.decision.v2Target, null, false), (outcome) => {
      this.v2Outcome = outcome;
    });
    this.sendCopy(this.origin, this.v1Request(null), (outcome) => {
      this.v1Repeat = outcome;
    });
  }

  private sendCopy(
    origin: Origin,
    request: UpstreamRequest,
    onOutcome: (outcome: CollectedResponse | CollectFault) => void,
  ): void {
    const copy = this.newCopy((outcome) =>
      this.guarded(() =>
        this.decode(outcome, (decoded) => {
          onOutcome(decoded);
          this.compare();
        }),
      ),
    );
    if (origin.breaker.state !== 'closed') {
      copy.fail({ kind: 'unreachable', sent: false, cause: 'circuit-open' });
      return;
    }
    const { headers } = request;
    this.calls.push(origin.upstream.send({ ...request, headers, isBackground: true }, copy));
  }

  private newCopy(done: (outcome: CollectedResponse | CollectFault) => void): ResponseCopy {
    return new ResponseCopy(this.responseLimit, (bytes) => this.takeCopy(bytes), done);
  }

  /** Copies leave half of the budget to requests that clients wait for. */
  private takeCopy(bytes: number): boolean {
    return this.gateway.budget.fits(bytes, 1 / 2) && this.takeResponse(bytes);
  }

  private decode(
    outcome: CollectedResponse | CollectFault,
    done: (outcome: CollectedResponse | CollectFault) => void,
  ): void {
    if (typeof outcome === 'string' || outcome.body.length === 0) {
      done(outcome);
      return;
    }
    const coding = readCoding(headerValues(outcome.headers, 'content-encoding').join(','));
    if (coding === undefined || coding === 'unsupported') {
      done(outcome);
      return;
    }
    this.decodeResponse(coding, outcome.body, (body) => {
      done(typeof body === 'string' ? 'too-large' : { ...outcome, body });
    });
  }

  private compare(): void {
    const { v1Outcome, v1Repeat, v2Outcome } = this;
    if (!this.isComparing || v1Outcome === undefined || v1Repeat === undefined || v2Outcome === undefined)
      return;
    this.isComparing = false;
    // A response that was too large is still being received.
    for (const call of this.calls) call.abort();
    this.decode(v1Outcome, (decoded) => this.compareAll(decoded, v1Repeat, v2Outcome));
  }

  private compareAll(
    v1: CollectedResponse | CollectFault,
    repeat: CollectedResponse | CollectFault,
    v2: CollectedResponse | CollectFault,
  ): void {
    const fault = [v1, repeat, v2].find((outcome) => typeof outcome === 'string');
    if (typeof v1 === 'string' || typeof repeat === 'string' || typeof v2 === 'string') {
      this.onCompared(unknown(fault ?? 'closed'));
      return;
    }
    const { status, headers, body: received } = v2;
    const compare = (body: Uint8Array, made = status): void => {
      const mapped = mappedStatus(made, this.decision.operation);
      this.onCompared(this.gateway.comparisons.compare(v1, repeat, { status: mapped, body }));
    };
    const decided = decideResponse(status, headers, this.responseLimit, this.rules.ruleBook.policies.media);
    if (decided.action === 'forward' || received.length === 0) {
      compare(received);
      return;
    }
    if (decided.texts !== undefined) {
      compare(this.wholeTexts(status, decided.texts, received));
      return;
    }
    const { ruleBook } = this.rules;
    const isMade = transformsStatus(ruleBook, this.decision.operation, status);
    if (!isMade || !(JsonDocument.read(received, ruleBook.limits.depth) instanceof JsonDocument)) {
      this.rewriteResponse(status, received, ({ body }) => compare(body));
      return;
    }
    const query = this.decision.target.query.slice(1);
    this.callTransform('response', { query, status, body: received }, (outcome) => {
      if ('why' in outcome) this.onCompared(unknown('transform-failed'));
      else
        this.rewriteResponse(status, outcome.body ?? received, ({ body }) => compare(body, outcome.status));
    });
  }

  /** Rewrites a copy of a response of several texts. */
  private wholeTexts(status: number, format: TextFormat, body: Uint8Array): Uint8Array {
    const stream = this.textStream(status, format);
    return concatBytes([stream.push(body).bytes, stream.end().bytes]);
  }

  private onCompared(comparison: Comparison): void {
    this.entry.comparison = comparison;
    this.gateway.comparisons.add(this.decision.operation?.id, comparison);
    super.flushed();
  }
}

function unknown(reason: string): Comparison {
  return { verdict: 'unknown', differences: [], noise: 0, extra: 0, why: reason };
}
