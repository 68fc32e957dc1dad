import type { Buffer } from 'node:buffer';
import { stdout } from 'node:process';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { readClientNames } from '../node/admin/client-names.ts';
import { readLogFile, sizeOfFiles } from './log-files.ts';
import { loadRuleBook } from '../node/rule-book-file.ts';
import type { Entry } from '../rewrite-log/entry.ts';
import { Guide } from '../report/guide.ts';
import { makeReport, type Report } from '../report/report.ts';
import { censusMarkdown, reportCsv, reportMarkdown } from '../report/report-text.ts';
import { LineTally } from '../report/tally-lines.ts';
import { Tally } from '../report/tally.ts';
import { entriesOfClient } from './client-entries.ts';
import { ProgressBar } from './progress-bar.ts';
import { censusTerminal, reportTerminal } from './report-terminal.ts';

interface ReportOptions {
  readonly format: 'text' | 'json' | 'csv' | 'md';
  readonly goneAfter: number;
  readonly names?: string;
  readonly client?: string;
  readonly guide?: true;
  readonly census?: true;
  readonly rules: string;
}

/**
 * Adds the command `report`: lists the clients that still need V1, from logs of any size. Exit code 1 when a file cannot be read.
 */
export function report(program: Command): void {
  program
    .command('report')
    .summary('list the clients that still need V1, from the rewrite log')
    .description(
      'Reads the rewrite log, plain or gzipped, and lists the clients that still need V1, with their reasons. Without a file it reads stdin.',
    )
    .argument('[files...]', 'log files; - is stdin')
    .addOption(
      new Option('--format <format>', 'output format').choices(['text', 'json', 'csv', 'md']).default('text'),
    )
    .option(
      '--gone-after <days>',
      'days without a V1 request after which a client counts as gone',
      wholeNumber,
      14,
    )
    .option('--names <file>', 'YAML or JSON file of display names by client hash')
    .option('--census', 'print the attribute census only, with strip rules to paste')
    .option('--client <hash>', 'first digits of a client hash, for --guide')
    .option('--guide', 'print the migration guide of one client, in Markdown')
    .option('--rules <file>', 'rule book, for --guide', process.env['GATEWAY_RULES'] ?? 'config/rules.yaml')
    .action(async (files: readonly string[], options: ReportOptions) => {
      const fault = await print(files.length === 0 ? ['-'] : files, options);
      if (fault === undefined) return;
      process.stderr.write(`${fault}\n`);
      process.exitCode = 1;
    });
}

async function print(files: readonly string[], options: ReportOptions): Promise<string | undefined> {
  const names = options.names === undefined ? new Map<string, string>() : readClientNames(options.names);
  if ('fault' in names) return names.fault;
  if (options.guide === true) return printGuide(files, options, names);
  if (options.client !== undefined) return '--client requires --guide.';
  const tally = new Tally();
  const lines = new LineTally(tally);
  try {
    await readAll(files, (bytes) => lines.add(bytes));
  } catch (error) {
    return faultOf(error);
  }
  const made = makeReport(tally, { names, goneAfterDays: options.goneAfter, unreadable: lines.unreadable });
  await write(options.census === true ? printCensus(made, options) : printReport(made, options));
  return undefined;
}

function printReport(made: Report, { format }: ReportOptions): string {
  switch (format) {
    case 'json':
      return `${JSON.stringify(made, null, 2)}\n`;
    case 'csv':
      return reportCsv(made);
    case 'md':
      return reportMarkdown(made);
    case 'text':
      return reportTerminal(made, hasColour());
  }
}

function printCensus({ census }: Report, { format }: ReportOptions): string {
  if (format === 'json') return `${JSON.stringify(census, null, 2)}\n`;
  return format === 'text' ? censusTerminal(census, hasColour()) : censusMarkdown(census);
}

async function printGuide(
  files: readonly string[],
  { client, rules }: ReportOptions,
  names: ReadonlyMap<string, string>,
): Promise<string | undefined> {
  if (client === undefined || !/^[0-9a-f]{1,16}$/i.test(client))
    return '--guide requires --client with the first hex digits of a client hash.';
  const book = await loadRuleBook(rules);
  if ('faults' in book) return book.faults.join('\n');
  const guide = new Guide(client.toLowerCase());
  try {
    await readAll(files, (bytes) => {
      entriesOfClient(bytes, guide.client, (entry: Entry) => guide.add(entry));
    });
  } catch (error) {
    return faultOf(error);
  }
  const [only, second] = guide.clients;
  if (second !== undefined)
    return `${client} is the beginning of ${guide.clients.join(' and ')}; give more digits.`;
  const { changes, version } = book.rules.ruleBook;
  await write(guide.markdown(changes, version, only === undefined ? undefined : names.get(only)));
  return undefined;
}

async function readAll(files: readonly string[], take: (bytes: Buffer) => void): Promise<void> {
  const bar = new ProgressBar(process.stderr, await sizeOfFiles(files), () => performance.now());
  let before = 0;
  try {
    for (const file of files) {
      let read = 0;
      for await (const chunk of readLogFile(file)) {
        take(chunk.bytes);
        read = chunk.read;
        bar.show(before + read);
      }
      before += read;
    }
  } finally {
    bar.clear();
  }
}

function hasColour(): boolean {
  return stdout.isTTY && stdout.hasColors();
}

/** Waits until the output is flushed: it can be large, and the process ends after it. */
function write(text: string): Promise<void> {
  return new Promise((resolve) => {
    stdout.write(text, () => resolve());
  });
}

function wholeNumber(text: string): number {
  if (!/^\d{1,4}$/.test(text)) throw new InvalidArgumentError('It must be a number of days, such as 14.');
  return Number(text);
}

function faultOf(error: unknown): string {
  if (!(error instanceof Error)) throw error;
  return `The log cannot be read: ${error.message}.`;
}
