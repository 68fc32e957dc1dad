import { type MigrateDecision } from '../../migrate/decision.ts';
import { isTransformed } from '../../rules/rule-book.ts';
import { hasFailed } from '../../rewrite-log/entry-outcome.ts';
import type { Body } from '../exchange.ts';
import { ForwardedRequest } from '../forwarded-request.ts';
import type { GatewayContext } from '../gateway-context.ts';
import type { ReceivedRequest } from '../received-request.ts';
import type { Origin } from '../resilience.ts';
import type { UpstreamReceiver, UpstreamRequest } from '../upstream.ts';
import { type CheckableBody, DryRun, type DryRunParts } from './dry-run.ts';
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
