import type { EntriesPage, Report, RulesView } from '../../inspector/api.ts';
import type { Entry } from '../../rewrite-log/entry.ts';
import type { RolloutRequest, RolloutView } from '../../rollout/rollout-view.ts';
import { AdminClient } from '../admin-client.ts';

/** Milliseconds between two looks at a gateway that has not yet noticed what is waited for, and the time after which it never will. */
const POLL_MS = 20;
const NEVER_MS = 20_000;

/** Reads what a gateway says of itself, and changes its rollout, through its admin listener. */
export class TourAdmin {
  readonly origin: string;
  private readonly client: AdminClient;

  constructor(origin: string) {
    this.origin = origin;
    this.client = new AdminClient({ url: origin, token: undefined });
  }

  /** The state of the rollout. */
  rollout(): Promise<RolloutView> {
    return this.read<RolloutView>('/rollout');
  }

  /** V1 requests by the service that they were sent to, since the start. */
  async sentTo(): Promise<NonNullable<RolloutView['requests']>> {
    const { requests } = await this.rollout();
    if (requests === undefined) throw new Error('The gateway does not count its requests.');
    return requests;
  }

  /** Chooses a mode; throws with the gateway's reason when it refuses. */
  async choose(request: RolloutRequest): Promise<RolloutView> {
    const refusal = await this.refusalOf(request);
    if (refusal !== undefined) throw new Error(refusal);
    return this.rollout();
  }

  /** Chooses a mode; returns the reason when the gateway refuses. */
  async refusalOf(request: RolloutRequest): Promise<string | undefined> {
    const { statusCode, body } = await this.client.ask('/rollout', {}, JSON.stringify(request));
    const text = await body.text();
    if (statusCode === 200) return undefined;
    const failure: { readonly errors?: readonly { readonly detail?: string }[] } = JSON.parse(text);
    return failure.errors?.[0]?.detail ?? text;
  }

  /** The report on the clients. */
  report(): Promise<Report> {
    return this.read<Report>('/report?format=json');
  }

  /** The rule book in force. */
  rules(): Promise<RulesView> {
    return this.read<RulesView>('/rules');
  }

  /** Number of the latest entry: entries are numbered from 1. */
  async latest(): Promise<number> {
    return (await this.read<EntriesPage>('/entries?limit=1')).latest;
  }

  /** Entries after the one with the number `after`, that a filter accepts. */
  async entriesAfter(after: number, filter = ''): Promise<readonly Entry[]> {
    const entries: Entry[] = [];
    let before: number | undefined;
    do {
      const from = before === undefined ? '' : `&before=${before}`;
      const page: EntriesPage = await this.read(
        `/entries?limit=500&filter=${encodeURIComponent(filter)}${from}`,
      );
      entries.push(...page.entries.filter(({ seq }) => seq > after));
      before = page.entries.some(({ seq }) => seq <= after) ? undefined : page.next;
    } while (before !== undefined);
    return entries;
  }

  /** Waits until a reading fulfils a condition, and returns it; throws when it never does. */
  async until<Reading>(read: () => Promise<Reading>, holds: (reading: Reading) => boolean): Promise<Reading> {
    const end = performance.now() + NEVER_MS;
    for (;;) {
      const reading = await read();
      if (holds(reading)) return reading;
      if (performance.now() > end) throw new Error('The gateway did not do what the tour waits for.');
      await new Promise((resolve) => {
        setTimeout(resolve, POLL_MS);
      });
    }
  }

  private async read<Reading>(path: string): Promise<Reading> {
    const { statusCode, body } = await this.client.ask(path);
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`${path} responded with ${statusCode}: ${text}`);
    const reading: Reading = JSON.parse(text);
    return reading;
  }
}
