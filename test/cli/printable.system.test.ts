import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { entryLine } from '../../src/rewrite-log/entry-line.ts';
import { commandRuns } from '../support/command-runs.ts';
import { sampleEntry } from '../support/sample-entries.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** What a terminal obeys, and what ends a cell of a table. */
const HOSTILE = 'a\u001B[31mb\u009B31mc\u0085d\u202Ee\rf|g\u2028h\u200Bi';
/** What a spreadsheet takes for the beginning of a formula. */
const STARTS = ['=1+1', '+1', '-1', '@x', '|cmd', '\t=1', ' =1', '\uFF1D1', '\u001B'];
const UNPRINTABLE = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;

/** Members that are of a kind, and not a client's. */
const KINDS: ReadonlySet<string> = new Set([
  'time',
  'level',
  'verdict',
  'route',
  'traceId',
  'client',
  'method',
]);

/** A log that another program wrote: the gateway's own is printable. */
function hostileLog(path: string): void {
  const lines = STARTS.flatMap((start, n) =>
    [0, 1, 2].map((hour) => {
      const text = entryLine(sampleEntry(n * 3 + hour, Date.UTC(2026, 10, 1) + (n * 3 + hour) * 3_600_000));
      const entry = JSON.parse(text) as Record<string, unknown>;
      const members = Object.entries(entry).map(([name, value]) => {
        if (name === 'edits' && Array.isArray(value))
          return [name, value.map((edit: object) => ({ ...edit, from: `/${HOSTILE}`, path: `/${HOSTILE}` }))];
        return [name, typeof value === 'string' && !KINDS.has(name) ? start + HOSTILE : value];
      });
      const more = { userAgent: start + HOSTILE, address: start + HOSTILE, cause: HOSTILE, note: HOSTILE };
      return `${JSON.stringify({ ...Object.fromEntries(members), ...more })}\n`;
    }),
  );
  writeFileSync(path, lines.join(''));
}

// Attack: a client puts into names, values and fields what the terminal, the table or the spreadsheet of an operator obeys.
test('no command prints a character of a log that a terminal obeys, in any format, or a formula', async () => {
  const folder = temporaryFolder('printable');
  const [log, names] = [join(folder, 'log'), join(folder, 'names.json')];
  hostileLog(log);
  const clients = STARTS.map((start, n) => [sampleEntry(n, 0).client, start + HOSTILE]);
  writeFileSync(names, JSON.stringify(Object.fromEntries(clients)));
  const commands = [
    ['report', log, '--names', names],
    ['report', log, '--names', names, '--format', 'csv'],
    ['report', log, '--names', names, '--format', 'md'],
    ['report', log, '--names', names, '--json'],
    ['report', log, '--census'],
    ['report', log, '--census', '--json'],
    ['report', log, '--digest', '--names', names],
    ['report', log, '--digest', '--json', '--names', names],
    ['plan', 'make', log],
    ['plan', 'make', log, '--format', 'md'],
    ['plan', 'make', log, '--json'],
    ['check', '--log', log],
    ['check', '--log', log, '--json'],
    ['tail', log],
    ['tail', log, '--json'],
    ['tail', log, '--filter', HOSTILE],
    ['explain', log],
    ['replay', 'record', '--log', log, '--out', join(folder, 'fixture')],
    ['replay', 'record', '--log', log, '--out', join(folder, 'other'), '--json'],
  ];
  const runs = await commandRuns(commands);
  for (const [at, { out, err }] of runs.entries()) {
    const isCsv = commands[at]?.includes('csv') === true;
    const text = (isCsv ? out.replaceAll('\r\n', '\n') : out) + err;
    expect([commands[at]?.join(' '), UNPRINTABLE.exec(text)?.[0]?.codePointAt(0)]).toEqual([
      commands[at]?.join(' '),
      undefined,
    ]);
    expect(text).not.toBe('');
    if (isCsv) expect(out).not.toMatch(/(?:^|,|\n)"?\s*[=+@|＝-](?!\d*[,\n])/u);
  }
});
