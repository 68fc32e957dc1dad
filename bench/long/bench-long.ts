/**
 * `npm run bench -- proxies --long`: the gateway beside nginx and its kind at the sizes, rates and forms of TLS that users have.
 */
import { gateway, gatewayLogFile, sockets } from '../peers/node-peers.ts';
import { nginx, nginxJs, nginxLua } from '../peers/nginx-peers.ts';
import { caddy, haproxy } from '../peers/plain-peers.ts';
import type { Peer } from '../peers/peer.ts';
import { printLong } from './long-tables.ts';
import { playRounds } from './play-rounds.ts';
import { type Row, rows } from './rows.ts';

/** What to measure. */
export interface LongPlan {
  readonly rounds: number;
  /** Ids of rows; all of them when empty. */
  readonly rows: readonly string[];
  /** Parts of names of peers; all that are installed when empty. The gateway is always there. */
  readonly only: readonly string[];
}

const ROUND_MS = 1000;
const peers: readonly Peer[] = [gateway, gatewayLogFile, nginx, nginxLua, nginxJs, haproxy, caddy, sockets];

/** Measures and prints. */
export async function benchLong(plan: LongPlan): Promise<void> {
  const chosen = rows.filter(({ id }) => plan.rows.length === 0 || plan.rows.includes(id));
  if (chosen.length === 0) throw new Error(`no such row; there are ${rows.map(({ id }) => id).join(', ')}`);
  const figures = await playRounds({
    peers: installed(plan.only),
    rows: chosen,
    takes,
    rounds: plan.rounds,
    roundMs: ROUND_MS,
  });
  printLong(chosen, figures);
}

/** Whether a peer is measured at a row: file or pipe makes a difference at the most lines a second, and joined sockets are for comparison. */
function takes(peer: Peer, { id }: Row): boolean {
  if (peer === gatewayLogFile) return id === '1kb';
  return peer !== sockets || id === '1kb' || id === 'rate';
}

function installed(only: readonly string[]): readonly Peer[] {
  return peers.filter((peer) => {
    const name = peer.name.toLowerCase();
    const isWanted = only.length === 0 || only.some((part) => name.includes(part.toLowerCase()));
    if (!isWanted && peer !== gateway) return false;
    const missing = peer.missing();
    if (missing !== undefined) console.log(`missing: ${peer.name} (install ${missing})`);
    return missing === undefined;
  });
}
