import type { Target } from '../http/target.ts';
import { tellForwarded } from '../http/forwarded.ts';
import type { Arrival } from './arrival.ts';
import { DryRun } from './dry-run.ts';
import type { Body } from './exchange.ts';
import type { Gateway } from './gateway.ts';
import type { Origin } from './origin.ts';
import type { UpstreamReceiver } from './upstream.ts';
import { V1Crossing } from './v1-crossing.ts';
import type { V1Way } from './v1-way.ts';

/** A V1 request that goes to V1 untouched, while the log says what migrating it would have come to. */
export class Observation extends V1Crossing {
  constructor(gateway: Gateway, arrival: Arrival, target: Target, way: V1Way, origin: Origin) {
    super(gateway, arrival, target, way);
    this.origin = origin;
    this.facts.verdict = 'passed';
    this.facts.origin = 'v1';
  }

  override start(): void {
    const { exchange } = this.arrival;
    if (exchange.hasBody) exchange.open();
    else this.opened(null);
  }

  override opened(body: Body): void {
    const run = new DryRun(this.arrival, this.inForce, this.operation, this.bodyLimit, {
      take: (bytes) => this.takeAnswer(bytes),
      decode: (coding, bytes, done) =>
        this.gateway.parts.decode(coding, bytes, this.bodyLimit, (outcome) =>
          this.attempt(() => done(outcome)),
        ),
      done: (outcome) => {
        this.facts.would = outcome.would;
        this.facts.edits = outcome.edits;
        this.facts.note = outcome.note;
        if (outcome.patch !== undefined) this.facts.patch = outcome.patch;
        if (outcome.body === undefined || this.observed === undefined) return;
        this.observed.clientBody({ body: outcome.body });
        this.facts.attributes = this.gateway.attributeNames.of(outcome.body);
      },
    });
    run.look(body, (seen) => this.forward(seen));
  }

  protected override receiver(): UpstreamReceiver {
    return this;
  }

  /** The header fields for V1: those that cross, as they came. */
  protected v1Headers(): string[] {
    const { exchange, head } = this.arrival;
    const headers = [...head.crossing];
    tellForwarded(headers, this.gateway.options.forwarded, {
      address: exchange.remote,
      secure: exchange.secure,
      host: head.host,
    });
    return headers;
  }

  private forward(body: Body): void {
    const { exchange, head } = this.arrival;
    this.upstreamTarget = exchange.target;
    this.send({
      method: exchange.method,
      target: this.origin.path + exchange.target,
      headers: this.v1Headers(),
      body,
      length: head.contentLength,
    });
  }
}
