import { devNull } from 'node:os';
import { styleText } from 'node:util';
import type { Command } from 'commander';
import type { CompiledRuleBook } from '../rewrite/compiled-rule-book.ts';
import { allSettings } from '../settings/settings.ts';
import { liveUntilSignal } from './life-cycle.ts';
import type { EditRecord } from '../rewrite/rewrite.ts';
import { DEMO_REQUESTS, type DemoRequest } from './demo-requests.ts';
import { refuseStart, stderrLog } from './process-log.ts';
import { startServing } from './serving.ts';
import { addSettings, flagsOf } from './setting-options.ts';

/** Settings that do not apply to the demo, which always serves the embedded V2. */
const EXCLUDED_SETTINGS: ReadonlySet<string> = new Set(['upstream', 'reference-listen']);

/**
 * Adds the command `demo`: sends one V1 request for each operation, prints each result with its reasons, and then keeps serving.
 */
export function demo(program: Command): void {
  const settings = allSettings.filter(({ name }) => !EXCLUDED_SETTINGS.has(name));
  const command = program
    .command('demo')
    .summary('send one V1 request for each operation and show the edits')
    .description(
      'Starts the gateway with the embedded V2, sends one V1 request for each of the seven operations, prints request, result and reasons, and keeps serving. The rewrite log is written to --log-file if given, and otherwise discarded.',
    );
  addSettings(command, settings).action(async (options: Record<string, string | undefined>) => {
    const flags = { 'log-file': devNull, ...definedOnly(flagsOf(settings, options)) };
    const { GATEWAY_UPSTREAM: _, ...environment } = process.env;
    const log = stderrLog({ flags, environment });
    const started = await startServing(flags, environment, log);
    if ('faults' in started) {
      await refuseStart(log, started.faults);
      return;
    }
    await play(started.running.origin, started.ruleBooks.current);
    process.stdout.write(
      `${styleText('bold', 'Still serving')} on ${started.running.origin}; these requests are on ${started.running.adminOrigin}. Stop with Ctrl-C.\n`,
    );
    process.exit(await liveUntilSignal(started.life));
  });
}

function definedOnly(flags: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(flags).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

async function play(origin: string, rules: CompiledRuleBook): Promise<void> {
  let property = '1';
  for (const request of DEMO_REQUESTS) {
    const path = request.path.replace('{property}', property);
    const response = await fetch(`${origin}/api/v1${path}`, {
      method: request.method,
      headers: { authorization: 'Bearer demo', 'content-type': 'application/json' },
      body: request.body,
    });
    const text = await response.text();
    property = /"property_id":(\d+)/.exec(text)?.[1] ?? property;
    process.stdout.write(`${describe(request, path, rules)}${describeResponse(response.status, text)}\n`);
  }
}

function describe(request: DemoRequest, path: string, rules: CompiledRuleBook): string {
  const { ruleBook } = rules;
  const rewrite = rules
    .requestPlan(rules.match(request.method, path))
    .rewrite(new TextEncoder().encode(request.body));
  const lines = [
    styleText('bold', request.operation),
    `  V1  ${styleText('red', `${request.method} /api/v1${path}`)}`,
    indent(request.body),
  ];
  if (rewrite.verdict === 'refused') return [...lines, `  refused: ${rewrite.refusal.detail}`, ''].join('\n');
  const reasons = new Map(ruleBook.changes.map((change) => [change.id, change.summary]));
  return [
    ...lines,
    `  V2  ${styleText('green', `${request.method} /api/v2${path}`)}  ${styleText('dim', `x-api-version: ${ruleBook.version}`)}`,
    indent(new TextDecoder().decode(rewrite.body)),
    ...rewrite.records.map((record, k) => describeRecord(record, rewrite.records[k - 1], reasons)),
    '',
  ].join('\n');
}

function describeRecord(
  { change, rule, from, path, note }: EditRecord,
  before: EditRecord | undefined,
  reasons: ReadonlyMap<string, string>,
): string {
  const where = [from, path]
    .filter((pointer) => pointer !== undefined)
    .map((pointer) => pointer || '(the body)');
  const reason = before?.change === change && before.rule === rule ? '' : (reasons.get(change) ?? change);
  const why = `${reason}${note === undefined ? '' : ` (${note})`}`;
  return `  ${styleText('yellow', rule.padEnd(7))} ${where.join(' → ')}  ${styleText('dim', why)}`;
}

function describeResponse(status: number, text: string): string {
  return `  ${styleText(status < 300 ? 'green' : 'red', `response ${status}`)} ${styleText('dim', text.trim())}\n`;
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '      ');
}
