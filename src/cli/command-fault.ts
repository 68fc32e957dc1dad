import { existsSync, writeFileSync } from 'node:fs';
import type { LoadedRuleBook } from '../node/rule-books.ts';
import type { GivenBook } from '../report/log-gaps.ts';
import type { RuleBook } from '../rules/rule-book.ts';
import { systemReason } from '../node/system-reason.ts';

/** Why a command failed, as a sentence. */
export interface CommandFault {
  readonly fault: string;
  /** True if the input is readable but has the wrong content: the exit code is then 1 instead of 2. */
  readonly isJunk?: boolean;
  /** The code of a refusal by a gateway. */
  readonly code?: string | undefined;
}

/** True if an outcome is a fault. */
export function isFault(outcome: object): outcome is CommandFault {
  return 'fault' in outcome && typeof outcome.fault === 'string';
}

/** Prints a fault on stderr and sets the exit code; does nothing without one. */
export function endWith(fault: CommandFault | undefined): void {
  if (fault === undefined) return;
  process.stderr.write(`${fault.fault}\n`);
  process.exitCode = fault.isJunk === true ? FAILURE : NOT_STARTED;
}

/**
 * Makes the fault for an unreadable input: it is junk unless the kernel refuses to open it, for example a truncated gzip file. Rethrows
 * anything that is not an error.
 */
export function unreadable(name: string, error: unknown): CommandFault {
  if (!(error instanceof Error)) throw error;
  return { fault: `${name} cannot be read: ${reasonOf(error, name)}.`, isJunk: !isFromSystem(error) };
}

/** The fault of an input that can be read and is something else; undefined without a sentence. */
export function junk(fault: string | undefined): CommandFault | undefined {
  return fault === undefined ? undefined : { fault, isJunk: true };
}

/** Writes a file that the user named; the fault says why it cannot be written. */
export function writeOutput(path: string, text: string | Uint8Array): CommandFault | undefined {
  try {
    writeFileSync(path, text);
    return undefined;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return { fault: `${path} cannot be written: ${reasonOf(error, path)}.` };
  }
}

/** The system's words for an error, without the call that Node adds; the path only if `name` does not have it. */
export function reasonOf(error: unknown, name: string): string {
  const { errno, path = '' }: NodeJS.ErrnoException = error instanceof Error ? error : new Error();
  return `${errno === undefined || name.includes(path) ? '' : `${path}: `}${systemReason(error)}`;
}

/** True for an error from the kernel, or with one as its cause. */
function isFromSystem(error: Error): boolean {
  return 'syscall' in error || (error.cause instanceof Error && 'syscall' in error.cause);
}

/** Loads a command's rule book; a note on stderr says so if it is the shipped one instead of a missing default. */
export async function openRuleBook(path: string): Promise<LoadedRuleBook | CommandFault> {
  const { loadRuleBook, shippedSentence } = await import('../node/rule-books.ts');
  const book = await loadRuleBook(path);
  if ('faults' in book) return { fault: book.faults.join('\n') };
  const sentence = shippedSentence(book);
  if (sentence !== undefined) process.stderr.write(`note: ${sentence}\n`);
  return book;
}

/**
 * Reads display names by client hash: from `path`, which an option names, or else from the file that GATEWAY_CLIENT_NAMES or the
 * settings file names, as the gateway does. Without any, there are no names.
 */
export async function openClientNames(
  path: string | undefined,
  config: string | undefined,
): Promise<ReadonlyMap<string, string> | CommandFault> {
  const [{ readClientNames }, { givenSetting }, { settings }] = await Promise.all([
    import('../node/admin/names.ts'),
    import('./settings-file.ts'),
    import('../settings/settings.ts'),
  ]);
  const setting = await givenSetting(settings.clientNames, { 'client-names': path, config });
  if ('faults' in setting) return { fault: setting.faults.join('\n') };
  const file = setting.value;
  // The settings may name a file that the gateway creates with the first name that an operator gives.
  const isAbsent = file === undefined || (path === undefined && !existsSync(file));
  return isAbsent ? new Map() : readClientNames(file);
}

/** A command's rule book, to be compared with those of logs. */
export function givenBook({ rules, shippedAt }: LoadedRuleBook): GivenBook {
  return { book: rules.ruleBook, isShipped: shippedAt !== undefined };
}

/**
 * Edits the rule book at `path`, and returns the new one. It replaces the whole file, and only by a valid rule book, so that a gateway
 * that watches it never reads half of it.
 */
export async function editRuleBook(
  path: string,
  edit: (text: string, book: RuleBook) => string | CommandFault,
): Promise<{ readonly ruleBook: RuleBook } | { readonly faults: readonly string[] }> {
  const [{ readRuleBook }, { printFault }, { inFormOf, readText, replaceFileSync }] = await Promise.all([
    import('../rules/read-rule-book.ts'),
    import('../rules/rule-book-fault.ts'),
    import('../node/files.ts'),
  ]);
  let text: string;
  try {
    text = readText(path);
  } catch (error) {
    return {
      faults: [`The rule book ${path} cannot be read: ${reasonOf(error, path)}.`],
    };
  }
  const before = await readRuleBook(text, path);
  if (!before.ok) return { faults: before.faults.map((fault) => printFault(fault)) };
  const next = edit(text, before.ruleBook);
  if (typeof next !== 'string') return { faults: [next.fault] };
  if (next === text) return { ruleBook: before.ruleBook };
  const after = await readRuleBook(next, path);
  if (!after.ok) return { faults: after.faults.map((fault) => printFault(fault)) };
  try {
    replaceFileSync(path, inFormOf(path, next));
  } catch (error) {
    return { faults: [`${path} cannot be written: ${systemReason(error)}.`] };
  }
  return { ruleBook: after.ruleBook };
}

/** The name, or the first unused one with a number after it. */
export function freeName(wanted: string, mark: '-' | '_', taken: ReadonlySet<string>): string {
  let free = wanted;
  for (let number = 2; taken.has(free); number += 1) free = `${wanted}${mark}${number}`;
  return free;
}

/** The command did its work, and found nothing wrong. */
export const SUCCESS = 0;
/** The command ran, but its result is negative, or an input has the wrong content. */
export const FAILURE = 1;
/** The command could not start its work. */
export const NOT_STARTED = 2;

/** Every exit code with its meaning, as help and docs/operating.md print it. */
export const EXIT_CODES: readonly (readonly [code: number, meaning: string])[] = [
  [SUCCESS, 'Success.'],
  [
    FAILURE,
    'The command ran, but the result is negative: a request is refused, responses differ, an input file cannot be parsed, or the gateway refuses the change.',
  ],
  [
    NOT_STARTED,
    'The command could not start: an argument or a setting is wrong, the rule book has faults, a file is missing, stdout cannot be written, or the gateway cannot be reached.',
  ],
];

export function exitCodesTable(): string {
  const rows = EXIT_CODES.map(([code, meaning]) => `| ${code} | ${meaning} |`);
  return ['| exit code | meaning |', '|---|---|', ...rows, ''].join('\n');
}
