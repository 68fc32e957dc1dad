import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { clientField, printClientField } from '../../rewrite/client-key.ts';
import { printPrefix } from '../../rules/rule.ts';
import { type Change, type RuleBook, WEBHOOK_PATH } from '../../rules/rule-book.ts';
import { type LoadedRuleBook, loadRuleBook, shippedSentence } from '../../node/rule-books.ts';
import { openQuestions, printFault } from '../../rules/rule-book-fault.ts';
import { printDestination, printMatch } from '../../rules/move.ts';
import { scopeWords } from '../../rules/kinds/head-words.ts';
import { ruleBookWarnings, type Undoing, undoingOf } from '../../rules/check-rule-book.ts';
import { jsonText } from '../../report/text.ts';
import { counted } from '../../rules/words.ts';
import { readSetting, type Settings } from '../../settings/read-settings.ts';
import { settings as table } from '../../settings/settings.ts';
import { type CommandFault, FAILURE, isFault, NOT_STARTED } from '../command-fault.ts';
import type { Coverage } from '../draft/coverage.ts';
import { preflight, startFaults } from './preflight.ts';
import { givenSettings } from '../settings-file.ts';
import { terminalOf, wrapLines } from '../terminal.ts';

/** Prints all faults of settings and rule book, or else their content, and sets the exit code. */
export async function runCheck(
  flags: Readonly<Record<string, string | undefined>>,
  isJson: boolean,
  descriptions: {
    readonly v1?: string | undefined;
    readonly v2?: string | undefined;
    /** The only operations of V1 that count. */
    readonly only?: readonly string[] | undefined;
    /** True to print each place of a gap. */
    readonly isWhole?: boolean;
  } = {},
  end?: { readonly log: readonly string[]; readonly zone: string | undefined },
): Promise<CommandFault | undefined> {
  const given = await givenSettings(flags, process.env);
  const sound = await preflight(given);
  const faults =
    'faults' in sound ? sound.faults : await startFaults(sound.settings, sound.ruleBook.rules.ruleBook);
  if ('faults' in sound || faults.length > 0) {
    const rules = readSetting(table.rules, given);
    const hint = flags['config'] === undefined ? settingsHint(rules) : [];
    // The gaps between two descriptions depend on no setting but the rule book.
    const gaps = await gapsOf(descriptions, rules);
    if (isJson) process.stdout.write(`${jsonText({ faults, ...(gaps && { coverage: gaps }) }, 2)}\n`);
    else {
      process.stderr.write([...faults, ...hint].map((fault) => `${fault}\n`).join(''));
      if (gaps !== undefined)
        process.stdout.write(
          wrapLines(await coverageText(gaps, rules, descriptions), terminalOf(process.stdout).columns),
        );
    }
    process.exitCode = NOT_STARTED;
    return undefined;
  }
  const book = sound.ruleBook.rules.ruleBook;
  const shipped = shippedSentence(sound.ruleBook);
  const ofLogs = end === undefined ? [] : await warningsOfEnd(end, sound.ruleBook);
  if ('fault' in ofLogs) return ofLogs;
  const questions = openQuestions(sound.ruleBook.text, sound.rulesPath);
  const warnings = [
    ...questions.map((question) => printFault(question)),
    ...ruleBookWarnings(book, await readsOfV2(descriptions, book)),
    ...(await warningsOfV2(sound.settings, book)),
    ...ofLogs,
  ];
  const coverage = await coverageBetween(descriptions, book, sound.ruleBook.text);
  if (coverage !== undefined && isFault(coverage)) return coverage;
  // What a rule would do to an open question is not known.
  if (coverage !== undefined && coverage.gaps.length + questions.length > 0) process.exitCode = FAILURE;
  if (isJson) {
    const rules = sound.ruleBook.shippedAt ?? sound.rulesPath;
    const all = { rules, ...content(book, warnings), ...(coverage && { coverage }) };
    process.stdout.write(`${jsonText(all, 2)}\n`);
    return undefined;
  }
  const covered =
    coverage === undefined ? '' : `\n${await coverageText(coverage, sound.rulesPath, descriptions)}`;
  const outcome = outcomeWords(questions.length, coverage?.gaps.length ?? 0);
  const text = `${shipped === undefined ? sound.rulesPath : `${shipped} It`} ${outcome}\n\n${describe(book, warnings)}${covered}`;
  process.stdout.write(wrapLines(text, terminalOf(process.stdout).columns));
  return undefined;
}

type Descriptions = NonNullable<Parameters<typeof runCheck>[2]>;

/** The gaps that a valid rule book leaves between the descriptions, even if settings are missing. */
async function gapsOf(descriptions: Descriptions, rulesPath: string): Promise<Coverage | undefined> {
  const loaded = await loadRuleBook(rulesPath);
  if ('faults' in loaded) return undefined;
  const coverage = await coverageBetween(descriptions, loaded.rules.ruleBook, loaded.text);
  return coverage === undefined || isFault(coverage) ? undefined : coverage;
}

async function coverageText(
  coverage: Coverage,
  rulesPath: string,
  { isWhole }: Descriptions,
): Promise<string> {
  return (await import('../draft/coverage.ts')).printCoverage(coverage, rulesPath, isWhole);
}

/** Names the settings that `init` and `try` write beside a rule book. */
function settingsHint(rulesPath: string): readonly string[] {
  const path = join(dirname(rulesPath), 'gateway.yaml');
  return existsSync(path) ? [`${path} has settings, which were not read: give it with --config.`] : [];
}

/** The verdict on a rule book without faults, which is not called sound if it leaves something open. */
function outcomeWords(questions: number, gaps: number): string {
  const open = [
    ...(questions === 0 ? [] : [counted(questions, 'open question')]),
    ...(gaps === 0 ? [] : [`${counted(gaps, 'gap')} between the descriptions`]),
  ];
  return open.length === 0 ? 'is sound.' : `has no faults, but leaves ${open.join(' and ')}.`;
}

/** Warnings from logs about the end of V1 that the rule book declares. */
async function warningsOfEnd(
  { log, zone }: { readonly log: readonly string[]; readonly zone: string | undefined },
  { rules, shippedAt }: LoadedRuleBook,
): Promise<readonly string[] | CommandFault> {
  const { warningsOfLogs } = await import('../report/plan.ts');
  return warningsOfLogs(log, rules.ruleBook, { zone, now: Date.now(), isShipped: shippedAt !== undefined });
}

/** The gaps that the rule book leaves between two descriptions; undefined if none are given. */
async function coverageBetween(
  { v1: old, v2: young, only }: Descriptions,
  ruleBook: RuleBook,
  text: string,
): Promise<Coverage | CommandFault | undefined> {
  if (old === undefined && young === undefined && only === undefined) return undefined;
  if (old === undefined || young === undefined)
    return { fault: 'Coverage needs both descriptions: give --v1 and --v2.' };
  const { readToCompare } = await import('../draft/description-file.ts');
  const { coverageOf } = await import('../draft/coverage.ts');
  const [v1, v2] = [await readToCompare(old), await readToCompare(young)];
  if (isFault(v1)) return v1;
  if (isFault(v2)) return v2;
  if (only === undefined) return coverageOf({ ruleBook, text, v1, v2 });
  const { wantedOf } = await import('../draft/draft.ts');
  const { operationsBelow } = await import('../../openapi/description.ts');
  const isWanted = wantedOf(only, operationsBelow(v1, ruleBook.from, 'v1'));
  return typeof isWanted === 'function' ? coverageOf({ ruleBook, text, v1, v2, isWanted }) : isWanted;
}

/** The paths of the reads that V2's description has; undefined without one that can be read. */
async function readsOfV2(
  { v2: source }: Descriptions,
  { to }: RuleBook,
): Promise<readonly string[] | undefined> {
  if (source === undefined) return undefined;
  const { readToCompare } = await import('../draft/description-file.ts');
  const { operationsBelow } = await import('../../openapi/description.ts');
  const v2 = await readToCompare(source);
  if (isFault(v2)) return undefined;
  return operationsBelow(v2, to, 'v2').flatMap(({ method, rest }) => (method === 'GET' ? [rest] : []));
}

/** Warnings from V2's description about the rule book, or one about a description that cannot be read. */
async function warningsOfV2(settings: Settings, book: RuleBook): Promise<readonly string[]> {
  const source = settings.get(table.v2Openapi);
  if (source === undefined) return [];
  const [{ readDescription }, { BodySchemas }, { missingDestinations, missingLookups, unmetRules }] =
    await Promise.all([
      import('../draft/description-file.ts'),
      import('../../openapi/body-schemas.ts'),
      import('../../openapi/unmet-inverse.ts'),
    ]);
  const v2 = await readDescription(source);
  if (isFault(v2)) return [v2.fault];
  return [
    ...new BodySchemas(v2).warnings(book.operations),
    ...missingDestinations(book, v2),
    ...missingLookups(book, v2),
    ...unmetRules(book, v2),
  ];
}

/** A rule book's content for programs. */
function content(book: RuleBook, warnings: readonly string[]): object {
  return {
    faults: [],
    hash: book.hash,
    version: book.version,
    from: printPrefix(book.from),
    ...(book.alsoFrom === undefined ? {} : { alsoFrom: book.alsoFrom.map(printPrefix) }),
    to: printPrefix(book.to),
    operations: book.operations.map((operation) => {
      const { id, method, template, query, to, gone, assumed } = operation;
      const moved = {
        ...(query && { match: printMatch(operation) }),
        ...(to && { to: printDestination(to) }),
      };
      return { id, method, path: template, ...moved, ...(gone !== undefined && { gone }), assumed };
    }),
    changes: book.changes.map((change) => {
      const { id, summary, on, assumed } = change;
      const undoing = undoingOf(change);
      const inverse = undoing === undefined ? {} : { inverse: undoing.inverse };
      return { id, summary, on, assumed, rules: rulesOf(change), ...inverse };
    }),
    client: clientField(book),
    ...(book.webhooks === undefined ? {} : { webhooks: book.webhooks }),
    policies: book.policies,
    assumptions: assumptionsOf(book),
    warnings,
  };
}

function describe(book: RuleBook, warnings: readonly string[]): string {
  const width = Math.max(24, ...book.operations.map(({ id }) => id.length));
  const operations = book.operations.map((operation) => {
    const { id, method, to, gone, assumed } = operation;
    const path = printMatch(operation).slice(method.length + 1);
    const moved = to === undefined ? (gone === undefined ? '' : ' (gone)') : ` → ${printDestination(to)}`;
    return `  ${id.padEnd(width)} ${method.padEnd(6)} ${path}${moved}${assumed ? '  (assumed)' : ''}`;
  });
  const changes = book.changes.flatMap((change) => describeChange(change));
  const policies = Object.entries(book.policies).map(([name, value]) => `${name}: ${value}`);
  const assumed = assumptionsOf(book);
  return [
    `rule book ${book.hash}, leading from ${[book.from, ...(book.alsoFrom ?? [])].map(printPrefix).join(', ')} to ${printPrefix(book.to)}${book.version === undefined ? '' : `, release ${book.version}`}`,
    `clients are known by their key in ${printClientField(clientField(book))}`,
    `\noperations (${book.operations.length}; any other request gets the changes on every request, POST or PATCH)`,
    ...operations,
    `\nchanges (${book.changes.length})`,
    ...changes,
    ...describeWebhooks(book),
    `\npolicies\n  ${policies.join(', ')}`,
    `\nassumptions (${assumed.length}): neither specification nor documentation shows them; confirm them with the service`,
    assumed.length === 0 ? '  none' : `  ${assumed.join(', ')}`,
    ...(warnings.length === 0
      ? []
      : [`\nwarnings (${warnings.length})`, ...warnings.map((text) => `  ${text}`)]),
    '',
  ].join('\n');
}

function describeWebhooks({ webhooks = {} }: RuleBook): readonly string[] {
  const lines = Object.entries(webhooks).flatMap(([name, { to, as, sign }]) => [
    `  ${WEBHOOK_PATH}/${name} → ${to}`,
    `    ${as === undefined ? 'the body as V2 writes it' : `the body as responses to ${as}`}; signature verified with ${sign.verify.join(' or ')}, and made again with ${sign.with.join(' and ')}`,
  ]);
  return lines.length === 0 ? [] : [`\nwebhooks (${Object.keys(webhooks).length})`, ...lines];
}

function describeChange(change: Change): readonly string[] {
  const { id, summary, assumed } = change;
  const rules = rulesOf(change);
  const undoing = undoingOf(change);
  return [
    `  ${id}${assumed ? ' (assumed)' : ''}: ${summary}`,
    `    on ${scopeWords(change)}: ${rules.length === 0 ? 'no rules' : tallied(rules)}`,
    ...(undoing === undefined ? [] : [`    ${UNDONE[undoing.inverse]}`]),
  ];
}

/** How `check` describes a change's inverse. */
const UNDONE: Readonly<Record<Undoing['inverse'], string>> = {
  exact: 'inverse: exact',
  inexact: 'inverse: not exact, see the warnings',
  'one-way': 'one-way: responses stay as V2 has them',
};

/** Rules of one kind once, with their number. */
function tallied(rules: readonly string[]): string {
  return [...Map.groupBy(rules, (rule) => rule)]
    .map(([rule, { length }]) => (length === 1 ? rule : `${rule} (${length})`))
    .join(', ');
}

function rulesOf({
  request,
  query = [],
  headers = [],
  response,
  responseHeaders = [],
}: Change): readonly string[] {
  return [
    ...[...headers, ...responseHeaders.map(({ rule }) => rule)].map(
      ({ rule }) => `${rule === 'query' ? 'move' : rule} of headers`,
    ),
    ...query.map(({ rule }) => `${rule} of query`),
    ...[...request, ...response].map(({ rule }) => rule),
  ];
}

function assumptionsOf(book: RuleBook): readonly string[] {
  return [...book.operations, ...book.changes].filter((part) => part.assumed).map(({ id }) => id);
}
