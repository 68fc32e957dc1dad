import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { settings } from '../settings/settings.ts';
import { CompiledRuleBook } from '../rewrite/compiled-rule-book.ts';
import { printFault } from '../rules/rule-book-fault.ts';
import type { LoadedRuleBook, RuleBookOutcome } from './rule-books.ts';
import { shippedRuleBook } from './shipped-rule-book.ts';

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
    text = await readFile(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    return { faults: [`${name} names a file that cannot be read: ${path} (${code}).`] };
  }
  const shipped = await shippedRuleBook(text);
  if (shipped !== undefined) return { text, rules: new CompiledRuleBook(shipped), ...from };
  const { readRuleBook } = await import('../rules/read-rule-book.ts');
  const reading = await readRuleBook(text, path);
  if (!reading.ok) return { faults: reading.faults.map((fault) => printFault(fault)) };
  return { text, rules: new CompiledRuleBook(reading.ruleBook), ...from };
}

/** Says which rule book is used where none was given and none is here; undefined where it is the one that was named. */
export function shippedSentence({ shippedAt }: Pick<LoadedRuleBook, 'shippedAt'>): string | undefined {
  if (shippedAt === undefined) return undefined;
  return `There is no ${settings.rules.value} here, so the rule book that ships with capture-gateway is used, for the property-capture API (${shippedAt}). Name your own with --rules (GATEWAY_RULES).`;
}
