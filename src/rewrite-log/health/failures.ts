import { clientOf, type Entry, isOutage, statusFrom } from '../entry.ts';
import type { FailedAnswer } from './trouble.ts';

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

/** The failed requests of one client, and those of them with a 4xx. */
interface ClientFailures {
  failed: number;
  refused: number;
}

/** The common properties of failed requests. */
export class Failures {
  count = 0;
  inCanary = false;
  private refused = 0;
  private readonly byClient = new Map<string, ClientFailures>();
  /** Undefined before the first response, and null once there are several kinds. */
  private onlyAnswer: FailedAnswer | null | undefined = undefined;

  /** The failures of all of these. */
  static of(all: readonly Failures[]): Failures {
    const sum = new Failures();
    for (const { count: times, inCanary, refused, byClient, onlyAnswer } of all) {
      if (times === 0) continue;
      sum.count += times;
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

  add(entry: HealthEntry): void {
    const { status, failure = '', mode } = entry;
    const refused = status >= 400 && status < 500 ? 1 : 0;
    if (!isOutage(failure)) this.addAnswer({ by: statusFrom(entry) === 'v2' ? 'v2' : 'gateway', status });
    this.count += 1;
    this.refused += refused;
    this.inCanary ||= mode === 'canary';
    this.addClient(clientOf(entry), { failed: 1, refused });
  }

  /** Number of a client's failures. */
  of(client: string): number {
    return this.byClient.get(client)?.failed ?? 0;
  }

  /** Takes the failures of a client away, and returns their number. */
  drop(client: string): number {
    const own = this.byClient.get(client);
    if (own === undefined) return 0;
    this.count -= own.failed;
    this.refused -= own.refused;
    this.byClient.delete(client);
    return own.failed;
  }

  private addClient(client: string, { failed, refused }: ClientFailures): void {
    const own = this.byClient.get(client) ?? { failed: 0, refused: 0 };
    own.failed += failed;
    own.refused += refused;
    if (this.byClient.size < MAX_CLIENTS) this.byClient.set(client, own);
  }

  private addAnswer(answer: FailedAnswer | null): void {
    if (this.onlyAnswer === undefined) this.onlyAnswer = answer;
    const known = this.onlyAnswer;
    if (known?.by !== answer?.by || known?.status !== answer?.status) this.onlyAnswer = null;
  }
}
