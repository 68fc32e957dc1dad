import { stdout } from 'node:process';
import { type Command, Option } from 'commander';
import { readLogFile } from './log-files.ts';
import type { Entry } from '../rewrite-log/entry.ts';
import { isFilterFault, parseFilter } from '../rewrite-log/filter.ts';
import { AdminClient } from './admin-client.ts';
import { streamEntries } from './admin-stream.ts';
import { parseEntry } from './client-entries.ts';
import { ENTRY_HEAD, entryRow } from './entry-row.ts';
import { followFile } from './follow-file.ts';

interface TailOptions {
  readonly filter: string;
  readonly follow?: true;
  readonly admin?: string;
  readonly format: 'text' | 'json';
}

/** Adds the command `tail`: prints the rewrite log in a readable form. */
export function tail(program: Command): void {
  program
    .command('tail')
    .summary('print the rewrite log in a readable form')
    .description(
      'Prints entries of a log file, of stdin, or live from the admin listener of a running gateway. The token is read from GATEWAY_ADMIN_TOKEN.',
    )
    .argument('[file]', 'log file, plain or gzipped; - is stdin')
    .option(
      '--filter <filter>',
      'filter as in the inspector: client:3fa9 op:create_client status:4xx -verdict:passed',
      '',
    )
    .option('-f, --follow', 'follow the file as it grows')
    .option('--admin <url>', 'follow a running gateway, such as http://127.0.0.1:8081')
    .addOption(new Option('--format <format>', 'output format').choices(['text', 'json']).default('text'))
    .action(async (file: string | undefined, options: TailOptions) => {
      const fault = await show(file, options);
      if (fault === undefined) return;
      process.stderr.write(`${fault}\n`);
      process.exitCode = 2;
    });
}

async function show(file: string | undefined, options: TailOptions): Promise<string | undefined> {
  const filter = parseFilter(options.filter);
  if (isFilterFault(filter)) return filter.message;
  if (file === undefined && options.admin === undefined && process.stdin.isTTY)
    return 'Name a log file, or use --admin.';
  const aborter = new AbortController();
  // A pipe reader that stops early, such as head, is not a failure.
  stdout.on('error', () => aborter.abort());
  const colour = stdout.isTTY && stdout.hasColors();
  if (options.format === 'text') stdout.write(`${ENTRY_HEAD}\n`);
  try {
    for await (const entry of entriesOf(file, options, aborter.signal)) {
      if (aborter.signal.aborted) break;
      if (!filter.accepts(entry)) continue;
      stdout.write(`${options.format === 'json' ? JSON.stringify(entry) : entryRow(entry, colour)}\n`);
    }
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return `The log cannot be read: ${error.message}.`;
  }
  return undefined;
}

async function* entriesOf(
  file: string | undefined,
  { admin, filter, follow }: TailOptions,
  signal: AbortSignal,
): AsyncGenerator<Entry> {
  if (admin !== undefined) {
    yield* streamEntries(
      new AdminClient({ url: admin, token: process.env['GATEWAY_ADMIN_TOKEN'] }),
      filter,
      signal,
    );
    return;
  }
  const lines =
    follow === true && file !== undefined && file !== '-'
      ? followFile(file, true, signal)
      : linesOf(file ?? '-');
  for await (const line of lines) {
    const entry = parseEntry(line);
    if (entry !== undefined) yield entry;
  }
}

async function* linesOf(file: string): AsyncGenerator<string> {
  for await (const { bytes } of readLogFile(file)) yield* bytes.toString('utf8').split('\n');
}
