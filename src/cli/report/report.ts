import { Buffer } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { stdout } from 'node:process';
import { type Document, isMap, isSeq, parseDocument } from 'yaml';
import { readClientNames } from '../../node/admin/names.ts';
import { replaceFileSync } from '../../node/files.ts';
import { changeIdOf, proposalYaml, type StripProposal } from '../../report/census.ts';
import type { GuideDocument } from '../../report/guide/guide-document.ts';
import { digestMarkdown, digests, guideHtml, guideMarkdown } from '../../report/guide/guide-text.ts';
import { Guide } from '../../report/guide/guide.ts';
import { OpenApiNames } from '../../report/openapi-names.ts';
import { censusMarkdown, reportCsv, reportMarkdown } from '../../report/report-text.ts';
import { makeReport, type Report } from '../../report/report.ts';
import { LineTally } from '../../report/tally/tally-lines.ts';
import { Tally } from '../../report/tally/tally.ts';
import { terminalText } from '../../report/text.ts';
import type { Entry } from '../../rewrite-log/entry.ts';
import { readRuleBook } from '../../rules/read-rule-book.ts';
import { printFault } from '../../rules/rule-book-fault.ts';
import type { RuleBook } from '../../rules/rule-book.ts';
import {
  type CommandFault,
  endWith,
  isFault,
  noRewriteLog,
  openRuleBook,
  unreadable,
} from '../command-fault.ts';
import { readDescription } from '../draft/description-file.ts';
import { entriesOfClient, logSources, sizeOfFiles } from '../logs/log-files.ts';
import { readMergedLogs } from '../logs/merged-logs.ts';
import { ProgressBar, terminalOf } from '../terminal.ts';
import { censusTerminal, reportTerminal } from './report-terminal.ts';

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
  const all = digests(made, book.rules.ruleBook.changes, book.rules.ruleBook.rollout);
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
  const { ruleBook } = book.rules;
  const document = guide.document(ruleBook, names.get(only));
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

/** Options of `report`. */
export interface ReportOptions {
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

type Format = ReportOptions['format'];

/** What `report` can print besides the report, with its formats; `text` stands for the first choice of each. */
const PARTS: readonly (readonly [
  part: 'guide' | 'digest' | 'apply' | 'census',
  formats: readonly Format[],
])[] = [
  ['guide', ['text', 'md', 'html', 'json']],
  ['digest', ['text', 'md', 'json']],
  ['apply', ['text', 'json']],
  ['census', ['text', 'md', 'json']],
];

/** The fault of options of `report` that do not go together. */
export function reportOptionFault(options: ReportOptions): CommandFault | undefined {
  const { format, client } = options;
  if (options.apply === true && options.census !== true) return { fault: '--apply requires --census.' };
  const asked = PARTS.filter(([part]) => options[part] === true);
  const [first, second] = asked.filter(([part]) => part !== 'apply');
  if (first !== undefined && second !== undefined)
    return { fault: `--${first[0]} and --${second[0]} cannot be printed together; give one of them.` };
  if (format === 'html' && options.guide !== true) return { fault: '--format html requires --guide.' };
  if (client !== undefined && options.guide !== true) return { fault: '--client requires --guide.' };
  const [part] = asked;
  if (part === undefined || part[1].includes(format)) return undefined;
  return { fault: `--${part[0]} cannot be printed as ${format}; its formats are ${part[1].join(', ')}.` };
}

/** The outcome of writing proposals into a rule book: the names written, or the reasons why nothing was. */
export type AppliedStrips = { readonly written: readonly string[] } | { readonly faults: readonly string[] };

/**
 * Writes `strip` rules into the rule book at `path`, as changes at the end of `changes`; every other line stays as it is, with its
 * comments. Members that a rule strips already are left out. The file is replaced at once, and only by a valid rule book.
 */
export async function applyStrips(path: string, strips: readonly StripProposal[]): Promise<AppliedStrips> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    return {
      faults: [`The rule book cannot be read: ${error instanceof Error ? error.message : String(error)}.`],
    };
  }
  const reading = await readRuleBook(text, path);
  if (!reading.ok) return { faults: reading.faults.map((fault) => printFault(fault)) };
  const missing = strips.filter((strip) => !hasStrip(reading.ruleBook, strip));
  if (missing.length === 0) return { written: [] };
  const next = withChanges(text, reading.ruleBook, missing);
  if (next === undefined)
    return { faults: [`${path}: changes is not a block list; paste the proposal of --census by hand.`] };
  const checked = await readRuleBook(next, path);
  if (!checked.ok) return { faults: checked.faults.map((fault) => printFault(fault)) };
  // In one step: a gateway that watches it never reads half of it.
  replaceFileSync(path, next);
  return {
    written: missing.map(({ in: place, member }) => (place === undefined ? member : `${place}.${member}`)),
  };
}

function hasStrip({ changes }: RuleBook, { operation, in: place = '', member }: StripProposal): boolean {
  return changes.some(
    ({ on, request }) =>
      (on === 'every' || (operation !== undefined && on.includes(operation))) &&
      request.some(
        (rule) => rule.rule === 'strip' && rule.in.join('.') === place && rule.members.includes(member),
      ),
  );
}

/** Adds the changes behind the last one; undefined where `changes` is not a block list of maps. */
function withChanges(
  text: string,
  { changes }: RuleBook,
  strips: readonly StripProposal[],
): string | undefined {
  const end = endOfChanges(text);
  if (end === undefined) return undefined;
  const taken = new Set(changes.map(({ id }) => id));
  const printed = [...Map.groupBy(strips, ({ operation }) => operation)].map(([operation, members]) => {
    const id = changeIdOf(operation);
    let free = id;
    for (let n = 2; taken.has(free); n += 1) free = `${id}-${n}`;
    return proposalYaml(members).replace(`- id: ${id}\n`, `- id: ${free}\n`);
  });
  const indented = printed.join('').replaceAll(/^ {2}/gm, ' '.repeat(end.indent));
  const before = text.slice(0, end.offset);
  return `${before}${before.endsWith('\n') ? '' : '\n'}\n${indented}${text.slice(end.offset)}`;
}

/** The place behind the last change and the comments that belong to it, and the indentation of the list. */
function endOfChanges(text: string): { readonly offset: number; readonly indent: number } | undefined {
  const document: Document = parseDocument(text, { version: '1.2', schema: 'core', stringKeys: true });
  const changes = document.get('changes');
  if (!isSeq(changes) || changes.flow === true) return undefined;
  const last = changes.items.at(-1);
  if (!isMap(last) || last.flow === true || last.range === null || last.range === undefined) return undefined;
  const dash = text.lastIndexOf('-', last.range[0]);
  const indent = dash - (text.lastIndexOf('\n', dash) + 1);
  let offset = lineAfter(text, last.range[1] - 1);
  for (;;) {
    const end = lineAfter(text, offset);
    const comment = /^( *)#/.exec(text.slice(offset, end));
    if (comment === null || (comment[1] ?? '').length <= indent || end === offset) break;
    offset = end;
  }
  return { offset, indent };
}

/** The offset of the line after the one with `offset`. */
function lineAfter(text: string, offset: number): number {
  const feed = text.indexOf('\n', offset);
  return feed === -1 ? text.length : feed + 1;
}
