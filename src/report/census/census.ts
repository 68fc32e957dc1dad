import { generalPointer } from '../../json/json-pointer.ts';
import { MovedMembers } from '../../rewrite-log/moved-member.ts';
import type { RequestRuleName } from '../../rules/rule.ts';
import { type CensusRow, MAX_ROW_CLIENTS } from './census-row.ts';
import type { OpenApiNames } from '../text/openapi-names.ts';
import { proposalYaml, proposeStrips, type StripProposal, type Suspect } from '../strips/strip-proposal.ts';
import { refusalOf, type TallyEntry } from '../tally/tally-entry.ts';

/** Attribute names that V1 clients sent, by operation. */
export interface Census {
  /** V1 exchanges whose names were recorded, out of `exchanges`. */
  readonly sampled: number;
  readonly exchanges: number;
  /** By operation, the least accepted first. */
  readonly rows: readonly CensusRow[];
  /** `strip` rules for names that V2 does not take. */
  readonly strips: readonly StripProposal[];
  /** Names that something speaks against, and the reason why that is not enough. */
  readonly suspects: readonly Suspect[];
  /** `strips` as YAML to paste into the rule book; empty when there are none. */
  readonly proposal: string;
  /** Number of occurrences of names beyond the limit, which are not listed. */
  readonly omitted: number;
}

/** Counts of one name. */
export interface CensusCounts {
  count: number;
  accepted: number;
  echoed: number;
  unechoed: number;
  unprocessable: number;
  named: number;
  acceptedByV1: number;
  deprecated: number;
  namedByV1: number;
  readonly clients: Set<string>;
  change?: string;
  rule?: RequestRuleName;
}

/** An attribute of a list of names: its row, and its pointers in the V1 body and in the V2 body. */
interface PlacedRow {
  readonly row: CensusCounts;
  readonly v1: string;
  /** Undefined when an edit removes it. */
  readonly v2: string | undefined;
}

/** Rows of one list of names, for one operation and one list of edits, valid until rows are dropped. */
interface Place {
  readonly round: number;
  readonly operation: string;
  readonly edits: TallyEntry['edits'];
  readonly rows: PlacedRow[];
  omitted: number;
}

/** Maximum names of one operation, and of all together: names that are data would grow without limit. */
const MAX_NAMES = 1000;
const MAX_ROWS = 5000;

/** Share of rows that is kept when there are too many: the most frequent ones. */
const KEPT_SHARE = 0.5;

/** An entry lists no more of them: a longer list does not say that the others were echoed. */
const MAX_UNECHOED = 16;

/** Counts the names that V1 clients send, by operation and outcome. */
export class CensusTally {
  /** Counts by operation and pointer. */
  readonly operations = new Map<string, Map<string, CensusCounts>>();
  private readonly places = new WeakMap<readonly string[], Place>();
  /** V1 exchanges whose names were recorded, and all of them. */
  sampled = 0;
  exchanges = 0;
  /** Occurrences of names that are not listed. */
  omitted = 0;
  private rowCount = 0;
  /** Number of times rows were dropped: places of an earlier round are looked up again. */
  private round = 0;

  add(operation: string, entry: TallyEntry): void {
    this.exchanges += 1;
    // The names of a refused body say nothing: nobody knows which of them are inside the wrapper.
    if (entry.attributes === undefined || refusalOf(entry) !== undefined) return;
    this.sampled += 1;
    const place = this.placeOf(operation, entry.attributes, entry.edits);
    for (const row of place.rows) count(row, entry);
    this.omitted += place.omitted;
  }

  /** Returns the counts so far; `schema` says which names V2's OpenAPI has. */
  result(schema?: OpenApiNames): Census {
    const operations = [...this.operations].sort(([one], [other]) => (one < other ? -1 : 1));
    const rows = operations.flatMap(([operation, names]) =>
      [...names]
        .map(([pointer, row]) => censusRow(operation, pointer, row, schema))
        .sort((one, other) => share(one) - share(other) || other.count - one.count),
    );
    const { strips, suspects } = proposeStrips(rows);
    return {
      sampled: this.sampled,
      exchanges: this.exchanges,
      rows,
      strips,
      suspects,
      proposal: proposalYaml(strips),
      omitted: this.omitted,
    };
  }

  /** Returns the rows of a list of names; lists that entries share are looked up once. */
  private placeOf(operation: string, attributes: readonly string[], edits: TallyEntry['edits']): Place {
    const known = this.places.get(attributes);
    if (known?.round === this.round && known.operation === operation && known.edits === edits) return known;
    const rows = this.rowsOf(operation);
    const place: Place = { round: this.round, operation, edits, rows: [], omitted: 0 };
    const moved = new MovedMembers(edits);
    const { wrapper } = moved;
    for (const attribute of attributes) {
      if (!attribute.startsWith(`${wrapper}/`)) continue;
      const row = this.rowOf(rows, attribute.slice(wrapper.length));
      if (row === undefined) place.omitted += 1;
      else place.rows.push({ row, v1: attribute, v2: moved.of(attribute) });
    }
    for (const { from, change, rule } of edits) {
      if (from === undefined || rule === 'unwrap') continue;
      const row = rows.get(generalPointer(from.slice(wrapper.length)));
      if (row === undefined) continue;
      row.change = change;
      row.rule = rule;
    }
    this.places.set(attributes, place);
    return place;
  }

  /** Returns the rows of an operation, with room for more: where names are data, the least frequent are dropped. */
  private rowsOf(operation: string): Map<string, CensusCounts> {
    const rows = this.operations.get(operation) ?? new Map<string, CensusCounts>();
    this.operations.set(operation, rows);
    if (rows.size >= MAX_NAMES) this.dropRows([rows], MAX_NAMES * KEPT_SHARE);
    if (this.rowCount >= MAX_ROWS) this.dropRows([...this.operations.values()], MAX_ROWS * KEPT_SHARE);
    return rows;
  }

  private rowOf(rows: Map<string, CensusCounts>, pointer: string): CensusCounts | undefined {
    const known = rows.get(pointer);
    if (known !== undefined || rows.size >= MAX_NAMES || this.rowCount >= MAX_ROWS) return known;
    const row: CensusCounts = { ...NO_COUNTS, clients: new Set() };
    rows.set(pointer, row);
    this.rowCount += 1;
    return row;
  }

  private dropRows(tables: readonly Map<string, CensusCounts>[], kept: number): void {
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

const NO_COUNTS = {
  count: 0,
  accepted: 0,
  echoed: 0,
  unechoed: 0,
  unprocessable: 0,
  named: 0,
  acceptedByV1: 0,
  deprecated: 0,
  namedByV1: 0,
};

function count({ row, v1, v2 }: PlacedRow, entry: TallyEntry): void {
  const { client, status, failure, origin } = entry;
  row.count += 1;
  if (client !== undefined && row.clients.size < MAX_ROW_CLIENTS) row.clients.add(client);
  // Where no service responded, nobody has an opinion of a name.
  if (failure !== undefined) return;
  const isAccepted = status >= 200 && status < 300;
  if (origin === 'v1') {
    if (isAccepted) row.acceptedByV1 += 1;
    if (entry.deprecated?.includes(v1) === true) row.deprecated += 1;
    if (entry.errorPointers?.includes(v1) === true) row.namedByV1 += 1;
    return;
  }
  if (isAccepted) row.accepted += 1;
  if (isAccepted && entry.unechoed !== undefined && entry.unechoed.length < MAX_UNECHOED) {
    if (isAmong(entry.unechoed, v1)) row.unechoed += 1;
    else row.echoed += 1;
  }
  if (status === 422) row.unprocessable += 1;
  if (v2 !== undefined && entry.errorPointers?.includes(v2) === true) row.named += 1;
}

/** Whether a pointer or a container of it is in a list. */
function isAmong(pointers: readonly string[], pointer: string): boolean {
  return pointers.some((outer) => pointer === outer || pointer.startsWith(`${outer}/`));
}

function censusRow(
  operation: string,
  pointer: string,
  row: CensusCounts,
  schema: OpenApiNames | undefined,
): CensusRow {
  const { clients, change, rule, ...counts } = row;
  const inSchema = change === undefined ? schema?.has(operation, pointer) : undefined;
  return {
    operation,
    pointer,
    ...counts,
    ...(inSchema === undefined ? {} : { inSchema }),
    clients: [...clients],
    ...(change === undefined || rule === undefined ? {} : { change, rule }),
  };
}

function share(row: CensusRow): number {
  return row.accepted / row.count;
}
