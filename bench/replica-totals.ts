import type { Report } from '../src/report/report.ts';
import { MemoryRecords } from '../test/support/memory-records.ts';
import type { RecordChange, RecordPage, RecordStore, Replaced } from '../src/rollout/store.ts';
import { PlayedReplica } from '../test/support/played-replica.ts';
import { sampleEntry } from '../test/support/sample-entries.ts';
import { VirtualTime } from '../test/support/virtual-time.ts';
import { printTable, whole } from './scale-figures.ts';

/** What the totals of three replicas cost with so many clients. */
interface TotalsCost {
  readonly clients: number;
  readonly storeMiB: number;
  /** Characters a second of virtual time that one replica wrote and read, in KiB. */
  readonly writtenKiB: number;
  readonly readKiB: number;
  /** Share of one processor that adding takes one replica. */
  readonly processorShare: number;
  readonly reportMs: number;
  readonly report: Report;
}

const REPLICAS = 3;
const REQUESTS_OF_CLIENT = 4;
const SECONDS = 60;

/** Prints what the totals of a fleet take with few, many and too many clients, in virtual time and with a store in memory. */
export async function benchReplicaTotals(isQuick: boolean): Promise<void> {
  const sizes = isQuick ? [1000, 10_000] : [1000, 10_000, 15_000, 100_000, 1_000_000];
  const costs: TotalsCost[] = [];
  for (const clients of sizes) costs.push(await costOf(clients));
  printTable(
    ['clients', ...costs.map(({ clients }) => whole(clients))],
    [
      ['clients in the report', ...costs.map(({ report }) => whole(report.clients.length))],
      ['requests of clients left out', ...costs.map(({ report }) => whole(report.omittedClients))],
      ['V1 requests counted, those left out included', ...costs.map(({ report }) => whole(report.v1))],
      [
        'characters in the store, and in the copy of each replica',
        ...costs.map(({ storeMiB }) => `${storeMiB.toFixed(1)} MiB`),
      ],
      ['one replica writes, a second', ...costs.map(({ writtenKiB }) => `${whole(writtenKiB)} KiB`)],
      ['one replica reads, a second', ...costs.map(({ readKiB }) => `${whole(readKiB)} KiB`)],
      [
        'of one processor, it takes',
        ...costs.map(({ processorShare }) => `${(processorShare * 100).toFixed(1)} %`),
      ],
      ['processor time of a report, in steps', ...costs.map(({ reportMs }) => `${whole(reportMs)} ms`)],
      ['switching V1 off', ...costs.map(({ report }) => report.switchOff.verdict)],
    ],
  );
}

async function costOf(clients: number): Promise<TotalsCost> {
  const time = new VirtualTime();
  const store = new MeteredRecords(new MemoryRecords());
  const replicas = Array.from({ length: REPLICAS }, (_, k) => new PlayedReplica(`r${k}`, store, time));
  const [first] = replicas;
  if (first === undefined) throw new Error('there are replicas');
  const requests = clients * REQUESTS_OF_CLIENT;
  let adding = 0;
  let at = 0;
  for (let second = 1; second <= SECONDS; second += 1) {
    for (; at < (requests * second) / SECONDS; at += 1)
      replicas[(at * 7) % REPLICAS]?.add({ ...sampleEntry(at, time.now), client: nameOf(at % clients) });
    const from = processorMs();
    await time.pass(1000);
    adding += processorMs() - from;
  }
  const { written, read } = store;
  // Whatever waits is added in its own time.
  await time.pass(300_000);
  const reportFrom = processorMs();
  const report = await first.report(time.now);
  const reportMs = processorMs() - reportFrom;
  return {
    clients,
    storeMiB: (await store.characters()) / 2 ** 20,
    writtenKiB: written / REPLICAS / SECONDS / 1024,
    readKiB: read / REPLICAS / SECONDS / 1024,
    processorShare: adding / REPLICAS / SECONDS / 1000,
    reportMs,
    report,
  };
}

/** Processor time of this process so far, in milliseconds. */
function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Counts the characters that go to and from the store. */
class MeteredRecords implements RecordStore {
  written = 0;
  read = 0;
  private readonly records: MemoryRecords;

  constructor(records: MemoryRecords) {
    this.records = records;
  }

  async changes(after: number, limit: number): Promise<RecordPage> {
    const page = await this.records.changes(after, limit);
    this.read += charactersOf(page.records);
    return page;
  }

  replace(life: string, changes: readonly RecordChange[]): Promise<Replaced | undefined> {
    this.written += charactersOf(changes);
    return this.records.replace(life, changes);
  }

  async characters(): Promise<number> {
    return charactersOf((await this.records.changes(0, Number.POSITIVE_INFINITY)).records);
  }
}

function charactersOf(records: readonly { readonly text: string }[]): number {
  return records.reduce((sum, { text }) => sum + text.length, 0);
}

function nameOf(client: number): string {
  return (Math.imul(client + 1, 0x9e37_79b1) >>> 0).toString(16).padStart(16, '0');
}
