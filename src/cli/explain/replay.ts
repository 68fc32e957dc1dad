import { stdout } from 'node:process';
import type { ExplainRequest } from '../../inspector/api.ts';
import type { NamedRequest } from '../../inspector/explain/curl-command.ts';
import { isExplainRequest } from '../../inspector/explain/explain.ts';
import type { RuleBook } from '../../rules/rule-book.ts';
import { differences, type Outcome, outcomeOf } from '../../inspector/explain/try-rules.ts';
import { readText } from '../../node/files.ts';
import { jsonText, terminalText } from '../../report/text.ts';
import { count, counted } from '../../rules/words.ts';
import {
  type CommandFault,
  FAILURE,
  isFault,
  openRuleBook,
  unreadable,
  writeOutput,
} from '../command-fault.ts';
import { terminalOf, wrapLines } from '../terminal.ts';
import { offlineExplainer, readRecordedRequests, type RecordingSource, takeRead } from './requests.ts';

export interface RecordOptions extends RecordingSource {
  readonly out: string;
  readonly format: 'text' | 'json';
  readonly rules: string;
}

export interface CheckOptions {
  readonly rules: string;
  readonly update?: true;
  readonly format: 'text' | 'json';
}

/** Writes requests with their current outcome to a fixture. */
export async function recordRequests(options: RecordOptions): Promise<CommandFault | undefined> {
  const book = await openRuleBook(options.rules);
  if (isFault(book)) return book;
  const read = await readRecordedRequests(options, book);
  if (isFault(read)) return read;
  const recordings = new Map<
    string,
    { name: string; count: number; request: NamedRequest['request']; outcome: Outcome }
  >();
  const explainRequest = offlineExplainer(book.rules);
  let all = 0;
  for (const { name, request, count: times = 1 } of takeRead(read)) {
    all += times;
    const outcome = await outcomeNow(request, explainRequest, book.rules.ruleBook);
    if (outcome === undefined) continue;
    const key = JSON.stringify(request);
    const known = recordings.get(key);
    if (known === undefined) recordings.set(key, { name, count: times, request, outcome });
    else known.count += times;
  }
  const unwritten = writeOutput(options.out, printFixture([...recordings.values()]));
  if (unwritten !== undefined) return unwritten;
  stdout.write(
    options.format === 'json'
      ? `${jsonText({ requests: all, different: recordings.size, out: options.out })}\n`
      : `Recorded ${counted(all, 'request')}, ${count(recordings.size)} distinct, in ${options.out}.\n`,
  );
  return undefined;
}

/** Prints the requests of a fixture whose outcome has changed. */
export async function checkFixture(
  fixture: string,
  { rules, update, format }: CheckOptions,
): Promise<CommandFault | undefined> {
  const book = await openRuleBook(rules);
  if (isFault(book)) return book;
  const recordings = readFixture(fixture);
  if (isFault(recordings)) return recordings;
  const explainRequest = offlineExplainer(book.rules);
  const places = new Map<string, { requests: number; readonly example: string }>();
  let [all, changed] = [0, 0];
  const updated: Recording[] = [];
  for (const recording of recordings) {
    all += recording.count;
    const outcome =
      (await outcomeNow(recording.request, explainRequest, book.rules.ruleBook)) ?? recording.outcome;
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
  stdout.write(
    `${format === 'json' ? summaryJson(all, changed, places) : wrapLines(summary(all, changed, places), terminalOf(stdout).columns)}\n`,
  );
  if (update === true) return writeOutput(fixture, printFixture(updated));
  if (changed > 0) process.exitCode = FAILURE;
  return undefined;
}

function summaryJson(
  requests: number,
  changed: number,
  places: ReadonlyMap<string, { requests: number; readonly example: string }>,
): string {
  const list = [...places].map(([place, { requests: count, example }]) => ({
    place,
    requests: count,
    example,
  }));
  return jsonText({ requests, changed, places: list }, 2);
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
      const where = place.startsWith('/') || place.startsWith('the ') ? `at ${place}` : `in ${place}`;
      return `${count(requests)} of ${counted(all, 'request')} ${verb(requests)} ${where}, such as ${example}`;
    });
  return [`${count(changed)} of ${counted(all, 'request')} ${verb(changed)}.`, ...lines].join('\n');
}

function verb(requests: number): string {
  return requests === 1 ? 'changes' : 'change';
}

async function outcomeNow(
  request: NamedRequest['request'],
  explainRequest: ReturnType<typeof offlineExplainer>,
  ruleBook: RuleBook,
): Promise<Outcome | undefined> {
  const explanation = await explainRequest(request);
  return 'fault' in explanation ? undefined : outcomeOf(explanation, ruleBook);
}

/** One line of a fixture. */
export interface Recording {
  readonly name: string;
  /** Number of similar exchanges. */
  readonly count: number;
  readonly request: ExplainRequest;
  readonly outcome: Outcome;
}

/** Prints recordings as JSON Lines. */
function printFixture(recordings: readonly Recording[]): string {
  return recordings.map((recording) => `${JSON.stringify(recording)}\n`).join('');
}

function readFixture(path: string): readonly Recording[] | CommandFault {
  try {
    const lines = readText(path).split('\n');
    const recordings: Recording[] = [];
    for (const [at, line] of lines.entries()) {
      if (line.trim() === '') continue;
      const value: unknown = JSON.parse(line);
      if (!isRecording(value))
        return {
          fault: `${path}:${at + 1} is not a recording; write the file again with replay record.`,
          isJunk: true,
        };
      recordings.push(value);
    }
    if (recordings.length > 0) return recordings;
    return { fault: `${path} has no recording: replay record writes them.`, isJunk: true };
  } catch (error) {
    return unreadable(path, error);
  }
}

function isRecording(value: unknown): value is Recording {
  if (typeof value !== 'object' || value === null || !('request' in value) || !('outcome' in value))
    return false;
  const { outcome } = value;
  return (
    isExplainRequest(value.request) &&
    'name' in value &&
    typeof value.name === 'string' &&
    'count' in value &&
    typeof value.count === 'number' &&
    typeof outcome === 'object' &&
    outcome !== null &&
    'verdict' in outcome
  );
}
