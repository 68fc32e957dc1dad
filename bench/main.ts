/**
 * `npm run bench [-- proxies | clients | edge | library | growth | page | restarts | guard [commit]]`. Without a name it measures the proxies at 1 KB.
 * `--row ID` measures a row (`proxies --long`: all of them), `--rounds N` more or fewer rounds, and `--only PART` the peers, servers
 * or stages with that in their names. Peers that are not installed are named and left out.
 */
import { parseArgs } from 'node:util';
import { benchClients } from './clients.ts';
import { benchEdge } from './edge/edge.ts';
import { benchGrowth } from './growth/growth.ts';
import { benchGuard } from './guard/guard.ts';
import { benchLibrary } from './library/library.ts';
import { benchPage } from './page.ts';
import { benchProxies } from './proxies/proxies.ts';
import { rows } from './proxies/rows.ts';
import { benchRestarts } from './restarts/restarts.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string', multiple: true, default: [] },
    long: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    row: { type: 'string', multiple: true, default: [] },
  },
});
const [name = 'proxies', commit = 'HEAD'] = positionals;
const { only, row } = values;
const rounds = (usual: number): number => Number(values.rounds ?? usual);

const benches: Readonly<Record<string, () => Promise<boolean | void>>> = {
  proxies: () => {
    const usual = values.long ? rows.map(({ id }) => id) : ['1kb'];
    return benchProxies({ rounds: rounds(7), rows: row.length === 0 ? usual : row, only });
  },
  clients: () => benchClients({ rounds: rounds(3), rows: row, only }),
  edge: () => benchEdge({ rounds: rounds(3), rows: row, only }),
  library: () => benchLibrary({ rounds: rounds(15), rows: row, only }),
  growth: () => benchGrowth(only),
  page: () => benchPage(rounds(7)),
  restarts: () => benchRestarts(only),
  guard: () => benchGuard(commit, rounds(9), row),
};
const bench = benches[name];
if (bench === undefined) {
  console.error(`There is no bench ${name}; there are ${Object.keys(benches).join(', ')}.`);
  process.exitCode = 2;
} else if ((await bench()) === false) process.exitCode = 1;
