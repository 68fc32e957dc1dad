import { stdout } from 'node:process';
import { PlanTally } from '../../report/plan/activity.ts';
import { avoidedDays } from '../../report/plan/avoided-days.ts';
import {
  DEFAULT_LEAD_DAYS,
  endWarnings,
  makePlan,
  noPlanSentence,
  type Plan,
  PLAN_PREFIX,
  type PlanOptions,
} from '../../report/plan/plan.ts';
import { planLines, withPlan } from '../../node/log/plan-lines.ts';
import {
  planJson,
  planMarkdown,
  planParts,
  rehearsalLines,
  sunsetText,
} from '../../report/plan/plan-text.ts';
import {
  daysToRehearse,
  movedToLog,
  Rehearsal,
  type RehearsedBrownout,
  type RehearsedDay,
} from '../../report/plan/rehearse.ts';
import { readWindow, Zone } from '../../report/plan/zone.ts';
import { type EntryTaker, LineTally } from '../../report/tally/tally-lines.ts';
import { jsonText, terminalText } from '../../report/text.ts';
import { counted } from '../../rules/words.ts';
import { type Brownout, GONE_AFTER_DAYS } from '../../rules/rollout.ts';
import { clientNames, type RuleBook } from '../../rules/rule-book.ts';
import {
  type CommandFault,
  editRuleBook,
  FAILURE,
  givenBook,
  isFault,
  junk,
  openClientNames,
  unreadable,
} from '../command-fault.ts';
import { faultOfLogs, type GivenBook, type LogGap } from '../../report/log-gaps.ts';
import { readText } from '../../node/files.ts';
import { logSources, readMergedLogs, sizeOfFiles } from '../../node/log/log-files.ts';
import {
  painter,
  printColumns,
  ProgressBar,
  type Terminal,
  terminalOf,
  wrapLines,
  tellOfWaiting,
} from '../terminal.ts';

/** Options that `plan` and `plan rehearse` share. */
interface LogOptions {
  readonly rules: string;
  readonly names?: string;
  readonly config?: string;
  /** IANA name; the rule book's zone if it is not given, or else the machine's. */
  readonly zone?: string;
}

export interface PlanCommandOptions extends LogOptions {
  readonly format: 'text' | 'md' | 'json';
  readonly lead?: number;
  readonly goneAfter: number;
  readonly avoid?: readonly string[];
  /** Path of a list of further days to avoid. */
  readonly holidays?: string;
  /** True for the rule book of `--rules`. */
  readonly into?: string | true;
  readonly at?: string;
}

export interface RehearseOptions extends LogOptions {
  readonly format: 'text' | 'json';
  readonly window?: readonly string[];
}

/** Prints a plan for the end of V1 or writes it into a rule book. */
export async function runPlan(
  given: readonly string[],
  options: PlanCommandOptions,
): Promise<CommandFault | undefined> {
  const avoided = readAvoided(options);
  if (typeof avoided !== 'function')
    return { fault: avoided.fault, ...('isJunk' in avoided ? { isJunk: avoided.isJunk } : {}) };
  // The rule book that gets the plan is the one whose dates apply, so that the file says what is printed.
  const into = options.into === true ? options.rules : options.into;
  const opened = await openInputs(
    { ...options, rules: into ?? options.rules },
    typeof options.into === 'string' ? '--into' : undefined,
  );
  if (isFault(opened)) return opened;
  const now = options.at ?? new Date().toISOString();
  const zone = zoneOf(options.zone ?? opened.book.zone);
  const counts = new PlanTally(zone, opened.book.rollout?.ends, opened.book);
  const read = await readLogs(given, counts, now, opened.given);
  if ('fault' in read) return read;
  const { names, book } = into === undefined ? bookOfLogs(opened, read) : opened;
  const choices: PlanOptions = {
    now: Date.parse(now),
    leadDays: options.lead ?? book?.rollout?.leadDays ?? DEFAULT_LEAD_DAYS,
    goneAfterDays: options.goneAfter,
    names,
    rollout: book?.rollout,
    gaps: read.gaps,
    avoid: avoided,
  };
  const plan = makePlan(counts, choices);
  if (plan === undefined) {
    process.exitCode = FAILURE;
    const why = noPlanSentence(choices, zone);
    return write(options.format, `${why}\n`, { plan: null, why });
  }
  const shown = (): string =>
    options.format === 'md' ? planMarkdown(plan) : planTerminal(plan, terminalOf(stdout));
  if (into === undefined) {
    // A book that is not that of the logs gets no lines.
    const lines = book === undefined ? '' : declaringLines(opened, options.rules, plan);
    return write(options.format, () => shown() + (options.format === 'text' ? lines : ''), planJson(plan));
  }
  const outcome = await writePlan(into, plan);
  if ('faults' in outcome) return { fault: outcome.faults.join('\n') };
  const written = `${into} now has the plan: ${counted(plan.brownouts.length, 'brownout')} and a sunset on ${zone.text(plan.sunset)} (${plan.zone}). ${sunsetText(plan)}${outcome.kept === '' ? '' : ` ${outcome.kept}`}\n`;
  return write(options.format, () => `${shown()}\n${written}`, { ...planJson(plan), into });
}

/** The lines that declare a plan in a rule book, each with its place, as *Clients* on the page has them. */
function declaringLines({ text, note }: Pick<Inputs, 'text' | 'note'>, path: string, plan: Plan): string {
  const lines = note === undefined ? planLines(text, plan) : undefined;
  if (lines === undefined || lines.length === 0) return '';
  const parts = lines.map(({ place, added }) => `\n${place}:\n\n${added}`);
  return `\nTo declare this plan, write into ${path} (--into does so):\n${parts.join('')}`;
}

/** Plays brownouts over logs, prints their effect. */
export async function runRehearsal(
  given: readonly string[],
  options: RehearseOptions,
): Promise<CommandFault | undefined> {
  const { format } = options;
  const opened = await openInputs(options);
  if (isFault(opened)) return opened;
  const { book } = opened;
  const zone = zoneOf(options.zone ?? book.zone);
  const windows = await windowsOf(given, options, zone, book);
  if ('fault' in windows) return windows;
  const rehearsal = new Rehearsal(windows.windows, book, zone);
  const read = await readLogs(given, rehearsal, undefined, opened.given);
  if ('fault' in read) return read;
  const { names } = bookOfLogs(opened, read);
  const played = rehearsal.result(names, read.gaps);
  const result = played.filter((one) => touches(one, rehearsal));
  const outside = played.filter((one) => !touches(one, rehearsal)).map(({ id }) => id);
  const left = [...windows.left, ...outside].map((id) =>
    id === 'newcomers'
      ? 'newcomers is left out: the gateway learns clients for 14 days, and the logs cover less.'
      : `${id} is left out: it has no beginning or end, or the logs cover no such weekday and time.`,
  );
  if (options.window !== undefined && left.length > 0) process.exitCode = FAILURE;
  const time = (at: number): string => new Date(at).toISOString();
  const timesOf = ({ from, until }: { readonly from: number; readonly until?: number }): object => ({
    from: time(from),
    ...(until === undefined ? {} : { until: time(until) }),
  });
  const text = [...rehearsalLines(result, zone), ...left].map((line) => `${line}\n`).join('');
  return write(format, text, {
    zone: zone.name,
    windows: result.map(({ for: original, from, until, ...rest }) => ({
      ...rest,
      from: time(from),
      until: time(until),
      ...(original === undefined ? {} : { for: timesOf(original) }),
    })),
    left: [...windows.left, ...outside],
  });
}

/** Whether logs have a part of a window; one that they do not have would have refused nothing, which says nothing about it. */
function touches(
  { from = -Infinity, until = Infinity }: Pick<Brownout, 'from' | 'until'>,
  log: { readonly since: number; readonly until: number },
): boolean {
  return from <= log.until && until >= log.since;
}

/** The given windows, or the rule book's brownouts and days; those outside the logs are moved to days that these cover. */
async function windowsOf(
  given: readonly string[],
  { window = [] }: RehearseOptions,
  zone: Zone,
  book: RuleBook,
): Promise<
  | { readonly windows: readonly (RehearsedBrownout | RehearsedDay)[]; readonly left: readonly string[] }
  | CommandFault
> {
  const named: Brownout[] = [];
  for (const text of window) {
    const read = readWindow(text, zone);
    if ('fault' in read) return read;
    named.push({ id: text, ...read, share: 100, status: 410 });
  }
  const isStdin = given.length === 0 || given.includes('-');
  if (isStdin && named.length > 0) return { windows: named.map((brownout) => ({ brownout })), left: [] };
  const isNamed = named.length > 0;
  const rollout = isNamed ? { clients: {}, pins: [], brownouts: named } : book.rollout;
  const anyLog = { since: 0, until: Number.MAX_SAFE_INTEGER };
  if (
    rollout === undefined ||
    (rollout.brownouts.length === 0 && daysToRehearse(rollout, anyLog).days.length === 0)
  )
    return {
      fault:
        'There is nothing to play: give --window, or a rule book (--rules) with brownouts, a sunset with after: gone, or newcomers to refuse.',
    };
  if (isStdin)
    return {
      fault:
        'Without --window, the logs are read twice, which is not possible on stdin: give files, or --window.',
    };
  const span = { since: Number.POSITIVE_INFINITY, until: Number.NEGATIVE_INFINITY };
  const read = await readLogs(given, { add: ({ time }) => widen(span, Date.parse(time)) }, undefined);
  if ('fault' in read) return read;
  const moved = rollout.brownouts.map((brownout) => ({
    brownout,
    there: isNamed && touches(brownout, span) ? { brownout } : movedToLog(brownout, span, zone),
  }));
  const { days, left } = daysToRehearse(rollout, span);
  const unmoved = moved.filter(({ there }) => there === undefined).map(({ brownout }) => brownout.id);
  return {
    windows: [...moved.flatMap(({ there }) => (there === undefined ? [] : [there])), ...days],
    left: [...unmoved, ...left],
  };
}

function widen(span: { since: number; until: number }, time: number): void {
  if (time < span.since) span.since = time;
  if (time > span.until) span.until = time;
}

/** The rule book, and the names of clients: those of a file, and with the rule book's. */
interface Inputs {
  readonly own: ReadonlyMap<string, string>;
  readonly names: ReadonlyMap<string, string>;
  readonly book: RuleBook;
  readonly text: string;
  readonly given: GivenBook;
  /** Says that the package's rule book stands in for one that was not named. */
  readonly note: string | undefined;
}

/** Opens names and rule book; `option` is the one that names the book, if not `--rules`. */
async function openInputs(
  { names: path, rules, config }: LogOptions,
  option?: string,
): Promise<Inputs | CommandFault> {
  const own = await openClientNames(path, config);
  if (isFault(own)) return own;
  const { loadRuleBook, shippedSentence } = await import('../../node/rule-books.ts');
  const book = await loadRuleBook(rules, option);
  if ('faults' in book) return { fault: book.faults.join('\n') };
  const { ruleBook } = book.rules;
  const [names, note] = [clientNames(ruleBook, own), shippedSentence(book)];
  return { own, names, book: ruleBook, text: book.text, given: givenBook(book), note };
}

/** The rule book and the names for these logs. A book that was not named is left out where it is not theirs, as in a report. */
function bookOfLogs(
  { own, names, book, note }: Inputs,
  { foreign }: ReadLogs,
): { readonly names: ReadonlyMap<string, string>; readonly book: RuleBook | undefined } {
  const why = foreign === undefined ? note : `dates of a rule book are left out. ${foreign}`;
  if (why !== undefined) process.stderr.write(`note: ${why}\n`);
  return foreign === undefined ? { names, book } : { names: own, book: undefined };
}

/** What logs show beside their entries: gaps, and why the package's rule book is not theirs. */
interface ReadLogs {
  readonly gaps: readonly LogGap[];
  readonly foreign?: string;
}

/** Reads any number of replicas' logs; ignores entries after `now`, and refuses logs of another rule book than the one that was named. */
async function readLogs(
  given: readonly string[],
  taker: EntryTaker,
  now: string | undefined,
  ofBook?: GivenBook,
): Promise<ReadLogs | CommandFault> {
  const sources = await logSources(given);
  if ('fault' in sources) return sources;
  const { files } = sources;
  const lines = now === undefined ? new LineTally(taker) : new LineTally(taker, () => now);
  const bar = new ProgressBar(process.stderr, await sizeOfFiles(files), () => performance.now());
  const endOfWait = tellOfWaiting(files);
  for (const file of files) lines.begin(file);
  try {
    await readMergedLogs(files, (bytes, file, read) => {
      lines.add(bytes, file);
      bar.show(read);
    });
  } catch (error) {
    return unreadable('The log', error);
  } finally {
    endOfWait();
    bar.clear();
  }
  const foreign = ofBook && lines.books.faultOf(ofBook);
  if (foreign !== undefined && ofBook?.isShipped !== true) return { fault: foreign };
  return (
    junk(faultOfLogs(lines.coverage)) ?? {
      gaps: lines.gaps,
      ...(foreign === undefined ? {} : { foreign }),
    }
  );
}

/** Warnings from logs about a rule book's sunset and brownouts, for `check`. */
export async function warningsOfLogs(
  given: readonly string[],
  book: RuleBook,
  when: { readonly zone: string | undefined; readonly now: number; readonly isShipped?: boolean },
): Promise<readonly string[] | CommandFault> {
  const { now, isShipped = false } = when;
  const zone = zoneOf(when.zone ?? book.zone);
  const counts = new PlanTally(zone, book.rollout?.ends, book);
  const read = await readLogs(given, counts, new Date(now).toISOString(), { book, isShipped });
  if ('fault' in read) return read;
  if (read.foreign !== undefined) return { fault: read.foreign };
  return endWarnings(counts, {
    now,
    leadDays: book.rollout?.leadDays ?? DEFAULT_LEAD_DAYS,
    goneAfterDays: GONE_AFTER_DAYS,
    names: clientNames(book),
    rollout: book.rollout,
    gaps: read.gaps,
    avoid: () => false,
  });
}

/** The zone of this name, or else the machine's; a note on stderr says if that is unknown, and UTC is used. */
function zoneOf(name: string | undefined): Zone {
  if (name !== undefined) return new Zone(name);
  const { zone, isKnown } = Zone.own();
  if (!isKnown)
    process.stderr.write(
      'note: The machine names no time zone, so times are in UTC; set zone in the rule book, or --zone.\n',
    );
  return zone;
}

const OPTION = '--avoid ';

/** Reads the days of `--avoid`, and those of a file with one, or a range, at the begin of each line. */
function readAvoided({
  avoid = [],
  holidays,
}: PlanCommandOptions): ReturnType<typeof avoidedDays> | CommandFault {
  const listed = holidays === undefined ? [] : linesOf(holidays);
  if ('fault' in listed) return listed;
  const all = [...avoid.map((text) => ({ text, where: OPTION })), ...listed];
  const read = avoidedDays(all.map(({ text }) => text));
  if (typeof read === 'function') return read;
  const where = all[read.at]?.where ?? OPTION;
  return { isJunk: where !== OPTION, fault: `${where}${read.fault}` };
}

/** The days of a list of holidays: the first word of each line; blank lines and comments (`#`) have none. */
function linesOf(path: string): readonly { readonly text: string; readonly where: string }[] | CommandFault {
  let content;
  try {
    content = readText(path);
  } catch (error) {
    return unreadable('The list of holidays', error);
  }
  return content.split('\n').flatMap((line, at) => {
    const [text = ''] = line.trim().split(/[\s,;]/);
    return text === '' || text.startsWith('#') ? [] : [{ text, where: `${path}:${at + 1}: ` }];
  });
}

/** Writes output, which can be large, and waits until it is flushed. */
function write(
  format: 'text' | 'md' | 'json',
  text: string | (() => string),
  json: object,
): Promise<undefined> {
  const shown = format === 'json' ? `${jsonText(json, 2)}\n` : typeof text === 'string' ? text : text();
  return new Promise((resolve) => {
    stdout.write(shown, () => resolve(undefined));
  });
}

/** Formats a plan for a terminal. */
function planTerminal(plan: Plan, terminal: Terminal): string {
  const paint = painter(terminal);
  const { columns } = terminal;
  const parts = planParts(plan).map(({ title, sentences, table }) =>
    [
      paint('bold', title),
      ...sentences.map((sentence) => wrapLines(terminalText(sentence), columns, 0)),
      ...(table === undefined
        ? []
        : [
            printColumns(
              table.head,
              table.rows.map((row) => row.map(terminalText)),
              { columns },
            ),
          ]),
    ].join('\n'),
  );
  return `${parts.join('\n\n')}\n`;
}

/** The outcome of writing a plan: a sentence about brownouts that were kept, or why nothing was written. */
export type WrittenPlan = { readonly kept: string } | { readonly faults: readonly string[] };

/**
 * Writes a plan into the rule book at `path`: deprecation, the time of the sunset, and the brownouts, which replace those of an earlier
 * plan. Every other line stays unchanged, with its comments. It replaces the whole file, and only by a valid rule book.
 */
export async function writePlan(path: string, plan: Plan): Promise<WrittenPlan> {
  const edited = await editRuleBook(
    path,
    (text) =>
      withPlan(text, plan) ?? {
        fault: `${path}: the top of the file, sunset or brownouts is not written in block style; write it over several lines, or paste the dates of plan by hand.`,
      },
  );
  if ('faults' in edited) return edited;
  const own = edited.ruleBook.rollout?.brownouts.filter(({ id }) => !id.startsWith(PLAN_PREFIX)) ?? [];
  return { kept: own.length === 0 ? '' : `Its other brownouts stay: ${own.map(({ id }) => id).join(', ')}.` };
}
