import { type WorkName, worksOf } from '../work.ts';

/** How clients and V2 are spoken to. */
export type Form = 'plain' | 'clients-tls' | 'clients-h2' | 'upstream-tls';

/** A row of the table: one load, for both works. */
export interface Row {
  /** For `--row`. */
  readonly id: string;
  readonly title: string;
  readonly form: Form;
  readonly works: ReturnType<typeof worksOf>;
  /** Requests under way at a time, each on a connection of its own (over HTTP/2, on a stream). */
  readonly lanes: number;
  /** Requests a second; as fast as responses arrive when absent. */
  readonly rate?: number;
  /** Times the usual length of a round. */
  readonly length: number;
  /** The most that the gateway may take, times nginx for what passes, and times nginx with Lua for what is migrated. */
  readonly goals: Readonly<Record<WorkName, number>>;
  /** The most, times nginx or nginx with Lua, that the 99th percentile may be, and that may be added to the median. */
  readonly latency?: { readonly p99: number; readonly added?: number };
}

const kilobyte = worksOf(1000);

/** 14,000 issues of an order. */
const megabyte = worksOf(1_181_000);

/** The rows of the table: sizes, rates, connections, and TLS on either side. */
export const rows: readonly Row[] = [
  { ...row('1kb', '1 KB, saturated', kilobyte, 1.25, 1), latency: { p99: 2 } },
  {
    ...row('rate', '1,000 requests a second', kilobyte, 1.8, 1.4),
    rate: 1000,
    length: 2,
    latency: { p99: 1.5, added: 1.2 },
  },
  row('16kb', '16 KB', worksOf(16_000), 1.5, 0.35),
  { ...row('100kb', '100 KB', worksOf(100_000), 1.8, 0.35), lanes: 16 },
  { ...row('1mb', '1 MB, 14,000 small objects', megabyte, 2, 0.25), lanes: 4 },
  {
    ...row('1000c', '1,000 connections', kilobyte, 1.6, 1.1),
    lanes: 1000,
    length: 2,
    latency: { p99: 2 },
  },
  { ...row('tls', 'TLS from clients, HTTP/1.1', kilobyte, 2, 1.3), form: 'clients-tls' },
  { ...row('h2', 'TLS from clients, HTTP/2', kilobyte, 2, 1.3), form: 'clients-h2' },
  { ...row('v2-tls', 'TLS to V2, kept', kilobyte, 1.6, 1.2), form: 'upstream-tls' },
];

function row(id: string, title: string, works: Row['works'], pass: number, migrate: number): Row {
  return { id, title, form: 'plain', works, lanes: 32, length: 1, goals: { pass, migrate } };
}
