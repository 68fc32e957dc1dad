import type { MigrateDecision } from '../../migrate/decision.ts';
import type { ReceivedRequest } from '../received-request.ts';
import { hasFailed } from '../../rewrite-log/entry-outcome.ts';
import type { CheckableBody } from './body-checks.ts';
import { DryRun } from './dry-run.ts';
import type { Body } from '../exchange.ts';
import type { GatewayContext } from '../gateway-context.ts';
import type { Origin } from '../origin.ts';
import { ForwardedRequest } from '../forwarded-request.ts';
import type { UpstreamReceiver, UpstreamRequest } from '../upstream.ts';
import { V1Exchange } from './v1-exchange.ts';
import type { V1Routing } from './v1-routing.ts';

/** Forwards a V1 request to V1 unchanged and logs the outcome that migrating it would have had. */
export class ObserveExchange extends V1Exchange {
  private dryRun: DryRun | undefined = undefined;
  private isFlushed = false;
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
      done: (outcome) => {
        this.entry.would = outcome.would;
        this.entry.edits = outcome.edits;
        this.entry.note = outcome.note;
        if (outcome.patch !== undefined) this.entry.patch = this.loggedPatch(outcome.patch);
        if (outcome.omitted !== undefined) this.entry.editsOmitted = outcome.omitted;
        if (outcome.body !== undefined) this.recorder?.recordRequestBody(outcome.body);
        this.checkable = this.gateway.bodyChecks.keep(outcome.migrated);
      },
      over: () => {
        if (this.isFlushed) super.flushed();
      },
      lost: this.failInternally,
      copyLost: this.gateway.parts.onUnexpectedError,
    });
    this.dryRun.run(body, (forwarded) => this.forward(forwarded));
  }

  /** A copy may still be read when the client has its response: the log entry waits for it, the client does not. */
  override flushed(): void {
    this.isFlushed = true;
    if (this.dryRun?.isReading === true) this.releaseSlot();
    else super.flushed();
  }

  /** Checks the body for V2 last, so that nobody waits for it. */
  protected override onFinished(status: number): void {
    super.onFinished(status);
    const { checkable, entry, decision } = this;
    if (checkable === undefined || entry.would === undefined) return;
    const { bodyChecks } = this.gateway;
    const check = bodyChecks.check(entry.method, decision.target.rest, checkable, hasFailed(entry));
    if (check !== undefined) entry.would = { ...entry.would, ...check };
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
