import { generalPointer } from '../json/json-pointer.ts';
import type { Entry } from '../rewrite-log/entry.ts';
import type { CensusRow } from './census-row.ts';
import { proposeStrips } from './strip-proposal.ts';

/** Attribute names that V1 clients sent, by operation. */
export interface Census {
  /** V1 exchanges whose names were recorded, out of `exchanges`. */
  readonly sampled: number;
  readonly exchanges: number;
  /** By operation, the least accepted first. */
  readonly rows: readonly CensusRow[];
  /** `strip` rules for names that V2 never accepted, as YAML to paste into the rule book; empty when there are none. */
  readonly proposal: string;
  /** Number of occurrences of names beyond the limit, which are not listed. */
  readonly omitted: number;
}

/** Members of an entry that the census reads. */
interface CensusEntry {
  readonly client?: string | undefined;
  readonly verdict: Entry['verdict'];
  readonly status: number;
  readonly edits: Entry['edits'];
  readonly attributes?: Entry['attributes'] | undefined;
}

interface Row {
  count: number;
  accepted: number;
  unprocessable: number;
  readonly clients: Set<string>;
  change?: string;
}

/** Rows of one list of names, for one operation and one list of edits, valid until rows are dropped. */
interface Place {
  readonly round: number;
  readonly operation: string;
  readonly edits: CensusEntry['edits'];
  readonly rows: Row[];
  omitted: number;
}

/** Maximum names of one operation, and of all together: names that are data would grow without limit. */
const MAX_NAMES = 1000;
const MAX_ROWS = 5000;

/** Share of rows that is kept when there are too many: the most frequent ones. */
const KEPT_SHARE = 0.5;

/** Maximum clients listed for a row. */
const MAX_CLIENTS = 10;

/** Counts the names that V1 clients send, by operation and outcome. */
export class CensusTally {
  private readonly operations = new Map<string, Map<string, Row>>();
  private readonly places = new WeakMap<readonly string[], Place>();
  private sampled = 0;
  private exchanges = 0;
  private omitted = 0;
  private rowCount = 0;
  /** Number of times rows were dropped: places of an earlier round are looked up again. */
  private round = 0;

  add(operation: string, entry: CensusEntry): void {
    this.exchanges += 1;
    if (entry.attributes === undefined) return;
    this.sampled += 1;
    const place = this.placeOf(operation, entry.attributes, entry.edits);
    for (const row of place.rows) count(row, entry);
    this.omitted += place.omitted;
  }

  /** Returns the counts so far. */
  result(): Census {
    const operations = [...this.operations].sort(([one], [other]) => (one < other ? -1 : 1));
    const rows = operations.flatMap(([operation, names]) =>
      [...names]
        .map(([pointer, row]) => censusRow(operation, pointer, row))
        .sort((one, other) => share(one) - share(other) || other.count - one.count),
    );
    return {
      sampled: this.sampled,
      exchanges: this.exchanges,
      rows,
      proposal: proposeStrips(rows),
      omitted: this.omitted,
    };
  }

  /** Returns the rows of a list of names; lists that entries share are looked up once. */
  private placeOf(operation: string, attributes: readonly string[], edits: CensusEntry['edits']): Place {
    const known = this.places.get(attributes);
    if (known?.round === this.round && known.operation === operation && known.edits === edits) return known;
    const rows = this.rowsOf(operation);
    const place: Place = { round: this.round, operation, edits, rows: [], omitted: 0 };
    const wrapper = edits.find((edit) => edit.rule === 'unwrap' && edit.note === undefined)?.from ?? '';
    for (const attribute of attributes) {
      if (!attribute.startsWith(`${wrapper}/`)) continue;
      const row = this.rowOf(rows, attribute.slice(wrapper.length));
      if (row === undefined) place.omitted += 1;
      else place.rows.push(row);
    }
    for (const { from, change, rule } of edits) {
      if (from === undefined || rule === 'unwrap') continue;
      const row = rows.get(generalPointer(from.slice(wrapper.length)));
      if (row !== undefined) row.change = change;
    }
    this.places.set(attributes, place);
    return place;
  }

  /** Returns the rows of an operation, with room for more: where names are data, the least frequent are dropped. */
  private rowsOf(operation: string): Map<string, Row> {
    const rows = this.operations.get(operation) ?? new Map<string, Row>();
    this.operations.set(operation, rows);
    if (rows.size >= MAX_NAMES) this.dropRows([rows], MAX_NAMES * KEPT_SHARE);
    if (this.rowCount >= MAX_ROWS) this.dropRows([...this.operations.values()], MAX_ROWS * KEPT_SHARE);
    return rows;
  }

  private rowOf(rows: Map<string, Row>, pointer: string): Row | undefined {
    const known = rows.get(pointer);
    if (known !== undefined || rows.size >= MAX_NAMES || this.rowCount >= MAX_ROWS) return known;
    const row: Row = { count: 0, accepted: 0, unprocessable: 0, clients: new Set() };
    rows.set(pointer, row);
    this.rowCount += 1;
    return row;
  }

  private dropRows(tables: readonly Map<string, Row>[], kept: number): void {
    const all = tables.flatMap((rows) => [...rows].map(([pointer, row]) => ({ rows, pointer, row })));
    all.sort((one, other) => other.row.count - one.row.count);
    for (const { rows, pointer, row } of all.slice(kept)) {
      rows.delete(pointer);
      this.omitted += row.count;
      this.rowCount -= 1;
    }
    for (const [operation, rows] of this.operations) if (rows.size === 0) this.operations.delete(operation);
    this.round += 1;
  }
}

function count(row: Row, { client, status, verdict }: CensusEntry): void {
  row.count += 1;
  if (status >= 200 && status < 300) row.accepted += 1;
  if (status === 422 && verdict !== 'refused') row.unprocessable += 1;
  if (client !== undefined && row.clients.size < MAX_CLIENTS) row.clients.add(client);
}

function censusRow(operation: string, pointer: string, row: Row): CensusRow {
  const { count, accepted, unprocessable, clients, change } = row;
  const counted = { operation, pointer, count, accepted, unprocessable, clients: [...clients] };
  return change === undefined ? counted : { ...counted, change };
}

function share(row: CensusRow): number {
  return row.accepted / row.count;
}
