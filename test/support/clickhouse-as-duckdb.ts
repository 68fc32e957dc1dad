/**
 * The ClickHouse SQL of `deploy/` as DuckDB understands it: both have arrays, tuples and functions on them, and spell them
 * differently. Only what is listed is translated; anything else that DuckDB does not know fails in DuckDB.
 */
export function clickhouseAsDuckdb(sql: string): string {
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
