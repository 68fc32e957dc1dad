import { generalPointer } from '../json/json-pointer.ts';
import type { Entry } from '../rewrite-log/entry.ts';
import type { CensusRow } from './census-row.ts';
import { proposeStrips } from './strip-proposal.ts';

/** Every attribute name that V1 clients sent, by operation. */
export interface Census {
  /** V1 exchanges whose names were looked at, out of `exchanges`. */
  readonly sampled: number;
  readonly exchanges: number;
  /** By operation, the least accepted first. */
  readonly rows: readonly CensusRow[];
  /** `strip` rules for names that V2 never accepted, as YAML to paste into the rule book; empty when there are none. */
  readonly proposal: string;
  /** How often names beyond the bound were met, which are not listed. */
  readonly omitted: number;
}

/** What the census reads of an entry. */
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

/** Where the names of one list are counted, for one operation and one list of edits, until rows are dropped. */
interface Place {
  readonly round: number;
  readonly operation: string;
  readonly edits: CensusEntry['edits'];
  readonly rows: Row[];
  omitted: number;
}

/** Names of one operation, and of all together, that are counted: names that are data would have no end. */
const MOST_NAMES = 1000;
const MOST_ROWS = 5000;

/** The share of rows that stays when there are too many: those that were met most often. */
const KEPT_SHARE = 0.5;

/** Clients that are named for a row. */
const MOST_CLIENTS = 10;

/** Counts the names that V1 clients send, by operation, with what V2 said. */
export class CensusTally {
  private readonly operations = new Map<string, Map<string, Row>>();
  private readonly places = new WeakMap<readonly string[], Place>();
  private sampled = 0;
  private exchanges = 0;
  private omitted = 0;
  private rowCount = 0;
  /** How often rows were dropped: a place of an earlier round is looked up anew. */
  private round = 0;

  add(operation: string, entry: CensusEntry): void {
    this.exchanges += 1;
    if (entry.attributes === undefined) return;
    this.sampled += 1;
    const place = this.placeOf(operation, entry.attributes, entry.edits);
    for (const row of place.rows) count(row, entry);
    this.omitted += place.omitted;
  }

  /** What was counted so far. */
  result(): Census {
    const operations = [...this.operations].sort(([one], [other]) => (one < other ? -1 : 1));
    const rows = operations.flatMap(([operation, names]) =>
      [...names]
        .map(([pointer, row]) => shown(operation, pointer, row))
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

  /** Finds the rows of a list of names; lists that are shared between entries are looked up once. */
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

  /** The rows of an operation, with room for some more: where names are data, those that were met least make room. */
  private rowsOf(operation: string): Map<string, Row> {
    const rows = this.operations.get(operation) ?? new Map<string, Row>();
    this.operations.set(operation, rows);
    if (rows.size >= MOST_NAMES) this.drop([rows], MOST_NAMES * KEPT_SHARE);
    if (this.rowCount >= MOST_ROWS) this.drop([...this.operations.values()], MOST_ROWS * KEPT_SHARE);
    return rows;
  }

  private rowOf(rows: Map<string, Row>, pointer: string): Row | undefined {
    const known = rows.get(pointer);
    if (known !== undefined || rows.size >= MOST_NAMES || this.rowCount >= MOST_ROWS) return known;
    const row: Row = { count: 0, accepted: 0, unprocessable: 0, clients: new Set() };
    rows.set(pointer, row);
    this.rowCount += 1;
    return row;
  }

  private drop(tables: readonly Map<string, Row>[], kept: number): void {
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
  if (client !== undefined && row.clients.size < MOST_CLIENTS) row.clients.add(client);
}

function shown(operation: string, pointer: string, row: Row): CensusRow {
  const { count, accepted, unprocessable, clients, change } = row;
  const counted = { operation, pointer, count, accepted, unprocessable, clients: [...clients] };
  return change === undefined ? counted : { ...counted, change };
}

function share(row: CensusRow): number {
  return row.accepted / row.count;
}
