/** @module-tag packages */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import { entryLine } from '../../src/rewrite-log/entry-line.ts';
import { makeReport } from '../../src/report/report.ts';
import { Tally } from '../../src/report/tally/tally.ts';
import { sampleEntry } from '../support/sample-entries.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const folder = new URL('../../deploy/clickhouse/', import.meta.url);
const read = (name: string): string => readFileSync(new URL(name, folder), 'utf8');

/** Forty days of traffic: clients that stop, clients that only wrap, clients that only know the old address, and others. */
const entries: readonly Entry[] = Array.from({ length: 8000 }, (_, n) => {
  const entry = sampleEntry(n, Date.UTC(2026, 0, 1) + n * 432_000);
  const group = n % 211;
  if (group < 5 && n > 4000) return { ...entry, client: 'fedcba9876543210' };
  if (group === 5)
    return {
      ...entry,
      edits: [],
      responseEdits: [{ change: 'x', rule: 'alias', from: '/data/a', path: '/data/b' }],
    };
  if (group < 20) return { ...entry, edits: entry.edits.filter(({ rule }) => rule === 'unwrap') };
  return group < 40 ? { ...entry, edits: [] } : entry;
});
const tally = new Tally();
for (const entry of entries) tally.add(entry);
const report = makeReport(tally, { now: tally.until });
const cut = new Date(Date.parse(report.until ?? '') - report.goneAfterDays * 86_400_000).toISOString();

let database: DuckDBConnection;

/** The lines that a gateway prints, loaded as `INSERT … FORMAT JSONEachRow` loads them: members into columns of their names. */
beforeAll(async () => {
  const file = join(temporaryFolder('log'), 'rewrite.log');
  writeFileSync(file, entries.map((entry) => entryLine(entry)).join(''));
  database = await (await DuckDBInstance.create()).connect();
  for (const statement of clickhouseAsDuckdb(read('schema.sql'))
    .split(/;\s*$/m)
    .filter((text) => text.trim() !== ''))
    await database.run(statement);
  const described = await rows(
    "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'entries'",
  );
  const columns = described.map(([name, type]) => `${String(name)}: '${String(type)}'`).join(', ');
  await database.run(
    `INSERT INTO entries BY NAME SELECT * FROM read_json('${file}', format = 'newline_delimited', columns = {${columns}})`,
  );
});

test('every line is a row', async () => {
  expect(await rows('SELECT count(*) FROM entries')).toEqual([[entries.length]]);
  expect(await rows('SELECT count(*) FROM entries WHERE time IS NULL OR requestId IS NULL')).toEqual([[0]]);
});

test('the clients of the report are those that the gateway would report', async () => {
  const found = await rows(clickhouseAsDuckdb(read('clients.sql')), { cut });
  const expected = report.clients.map(({ client, class: kind, v1, refused, invalidVersions }) => [
    client,
    kind,
    v1,
    refused,
    invalidVersions,
  ]);
  expect(found.map((row) => row.slice(0, 5)).toSorted(byFirst)).toEqual(expected.toSorted(byFirst));
  expect(new Set(found.map(([, kind]) => kind)).size).toBe(5);
});

test('the burn-down is the one that the gateway would report', async () => {
  const found = await rows(clickhouseAsDuckdb(read('days.sql')));
  expect(found).toEqual(
    report.days.map(({ day, v1, v2, clients, rewritten, refused }) => [
      day,
      v1,
      v2,
      clients,
      rewritten,
      refused,
    ]),
  );
  expect(found.length).toBeGreaterThan(35);
});

test('the changes are those of the edits of requests and responses, each once for an exchange', async () => {
  const found = await rows(clickhouseAsDuckdb(read('changes.sql')));
  const counts = new Map<string, number>();
  for (const { route, edits, responseEdits = [], responseWould = [] } of entries) {
    if (route !== 'migrate') continue;
    const all = [
      ...edits.filter(({ note }) => note !== 'already-flat'),
      ...responseEdits.filter(({ rule, path }) => rule !== 'errors' && path !== undefined),
      ...responseWould,
    ];
    for (const one of new Set(all.map(({ change }) => change))) counts.set(one, (counts.get(one) ?? 0) + 1);
  }
  const expected = [...counts];
  expect(found.map((row) => row.slice(0, 2)).toSorted(byFirst)).toEqual(expected.toSorted(byFirst));
});

test('every column is a member of an entry', async () => {
  const { properties } = JSON.parse(
    readFileSync(new URL('../../config/entry.schema.json', import.meta.url), 'utf8'),
  ) as { readonly properties: object };
  const columns = await rows(
    "SELECT column_name FROM information_schema.columns WHERE table_name = 'entries'",
  );
  expect(columns.length).toBeGreaterThan(25);
  expect(columns.flat().filter((name) => !(String(name) in properties))).toEqual([]);
});

test('the shipper names the table and the options that ClickHouse needs to read a line', () => {
  expect(parse(read('vector.yaml'))).toMatchObject({
    sinks: { clickhouse: { table: 'entries', skip_unknown_fields: true, date_time_best_effort: true } },
  });
});

async function rows(
  sql: string,
  parameters: Readonly<Record<string, string>> = {},
): Promise<readonly unknown[][]> {
  const result = await database.runAndReadAll(sql, parameters);
  // Days and times as text, counts as numbers.
  return result
    .getRowsJson()
    .map((row) =>
      row.map((value) => (typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value)),
    );
}

function byFirst([one]: readonly unknown[], [other]: readonly unknown[]): number {
  return String(one) < String(other) ? -1 : 1;
}

/**
 * The ClickHouse SQL of `deploy/` as DuckDB understands it: both have arrays, tuples and functions on them, and spell them
 * differently. Only what is listed is translated; anything else that DuckDB does not know fails in DuckDB.
 */
function clickhouseAsDuckdb(sql: string): string {
  let translated = sql.replaceAll(/--.*$/gm, '').replaceAll(/\)\s*ENGINE = MergeTree[^;]*;/g, ');');
  for (const [from, to] of WORDS) translated = translated.replaceAll(from, to);
  return translated;
}

const WORDS: readonly (readonly [RegExp, string])[] = [
  [/\{(\w+):DateTime64\(3, 'UTC'\)\}/g, 'CAST($$$1 AS TIMESTAMP)'],
  [/LowCardinality\(String\)/g, 'VARCHAR'],
  [/DateTime64\(3, 'UTC'\)/g, 'TIMESTAMP'],
  [/Array\(Tuple\(([^)]*)\)\)/g, 'STRUCT($1)[]'],
  [/Tuple\(([^)]*)\)/g, 'STRUCT($1)'],
  [/Array\(String\)/g, 'VARCHAR[]'],
  [/`from`/g, '"from"'],
  [/\bString\b/g, 'VARCHAR'],
  [/\bUInt64\b/g, 'UBIGINT'],
  [/\bUInt16\b/g, 'USMALLINT'],
  [/\bUInt8\b/g, 'UTINYINT'],
  [/\bFloat64\b/g, 'DOUBLE'],
  [/\barrayFilter\((\w+) -> (.*), (edits|responseEdits|responseWould)\)/g, 'list_filter($3, lambda $1: $2)'],
  [/\barrayMap\((\w+) -> (\S+), (list_filter.*\))\)\)/g, 'list_transform($3, lambda $1: $2))'],
  [/\barrayDistinct\(/g, 'list_distinct('],
  [/\barrayConcat\(/g, 'list_concat('],
  [/\barrayJoin\(/g, 'unnest('],
  [/\btoDate\((\w+)\)/g, 'CAST($1 AS DATE)'],
];
