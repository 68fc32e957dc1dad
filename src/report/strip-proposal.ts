import type { CensusRow } from './census-row.ts';
import { terminalText } from './untrusted-text.ts';

/** Requests with a name that V2 must have called unprocessable before the name is proposed. */
const ENOUGH = 3;

/**
 * Proposes `strip` rules, as YAML to paste under `changes`: for names that no rule touches, that V2 never accepted, and whose
 * operation did succeed without them. A 422 can have another reason, so each line carries its evidence; empty when there is none.
 */
export function proposeStrips(rows: readonly CensusRow[]): string {
  const suspects = rows.filter((row) => isSuspect(row, rows));
  const named = suspects.filter(
    (row) => !suspects.some((other) => isInside(row, other)) && isPath(row.pointer),
  );
  const operations = new Map<string, CensusRow[]>();
  for (const row of named) operations.set(row.operation, [...(operations.get(row.operation) ?? []), row]);
  return [...operations].map(([operation, names]) => printChange(operation, names)).join('');
}

function isSuspect(row: CensusRow, rows: readonly CensusRow[]): boolean {
  if (row.change !== undefined || row.accepted > 0 || row.unprocessable < ENOUGH) return false;
  return rows.some((other) => other.operation === row.operation && other.accepted > 0);
}

function isInside(row: CensusRow, other: CensusRow): boolean {
  return row.operation === other.operation && row.pointer.startsWith(`${other.pointer}/`);
}

/** Paths of the rule book are joined by dots. */
function isPath(pointer: string): boolean {
  return !/[.~]/.test(pointer);
}

function printChange(operation: string, rows: readonly CensusRow[]): string {
  const places = new Map<string, CensusRow[]>();
  for (const row of rows) {
    const place = row.pointer.slice(1, Math.max(1, row.pointer.lastIndexOf('/'))).replaceAll('/', '.');
    places.set(place, [...(places.get(place) ?? []), row]);
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

/** Plain words need no quotes in YAML; everything else gets them. */
function printName(name: string): string {
  return /^[a-z_][\w.-]*$/i.test(name) && !/^(?:true|false|null|yes|no|on|off|y|n)$/i.test(name)
    ? name
    : terminalText(JSON.stringify(name));
}
