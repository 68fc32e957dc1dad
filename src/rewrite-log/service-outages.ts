import { askedService, isOutage, statusFrom } from './entry.ts';
import { RECOVERED } from './health/trouble.ts';

/** The last outage of a service. Times are milliseconds since 1970. */
export interface ServiceOutage {
  /** Requests of V1's and V2's clients that failed because the service did not respond, and those that its open circuit kept from it. */
  requests: number;
  kept: number;
  /** The first of them and the last: the outage lasts no longer, even if the service is asked again much later. */
  readonly since: number;
  last: number;
  /** Requests that the service has responded to since. */
  responded: number;
}

export type LastOutages = Readonly<Partial<Record<'v1' | 'v2', Readonly<ServiceOutage>>>>;

/** An outage, and the service that did not respond. */
export interface OutageOf extends Readonly<ServiceOutage> {
  readonly service: 'v1' | 'v2';
}

/** Maximum outages before the last ones that are kept, for charts. */
const MAX_EARLIER = 20;

/** Milliseconds within which a problem or an outage that seemed to be over goes on as the same one. */
export const PAUSE_MS = 600_000;

/** The members of an entry that decide. */
type ServedEntry = Parameters<typeof askedService>[0];

export class ServiceOutages {
  private readonly known: Partial<Record<'v1' | 'v2', ServiceOutage>> = {};
  /** Responses before the first outage of this run, and when it began. */
  private readonly well = { v1: 0, v2: 0 };
  private readonly first: Partial<Record<'v1' | 'v2', number>> = {};
  private earlier: readonly OutageOf[] = [];

  get last(): LastOutages {
    return this.known;
  }

  /** All outages that are kept. */
  get all(): readonly OutageOf[] {
    const last = (['v1', 'v2'] as const).flatMap((service) => ofService(service, this.known[service]));
    return [...this.earlier, ...last];
  }

  /** Counts an exchange that ended at `time`; a log has only the time of its beginning. */
  add(entry: ServedEntry, failed: boolean, time: number, began = time): void {
    const service = askedService(entry);
    if (service === undefined) return;
    if (failed && isOutage(entry.failure ?? '')) this.fail(service, entry, time, began);
    else if (statusFrom(entry) === service) this.respond(service);
  }

  private fail(service: 'v1' | 'v2', { failure }: ServedEntry, time: number, began: number): void {
    const known = this.known[service];
    const outage =
      known === undefined || isOver(known, time)
        ? { requests: 0, kept: 0, since: began, last: time, responded: 0 }
        : known;
    if (outage !== known) this.keep(ofService(service, known));
    this.known[service] = outage;
    this.first[service] ??= began;
    outage.requests += 1;
    if (failure === 'circuit-open') outage.kept += 1;
    outage.last = time;
    outage.responded = 0;
  }

  private respond(service: 'v1' | 'v2'): void {
    const outage = this.known[service];
    if (outage === undefined) this.well[service] += 1;
    else outage.responded += 1;
  }

  private keep(outages: readonly OutageOf[]): void {
    this.earlier = [...this.earlier, ...outages]
      .toSorted((one, other) => one.since - other.since)
      .slice(-MAX_EARLIER);
  }

  /** Adds the outages from before this run. */
  learn(logged: readonly OutageOf[]): void {
    for (const service of ['v1', 'v2'] as const) {
      const own = logged.filter((one) => one.service === service);
      this.learnLast(service, own.at(-1));
      this.keep(own.slice(0, -1));
    }
  }

  /** The first outage of this run may be the same as the last before it. */
  private learnLast(service: 'v1' | 'v2', last: OutageOf | undefined): void {
    if (last === undefined) return;
    const { service: _, ...logged } = last;
    const before = { ...logged, responded: logged.responded + this.well[service] };
    const own = this.all.find((one) => one.service === service);
    if (own === undefined) this.known[service] = before;
    else if (own.since !== this.first[service] || isOver(before, own.since))
      this.keep(ofService(service, before));
    else {
      const { requests, kept, since } = before;
      const join = (outage: ServiceOutage): ServiceOutage => ({
        ...outage,
        requests: requests + outage.requests,
        kept: kept + outage.kept,
        since,
      });
      const known = this.known[service];
      if (known !== undefined && known.since === own.since) this.known[service] = join(known);
      else this.earlier = this.earlier.map((one) => (one === own ? { ...join(one), service } : one));
    }
  }
}

function ofService(service: 'v1' | 'v2', outage: ServiceOutage | undefined): readonly OutageOf[] {
  return outage === undefined ? [] : [{ ...outage, service }];
}

/** Whether a failure at `time` belongs to another outage. */
function isOver({ responded, last }: ServiceOutage, time: number): boolean {
  return responded >= RECOVERED && time - last >= PAUSE_MS;
}
