import type { ClientTrace } from '../rewrite-log/observer.ts';

/** Maximum characters of a `User-Agent` in a sentence. */
const MAX_AGENT = 40;

/** Digits of a hash that tell the clients with one `User-Agent` apart. */
const SHORT_HASH = 6;

/** The start of the latest `User-Agent` of a client without a name, in characters that no sentence is built of. */
function agentOf(trace: ClientTrace | undefined): string | undefined {
  const [agent = ''] = trace?.userAgents ?? [];
  return /^[\w./+-]+(?: [\w./+-]+)?/.exec(agent)?.[0].slice(0, MAX_AGENT);
}

/** The names of clients, and of a client without one its `User-Agent`, with the first digits of its hash if several have the same. */
export function shownNames(
  names: ReadonlyMap<string, string>,
  traces: ReadonlyMap<string, ClientTrace>,
): ReadonlyMap<string, string> {
  const agents = [...traces].map(([client, trace]) => [client, agentOf(trace)] as const);
  const known = new Set(names.values());
  const own = [...Map.groupBy(agents, ([, agent]) => agent)].flatMap(([agent, all]) => {
    if (agent === undefined) return [];
    const isOne = all.length === 1 && !known.has(agent);
    return all.map(
      ([client]) => [client, isOne ? agent : `${agent} (${client.slice(0, SHORT_HASH)})`] as const,
    );
  });
  return new Map([...own, ...names]);
}
