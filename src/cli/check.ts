import type { Command } from 'commander';
import { storedRolloutFault } from '../node/rollout/open-rollout.ts';
import type { Change, RuleBook } from '../rules/rule-book.ts';
import { ruleBookWarnings } from '../rules/rule-book-warnings.ts';
import { preflight, type Preflight } from './preflight.ts';
import { addSettings, flagsOf, servedSettings } from './setting-options.ts';

/** Adds the command `check`: prints all faults of settings and rule book at once, or their content. Exit code 2 on a fault. */
export function check(program: Command): void {
  const command = program
    .command('check')
    .summary('validate settings and rule book, and list operations and changes')
    .description(
      'Validates settings and rule book without starting anything, and lists operations, changes and assumptions. Exit code 2 on an error.',
    );
  addSettings(command, servedSettings).action(async (options: Record<string, string | undefined>) => {
    const sound = await preflight(flagsOf(servedSettings, options), process.env);
    const faults = 'faults' in sound ? sound.faults : rolloutFaults(sound);
    if ('faults' in sound || faults.length > 0) {
      process.stderr.write(faults.map((fault) => `${fault}\n`).join(''));
      process.exitCode = 2;
      return;
    }
    process.stdout.write(`${sound.rulesPath} is sound.\n\n${describe(sound.ruleBook.rules.ruleBook)}`);
  });
}

function rolloutFaults({ settings, ruleBook }: Preflight): readonly string[] {
  const fault = storedRolloutFault(settings, ruleBook.rules.ruleBook);
  return fault === undefined ? [] : [fault];
}

function describe(book: RuleBook): string {
  const width = Math.max(24, ...book.operations.map(({ id }) => id.length));
  const operations = book.operations.map(({ id, method, template, assumed }) => {
    return `  ${id.padEnd(width)} ${method.padEnd(6)} ${template}${assumed ? '  (assumed)' : ''}`;
  });
  const changes = book.changes.flatMap((change) => describeChange(change));
  const policies = Object.entries(book.policies).map(([name, value]) => `${name}: ${value}`);
  const assumed = [...book.operations, ...book.changes].filter((part) => part.assumed).map(({ id }) => id);
  const warnings = ruleBookWarnings(book);
  return [
    `rule book ${book.hash}, leading to V2 ${book.version}`,
    `\noperations (${book.operations.length}; any other POST or PATCH gets the changes on every request)`,
    ...operations,
    `\nchanges (${book.changes.length})`,
    ...changes,
    `\npolicies\n  ${policies.join(', ')}`,
    `\nassumptions (${assumed.length}): neither specification nor documentation shows them; confirm them with the service`,
    assumed.length === 0 ? '  none' : `  ${assumed.join(', ')}`,
    ...(warnings.length === 0
      ? []
      : [`\nwarnings (${warnings.length})`, ...warnings.map((text) => `  ${text}`)]),
    '',
  ].join('\n');
}

function describeChange(change: Change): readonly string[] {
  const { id, summary, on, request, query = [], response, assumed } = change;
  const rules = [
    ...query.map(({ rule }) => `${rule} of query`),
    ...[...request, ...response].map(({ rule }) => rule),
  ];
  return [
    `  ${id}${assumed ? ' (assumed)' : ''}: ${summary}`,
    `    on ${on === 'every' ? 'every request' : on.join(', ')}: ${rules.length === 0 ? 'no rules' : rules.join(', ')}`,
  ];
}
