/**
 * `npm run bench [-- engine | growth | growth-gateway | scale | proxies | sizes | replicas | totals | footprint | allocation | own-code | start] [--quick] [--work pass|migrate] [--only <part of a peer's name>]…`:
 * the engine, its growth, how the gateway scales, and the proxies side by side when nothing is named. `proxies --long [--rounds <n>]
 * [--row <id>]…` measures more sizes, rates and forms of TLS beside nginx and its kind; `guard [<commit>] [--rounds <n>] [--row <id>]…` measures against a commit, HEAD when none is named.
 */
import { parseArgs } from 'node:util';
import { benchAllocation } from './allocation.ts';
import { benchEngine } from './engine.ts';
import { benchFootprint } from './footprint.ts';
import { benchResponses } from './engine-responses.ts';
import { benchPlan, benchResponsePlan } from './bench-plan.ts';
import { benchGrowth } from './growth.ts';
import { benchGrowthGateway } from './growth-gateway.ts';
import { benchGuard } from './guard/guard.ts';
import { benchLong } from './long/bench-long.ts';
import { benchOwnCode } from './own-code.ts';
import { benchProxies } from './proxies.ts';
import { benchReplicas } from './virtual-replicas/bench-replicas.ts';
import { benchReplicaTotals } from './replica-totals.ts';
import { benchScale } from './scale.ts';
import { benchSizes } from './sizes.ts';
import { benchStart } from './start-time.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    work: { type: 'string', multiple: true, default: ['pass', 'migrate'] },
    only: { type: 'string', multiple: true, default: [] },
    long: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    row: { type: 'string', multiple: true, default: [] },
  },
});
const chosen = positionals.length === 0 ? ['engine', 'growth', 'scale', 'proxies'] : positionals;
const works = (['pass', 'migrate'] as const).filter((name) => values.work.includes(name));
if (chosen.includes('engine')) {
  benchEngine(await benchPlan(), values.quick);
  benchResponses(await benchResponsePlan(), values.quick);
}
if (chosen.includes('growth')) await benchGrowth();
if (chosen.includes('growth-gateway') && !(await benchGrowthGateway())) process.exitCode = 1;
if (chosen.includes('scale')) await benchScale(values.quick);
if (chosen.includes('proxies') && values.long) {
  const rounds = Number(values.rounds ?? (values.quick ? 3 : 7));
  await benchLong({ rounds, rows: values.row, only: values.only });
} else if (chosen.includes('proxies')) {
  await benchProxies({ isQuick: values.quick, works, only: values.only });
}
if (positionals[0] === 'guard') {
  const rounds = Number(values.rounds ?? 9);
  if (!(await benchGuard(positionals[1] ?? 'HEAD', rounds, values.row))) process.exitCode = 1;
}
if (chosen.includes('sizes')) await benchSizes(Number(values.rounds ?? 5));
if (chosen.includes('replicas')) await benchReplicas(values.quick);
if (chosen.includes('totals')) await benchReplicaTotals(values.quick);
if (chosen.includes('footprint')) await benchFootprint();
if (chosen.includes('allocation')) await benchAllocation();
if (chosen.includes('own-code')) await benchOwnCode(works);
if (chosen.includes('start')) benchStart();
