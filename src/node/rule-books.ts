import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ReadSecret } from '../migrate/webhook-signature.ts';
import { CompiledRuleBook } from '../rewrite/compiled-rule-book.ts';
import { printFault } from '../rules/rule-book-fault.ts';
import type { RuleBook } from '../rules/rule-book.ts';
import { settings } from '../settings/settings.ts';
import { decodeText, readText, TextFault } from './files.ts';
import type { ModuleFault } from './threads/transform-thread.ts';

/** A rule book that can be in force, with its source text. */
export interface LoadedRuleBook {
  readonly rules: CompiledRuleBook;
  readonly text: string;
  /** Path of the package's own rule book, where it stands in for a default that is not there. */
  readonly shippedAt?: string;
}

/** Result of reading the rule book: one that can be in force, or all of its faults. */
export type RuleBookOutcome = LoadedRuleBook | { readonly faults: readonly string[] };

/** Outcome of a reload. */
export interface Reload {
  /** True where another one is in force now. */
  readonly changed: boolean;
  /** True where this one is good and the last one was refused. */
  readonly wasRefused: boolean;
  /** Those of a refused one. */
  readonly faults: readonly string[];
}

/** Readings that are kept for the list of changes. */
const MAX_HISTORY = 20;

/** The rule book in force. A new one is checked, then swapped whole; a faulty one is refused, and the old one stays. */
export class RuleBooks {
  current: CompiledRuleBook;
  /** The text of the current one. */
  text: string;
  /** Milliseconds since 1970 when the current one came into force. */
  since: number;
  /** Number of rule books that replaced another, number of refused ones, and seconds that the last reading took. */
  reloads = 0;
  refused = 0;
  reloadSeconds: number | undefined = undefined;
  /** The rule book that was refused last, until a good one is read; `at` is milliseconds since 1970. */
  refusal: { readonly at: number; readonly faults: readonly string[] } | undefined = undefined;
  /** Gets a rule book ready before it is in force. */
  prepare: ((book: RuleBook) => Promise<void>) | undefined = undefined;
  /** The last readings that changed something, newest first; `at` is milliseconds since 1970. */
  history: readonly { readonly at: number; readonly hash?: string; readonly fault?: string }[] = [];
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

  /** Reads the rule book again, after the readings in progress. */
  reload(): Promise<Reload> {
    const next = this.reading.then(() => this.swap());
    this.reading = next;
    return next;
  }

  private async swap(): Promise<Reload> {
    const began = this.time();
    const outcome = await this.load();
    this.reloadSeconds = (this.time() - began) / 1000;
    if ('faults' in outcome) {
      this.refused += 1;
      this.refusal = { at: this.time(), faults: outcome.faults };
      this.note({ at: this.time(), fault: outcome.faults[0] ?? '' });
      return { changed: false, wasRefused: false, faults: outcome.faults };
    }
    const wasRefused = this.refusal !== undefined;
    this.refusal = undefined;
    const changed = outcome.rules.ruleBook.hash !== this.current.ruleBook.hash;
    if (changed) await this.prepare?.(outcome.rules.ruleBook);
    this.current = outcome.rules;
    this.text = outcome.text;
    if (changed) {
      this.since = this.time();
      this.reloads += 1;
      this.note({ at: this.since, hash: outcome.rules.ruleBook.hash });
    }
    return { changed, wasRefused, faults: [] };
  }

  private note(reading: RuleBooks['history'][number]): void {
    this.history = [reading, ...this.history].slice(0, MAX_HISTORY);
  }
}

/**
 * Reads, checks and compiles the rule book in a file; faults name file, line and column. Where the working directory has no rule
 * book, the default is the package's own. `name` is how the path was given.
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
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    return { faults: [`${name} names a file that cannot be read: ${path} (${code}).`] };
  }
  const shipped = await shippedRuleBook(text);
  if (shipped !== undefined) return { text, rules: new CompiledRuleBook(shipped), ...from };
  const { readRuleBook } = await import('../rules/read-rule-book.ts');
  const reading = await readRuleBook(text, path);
  if (!reading.ok) return { faults: reading.faults.map((fault) => printFault(fault)) };
  if (reading.ruleBook.operations.every(({ transform }) => transform === undefined))
    return { text, rules: new CompiledRuleBook(reading.ruleBook), ...from };
  const { loadTransforms } = await import('./threads/transform-thread.ts');
  const loaded = await loadTransforms(reading.ruleBook, path);
  if ('faults' in loaded) return { faults: await moduleFaults(loaded.faults, text, path) };
  return { text, rules: new CompiledRuleBook(loaded.book), ...from };
}

/** Prints the faults of transforms: those of a module with its file and line, others with the places that name it. */
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

/** Returns the files of the transforms of a rule book in the file at `path`. */
export function transformFiles({ operations }: RuleBook, path: string): readonly string[] {
  const named = new Set(operations.flatMap(({ transform }) => transform ?? []));
  return [...named].map((module) => resolve(dirname(path), module));
}

/** Variables of the process, by name. */
type Environment = Readonly<Record<string, string | undefined>>;

/** Milliseconds after which the file of a secret is read again. */
const SECRET_MS = 1000;

/** Reads the secrets of webhooks from their variables, or from the files in the variables whose names end with `_FILE`. */
export function secretReader(environment: Environment): ReadSecret {
  const known = new Map<string, { readonly text: ReturnType<ReadSecret>; readonly at: number }>();
  return (name) => {
    const text = environment[name];
    const path = environment[`${name}_FILE`];
    if (path === undefined || path === '') return text;
    if (text !== undefined && text !== '')
      return { fault: `${name} and ${name}_FILE are both set; leave one of them out.` };
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
    const { message } = error instanceof Error ? error : { message: String(error) };
    const code = error instanceof Error && 'code' in error ? String(error.code) : message;
    return { fault: `${name}_FILE cannot be read: ${path} (${code}).` };
  }
}

/** Returns the files with secrets of the webhooks of a rule book. */
export function secretFiles({ webhooks = {} }: RuleBook, environment: Environment): readonly string[] {
  const names = Object.values(webhooks).flatMap(({ sign }) => [...sign.verify, ...sign.with]);
  return [...new Set(names)].flatMap((name) => environment[`${name}_FILE`] || []);
}

/** Says which rule book is used if no setting names one and the working directory has none; undefined if a setting names one. */
export function shippedSentence({ shippedAt }: Pick<LoadedRuleBook, 'shippedAt'>): string | undefined {
  if (shippedAt === undefined) return undefined;
  return `There is no ${settings.rules.value} here, so capture-gateway uses the rule book that it ships, for the property-capture API (${shippedAt}). Name your own with --rules (GATEWAY_RULES).`;
}

/** What the build writes: the rule book that ships, checked, and the SHA-256 of its text in hex digits. */
interface ShippedRuleBook {
  readonly ruleBook: RuleBook;
  readonly sourceSha256: string;
}

/**
 * Returns the rule book of a text that the build has checked already, the one that ships; undefined for any other text, and where
 * sources run without a build. Reading YAML and checking it takes a tenth of the start of a process.
 */
export async function shippedRuleBook(text: string): Promise<RuleBook | undefined> {
  const built = new URL('../library/shipped-rule-book.js', import.meta.url);
  if (!existsSync(built)) return undefined;
  const { ruleBook, sourceSha256 }: ShippedRuleBook = await import(built.href);
  return createHash('sha256').update(text).digest('hex') === sourceSha256 ? ruleBook : undefined;
}
