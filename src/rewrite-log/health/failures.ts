import { clientOf, type Entry, isOutage, statusFrom } from '../entry.ts';
import type { FailedAnswer, Outage } from './trouble.ts';

/** The members of an entry that decide: of one that ended now, or of the log. */
export interface HealthEntry extends Pick<
  Entry,
  'route' | 'verdict' | 'status' | 'failure' | 'cause' | 'origin' | 'client' | 'operation'
> {
  readonly mode?: string | undefined;
  readonly ruleBook?: string | undefined;
  /** Read if there is no operation, or if another call had none. */
  readonly method?: string | undefined;
  readonly path?: string | undefined;
  readonly totalMs?: number | undefined;
}

/** Maximum clients of an operation whose failures are followed: more of them are trouble of the operation. */
const MAX_CLIENTS = 100;

/** The failed requests of one client: of `failed`, 4xx and those without a response. */
interface ClientFailures {
  failed: number;
  refused: number;
  unanswered: number;
}

/** The common properties of failed requests. */
export class Failures {
  count = 0;
  unanswered = 0;
  outage: Outage | undefined = undefined;
  inCanary = false;
  private refused = 0;
  private readonly byClient = new Map<string, ClientFailures>();
  /** Undefined before the first response, and null once there are several kinds. */
  private onlyAnswer: FailedAnswer | null | undefined = undefined;

  /** The failures of all of these. */
  static of(all: readonly Failures[]): Failures {
    const sum = new Failures();
    for (const { count: times, unanswered, outage, inCanary, refused, byClient, onlyAnswer } of all) {
      if (times === 0) continue;
      sum.count += times;
      sum.unanswered += unanswered;
      if (outage !== undefined) sum.outage = { ...outage, since: sum.outage?.since ?? outage.since };
      sum.inCanary ||= inCanary;
      sum.refused += refused;
      for (const [client, failures] of byClient) sum.addClient(client, failures);
      if (onlyAnswer !== undefined) sum.addAnswer(onlyAnswer);
    }
    return sum;
  }

  /** The failures that `JSON.stringify` printed. */
  static read(data: object): Failures {
    return Object.assign(new Failures(), data);
  }

  get isRefusal(): boolean {
    return this.refused === this.count;
  }

  get clients(): readonly string[] {
    return [...this.byClient.keys()];
  }

  get answer(): FailedAnswer | undefined {
    return this.onlyAnswer ?? undefined;
  }

  /** Failures to which V2 or the gateway responded. */
  get answered(): number {
    return this.count - this.unanswered;
  }

  /** Adds a request that began and ended at these times. */
  add(entry: HealthEntry, began: number, time: number): void {
    const { status, failure = '', mode } = entry;
    const failures = { failed: 1, refused: 0, unanswered: 0 };
    if (status >= 400 && status < 500) failures.refused = 1;
    if (isOutage(failure)) {
      failures.unanswered = 1;
      this.outage = { since: this.outage?.since ?? began, last: time, until: undefined };
    } else this.addAnswer({ by: statusFrom(entry) === 'v2' ? 'v2' : 'gateway', status });
    this.count += 1;
    this.refused += failures.refused;
    this.unanswered += failures.unanswered;
    this.inCanary ||= mode === 'canary';
    this.addClient(clientOf(entry), failures);
  }

  /** V2 responded at this time. */
  respond(time: number): void {
    if (this.outage !== undefined) this.outage = { ...this.outage, until: this.outage.until ?? time };
  }

  /** Number of a client's failures with a response. */
  answeredOf(client: string): number {
    const { failed, unanswered } = this.byClient.get(client) ?? { failed: 0, unanswered: 0 };
    return failed - unanswered;
  }

  /** Takes the failures of a client with a response away, and returns their number. */
  drop(client: string): number {
    const own = this.byClient.get(client);
    if (own === undefined) return 0;
    const answered = own.failed - own.unanswered;
    this.count -= answered;
    this.refused -= own.refused;
    if (own.unanswered === 0) this.byClient.delete(client);
    else this.byClient.set(client, { failed: own.unanswered, refused: 0, unanswered: own.unanswered });
    return answered;
  }

  private addClient(client: string, { failed, refused, unanswered }: ClientFailures): void {
    const own = this.byClient.get(client) ?? { failed: 0, refused: 0, unanswered: 0 };
    own.failed += failed;
    own.refused += refused;
    own.unanswered += unanswered;
    if (this.byClient.size < MAX_CLIENTS) this.byClient.set(client, own);
  }

  private addAnswer(answer: FailedAnswer | null): void {
    if (this.onlyAnswer === undefined) this.onlyAnswer = answer;
    const known = this.onlyAnswer;
    if (known?.by !== answer?.by || known?.status !== answer?.status) this.onlyAnswer = null;
  }
}
