/** `npm run bench -- sizes [--rounds <n>]`: what a request takes by the size of its body, with a length and in chunks. */
import type { Figures } from './long/figures.ts';
import { playRounds } from './long/play-rounds.ts';
import type { Row } from './long/rows.ts';
import { gateway } from './peers/node-peers.ts';
import { printTable, whole } from './scale-figures.ts';
import { inChunks, type WorkName, worksOf } from './work.ts';

const SIZES = [1000, 16_000, 100_000, 400_000, 1_000_000, 3_000_000, 9_000_000];
const ROUND_MS = 1000;

/** Rows of one framing, by size. */
interface Framing {
  readonly name: string;
  readonly rows: readonly Row[];
}

/** Measures every size after the other in one gateway, on four connections, and prints a table. */
export async function benchSizes(rounds: number): Promise<void> {
  const framings: readonly Framing[] = [
    { name: 'with a length', rows: SIZES.map((size) => rowOf(`${size}`, worksOf(size))) },
    { name: 'in chunks', rows: SIZES.map((size) => rowOf(`${size}-chunks`, chunkedWorks(size))) },
  ];
  const rows = framings.flatMap((framing) => framing.rows);
  const figures = await playRounds({ peers: [gateway], rows, takes: () => true, rounds, roundMs: ROUND_MS });
  console.log('\nMicroseconds of processor time a request by the bytes of its body, medians of rounds\n');
  const works: readonly WorkName[] = ['pass', 'migrate'];
  const lines = works.flatMap((work) => framings.map((framing) => lineOf(work, framing, figures)));
  printTable(['bytes', ...SIZES.map(whole)], lines);
}

function lineOf(work: WorkName, { name, rows }: Framing, figures: Figures): readonly string[] {
  const costs = rows.map((row) => figures.median(row, work, gateway.name, ({ cpu }) => cpu));
  return [`${work}, ${name}`, ...costs.map((cost) => (cost === undefined ? '–' : whole(cost)))];
}

function chunkedWorks(size: number): Row['works'] {
  const { pass, migrate } = worksOf(size);
  return { pass: inChunks(pass), migrate: inChunks(migrate) };
}

function rowOf(id: string, works: Row['works']): Row {
  return {
    id,
    title: id,
    form: 'plain',
    works,
    lanes: 4,
    length: 1,
    goals: { pass: Infinity, migrate: Infinity },
  };
}
