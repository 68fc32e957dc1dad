import { sentTo } from '../../rewrite-log/entry-outcome.ts';
import type { TallyEntry } from './tally-entry.ts';
import { countUse, firstUse, recordUse, type Span } from './span.ts';

/** One kind of response to a client's V1 requests. */
export interface OutcomeTally extends Span {
  /** The service that responded, or for a client that disconnected the one that its request was sent to; or the gateway itself. */
  readonly by: 'v1' | 'v2' | 'gateway';
  /** Status that the client received; 0 when it disconnected before. */
  readonly status: number;
  /** Failure code of a response that the gateway made, or `upstream-broken` for one that broke off. */
  readonly code?: string;
  /** Places that errors pointed at, in the body as the service received it. */
  readonly pointers: Map<string, Span>;
}

/** Maximum kinds of responses of one client, and places of one kind. */
const MAX_OUTCOMES = 60;
const MAX_POINTERS = 40;

/** Counts the responses to one client by origin, status and failure code, with the places of their errors. */
export class Outcomes {
  readonly all = new Map<string, OutcomeTally>();
  private last: OutcomeTally | undefined = undefined;

  add(entry: TallyEntry): void {
    const { time, status, failure, origin, errorPointers } = entry;
    const isUnsent = status === 0 && sentTo(entry) === undefined;
    const isOfService = !isUnsent && (failure === undefined || failure === 'upstream-broken');
    const by = isOfService ? (origin ?? 'v2') : 'gateway';
    const outcome = this.of(by, status, failure, time);
    if (outcome === undefined || errorPointers === undefined) return;
    for (const pointer of errorPointers) countUse(outcome.pointers, pointer, time, MAX_POINTERS);
  }

  private of(
    by: OutcomeTally['by'],
    status: number,
    code: string | undefined,
    time: string,
  ): OutcomeTally | undefined {
    const { last } = this;
    if (last !== undefined && last.by === by && last.status === status && last.code === code) {
      recordUse(last, time);
      return last;
    }
    const key = `${by} ${status} ${code ?? ''}`;
    const known = this.all.get(key);
    if (known === undefined && this.all.size >= MAX_OUTCOMES) return undefined;
    const outcome = known ?? {
      ...firstUse(time),
      by,
      status,
      ...(code === undefined ? {} : { code }),
      pointers: new Map(),
    };
    if (known === undefined) this.all.set(key, outcome);
    else recordUse(outcome, time);
    this.last = outcome;
    return outcome;
  }
}
