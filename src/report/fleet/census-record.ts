import { parsedJson } from '../../rewrite-log/parsed-json.ts';
import { isRequestRuleName } from '../../rules/rule.ts';
import type { CensusCounts } from '../census/census.ts';
import { MAX_ROW_CLIENTS } from '../census/census-row.ts';
import type { PackedRecord } from './client-shard.ts';
import { FieldReader, unlessDamaged } from './record-fields.ts';

/** Names of one record: counts by operation and pointer. */
export type CensusShard = Map<string, Map<string, CensusCounts>>;

/** Maximum characters of one record. */
const MAX_CHARACTERS = 48 * 1024;

const COUNTS = [
  'count',
  'accepted',
  'echoed',
  'unechoed',
  'unprocessable',
  'named',
  'acceptedByV1',
  'deprecated',
  'namedByV1',
] as const;

/** Adds the counts of names to others; `from` stays as it is. */
export function mergeCensus(
  into: CensusShard,
  from: ReadonlyMap<string, ReadonlyMap<string, CensusCounts>>,
): void {
  for (const [operation, names] of from) {
    const known = into.get(operation) ?? new Map<string, CensusCounts>();
    into.set(operation, known);
    for (const [pointer, row] of names) {
      const before = known.get(pointer);
      known.set(pointer, before === undefined ? { ...row, clients: new Set(row.clients) } : sum(before, row));
    }
  }
}

/** Prints names for a record; of too many, the least frequent are left out, and the number of their occurrences is returned. */
export function packCensus(shard: CensusShard): PackedRecord {
  const rows = [...shard].flatMap(([operation, names]) =>
    [...names].map(([pointer, row]) => ({ operation, pointer, row })),
  );
  rows.sort((one, other) => other.row.count - one.row.count || (keyOf(one) < keyOf(other) ? -1 : 1));
  const kept: string[] = [];
  let characters = 0;
  let omitted = 0;
  for (const { operation, pointer, row } of rows) {
    const { clients, change = null, rule = null } = row;
    const counts = COUNTS.map((name) => row[name]);
    const text = JSON.stringify([operation, pointer, ...counts, [...clients], change, rule]);
    if (characters + text.length > MAX_CHARACTERS) {
      omitted += row.count;
      continue;
    }
    kept.push(text);
    characters += text.length;
  }
  return { text: `[${kept.join(',')}]`, omitted };
}

/** Reads the names of a record; undefined when nobody can read it. */
export function readCensus(text: string): CensusShard | undefined {
  return unlessDamaged(() => {
    const shard: CensusShard = new Map();
    for (const row of new FieldReader([parsedJson(text)]).lists()) {
      const operation = row.text();
      const names = shard.get(operation) ?? new Map<string, CensusCounts>();
      shard.set(operation, names);
      names.set(row.text(), readRow(row));
    }
    return shard;
  });
}

function readRow(row: FieldReader): CensusCounts {
  const counts = {
    count: row.number(),
    accepted: row.number(),
    echoed: row.number(),
    unechoed: row.number(),
    unprocessable: row.number(),
    named: row.number(),
    acceptedByV1: row.number(),
    deprecated: row.number(),
    namedByV1: row.number(),
    clients: new Set(row.texts()),
  };
  const [change, rule] = [row.textOrNone(), row.textOrNone()];
  if (change === undefined || rule === undefined || !isRequestRuleName(rule)) return counts;
  return { ...counts, change, rule };
}

function sum(one: CensusCounts, other: CensusCounts): CensusCounts {
  const merged: CensusCounts = {
    ...one,
    ...ruleOf(one, other),
    clients: new Set([...one.clients, ...other.clients].toSorted().slice(0, MAX_ROW_CLIENTS)),
  };
  for (const name of COUNTS) merged[name] += other[name];
  return merged;
}

/** Of two rules that took a name away, the same one whichever record comes first. */
function ruleOf(one: CensusCounts, other: CensusCounts): Pick<CensusCounts, 'change' | 'rule'> {
  const { change, rule } =
    `${one.change ?? ''} ${one.rule ?? ''}` > `${other.change ?? ''} ${other.rule ?? ''}` ? one : other;
  return change === undefined || rule === undefined ? {} : { change, rule };
}

function keyOf({ operation, pointer }: { readonly operation: string; readonly pointer: string }): string {
  return `${operation} ${pointer}`;
}
