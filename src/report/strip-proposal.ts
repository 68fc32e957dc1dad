import type { CensusRow } from './census-row.ts';
import { terminalText } from './untrusted-text.ts';

/** Minimum number of 422 responses from V2 to requests with a name before the name is proposed. */
const MIN_UNPROCESSABLE = 3;

/**
 * Proposes `strip` rules, as YAML to paste under `changes`: for names that no rule handles, that V2 never accepted, and whose
 * operation succeeded without them. A 422 can have another reason, so each line carries its evidence; empty without proposals.
 */
export function proposeStrips(rows: readonly CensusRow[]): string {
  const working = new Set(rows.filter(({ accepted }) => accepted > 0).map(({ operation }) => operation));
  const suspects = rows.filter((row) => isSuspect(row) && working.has(row.operation));
  const places = new Set(suspects.map(({ operation, pointer }) => `${operation} ${pointer}`));
  const named = suspects.filter((row) => !isInside(row, places) && isPath(row.pointer));
  const operations = new Map<string, CensusRow[]>();
  for (const row of named) appendRow(operations, row.operation, row);
  return [...operations].map(([operation, names]) => printChange(operation, names)).join('');
}

function isSuspect(row: CensusRow): boolean {
  return row.change === undefined && row.accepted === 0 && row.unprocessable >= MIN_UNPROCESSABLE;
}

/** Whether a container of it is already proposed. */
function isInside({ operation, pointer }: CensusRow, places: ReadonlySet<string>): boolean {
  for (let end = pointer.lastIndexOf('/'); end > 0; end = pointer.lastIndexOf('/', end - 1))
    if (places.has(`${operation} ${pointer.slice(0, end)}`)) return true;
  return false;
}

/** Rule book paths use dots as separators. */
function isPath(pointer: string): boolean {
  return !/[.~]/.test(pointer);
}

function appendRow(table: Map<string, CensusRow[]>, key: string, row: CensusRow): void {
  const known = table.get(key);
  if (known === undefined) table.set(key, [row]);
  else known.push(row);
}

function printChange(operation: string, rows: readonly CensusRow[]): string {
  const places = new Map<string, CensusRow[]>();
  for (const row of rows) {
    const place = row.pointer.slice(1, Math.max(1, row.pointer.lastIndexOf('/'))).replaceAll('/', '.');
    appendRow(places, place, row);
  }
  const named = operation === '(other)' ? 'every' : `[${printName(operation)}]`;
  const rules = [...places].map(([place, names]) => {
    const members = names.map((row) => printName(row.pointer.slice(row.pointer.lastIndexOf('/') + 1)));
    const evidence = names.map(
      (row) => `        # ${lastName(row)}: 422 for ${row.unprocessable} of ${row.count} requests`,
    );
    const inside = place === '' ? '' : `\n        in: ${printName(place)}`;
    return `${evidence.join('\n')}\n      - strip: [${members.join(', ')}]${inside}\n`;
  });
  const id = `removed-from-${operation.replaceAll(/[^a-z0-9]+/gi, '-').replaceAll(/^-|-$/g, '')}`;
  return `  - id: ${id}\n    summary: Attributes that V2 does not take.\n    on: ${named}\n    request:\n${rules.join('')}`;
}

function lastName({ pointer }: CensusRow): string {
  return terminalText(JSON.stringify(pointer.slice(pointer.lastIndexOf('/') + 1)).slice(1, -1));
}

/** Plain words need no quotes in YAML; other text is quoted. */
function printName(name: string): string {
  return /^[a-z_][\w.-]*$/i.test(name) && !/^(?:true|false|null|yes|no|on|off|y|n)$/i.test(name)
    ? name
    : terminalText(JSON.stringify(name));
}
