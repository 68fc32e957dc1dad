import { Buffer } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { stdout } from 'node:process';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { readClientNames } from '../node/admin/client-names.ts';
import { parse } from 'yaml';
import { sizeOfFiles } from './log-files.ts';
import { logSources } from './log-sources.ts';
import { readMergedLogs } from './merged-logs.ts';
import { loadRuleBook } from '../node/rule-book-file.ts';
import type { Entry } from '../rewrite-log/entry.ts';
import { digestMarkdown, digests } from '../report/digest.ts';
import { Guide } from '../report/guide.ts';
import type { GuideDocument } from '../report/guide-document.ts';
import { guideHtml } from '../report/guide-html.ts';
import { guideMarkdown } from '../report/guide-markdown.ts';
import { terminalText } from '../report/untrusted-text.ts';
import { makeReport, type Report } from '../report/report.ts';
import { censusMarkdown } from '../report/census-text.ts';
import { OpenApiNames } from '../report/openapi-names.ts';
import { reportCsv, reportMarkdown } from '../report/report-text.ts';
import { LineTally } from '../report/tally-lines.ts';
import { Tally } from '../report/tally.ts';
import { applyStrips } from './apply-strips.ts';
import { censusTerminal } from './census-terminal.ts';
import { entriesOfClient } from './client-entries.ts';
import { ProgressBar } from './progress-bar.ts';
import { reportTerminal } from './report-terminal.ts';

interface ReportOptions {
  readonly format: 'text' | 'json' | 'csv' | 'md' | 'html';
  readonly goneAfter: number;
  readonly names?: string;
  readonly client?: string;
  readonly guide?: true;
  readonly census?: true;
  readonly apply?: true;
  readonly digest?: true;
  readonly openapi?: string;
  readonly at?: string;
  readonly rules: string;
}

/**
 * Adds the command `report`: lists the clients that still need V1, from logs of any size. Exit code 1 when a file cannot be read or
 * has lines but no entry.
 */
export function report(program: Command): void {
  program
    .command('report')
    .summary('list the clients that still need V1, from the rewrite log')
    .description(
      'Reads rewrite logs, plain, gzip or Zstandard, and lists the clients that still need V1, with their reasons. Logs of many replicas are read as one, by time; the times that one of them lacks are told. Without a file it reads stdin.',
    )
    .argument('[files...]', 'log files, folders of logs, or glob patterns; - is stdin')
    .addOption(
      new Option('--format <format>', 'output format')
        .choices(['text', 'json', 'csv', 'md', 'html'])
        .default('text'),
    )
    .option(
      '--gone-after <days>',
      'days without a V1 request after which a client counts as gone',
      wholeNumber,
      14,
    )
    .option('--at <time>', 'time from which silence counts, such as 2026-11-22; now by default', pointInTime)
    .option('--names <file>', 'YAML or JSON file of display names by client hash')
    .option('--census', 'print the attribute census only, with strip rules to paste')
    .option('--digest', 'print a digest for each client that still uses V1, to mail to its owner: md or json')
    .option('--apply', 'with --census: write the proposed strip rules into the rule book')
    .option('--openapi <file>', 'OpenAPI description of V2, for the census: JSON or YAML')
    .option('--client <hash>', 'first digits of a client hash, for --guide')
    .option('--guide', 'print the migration guide of one client: md, html or json')
    .option(
      '--rules <file>',
      'rule book, for --guide, --apply and --openapi',
      process.env['GATEWAY_RULES'] ?? 'config/rules.yaml',
    )
    .action(async (given: readonly string[], options: ReportOptions) => {
      const sources = await logSources(given.length === 0 ? ['-'] : given);
      const fault = 'fault' in sources ? sources.fault : await print(sources.files, options);
      if (fault === undefined) return;
      process.stderr.write(`${fault}\n`);
      process.exitCode = 1;
    });
}

async function print(files: readonly string[], options: ReportOptions): Promise<string | undefined> {
  const names = options.names === undefined ? new Map<string, string>() : readClientNames(options.names);
  if ('fault' in names) return names.fault;
  if (options.format === 'html' && options.guide !== true) return '--format html requires --guide.';
  if (options.guide === true) return printGuide(files, options, names);
  if (options.client !== undefined) return '--client requires --guide.';
  if (options.apply === true && options.census !== true) return '--apply requires --census.';
  const schema = await schemaOf(options);
  if (typeof schema === 'string') return schema;
  const tally = new Tally();
  const lines = new LineTally(tally);
  for (const file of files) lines.begin(nameOf(file));
  try {
    await readAll(files, (bytes, file) => lines.add(bytes, nameOf(file)));
  } catch (error) {
    return faultOf(error);
  }
  const made = makeReport(tally, {
    names,
    now: options.at ?? new Date().toISOString(),
    goneAfterDays: options.goneAfter,
    unreadable: lines.unreadable,
    logs: lines.coverage,
    gaps: lines.gaps,
    schema,
  });
  if (options.apply === true) return apply(made, options);
  await write(options.census === true ? printCensus(made, options) : printReport(made, options));
  const junk = lines.coverage.find(({ entries, unreadable }) => entries === 0 && unreadable > 0);
  return junk && `${junk.file} is no rewrite log: none of its ${junk.unreadable} lines is an entry.`;
}

/** Writes the proposals of the census into the rule book. */
async function apply({ census }: Report, { rules }: ReportOptions): Promise<string | undefined> {
  const outcome = await applyStrips(rules, census.strips);
  if ('faults' in outcome) return outcome.faults.join('\n');
  const { written } = outcome;
  await write(
    written.length === 0
      ? `${rules} is unchanged: the census proposes nothing that it does not strip already.\n`
      : `${rules} now strips ${written.map(terminalText).join(', ')}.\n`,
  );
  return undefined;
}

/** The names in V2's OpenAPI description, if one is given; a sentence when it cannot be used. */
async function schemaOf({ openapi, rules }: ReportOptions): Promise<OpenApiNames | string | undefined> {
  if (openapi === undefined) return undefined;
  const book = await loadRuleBook(rules);
  if ('faults' in book) return book.faults.join('\n');
  try {
    const document: unknown = parse(await readFile(openapi, 'utf8'));
    const operations = book.rules.ruleBook.operations.map(({ id, method, template }) => ({
      id,
      method,
      template,
    }));
    return new OpenApiNames(document, operations);
  } catch (error) {
    return `--openapi names a file that cannot be read: ${error instanceof Error ? error.message : String(error)}.`;
  }
}

function printReport(made: Report, { format, digest }: ReportOptions): string {
  if (digest === true) {
    const all = digests(made);
    return format === 'json' ? `${JSON.stringify(all, null, 2)}\n` : digestMarkdown(all);
  }
  switch (format) {
    case 'json':
      return `${JSON.stringify(made, null, 2)}\n`;
    case 'csv':
      return reportCsv(made);
    case 'md':
      return reportMarkdown(made);
    case 'html':
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
  { client, rules, format }: ReportOptions,
  names: ReadonlyMap<string, string>,
): Promise<string | undefined> {
  if (client === undefined || !/^[0-9a-f]{1,16}$/i.test(client))
    return '--guide requires --client with the first hex digits of a client hash.';
  const book = await loadRuleBook(rules);
  if ('faults' in book) return book.faults.join('\n');
  const guide = new Guide(client.toLowerCase());
  try {
    await readAll(files, (bytes) => {
      const lines = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
      entriesOfClient(lines, guide.client, (entry: Entry) => guide.add(entry));
    });
  } catch (error) {
    return faultOf(error);
  }
  const [only, second] = guide.clients;
  if (second !== undefined)
    return `${client} is the beginning of ${guide.clients.join(' and ')}; give more digits.`;
  const { changes, version } = book.rules.ruleBook;
  const document = guide.document(changes, version, only === undefined ? undefined : names.get(only));
  await write(printedGuide(document, format));
  return undefined;
}

function printedGuide(document: GuideDocument, format: ReportOptions['format']): string {
  if (format === 'json') return `${JSON.stringify(document, null, 2)}\n`;
  return format === 'html' ? guideHtml(document) : guideMarkdown(document);
}

async function readAll(
  files: readonly string[],
  take: (lines: Uint8Array, file: string) => void,
): Promise<void> {
  const bar = new ProgressBar(process.stderr, await sizeOfFiles(files), () => performance.now());
  try {
    await readMergedLogs(files, (lines, file, read) => {
      take(lines, file);
      bar.show(read);
    });
  } finally {
    bar.clear();
  }
}

/** The name of a log in a report. */
function nameOf(file: string): string {
  return file === '-' ? 'stdin' : file;
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

/** Reads a day or a time in RFC 3339. */
function pointInTime(text: string): string {
  const time = /^\d{4}-\d{2}-\d{2}(?:T.+)?$/.test(text) ? new Date(text) : new Date(Number.NaN);
  if (Number.isNaN(time.valueOf()))
    throw new InvalidArgumentError('It must be a day or a time, such as 2026-11-22 or 2026-11-22T09:00:00Z.');
  return time.toISOString();
}

function faultOf(error: unknown): string {
  if (!(error instanceof Error)) throw error;
  return `The log cannot be read: ${error.message}.`;
}
