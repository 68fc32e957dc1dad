import { headerValue } from '../http/header-list.ts';
import type { ObservedHead } from './attributes/observer.ts';
import { ownText } from './own-text.ts';

/** What a client that has no name yet is recognised by. */
export interface ClientTrace {
  /** Its latest `User-Agent` fields, newest first, at most 3, cut to 120 characters. */
  readonly userAgents: readonly string[];
  /** The addresses that its latest connections came from, newest first, at most 3. */
  readonly addresses: readonly string[];
}

const MAX_CLIENTS = 2000;
const MAX_TRACES = 3;
const MAX_CHARACTERS = 120;

/** Remembers `User-Agent` and address of the clients whose exchanges were captured: in memory only, of a limited number of clients. */
export class ClientTraces {
  private readonly traces = new Map<string, ClientTrace>();

  /** Traces by client hash; those seen last come last. */
  get all(): ReadonlyMap<string, ClientTrace> {
    return this.traces;
  }

  /** Records the request of a client. Beyond the limit the client that was not seen for the longest time is forgotten. */
  add(client: string, { headers }: Pick<ObservedHead, 'headers'>, address: string | undefined): void {
    const { userAgents = [], addresses = [] } = this.traces.get(client) ?? {};
    this.traces.delete(client);
    this.traces.set(client, {
      userAgents: withNewest(userAgents, headerValue(headers, 'user-agent')?.slice(0, MAX_CHARACTERS)),
      addresses: withNewest(addresses, address),
    });
    const [oldest] = this.traces.keys();
    if (this.traces.size > MAX_CLIENTS && oldest !== undefined) this.traces.delete(oldest);
  }
}

function withNewest(known: readonly string[], text: string | undefined): readonly string[] {
  if (text === undefined || text === '' || known[0] === text) return known;
  return [ownText(text), ...known.filter((one) => one !== text)].slice(0, MAX_TRACES);
}
