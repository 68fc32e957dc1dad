/**
 * `npm run bench -- proxies`: the gateway beside the proxies that a user would pick instead, at the sizes, rates and forms of TLS that
 * users have. Without `--long` or a row it measures 1 KB alone.
 */
import { express, fastify, gateway, gatewayLogFile, plain, sockets } from '../peers/node-peers.ts';
import { nginx, nginxLua } from '../peers/nginx-peers.ts';
import { haproxy } from '../peers/plain-peers.ts';
import type { Peer } from '../peers/peer.ts';
import { playRounds } from './rounds.ts';
import { type Row, rows } from './rows.ts';
import { printLong } from './tables.ts';

/** What to measure. */
export interface ProxiesPlan {
  readonly rounds: number;
  /** Ids of rows. */
  readonly rows: readonly string[];
  /** Parts of names of peers; all that are installed when empty. The gateway is always there. */
  readonly only: readonly string[];
}

const ROUND_MS = 1000;
const peers: readonly Peer[] = [
  gateway,
  gatewayLogFile,
  nginx,
  nginxLua,
  haproxy,
  fastify,
  express,
  plain,
  sockets,
];

/** Measures and prints. */
export async function benchProxies(plan: ProxiesPlan): Promise<void> {
  const chosen = chosenRows(rows, plan.rows);
  const figures = await playRounds({
    peers: installed(peers, plan.only),
    rows: chosen,
    takes,
    rounds: plan.rounds,
    roundMs: ROUND_MS,
  });
  printLong(chosen, figures);
}

/** Frameworks, and a file against a pipe, are measured where they make the most difference: at the most requests a second. */
function takes(peer: Peer, { id }: Row): boolean {
  if (peer === gatewayLogFile || peer === fastify || peer === express) return id === '1kb';
  return (peer !== sockets && peer !== plain) || id === '1kb' || id === 'rate';
}

/** The rows with these ids; throws when there is none. */
export function chosenRows<Row extends { readonly id: string }>(
  all: readonly Row[],
  ids: readonly string[],
): readonly Row[] {
  const chosen = all.filter(({ id }) => ids.includes(id));
  if (chosen.length > 0) return chosen;
  throw new Error(`There is no row ${ids.join(', ')}; there are ${all.map(({ id }) => id).join(', ')}.`);
}

/** The peers that are wanted and installed; prints the others, with the package to install. */
export function installed(all: readonly Peer[], only: readonly string[]): readonly Peer[] {
  return all.filter((peer) => {
    const name = peer.name.toLowerCase();
    const isWanted = only.length === 0 || only.some((part) => name.includes(part.toLowerCase()));
    if (!isWanted && peer !== gateway) return false;
    const missing = peer.missing();
    if (missing !== undefined) console.log(`not installed: ${peer.name} (${missing})`);
    return missing === undefined;
  });
}
