import { readCoding } from '../../http/content.ts';
import { type HeaderList, headerValues } from '../../http/header-list.ts';
import { mappedStatus } from '../../migrate/migrated.ts';
import type { Comparison } from '../../rollout/comparison-tally.ts';
import { ForwardedRequest } from '../forwarded-request.ts';
import type { Origin } from '../resilience.ts';
import { type CollectedResponse, type CopyOutcome, ResponseCopy } from '../response-copy.ts';
import type { UpstreamCall, UpstreamRequest } from '../upstream.ts';
import { decodeResponse, driveResponse } from './body-work.ts';
import { unknownComparison } from './checks.ts';
import { compareWithin } from './compare.ts';
import { MIGRATE, v2Request } from './migrate.ts';
import { OBSERVE } from './observe.ts';
import type { BesideReader, V1Exchange, V1Mode } from './v1-exchange.ts';

/**
 * Compares both origins on a read: the client gets V1's response; afterwards the gateway sends the request to V2, and to V1 again to find
 * fields that change by themselves. Only the log entry waits for the comparison: the exchange no longer counts as in flight, and both
 * requests run in the background, with at most half of the connections and of the memory.
 */
export const SHADOW: V1Mode = {
  ...OBSERVE,
  response(exchange) {
    exchange.beside = new ShadowedRead(exchange);
    return exchange;
  },
  after: (exchange) => OBSERVE.after(exchange) || exchange.beside?.after() === true,
};

/**
 * Migrates a read, and compares the client's response with V1's: once the client has it, V1 gets the original request twice, to find
 * fields that change by themselves. Only the log entry waits for the comparison. If V1 fails, or its circuit is open, only the comparison
 * is lost.
 */
export const VERIFY: V1Mode = {
  ...MIGRATE,
  response(exchange) {
    exchange.beside = new VerifiedRead(exchange);
    return MIGRATE.response(exchange);
  },
  after: ({ beside }) => beside?.after() === true,
};

/** A read that is compared: a copy of the client's response, and the background requests for it. */
abstract class ComparedRead implements BesideReader {
  readonly copy: ResponseCopy;
  protected readonly exchange: V1Exchange;
  private readonly calls: UpstreamCall[] = [];

  constructor(exchange: V1Exchange) {
    this.exchange = exchange;
    this.copy = this.copied();
  }

  abstract after(): boolean;

  /** Ends the background requests: one whose response was too large to copy may still be receiving it. */
  close(): void {
    for (const call of this.calls) call.abort();
  }

  /** The client's response, if all of it was copied. */
  protected get shown(): CollectedResponse | undefined {
    const { outcome } = this.copy;
    return typeof outcome === 'string' ? undefined : outcome;
  }

  /** Sends a read in the background, unless the circuit is open. */
  protected send(origin: Origin, request: UpstreamRequest, done: (outcome: CopyOutcome) => void): void {
    const copy = this.copied((outcome) => this.exchange.guarded(() => this.decode(outcome, done)));
    if (origin.breaker.state !== 'closed') {
      copy.fail({ kind: 'unreachable', mayHaveArrived: false, cause: 'circuit-open' });
      return;
    }
    const { headers } = request;
    this.calls.push(origin.upstream.send({ ...request, headers, isBackground: true }, copy));
  }

  /** Undoes the content coding of a response. */
  protected decode(outcome: CopyOutcome, done: (outcome: CopyOutcome) => void): void {
    if (typeof outcome === 'string' || outcome.body.length === 0) {
      done(outcome);
      return;
    }
    const coding = readCoding(headerValues(outcome.headers, 'content-encoding').join(','));
    if (coding === undefined || coding === 'unsupported') done(outcome);
    else
      decodeResponse(this.exchange, coding, outcome.body, (body) => {
        done(typeof body === 'string' ? 'too-large' : { ...outcome, body });
      });
  }

  /** The request for V1, as received. */
  protected v1Request({ path }: Origin): UpstreamRequest {
    const { gateway, received, decision } = this.exchange;
    return new ForwardedRequest(gateway, received, received.head, path + decision.target.raw, null);
  }

  protected compared(comparison: Comparison, isVerified: boolean): void {
    const { entry, gateway, decision, received } = this.exchange;
    entry.comparison = comparison;
    gateway.comparisons.add(decision.operation?.id, comparison, isVerified, received.time);
    this.exchange.finish();
  }

  /** Copies leave half of the budget to requests that clients wait for. */
  private copied(done?: (outcome: CopyOutcome) => void): ResponseCopy {
    const { gateway, rules, memory } = this.exchange;
    return new ResponseCopy({
      limit: () => rules.ruleBook.limits.response,
      take: (bytes) => gateway.budget.fits(bytes, 1 / 2) && memory.reserve(bytes),
      ...(done && { done }),
    });
  }
}

/** A read that V1 answers, and V2 afterwards. */
class ShadowedRead extends ComparedRead {
  private repeat: CopyOutcome | undefined = undefined;
  private v2: CopyOutcome | undefined = undefined;
  private isComparing = false;
  /** The fields of the request for V2, for its lookups. */
  private headers: HeaderList = [];

  after(): boolean {
    const { exchange } = this;
    if (this.shown === undefined) return false;
    if (exchange.entry.would?.failure === 'transform-failed') {
      this.compared(unknownComparison('transform-failed'), false);
      return false;
    }
    exchange.releaseSlot();
    this.isComparing = true;
    exchange.guarded(() => this.sendToBoth());
    return true;
  }

  private sendToBoth(): void {
    const { exchange } = this;
    const { v2 } = exchange.gateway;
    const request = v2Request(exchange, v2.path + exchange.decision.v2Target, null, false);
    this.headers = request.headers;
    this.send(v2, request, (outcome) => {
      this.v2 = outcome;
      this.compare();
    });
    this.send(exchange.origin, this.v1Request(exchange.origin), (outcome) => {
      this.repeat = outcome;
      this.compare();
    });
  }

  private compare(): void {
    const { shown, repeat, v2 } = this;
    if (!this.isComparing || shown === undefined || repeat === undefined || v2 === undefined) return;
    this.isComparing = false;
    this.close();
    this.decode(shown, (v1) => this.compareAll(v1, repeat, v2));
  }

  private compareAll(v1: CopyOutcome, repeat: CopyOutcome, v2: CopyOutcome): void {
    const { exchange } = this;
    const { migration, rules, gateway } = exchange;
    if (typeof v1 === 'string' || typeof repeat === 'string' || typeof v2 === 'string') {
      const fault = [v1, repeat, v2].find((outcome) => typeof outcome === 'string');
      this.compared(unknownComparison(fault ?? 'closed'), false);
      return;
    }
    const response = exchange.migrateResponse(v2.status);
    response.begin(v2.headers);
    const way = { origin: gateway.v2, headers: () => this.headers, isBackground: true };
    driveResponse(exchange, response, response.finish(v2.body), v2.body, way, (end) => {
      if (end.verdict === 'refused') {
        this.compared(unknownComparison(end.failure.code), false);
        return;
      }
      const status = mappedStatus(response.status, migration.facts, rules);
      this.compared(compareWithin(gateway.comparisons, v1, repeat, { status, body: end.body }), false);
    });
  }
}

/** Maximum reads that are verified at once, so that a slow V1 cannot hold more. */
const MAX_VERIFYING = 64;

/** A read that V2 answers, and V1 afterwards. */
class VerifiedRead extends ComparedRead {
  private readonly v1: CollectedResponse[] = [];
  private isComparing = false;

  after(): boolean {
    const { comparisons } = this.exchange.gateway;
    if (this.shown === undefined) return false;
    if (comparisons.verifying >= MAX_VERIFYING) {
      this.compared(unknownComparison('budget'), true);
      return false;
    }
    comparisons.verifying += 1;
    this.isComparing = true;
    this.exchange.releaseSlot();
    this.exchange.guarded(() => this.askV1());
    return true;
  }

  override close(): void {
    if (this.isComparing) this.exchange.gateway.comparisons.verifying -= 1;
    this.isComparing = false;
    super.close();
  }

  private askV1(): void {
    const { v1 } = this.exchange.gateway;
    if (v1 === undefined) return;
    this.send(v1, this.v1Request(v1), (outcome) => {
      // One request after the other, to spare a V1 that will soon be switched off; if the first fails, the second is not sent.
      if (typeof outcome === 'string') this.compared(unknownComparison(outcome), true);
      else if (this.v1.push(outcome) < 2) this.askV1();
      else this.compare();
    });
  }

  private compare(): void {
    const { shown } = this;
    const [v1, repeat] = this.v1;
    if (v1 === undefined || repeat === undefined || shown === undefined) return;
    this.decode(shown, (v2) => {
      const { comparisons } = this.exchange.gateway;
      this.compared(
        typeof v2 === 'string' ? unknownComparison(v2) : compareWithin(comparisons, v1, repeat, v2),
        true,
      );
    });
  }
}
