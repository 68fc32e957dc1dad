import { Buffer } from 'node:buffer';
import { stdout } from 'node:process';
import { readClientNames } from '../../node/admin/client-names.ts';
import { sizeOfFiles } from '../logs/log-files.ts';
import { logSources } from '../logs/log-sources.ts';
import { readMergedLogs } from '../logs/merged-logs.ts';
import type { Entry } from '../../rewrite-log/entry.ts';
import { digestMarkdown, digests } from '../../report/tally/digest.ts';
import { Guide } from '../../report/guide/guide.ts';
import type { GuideDocument } from '../../report/guide/guide-document.ts';
import { guideHtml } from '../../report/guide/guide-html.ts';
import { guideMarkdown } from '../../report/guide/guide-markdown.ts';
import { terminalText } from '../../report/text/untrusted-text.ts';
import { makeReport, type Report } from '../../report/report.ts';
import { censusMarkdown } from '../../report/census/census-text.ts';
import { OpenApiNames } from '../../report/text/openapi-names.ts';
import { reportCsv, reportMarkdown } from '../../report/text/report-text.ts';
import { LineTally } from '../../report/tally/tally-lines.ts';
import { Tally } from '../../report/tally/tally.ts';
import { applyStrips } from './apply-strips.ts';
import { censusTerminal } from './census-terminal.ts';
import { entriesOfClient } from '../logs/client-entries.ts';
import {
  type CommandFault,
  endWith,
  isFault,
  openRuleBook,
  noRewriteLog,
  unreadable,
} from '../command-fault.ts';
import { readDescription } from '../draft/description-file.ts';
import { ProgressBar } from '../terminal/progress-bar.ts';
import { reportOptionFault, type ReportOptions } from './report-options.ts';
import { reportTerminal } from './report-terminal.ts';
import { terminalOf } from '../terminal/terminal.ts';

/** Reads the logs, prints what the options ask for, and sets the exit code. */
export async function runReport(given: readonly string[], options: ReportOptions): Promise<void> {
  const fault = reportOptionFault(options);
  if (fault !== undefined) {
    endWith(fault);
    return;
  }
  const sources = await logSources(given);
  endWith('fault' in sources ? sources : await print(sources.files, options));
}

async function print(files: readonly string[], options: ReportOptions): Promise<CommandFault | undefined> {
  const names = options.names === undefined ? new Map<string, string>() : readClientNames(options.names);
  if ('fault' in names) return names;
  if (options.guide === true) return printGuide(files, options, names);
  const schema = await schemaOf(options);
  if (schema !== undefined && 'fault' in schema) return schema;
  const tally = new Tally();
  const now = (): string => options.at ?? new Date().toISOString();
  const lines = new LineTally(tally, now);
  for (const file of files) lines.begin(nameOf(file));
  try {
    await readAll(files, (bytes, file) => lines.add(bytes, nameOf(file)));
  } catch (error) {
    return unreadable('The log', error);
  }
  const made = makeReport(tally, {
    names,
    now: now(),
    goneAfterDays: options.goneAfter,
    unreadable: lines.unreadable,
    withoutInfo: lines.withoutInfo,
    later: lines.later,
    logs: lines.coverage,
    gaps: lines.gaps,
    schema,
  });
  if (options.apply === true) return apply(made, options);
  if (options.digest === true) {
    const fault = await printDigests(made, options);
    if (fault !== undefined) return fault;
  } else await write(options.census === true ? printCensus(made, options) : printReport(made, options));
  const junk = lines.coverage.find(({ entries, unreadable }) => entries === 0 && unreadable > 0);
  return junk && noRewriteLog(junk.file, junk.unreadable);
}

/** Writes the proposals of the census into the rule book. */
async function apply(
  { census }: Report,
  { rules, format }: ReportOptions,
): Promise<CommandFault | undefined> {
  const outcome = await applyStrips(rules, census.strips);
  if ('faults' in outcome) return { fault: outcome.faults.join('\n') };
  const { written } = outcome;
  if (format === 'json') {
    await write(`${JSON.stringify({ rules, written }, null, 2)}\n`);
    return undefined;
  }
  await write(
    written.length === 0
      ? `${rules} is unchanged: the census proposes nothing that it does not strip already.\n`
      : `${rules} now strips ${written.map(terminalText).join(', ')}.\n`,
  );
  return undefined;
}

/** The names in V2's OpenAPI description, if one is given; a fault when it cannot be used. */
async function schemaOf({ openapi, rules }: ReportOptions): Promise<OpenApiNames | CommandFault | undefined> {
  if (openapi === undefined) return undefined;
  const book = await openRuleBook(rules);
  if (isFault(book)) return book;
  const document = await readDescription(openapi);
  if (isFault(document)) return document;
  const operations = book.rules.ruleBook.operations.map(({ id, method, template }) => ({
    id,
    method,
    template,
  }));
  return new OpenApiNames(document, operations);
}

async function printDigests(
  made: Report,
  { format, rules }: ReportOptions,
): Promise<CommandFault | undefined> {
  const book = await openRuleBook(rules);
  if (isFault(book)) return book;
  const all = digests(made, book.rules.ruleBook.changes);
  await write(format === 'json' ? `${JSON.stringify(all, null, 2)}\n` : digestMarkdown(all));
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
    case 'html':
    case 'text':
      return reportTerminal(made, terminalOf(stdout));
  }
}

function printCensus({ census }: Report, { format }: ReportOptions): string {
  if (format === 'json') return `${JSON.stringify(census, null, 2)}\n`;
  return format === 'text' ? censusTerminal(census, terminalOf(stdout)) : censusMarkdown(census);
}

async function printGuide(
  files: readonly string[],
  { client, rules, format }: ReportOptions,
  names: ReadonlyMap<string, string>,
): Promise<CommandFault | undefined> {
  if (client === undefined || !/^[0-9a-f]{1,16}$/i.test(client))
    return { fault: '--guide requires --client with the first hex digits of a client hash.' };
  const book = await openRuleBook(rules);
  if (isFault(book)) return book;
  const guide = new Guide(client.toLowerCase());
  try {
    await readAll(files, (bytes) => {
      const lines = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
      entriesOfClient(lines, guide.client, (entry: Entry) => guide.add(entry));
    });
  } catch (error) {
    return unreadable('The log', error);
  }
  const [only, second] = guide.clients;
  if (only === undefined)
    return { fault: `The log has no V1 request of a client whose hash begins with ${client}.` };
  if (second !== undefined)
    return { fault: `${client} is the beginning of ${guide.clients.join(' and ')}; give more digits.` };
  const { changes, version } = book.rules.ruleBook;
  const document = guide.document(changes, version, names.get(only));
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

/** Waits until the output is flushed: it can be large, and the process ends after it. */
function write(text: string): Promise<void> {
  return new Promise((resolve) => {
    stdout.write(text, () => resolve());
  });
}
