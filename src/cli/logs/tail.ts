import { stdout } from 'node:process';
import { readLogFile } from './log-files.ts';
import type { Entry } from '../../rewrite-log/entry.ts';
import { hasOpenQuote, isFilterFault, parseFilter } from '../../rewrite-log/filter/filter.ts';
import type { AdminClient } from '../admin-client.ts';
import { AdminRefusal, streamEntries } from './admin-stream.ts';
import { parseEntry } from './client-entries.ts';
import { type CommandFault, endWith, isFault, noRewriteLog, unreadable } from '../command-fault.ts';
import { entryHead, entryRow } from '../terminal/entry-row.ts';
import { followFile } from './follow-file.ts';
import { openAdmin } from '../secret.ts';
import { terminalOf } from '../terminal/terminal.ts';

/** Options of `tail`. */
export interface TailOptions {
  readonly filter: string;
  readonly follow?: true;
  readonly admin?: string;
  readonly format: 'text' | 'json';
}

/** Prints the entries of a log or of a running gateway, and sets the exit code. */
export async function runTail(file: string | undefined, options: TailOptions): Promise<void> {
  endWith(await show(file, options));
}

async function show(file: string | undefined, options: TailOptions): Promise<CommandFault | undefined> {
  const filter = parseFilter(options.filter);
  if (isFilterFault(filter)) return { fault: filter.message };
  if (hasOpenQuote(options.filter)) return { fault: 'A double quote of the filter is not closed.' };
  if (file === undefined && options.admin === undefined && process.stdin.isTTY)
    return { fault: 'Name a log file, or use --admin.' };
  if (file !== undefined && options.admin !== undefined)
    return { fault: 'Name a log file, or use --admin, not both.' };
  const client = options.admin === undefined ? undefined : openAdmin(options.admin);
  if (client !== undefined && isFault(client)) return client;
  const terminal = terminalOf(stdout);
  const lines = { entries: 0, others: 0 };
  let isHeadDue = options.format === 'text';
  const printHead = (): void => {
    if (isHeadDue) stdout.write(`${entryHead(terminal)}\n`);
    isHeadDue = false;
  };
  // Entries that are still to come may take a while.
  if (options.admin !== undefined || options.follow === true) printHead();
  try {
    for await (const entry of entriesOf(client ?? file, options, lines)) {
      if (!filter.accepts(entry)) continue;
      printHead();
      stdout.write(`${options.format === 'json' ? JSON.stringify(entry) : entryRow(entry, terminal)}\n`);
    }
  } catch (error) {
    if (error instanceof AdminRefusal) return { fault: error.message };
    const fault = unreadable(options.admin ?? file ?? 'stdin', error);
    return options.admin === undefined ? fault : { ...fault, isJunk: false };
  }
  return lines.entries === 0 && lines.others > 0 ? noRewriteLog(file ?? '-', lines.others) : undefined;
}

async function* entriesOf(
  source: AdminClient | string | undefined,
  { filter, follow }: TailOptions,
  counts: { entries: number; others: number },
): AsyncGenerator<Entry> {
  if (typeof source === 'object') {
    yield* streamEntries(source, filter);
    return;
  }
  const lines =
    follow === true && source !== undefined && source !== '-'
      ? followFile(source, true)
      : linesOf(source ?? '-');
  for await (const line of lines) {
    const entry = parseEntry(line);
    if (entry !== undefined) {
      counts.entries += 1;
      yield entry;
    } else if (line !== '') counts.others += 1;
  }
}

async function* linesOf(file: string): AsyncGenerator<string> {
  for await (const { bytes } of readLogFile(file)) yield* bytes.toString('utf8').split('\n');
}
