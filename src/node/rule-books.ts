import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ReadSecret } from '../migrate/webhook-signature.ts';
import { bookDifference } from '../inspector/book-difference.ts';
import { CompiledRuleBook } from '../rewrite/compiled-rule-book.ts';
import { rulesHash } from '../rules/hash.ts';
import type { Modes } from '../rules/rollout.ts';
import { printFault } from '../rules/rule-book-fault.ts';
import type { RuleBook } from '../rules/rule-book.ts';
import { settings } from '../settings/settings.ts';
import { decodeText, readText, TextFault } from './files.ts';
import { systemReason } from './system-reason.ts';
import type { ModuleFault } from './threads/transform-thread.ts';

/** A valid rule book, with its source text. */
export interface LoadedRuleBook {
  readonly rules: CompiledRuleBook;
  readonly text: string;
  /** Path of the package's own rule book, if it replaces a missing default. */
  readonly shippedAt?: string;
}

/** Result of reading the rule book: a valid one, or all of its faults. */
export type RuleBookOutcome = LoadedRuleBook | RefusedRuleBook;

/** The faults of a rule book, and its text, unless that cannot be read. */
export interface RefusedRuleBook {
  readonly faults: readonly string[];
  readonly text?: string;
}

/** Outcome of a reload. */
export interface Reload {
  /** True if a different one is in force now. */
  readonly changed: boolean;
  /** True if this one is valid and the last one was refused. */
  readonly wasRefused: boolean;
  /** The faults of a refused one. */
  readonly faults: readonly string[];
  /** The rule book that was in force before. */
  readonly before: RuleBook;
}

/** A change of the rule book, or a refusal. */
export interface ReadingRecord {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Hash of the new rule book; absent if it was refused. */
  readonly hash?: string;
  /** What it changed, in words; absent if it was refused. */
  readonly changed?: readonly string[];
  /** The modes of the rule book before it, if it had any. */
  readonly modesBefore?: Modes | undefined;
  /** The first fault of a refused rule book. */
  readonly fault?: string;
}

/** Maximum number of readings in the list of changes. */
const MAX_HISTORY = 20;

/** The rule book in force. A new one replaces it only after all checks; a faulty one is refused. */
export class RuleBooks {
  current: CompiledRuleBook;
  /** The text of the current one. */
  text: string;
  /** Milliseconds since 1970 when the current one came into force. */
  since: number;
  /** When its rules came into force, if others were before; see {@link rulesHash}. */
  rulesSince: number | undefined = undefined;
  /** Number of rule books that replaced another. */
  reloads = 0;
  /** Number of refused rule books. */
  refused = 0;
  /** Seconds that the last reading took. */
  reloadSeconds: number | undefined = undefined;
  /** The last refused rule book, until a valid one is read; `at` is milliseconds since 1970. */
  refusal: (RefusedRuleBook & { readonly at: number }) | undefined = undefined;
  /** Prepares a rule book before it comes into force. */
  prepare: ((book: RuleBook) => Promise<void>) | undefined = undefined;
  /** The latest changes and refusals, newest first. */
  history: readonly ReadingRecord[] = [];
  private readonly load: () => Promise<RuleBookOutcome>;
  private readonly time: () => number;
  private reading: Promise<unknown> = Promise.resolve();

  constructor(first: LoadedRuleBook, load: () => Promise<RuleBookOutcome>, time: () => number) {
    this.current = first.rules;
    this.text = first.text;
    this.load = load;
    this.time = time;
    this.since = time();
  }

  /** Reads the rule book again, after the readings in progress. A reading that throws rejects, and does not stop later ones. */
  reload(): Promise<Reload> {
    const next = this.reading.then(() => this.swap());
    this.reading = next.catch(() => {});
    return next;
  }

  private async swap(): Promise<Reload> {
    const began = this.time();
    const before = this.current.ruleBook;
    const outcome = await this.load();
    this.reloadSeconds = (this.time() - began) / 1000;
    if ('faults' in outcome) {
      this.refused += 1;
      this.refusal = { at: this.time(), ...outcome };
      this.note({ at: this.time(), fault: outcome.faults[0] ?? '' });
      return { changed: false, wasRefused: false, faults: outcome.faults, before };
    }
    const wasRefused = this.refusal !== undefined;
    this.refusal = undefined;
    const changed = outcome.rules.ruleBook.hash !== before.hash;
    if (changed) await this.prepare?.(outcome.rules.ruleBook);
    this.current = outcome.rules;
    this.text = outcome.text;
    if (changed) {
      this.since = this.time();
      this.reloads += 1;
      const { ruleBook } = outcome.rules;
      if (rulesHash(ruleBook.hash) !== rulesHash(before.hash)) this.rulesSince = this.since;
      this.note({
        at: this.since,
        hash: ruleBook.hash,
        changed: bookDifference(before, ruleBook),
        modesBefore: before.rollout?.modes,
      });
    }
    return { changed, wasRefused, faults: [], before };
  }

  private note(reading: ReadingRecord): void {
    // A file is read again after a signal and after its change: the same refusal is one.
    const { fault } = reading;
    if (fault !== undefined && this.history[0]?.fault === fault) return;
    this.history = [reading, ...this.history].slice(0, MAX_HISTORY);
  }
}

/**
 * Reads, checks and compiles the rule book in a file; faults name file, line and column. If `path` is the default and does not exist,
 * it reads the package's own. `name` is the option that set the path.
 */
export async function loadRuleBook(path: string, name = '--rules (GATEWAY_RULES)'): Promise<RuleBookOutcome> {
  let text: string;
  const isShipped = path === settings.rules.value && !existsSync(path);
  const file = isShipped ? fileURLToPath(new URL(`../../${path}`, import.meta.url)) : path;
  const from = isShipped ? { shippedAt: file } : {};
  try {
    text = decodeText(await readFile(file));
  } catch (error) {
    if (error instanceof TextFault)
      return { faults: [`${name} names a file that cannot be read: ${path}: ${error.message}.`] };
    return { faults: [`${name} names a file that cannot be read: ${path}: ${systemReason(error)}.`] };
  }
  const shipped = await shippedRuleBook(text);
  if (shipped !== undefined) return { text, rules: new CompiledRuleBook(shipped), ...from };
  const { readRuleBook } = await import('../rules/read-rule-book.ts');
  const reading = await readRuleBook(text, path);
  if (!reading.ok) return { text, faults: reading.faults.map((fault) => printFault(fault)) };
  if (reading.ruleBook.operations.every(({ transform }) => transform === undefined))
    return { text, rules: new CompiledRuleBook(reading.ruleBook), ...from };
  const { loadTransforms } = await import('./threads/transform-thread.ts');
  const loaded = await loadTransforms(reading.ruleBook, path);
  if ('faults' in loaded) return { text, faults: await moduleFaults(loaded.faults, text, path) };
  return { text, rules: new CompiledRuleBook(loaded.book), ...from };
}

/** Prints the faults of transforms, with the module's file and line or else with the lines of the rule book that name it. */
async function moduleFaults(
  faults: readonly ModuleFault[],
  text: string,
  path: string,
): Promise<readonly string[]> {
  const { SourceDocument } = await import('../rules/source-document.ts');
  const source = new SourceDocument(text);
  return faults.flatMap(({ operations, file, line, message }) => {
    if (file !== undefined) return [printFault({ file, line, column: 1, message: `transform: ${message}` })];
    return operations.map((id) => {
      const position = source.positionOf(['operations', id, 'transform'], 'value');
      return printFault({ file: path, ...position, message: `operation "${id}": transform ${message}` });
    });
  });
}

/** Returns the modules that the rule book at `path` names as transforms. */
export function transformFiles({ operations }: RuleBook, path: string): readonly string[] {
  const named = new Set(operations.flatMap(({ transform }) => transform ?? []));
  return [...named].map((module) => resolve(dirname(path), module));
}

/** Environment variables, by name. */
type Environment = Readonly<Record<string, string | undefined>>;

/** Milliseconds after which a secret's file is read again. */
const SECRET_MS = 1000;

/** Reads webhook secrets from their variables, or from the files that the variables ending in `_FILE` name. */
export function secretReader(environment: Environment): ReadSecret {
  const known = new Map<string, { readonly text: ReturnType<ReadSecret>; readonly at: number }>();
  return (name) => {
    const text = environment[name];
    const path = environment[`${name}_FILE`];
    if (path === undefined || path === '') return text;
    if (text !== undefined && text !== '')
      return { fault: `${name} and ${name}_FILE are both set; unset one of them.` };
    const read = known.get(name);
    const now = performance.now();
    if (read !== undefined && now - read.at < SECRET_MS) return read.text;
    const found = secretIn(path, name);
    known.set(name, { text: found, at: now });
    return found;
  };
}

function secretIn(path: string, name: string): ReturnType<ReadSecret> {
  try {
    return readText(path).trim();
  } catch (error) {
    return { fault: `${name}_FILE cannot be read: ${path}: ${systemReason(error)}.` };
  }
}

export function secretFiles({ webhooks = {} }: RuleBook, environment: Environment): readonly string[] {
  const names = Object.values(webhooks).flatMap(({ sign }) => [...sign.verify, ...sign.with]);
  return [...new Set(names)].flatMap((name) => environment[`${name}_FILE`] || []);
}

/** Returns a sentence that says that the package's own rule book is in use, if it is. */
export function shippedSentence({ shippedAt }: Pick<LoadedRuleBook, 'shippedAt'>): string | undefined {
  if (shippedAt === undefined) return undefined;
  return `There is no ${settings.rules.value} here, so capture-gateway uses the rule book that it ships, for the property-capture API (${shippedAt}). Name your own with --rules (GATEWAY_RULES).`;
}

/** Output of the build: the checked rule book of the package, and the SHA-256 of its text in hex digits. */
interface ShippedRuleBook {
  readonly ruleBook: RuleBook;
  readonly sourceSha256: string;
}

/**
 * Returns the shipped rule book, which the build has checked, if `text` is its source; undefined for other texts, and without a build.
 * Reading and checking the YAML would take a tenth of the start of a process.
 */
async function shippedRuleBook(text: string): Promise<RuleBook | undefined> {
  const built = new URL('../library/shipped-rule-book.js', import.meta.url);
  if (!existsSync(built)) return undefined;
  const { ruleBook, sourceSha256 }: ShippedRuleBook = await import(built.href);
  return createHash('sha256').update(text).digest('hex') === sourceSha256 ? ruleBook : undefined;
}
