/**
 * `npm run bench -- library`: a service with the migration in it, by each adapter, beside the same service without. What V1's requests
 * cost there is compared with the same orders in V2's form.
 */
import { fileURLToPath } from 'node:url';
import type { Peer } from '../peers/peer.ts';
import { chosenRows } from '../proxies/proxies.ts';
import { playRounds } from '../proxies/rounds.ts';
import type { Row } from '../proxies/rows.ts';
import { printTable } from '../statistics.ts';
import { worksOf } from '../work.ts';

/** What to measure. */
export interface LibraryPlan {
  readonly rounds: number;
  /** Ids of rows; all when empty. */
  readonly rows: readonly string[];
  /** Names of adapters; all when empty. */
  readonly only: readonly string[];
}

const ADAPTERS = ['fetch', 'hono', 'node'] as const;
/** Short rounds, and many of them: what slows the machine down for a while then falls on a service with and without the migration alike. */
const ROUND_MS = 400;

const rows: readonly Row[] = [
  { id: '1kb', title: '1 KB', works: worksOf(1000) },
  { id: '100kb', title: '100 KB', works: worksOf(100_000) },
].map((row) => ({
  ...row,
  form: 'plain',
  lanes: 16,
  length: 1,
  goals: { pass: Infinity, migrate: Infinity },
}));

/** Measures and prints. */
export async function benchLibrary(plan: LibraryPlan): Promise<void> {
  const adapters = ADAPTERS.filter((name) => plan.only.length === 0 || plan.only.includes(name));
  const chosen = plan.rows.length === 0 ? rows : chosenRows(rows, plan.rows);
  const figures = await playRounds({
    peers: adapters.flatMap((adapter) => [service(adapter, 'without'), service(adapter, 'with')]),
    rows: chosen,
    takes: () => true,
    rounds: plan.rounds,
    roundMs: ROUND_MS,
    // The service itself responds with 422 to an order that is not V2's.
    check: async () => {},
  });
  console.log(
    '\nMicroseconds of processor time a request, medians of rounds; the ratio is the median of those of rounds, with its bounds (95 % confidence)\n',
  );
  printTable(
    [
      'row',
      'adapter',
      'V2, without',
      'V2, with',
      'ratio by round (bounds)',
      'V1, with',
      'ratio to V2, without',
    ],
    chosen.flatMap((row) =>
      adapters.map((adapter) => {
        const [without, its] = [nameOf(adapter, 'without'), nameOf(adapter, 'with')];
        const ratio = (work: 'pass' | 'migrate'): string => {
          const { of, least, most } = figures.ratio([row, work, its], [row, 'pass', without]);
          return `${of.toFixed(2)} (${least.toFixed(2)}–${most.toFixed(2)})`;
        };
        const cpu = (work: 'pass' | 'migrate', name: string): string =>
          figures.median(row, work, name, 'cpu').toFixed(0);
        return [
          `\`${row.id}\` ${row.title}`,
          adapter,
          cpu('pass', without),
          cpu('pass', its),
          ratio('pass'),
          cpu('migrate', its),
          ratio('migrate'),
        ];
      }),
    ),
  );
}

type Variant = 'with' | 'without';

function nameOf(adapter: string, variant: Variant): string {
  return `${adapter}, ${variant} the migration`;
}

function service(adapter: string, variant: Variant): Peer {
  return {
    name: nameOf(adapter, variant),
    works: variant === 'with' ? ['pass', 'migrate'] : ['pass'],
    hasTls: false,
    missing: () => undefined,
    command: ({ port }) => ({
      file: process.execPath,
      args: [fileURLToPath(new URL('library-server.ts', import.meta.url)), String(port), adapter, variant],
      env: { NODE_ENV: 'production' },
    }),
  };
}
