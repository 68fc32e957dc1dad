import { writeFileSync } from 'node:fs';
import { stdout } from 'node:process';
import type { Command } from 'commander';
import { loadRuleBook } from '../node/rule-book-file.ts';
import { count, counted } from '../report/number-text.ts';
import { terminalText } from '../report/untrusted-text.ts';
import { readRecordedRequests, type RecordingSource } from './recorded-requests.ts';
import { printFixture, readFixture, type Recording } from './replay-fixture.ts';
import { differences, type Outcome, outcomeOf } from '../inspector/explained-outcome.ts';
import { offlineExplainer } from './offline-explainer.ts';
import type { NamedRequest } from './request-files.ts';

interface RecordOptions extends RecordingSource {
  readonly out: string;
  readonly rules: string;
}

interface CheckOptions {
  readonly rules: string;
  readonly update?: true;
}

/** Adds the command `replay`: records requests in a fixture, and checks a changed rule book against it. */
export function replay(program: Command): void {
  const rules = process.env['GATEWAY_RULES'] ?? 'config/rules.yaml';
  const command = program.command('replay').summary('compare a changed rule book with recorded requests');
  command
    .command('record')
    .description('Records requests with their current outcome in a fixture, one JSON line each.')
    .requiredOption('--out <file>', 'fixture to write')
    .option('--har <file>', 'record the requests of a HAR file')
    .option('--postman <file>', 'record the requests of a Postman collection')
    .option('--log <file>', 'record requests reconstructed from a rewrite log, without values')
    .option(
      '--admin <url>',
      'record the requests captured by a running gateway; its token is read from GATEWAY_ADMIN_TOKEN',
    )
    .option('--rules <file>', 'rule book', rules)
    .action(async (options: RecordOptions) => fail(await record(options)));
  command
    .command('check')
    .description(
      'Lists the requests of a fixture whose outcome changes under the current rule book. Exit code 1 if there are any.',
    )
    .argument('<fixture>', 'fixture that `replay record` wrote')
    .option('--rules <file>', 'rule book', rules)
    .option('--update', 'write the current outcomes to the fixture')
    .action(async (fixture: string, options: CheckOptions) => fail(await check(fixture, options)));
}

function fail(fault: string | undefined): void {
  if (fault === undefined) return;
  process.stderr.write(`${fault}\n`);
  process.exitCode = 2;
}

async function record(options: RecordOptions): Promise<string | undefined> {
  const book = await loadRuleBook(options.rules);
  if ('faults' in book) return book.faults.join('\n');
  const requests = await readRecordedRequests(options);
  if ('fault' in requests) return requests.fault;
  const recordings = new Map<
    string,
    { name: string; count: number; request: NamedRequest['request']; outcome: Outcome }
  >();
  const explainRequest = offlineExplainer(book.rules);
  let all = 0;
  for (const { name, request, count: times = 1 } of requests) {
    all += times;
    const outcome = await outcomeNow(request, explainRequest);
    if (outcome === undefined) continue;
    const key = JSON.stringify(request);
    const known = recordings.get(key);
    if (known === undefined) recordings.set(key, { name, count: times, request, outcome });
    else known.count += times;
  }
  writeFileSync(options.out, printFixture([...recordings.values()]));
  stdout.write(
    `Recorded ${counted(all, 'request')}, ${count(recordings.size)} different, in ${options.out}.\n`,
  );
  return undefined;
}

async function check(fixture: string, { rules, update }: CheckOptions): Promise<string | undefined> {
  const book = await loadRuleBook(rules);
  if ('faults' in book) return book.faults.join('\n');
  const recordings = readFixture(fixture);
  if (typeof recordings === 'string') return recordings;
  const explainRequest = offlineExplainer(book.rules);
  const places = new Map<string, { requests: number; readonly example: string }>();
  let [all, changed] = [0, 0];
  const updated: Recording[] = [];
  for (const recording of recordings) {
    all += recording.count;
    const outcome = (await outcomeNow(recording.request, explainRequest)) ?? recording.outcome;
    const found = differences(recording.outcome, outcome);
    if (found.length > 0) changed += recording.count;
    for (const place of found) {
      const known = places.get(place) ?? { requests: 0, example: recording.name };
      known.requests += recording.count;
      places.set(place, known);
    }
    const { name, count: times, request } = recording;
    updated.push({ name, count: times, request, outcome });
  }
  stdout.write(`${summary(all, changed, places)}\n`);
  if (update === true) writeFileSync(fixture, printFixture(updated));
  else if (changed > 0) process.exitCode = 1;
  return undefined;
}

function summary(
  all: number,
  changed: number,
  places: ReadonlyMap<string, { requests: number; readonly example: string }>,
): string {
  if (changed === 0) return `${counted(all, 'request')}; none changes.`;
  const lines = [...places]
    .sort(([, one], [, other]) => other.requests - one.requests)
    .map(([name, { requests, example: first }]) => {
      const [place, example] = [terminalText(name), terminalText(first)];
      const where =
        place.startsWith('/') || place.startsWith('the ') ? `change at ${place}` : `change in ${place}`;
      return `${count(requests)} of ${counted(all, 'request')} ${where}, such as ${example}`;
    });
  return [`${count(changed)} of ${counted(all, 'request')} change.`, ...lines].join('\n');
}

async function outcomeNow(
  request: NamedRequest['request'],
  explainRequest: ReturnType<typeof offlineExplainer>,
): Promise<Outcome | undefined> {
  const explanation = await explainRequest(request);
  return 'fault' in explanation ? undefined : outcomeOf(explanation);
}
