import { readCoding } from '../../http/content-coding.ts';
import { type HeaderList, headerValues } from '../../http/header-list.ts';
import type { ResponseHead } from '../../http/response-head.ts';
import { isRead } from '../../http/methods.ts';
import { decideResponse } from '../../migrate/decide-response.ts';
import { migratedTarget } from '../../migrate/decision.ts';
import type { Comparison } from '../../rollout/comparison.ts';
import { ResponseCopy, type CollectedResponse, type CollectFault } from './response-copy.ts';
import { ObserveExchange } from './observe-exchange.ts';
import type { Origin } from '../origin.ts';
import type { UpstreamCall, UpstreamFault, UpstreamReceiver, UpstreamRequest } from '../upstream.ts';

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
  static isFor(method: string, hasBody: boolean): boolean {
    return isRead(method) && !hasBody;
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
    if (this.v1Outcome === undefined || typeof this.v1Outcome === 'string') {
      super.flushed();
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
    this.sendCopy(v2, this.v2Request(v2.path + migratedTarget(this.decision), null, false), (outcome) => {
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
    const compare = (body: Uint8Array): void =>
      this.onCompared(this.gateway.comparisons.compare(v1, repeat, { status, body }));
    const { action } = decideResponse(status, headers, this.responseLimit);
    if (action === 'forward') compare(received);
    else this.rewriteResponse(status, received, ({ body }) => compare(body));
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
