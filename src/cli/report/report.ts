import { Buffer } from 'node:buffer';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stdout } from 'node:process';
import { type Document, isMap, isSeq, parseDocument } from 'yaml';
import { loadRuleBook } from '../../node/rule-books.ts';
import {
  type Census,
  censusNote,
  changeIdOf,
  NO_RULE,
  proposalYaml,
  type StripProposal,
  OpenApiNames,
} from '../../report/census.ts';
import {
  CELL_MEMBERS,
  CLASSES,
  CLASS_MEANINGS,
  CLASS_WORDS,
  bodyCheckWords,
  type ClientClass,
  type ClientReport,
  mistakeWords,
  reasonsOf,
  responseWords,
} from '../../report/client-report.ts';
import type { GuideDocument } from '../../report/guide/guide-document.ts';
import { guideLetter, guideMail, guideMessage } from '../../report/guide/guide-letter.ts';
import { digestMarkdown, digests, guideMarkdown } from '../../report/guide/guide-text.ts';
import { Guide } from '../../report/guide/guide.ts';
import { lineAfter } from '../../report/line-diff.ts';
import { guideSkill } from '../../report/guide/skill.ts';
import {
  CENSUS_HEAD,
  CENSUS_LEGEND,
  censusMarkdown,
  censusRows,
  callsIn,
  reportCsv,
  reportMarkdown,
  skippedLines,
} from '../../report/report-text.ts';
import { makeReport, type Report } from '../../report/report.ts';
import { LineTally } from '../../report/tally/tally-lines.ts';
import { Tally } from '../../report/tally/tally.ts';
import { jsonText, percentWords, terminalLines, terminalText } from '../../report/text.ts';
import { count, counted } from '../../rules/words.ts';
import { type Entry, NO_KEY } from '../../rewrite-log/entry.ts';
import { clientNames, type RuleBook } from '../../rules/rule-book.ts';
import {
  type CommandFault,
  editRuleBook,
  freeName,
  givenBook,
  isFault,
  junk,
  openClientNames,
  openRuleBook,
  unreadable,
} from '../command-fault.ts';
import { faultOfLogs, type LogBooks } from '../../report/log-gaps.ts';
import { readDescription } from '../draft/description-file.ts';
import { entriesOfClient, logSources, readMergedLogs, sizeOfFiles } from '../../node/log/log-files.ts';
import {
  painter,
  printColumns,
  ProgressBar,
  type Style,
  type Terminal,
  terminalOf,
  wrapLines,
  tellOfWaiting,
} from '../terminal.ts';

/** Reads the logs, and prints what the options ask for. */
export async function runReport(
  given: readonly string[],
  options: ReportOptions,
): Promise<CommandFault | undefined> {
  const fault = reportOptionFault(options);
  if (fault !== undefined) return fault;
  const sources = await logSources(given);
  if ('fault' in sources) return sources;
  const { files } = sources;
  const names = await openClientNames(options.names, options.config);
  if (isFault(names)) return names;
  if (options.guide === true) return printGuide(files, options, names);
  const schema = await schemaOf(options);
  if (schema !== undefined && 'fault' in schema) return schema;
  const tally = new Tally();
  const now = (): string => options.at ?? new Date().toISOString();
  const lines = new LineTally(tally, now);
  for (const file of files) lines.begin(nameOf(file));
  const unread = await readAll(files, (bytes, file) => lines.add(bytes, nameOf(file)));
  if (unread !== undefined) return unread;
  // An empty log says nothing about V1: a report would look as if no client used it.
  if (options.format !== 'json' && lines.coverage.every(({ entries }) => entries === 0))
    return junk(faultOfLogs(lines.coverage));
  const ruleBook = await ruleBookOf(options, lines.books);
  if (ruleBook !== undefined && isFault(ruleBook)) return ruleBook;
  const made = makeReport(tally, {
    names: ruleBook === undefined ? names : clientNames(ruleBook, names),
    now: now(),
    goneAfterDays: options.goneAfter,
    unreadable: lines.unreadable,
    withoutInfo: lines.withoutInfo,
    later: lines.later,
    logs: lines.coverage,
    gaps: lines.gaps,
    schema,
    rules: ruleBook,
    operations: ruleBook,
    ends: ruleBook?.rollout?.ends,
    end: ruleBook?.rollout,
  });
  if (options.apply === true) return apply(made, options);
  if (options.digest === true) {
    const fault = await printDigests(made, options);
    if (fault !== undefined) return fault;
  } else await write(options.census === true ? printCensus(made, options) : printReport(made, options));
  return junk(faultOfLogs(lines.coverage));
}

/**
 * Reads the rule book, for operations that end before V1 and for handled members. Without a valid one, or with that of another API, the
 * report leaves those out, and stderr says so; if the output is made from the rule book, that is a fault.
 */
async function ruleBookOf(
  { rules, apply: applies, digest, openapi }: ReportOptions,
  books: LogBooks,
): Promise<RuleBook | CommandFault | undefined> {
  const book = await loadRuleBook(rules);
  const foreign = 'faults' in book ? undefined : books.faultOf(givenBook(book));
  if (!('faults' in book) && foreign === undefined) return book.rules.ruleBook;
  if (foreign !== undefined && (applies === true || digest === true || openapi !== undefined))
    return { fault: foreign };
  const why =
    'faults' in book ? `, because the rule book is not valid: ${book.faults[0]}` : `. ${foreign ?? ''}`;
  process.stderr.write(`note: operations that end before V1 are left out${why}\n`);
  return undefined;
}

/** Writes the census's proposals into the rule book. */
async function apply(
  { census }: Report,
  { rules, format }: ReportOptions,
): Promise<CommandFault | undefined> {
  const outcome = await applyStrips(rules, census.strips);
  if ('faults' in outcome) return { fault: outcome.faults.join('\n') };
  const { written } = outcome;
  if (format === 'json') {
    await write(`${jsonText({ rules, written }, 2)}\n`);
    return undefined;
  }
  await write(
    written.length === 0
      ? `${rules} is unchanged: the census proposes nothing that it does not strip already.\n`
      : `${rules} now strips ${written.map(terminalText).join(', ')}.\n`,
  );
  return undefined;
}

/** The names in V2's OpenAPI description, if given; a fault if it cannot be used. */
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
  const { changes, rollout, zone } = book.rules.ruleBook;
  const all = digests(made, changes, rollout, zone);
  await write(format === 'json' ? `${jsonText(all, 2)}\n` : digestMarkdown(all));
  return undefined;
}

function printReport(made: Report, { format }: ReportOptions): string {
  switch (format) {
    case 'json':
      return `${jsonText(made, 2)}\n`;
    case 'csv':
      return reportCsv(made);
    case 'md':
      return reportMarkdown(made);
    case 'html':
    case 'mail':
    case 'eml':
    case 'skill':
    case 'text':
      return reportTerminal(made, terminalOf(stdout));
  }
}

function printCensus({ census }: Report, { format }: ReportOptions): string {
  if (format === 'json') return `${jsonText(census, 2)}\n`;
  return format === 'text' ? censusTerminal(census, terminalOf(stdout)) : censusMarkdown(census);
}

async function printGuide(
  files: readonly string[],
  { client, rules, format, into, at }: ReportOptions,
  names: ReadonlyMap<string, string>,
): Promise<CommandFault | undefined> {
  if (client === NO_KEY)
    return {
      fault:
        'Requests without a key may be of many clients, so there is no guide for them; report lists what they call.',
    };
  if (client === undefined || !/^[0-9a-f]{1,16}$/i.test(client))
    return { fault: '--guide requires --client with the first hex digits of a client hash.' };
  const book = await openRuleBook(rules);
  if (isFault(book)) return book;
  const guide = new Guide(client.toLowerCase());
  const end = at === undefined ? Infinity : Date.parse(at);
  // The requests of all clients show which members V2 does not know.
  const tally = new Tally();
  const read = new LineTally(tally);
  for (const file of files) read.begin(nameOf(file));
  const unread = await readAll(files, (bytes, file) => {
    read.add(bytes, nameOf(file));
    const lines = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    entriesOfClient(lines, guide.client, (entry: Entry) => {
      if (!(Date.parse(entry.time) > end)) guide.add(entry);
    });
  });
  if (unread !== undefined) return unread;
  const [only, second] = guide.clients;
  const empty = only === undefined ? junk(faultOfLogs(read.coverage)) : undefined;
  if (empty !== undefined) return empty;
  if (only === undefined)
    return { fault: `The log has no V1 request of a client whose hash begins with ${client}.` };
  if (second !== undefined)
    return { fault: `${client} is the beginning of ${guide.clients.join(' and ')}; give more digits.` };
  const foreign = read.books.faultOf(givenBook(book));
  if (foreign !== undefined) return { fault: foreign };
  const { ruleBook } = book.rules;
  const { strips } = tally.census.result(undefined, ruleBook);
  const document = guide.document(ruleBook, clientNames(ruleBook, names).get(only), {
    inForce: ruleBook.hash,
    unknown: strips,
    now: at ?? new Date().toISOString(),
  });
  if (into !== undefined) return writeSkill(document, into);
  await write(printedGuide(document, format));
  return undefined;
}

/** Writes a skill's files into a new or empty folder. */
async function writeSkill(document: GuideDocument, into: string): Promise<CommandFault | undefined> {
  const files = guideSkill(document);
  try {
    mkdirSync(into, { recursive: true });
    if (readdirSync(into).length > 0)
      return { fault: `${into} is not empty; name a new folder with --into.`, isJunk: true };
    for (const { path, text } of files) writeFileSync(join(into, path), text, { flag: 'wx' });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { fault: `${into} cannot be written (${reason}); name another folder with --into.`, isJunk: true };
  }
  await write(
    `${terminalText(into)} has ${files.map(({ path }) => path).join(', ')}; begin with SKILL.md.\n`,
  );
  return undefined;
}

function printedGuide(document: GuideDocument, format: ReportOptions['format']): string {
  if (format === 'json') return `${jsonText(document, 2)}\n`;
  if (format === 'html') return guideLetter(document);
  if (format === 'mail') return guideMail(document);
  return format === 'eml' ? guideMessage(document) : guideMarkdown(document);
}

/** Reads all lines of logs in the order of their times, and shows how far it is. */
async function readAll(
  files: readonly string[],
  take: (lines: Uint8Array, file: string) => void,
): Promise<CommandFault | undefined> {
  const bar = new ProgressBar(process.stderr, await sizeOfFiles(files), () => performance.now());
  const endOfWait = tellOfWaiting(files);
  try {
    await readMergedLogs(files, (lines, file, read) => {
      take(lines, file);
      bar.show(read);
    });
    return undefined;
  } catch (error) {
    return unreadable('The log', error);
  } finally {
    endOfWait();
    bar.clear();
  }
}

/** The name of a log in a report. */
function nameOf(file: string): string {
  return file === '-' ? 'stdin' : file;
}

/** Writes output, which can be large, and waits until it is flushed. */
function write(text: string): Promise<void> {
  return new Promise((resolve) => {
    stdout.write(text, () => resolve());
  });
}

export interface ReportOptions {
  readonly format: 'text' | 'json' | 'csv' | 'md' | 'html' | 'mail' | 'eml' | 'skill';
  readonly goneAfter: number;
  readonly names?: string;
  readonly config?: string;
  readonly client?: string;
  readonly guide?: true;
  readonly into?: string;
  readonly census?: true;
  readonly apply?: true;
  readonly digest?: true;
  readonly openapi?: string;
  readonly at?: string;
  readonly rules: string;
}

type Format = ReportOptions['format'];

/** Other parts that `report` can print, with their formats; `text`, the default, chooses each part's own. */
const PARTS: readonly (readonly [
  part: 'guide' | 'digest' | 'apply' | 'census',
  formats: readonly Format[],
])[] = [
  ['guide', ['text', 'md', 'html', 'mail', 'eml', 'json', 'skill']],
  ['digest', ['text', 'md', 'json']],
  ['apply', ['text', 'json']],
  ['census', ['text', 'md', 'json']],
];

const ONLY_GUIDE: ReadonlySet<Format> = new Set(['html', 'mail', 'eml', 'skill']);

/** Returns the fault of `report` options that exclude each other. */
function reportOptionFault(options: ReportOptions): CommandFault | undefined {
  const { format, client } = options;
  if (options.apply === true && options.census !== true) return { fault: '--apply requires --census.' };
  const asked = PARTS.filter(([part]) => options[part] === true);
  const [first, second] = asked.filter(([part]) => part !== 'apply');
  if (first !== undefined && second !== undefined)
    return { fault: `--${first[0]} and --${second[0]} cannot be printed together; give one of them.` };
  if (ONLY_GUIDE.has(format) && options.guide !== true)
    return { fault: `--format ${format} requires --guide.` };
  if ((format === 'skill') !== (options.into !== undefined))
    return { fault: '--format skill requires --into with a new folder, and --into requires --format skill.' };
  if (client !== undefined && options.guide !== true) return { fault: '--client requires --guide.' };
  const [part] = asked;
  if (part === undefined || part[1].includes(format)) return undefined;
  return { fault: `--${part[0]} cannot be printed as ${format}; its formats are ${part[1].join(', ')}.` };
}

/** The outcome of writing proposals into a rule book: the names written, or why nothing was. */
export type AppliedStrips = { readonly written: readonly string[] } | { readonly faults: readonly string[] };

/**
 * Writes `strip` rules into the rule book at `path`, as changes at the end of `changes`, except for members that a rule already strips.
 * Every other line stays unchanged, with its comments. It replaces the whole file, and only by a valid rule book.
 */
export async function applyStrips(path: string, strips: readonly StripProposal[]): Promise<AppliedStrips> {
  let missing: readonly StripProposal[] = [];
  const edited = await editRuleBook(path, (text, book) => {
    missing = strips.filter((strip) => !hasStrip(book, strip));
    if (missing.length === 0) return text;
    return (
      withChanges(text, book, missing) ?? {
        fault: `${path}: changes is not a block list; paste the proposal of --census by hand.`,
      }
    );
  });
  if ('faults' in edited) return edited;
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

/** Adds the changes after the last one; undefined if `changes` is not a block list of maps. */
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
    return proposalYaml(members).replace(`- id: ${id}\n`, `- id: ${freeName(id, '-', taken)}\n`);
  });
  const indented = printed.join('').replaceAll(/^ {2}/gm, ' '.repeat(end.indent));
  const before = text.slice(0, end.offset);
  return `${before}${before.endsWith('\n') ? '' : '\n'}\n${indented}${text.slice(end.offset)}`;
}

/** The place after the last change and its comments, and the list's indentation. */
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

const COLOURS: Readonly<Record<ClientClass, Style>> = {
  blocked: 'red',
  'field-work': 'yellow',
  'unwrap-only': 'cyan',
  'url-only': 'green',
  unknown: 'magenta',
  unserved: 'dim',
  gone: 'dim',
};

const VERDICT_STYLES: Readonly<Record<Report['switchOff']['verdict'], Style>> = {
  yes: 'green',
  no: 'yellow',
  unknown: 'magenta',
  'nothing-seen': 'dim',
  ended: 'green',
};

const MARKS = { met: '✓', 'not-met': '✗', unknown: '?' } as const;

/** Maximum clients and days shown on a terminal; other formats have all. */
const MAX_ROWS = 40;
/** Maximum logs and gaps shown on a terminal. */
const MAX_LOGS = 20;

/** Characters of the busiest day's bar, and of a line's other columns. */
const BAR = { most: 30, least: 8, others: 56 } as const;

/** Formats a report for a terminal, with times and days in UTC. */
export function reportTerminal(report: Report, terminal: Terminal): string {
  const paint = painter(terminal);
  const { columns } = terminal;
  if (report.since === undefined) {
    const { sentence, conditions } = report.switchOff;
    const others = conditions.length === 0 ? 'entries' : 'other entries';
    return `${[sentence, ...conditions.map(({ text }) => text)].join(' ')} The log has no ${others}.\n`;
  }
  const bar = Math.max(BAR.least, Math.min(BAR.most, (columns ?? Infinity) - BAR.others));
  const fitted = (text: string): string => wrapLines(text, columns);
  const busiest = Math.max(1, ...report.days.map((day) => day.v1));
  const sections = [
    fitted(
      `${paint('bold', 'Who still needs V1')}  ${terminalText(report.since.slice(0, 10))} to ${terminalText((report.until ?? '').slice(0, 10))} UTC, ${callsIn(report)}`,
    ),
    fitted(
      [
        paint(VERDICT_STYLES[report.switchOff.verdict], terminalText(report.switchOff.sentence)),
        ...report.switchOff.conditions.map(({ state, text }) => `  ${MARKS[state]} ${terminalText(text)}`),
      ].join('\n'),
    ),
    ...sentencesUnder("Endings before V1's", report.endings ?? []).map(fitted),
    ...sentencesUnder('New to V1', report.newcomers ?? []).map(fitted),
    report.remaining.length === 0
      ? ''
      : fitted(
          `Before V1 can be switched off:\n${report.remaining.map((sentence) => `  ${sentence}`).join('\n')}`,
        ),
    printColumns(
      ['client', 'class', "to V1's address", 'share', 'failed', 'refused', 'last seen', 'changes'],
      report.clients
        .slice(0, MAX_ROWS)
        .map((client) => [
          terminalText(
            client.name === undefined
              ? client.client === NO_KEY
                ? 'no key'
                : client.client
              : `${client.name} ${client.client.slice(0, 6)}`,
          ),
          paint(COLOURS[client.class], CLASS_WORDS[client.class]),
          count(client.v1),
          percentWords(client.share),
          count(client.failed),
          count(client.refused),
          terminalText(`${client.lastSeen.slice(0, 16).replace('T', ' ')}Z`),
          workWords(client),
        ]),
      { right: [2, 3, 4, 5], columns },
    ),
    more(report.clients.length, 'client'),
    fitted(classLines(report.clients)),
    printColumns(
      ['day (UTC)', "to V1's address", "to V2's address", 'clients', ''],
      report.days
        .slice(-MAX_ROWS)
        .map((day) => [
          terminalText(day.day),
          count(day.v1),
          count(day.v2),
          count(day.clients),
          paint('cyan', '▇'.repeat(Math.round((day.v1 / busiest) * bar))),
        ]),
      { right: [1, 2, 3], columns },
    ),
    more(report.days.length, 'earlier day', MAX_ROWS, ''),
    fitted(logLines(report.logs ?? [])),
    fitted(gapLines(report.gaps ?? [])),
    report.unreadable === 0 ? '' : `Skipped: ${skippedLines(report.unreadable)}.`,
    report.omittedClients === 0
      ? ''
      : `${counted(report.omittedClients, 'request')} came from clients beyond the limit.`,
  ];
  return `${sections.filter((section) => section !== '').join('\n\n')}\n`;
}

/** Explains the classes in the table. */
function classLines(clients: readonly ClientReport[]): string {
  const classes = new Set(clients.slice(0, MAX_ROWS).map((client) => client.class));
  // A row says itself why its class is unknown.
  return CLASSES.filter((name) => classes.has(name) && name !== 'unknown')
    .map((name) => `${CLASS_WORDS[name]}: ${CLASS_MEANINGS[name]}`)
    .join('\n');
}

/** Lines about the logs that were read, with a limit. */
function logLines(logs: NonNullable<Report['logs']>): string {
  const lines = logs
    .slice(0, MAX_LOGS)
    .map(
      ({ file, since, until, entries }) =>
        `${terminalText(file)}: ${since === undefined ? 'no entries' : `${counted(entries, 'entry', 'entries')} from ${terminalText(since)} to ${terminalText(until ?? since)}`}`,
    );
  return [...lines, ...(logs.length > MAX_LOGS ? [more(logs.length, 'log', MAX_LOGS)] : [])].join('\n');
}

/** Lines about gaps in the logs, with a limit. */
function gapLines(gaps: NonNullable<Report['gaps']>): string {
  const lines = gaps.slice(0, MAX_LOGS).map(({ sentence }) => terminalText(sentence));
  return [...lines, ...(gaps.length > MAX_LOGS ? [more(gaps.length, 'gap', MAX_LOGS)] : [])].join('\n');
}

/** A client's changes in both directions, its mistakes, and its reasons, each on a line of its own. */
function workWords(client: ClientReport): string {
  const requests = client.changes.map(({ change, count: seen }) => `${change} ${count(seen)}`).join(', ');
  const responses = responseWords(client, CELL_MEMBERS);
  const mistakes = mistakeWords(client);
  const checks = bodyCheckWords(client);
  const parts = [
    requests,
    responses === '' ? '' : `responses: ${responses}`,
    mistakes === '' ? '' : `refused or would be: ${mistakes}`,
    checks === '' ? '' : `V2's schema: ${checks}`,
    ...reasonsOf(client),
  ];
  return parts.flatMap((part) => (part === '' ? [] : [terminalText(part)])).join('\n');
}

function more(all: number, noun: string, shown = MAX_ROWS, kind = 'more '): string {
  return all > shown ? `… and ${counted(all - shown, `${kind}${noun}`)}; --format json lists all.` : '';
}

/** Formats the attribute census for a terminal; rules to paste do not wrap. */
export function censusTerminal(census: Census, terminal: Terminal): string {
  if (census.rows.length === 0) return 'No entry has attribute names.\n';
  const paint = painter(terminal);
  const { columns } = terminal;
  const sections = [
    wrapLines(`${paint('bold', 'Attributes that V1 clients send')}  ${censusNote(census)}`, columns),
    printColumns(
      CENSUS_HEAD,
      censusRows(census).map(({ operation, pointer, numbers, handler }) => [
        terminalText(operation),
        handler === NO_RULE ? paint('red', terminalText(pointer)) : terminalText(pointer),
        ...numbers.map(count),
        terminalText(handler),
      ]),
      { right: [2, 3, 4, 5, 6, 7], columns },
    ),
    wrapLines(CENSUS_LEGEND, columns, 0),
    census.proposal === ''
      ? ''
      : `${wrapLines('V2 does not accept these, and no rule removes them. Paste under changes, or write with --apply:', columns, 0)}\n\n${terminalLines(census.proposal.trimEnd())}`,
    census.suspects.length === 0
      ? ''
      : wrapLines(
          `V2 may not accept these:\n${census.suspects
            .map(({ operation, pointer, why }) => `  ${terminalText(`${operation} ${pointer}: ${why}`)}`)
            .join('\n')}`,
          columns,
        ),
  ];
  return `${sections.filter((section) => section !== '').join('\n\n')}\n`;
}

/** A heading with a list's sentences; nothing for an empty list. */
function sentencesUnder(title: string, list: readonly { readonly sentence: string }[]): readonly string[] {
  return list.length === 0
    ? []
    : [`${title}:\n${list.map(({ sentence }) => `  ${terminalText(sentence)}`).join('\n')}`];
}
