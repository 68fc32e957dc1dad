import { generalPointer } from '../../json/pointer.ts';
import { drive, ResponseMigration } from '../../migrate/migration.ts';
import type { KeptExchange } from '../../rewrite-log/capture.ts';
import { isNotice } from '../../rewrite-log/answers.ts';
import type { Entry } from '../../rewrite-log/entry.ts';
import { CompiledRuleBook } from '../../rewrite/compiled-rule-book.ts';
import type { BodyCheck } from '../../rollout/body-checks.ts';
import { isTransformed, type RuleBook, versionHeader } from '../../rules/rule-book.ts';
import type { ExplainRequest, Explanation, RefusedRules, TrialDifference, TrialOutcome } from '../api.ts';
import { layOutJson, NO_LIMITS, SHOWN_LIMITS } from '../diff/json-layout.ts';
import { unifiedDiff } from '../../report/line-diff.ts';
import { bodyBytes, bodyOfBytes } from '../entries/curl.ts';
import { entryName } from '../entries/entry-words.ts';
import { explain, type ExplainFault, type ExplainParts, LEFT_AS_IT_IS } from './explain.ts';

/** A kept exchange on which a rule book is tried. */
export interface TriedExchange {
  readonly seq: number;
  readonly entry: Entry;
  readonly kept: KeptExchange;
}

/** A trial of another rule book on kept exchanges, in comparison to the one in force. */
export interface RulesTrialParts extends Pick<
  ExplainParts,
  'limits' | 'gatewayOrigin' | 'origin' | 'decode'
> {
  readonly text: string;
  readonly current: CompiledRuleBook;
  readonly currentText: string;
  /** Newest first. */
  readonly exchanges: readonly TriedExchange[];
  /** True if older ones are kept, but not tried. */
  readonly isCut?: boolean | undefined;
  /** Judges the bodies of changed requests; undefined without a description of V2. */
  readonly judge?: JudgeBody | undefined;
  /** Monotonic clock, in milliseconds. */
  readonly now: () => number;
}

/** The verdict of V2's schema on a body for a path below V2's prefix. */
export type JudgeBody = (
  method: string,
  path: string,
  body: Uint8Array,
  request: {
    readonly operations: RuleBook['operations'];
    readonly operation: RuleBook['operations'][number] | undefined;
    readonly mediaType: string | undefined;
  },
) => BodyCheck['v2'];

/** Maximum kept exchanges for a trial, and their bytes. */
const MAX_TRIED = 500;
const MAX_TRIED_BYTES = 8 * 1024 * 1024;

/** Chooses the newest exchanges of each operation, because a busy one would fill a trial alone; `choices` begin with the newest. */
export function chosenExchanges(
  choices: readonly TriedExchange[],
): Pick<RulesTrialParts, 'exchanges' | 'isCut'> {
  const times = new Map<string, number>();
  const ranked = choices.map((exchange) => {
    const name = entryName(exchange.entry);
    const rank = times.get(name) ?? 0;
    times.set(name, rank + 1);
    return { exchange, rank };
  });
  const chosen: TriedExchange[] = [];
  let bytes = 0;
  for (const { exchange } of ranked.toSorted((one, other) => one.rank - other.rank)) {
    const { v1Request, v2Response } = exchange.kept;
    bytes += (v1Request.body.bytes?.length ?? 0) + (v2Response?.body.bytes?.length ?? 0);
    if (bytes > MAX_TRIED_BYTES || chosen.length === MAX_TRIED) break;
    chosen.push(exchange);
  }
  return {
    exchanges: chosen.sort((one, other) => other.seq - one.seq),
    ...(chosen.length < choices.length ? { isCut: true } : {}),
  };
}

/** Milliseconds after which no further exchange is tried, and maximum differing exchanges that are listed. */
const MAX_MS = 5000;
const MAX_LISTED = 50;

/** Maximum characters of a body that are shown. */
const MAX_SHOWN = 4000;

/** The file name in the patch and the faults, instead of the real path of the rule book. */
const FILE = 'rules.yaml';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Fields that describe a body as transferred, while the kept one is decoded and whole. */
const OMITTED: ReadonlySet<string> = new Set(['content-length', 'content-encoding', 'transfer-encoding']);

/**
 * Tries a rule book on kept exchanges, by the decision and the plans of live traffic, and reports which of them it would handle
 * differently from the one in force, and how. Nothing is sent or put into force; `pause` is awaited between exchanges.
 */
export async function tryRules(parts: RulesTrialParts, pause: () => Promise<void>): Promise<TrialOutcome> {
  const { text, current, currentText, exchanges } = parts;
  const against = current.ruleBook.hash;
  const next = await readTried(text);
  if ('faults' in next) return { against, ...next };
  const end = parts.now() + MAX_MS;
  const listed: TrialDifference[] = [];
  const schema = { judged: 0, accepted: 0, acceptedBefore: 0 };
  let [tried, responses, withoutValues, differing] = [0, 0, 0, 0];
  const untried = { onPurpose: 0, withoutBody: 0, unread: 0, outOfTime: 0 };
  for (const [at, exchange] of exchanges.entries()) {
    if (parts.now() > end) {
      untried.outOfTime = exchanges.length - at;
      break;
    }
    if (isNotice(exchange.entry.failure)) {
      untried.onPurpose += 1;
      continue;
    }
    const outcome = await tryOne(exchange, next, parts);
    await pause();
    if (outcome === undefined) {
      untried[exchange.kept.v1Request.body.state === 'withheld' ? 'withoutBody' : 'unread'] += 1;
      continue;
    }
    tried += 1;
    if (outcome.hasResponse) responses += 1;
    if (exchange.kept.v1Request.body.state === 'structure') withoutValues += 1;
    const { difference } = outcome;
    if (difference.request.length + difference.response.length === 0) continue;
    differing += 1;
    if (listed.length < MAX_LISTED) listed.push(difference);
    // A placeholder may be of another type than V2 asks for.
    if (parts.judge === undefined || difference.request.length === 0) continue;
    if (exchange.kept.v1Request.body.state !== 'values') continue;
    const verdict = verdictOf(outcome.now, next.ruleBook, parts.judge);
    if (verdict === 'unknown') continue;
    schema.judged += 1;
    if (verdict === 'valid') schema.accepted += 1;
    if (verdictOf(outcome.before, current.ruleBook, parts.judge) === 'valid') schema.acceptedBefore += 1;
  }
  const patch = unifiedDiff(FILE, currentText, text);
  const { hash } = next.ruleBook;
  return {
    against,
    faults: [],
    result: {
      hash,
      patch,
      kept: exchanges.length,
      ...(parts.isCut === true ? { isCut: true } : {}),
      tried,
      untried,
      responses,
      withoutValues,
      differing,
      ...(schema.judged === 0 ? {} : { schema }),
      exchanges: listed,
    },
  };
}

/**
 * Explains a request by the rule book in this text, and lists the differences from the one in force. Current live traffic does not affect
 * the result.
 */
export async function tryRequest(
  request: ExplainRequest,
  text: string,
  parts: ExplainParts,
): Promise<Explanation | ExplainFault | RefusedRules> {
  const next = await readTried(text);
  if ('faults' in next) return next;
  const [now, before] = [await explain(request, { ...parts, rules: next }), await explain(request, parts)];
  if ('fault' in now) return now;
  const { live: _, ...explanation } = now;
  return {
    ...explanation,
    edited:
      'fault' in before
        ? [before.fault]
        : differences(outcomeOf(before, parts.rules.ruleBook), outcomeOf(now, next.ruleBook)),
  };
}

async function readTried(text: string): Promise<CompiledRuleBook | RefusedRules> {
  const { readRuleBook } = await import('../../rules/read-rule-book.ts');
  const reading = await readRuleBook(text, FILE);
  return reading.ok
    ? new CompiledRuleBook(reading.ruleBook)
    : { faults: reading.faults.map(({ line, column, message }) => ({ line, column, message })) };
}

/** The verdict of V2's schema on the body that V2 would receive; unknown without one, or where a module makes another body of it. */
function verdictOf(
  { v2Request, v2Body, operation: id }: Explanation,
  ruleBook: RuleBook,
  judge: JudgeBody,
): BodyCheck['v2'] {
  const operation = operationOf(ruleBook, id);
  if (v2Request === undefined || v2Body === undefined || v2Body === '') return 'unknown';
  if (operation !== undefined && isTransformed(ruleBook, operation, 'request')) return 'unknown';
  const { method, target, headers } = v2Request;
  const [path = ''] = target.slice(ruleBook.to.length).split('?', 1);
  const mediaType = headers.find(({ name }) => name.toLowerCase() === 'content-type')?.value;
  return judge(method, path, encoder.encode(v2Body), {
    operations: ruleBook.operations,
    operation,
    mediaType,
  });
}

interface Tried {
  readonly before: Explanation;
  readonly now: Explanation;
  readonly difference: TrialDifference;
  readonly hasResponse: boolean;
}

async function tryOne(
  { seq, entry, kept }: TriedExchange,
  next: CompiledRuleBook,
  parts: RulesTrialParts,
): Promise<Tried | undefined> {
  const { method, target, headers, body } = kept.v1Request;
  const bytes = bodyBytes(body);
  if (bytes === undefined && body.state === 'withheld') return undefined;
  const request = {
    method,
    target: target.replaceAll('…', ''),
    headers: headers
      .filter(({ name, masked }) => !masked && !name.startsWith(':') && !OMITTED.has(name.toLowerCase()))
      .map(({ name, value }) => [name, value] as const),
    ...(bytes === undefined ? {} : bodyOfBytes(bytes)),
  };
  const explained = async (rules: CompiledRuleBook): Promise<Explanation | undefined> => {
    const explanation = await explain(request, { ...parts, rules });
    return 'fault' in explanation ? undefined : explanation;
  };
  const [before, now] = [await explained(parts.current), await explained(next)];
  if (before === undefined || now === undefined) return undefined;
  const responses = [
    await responseOf(kept, entry, before, parts.current),
    await responseOf(kept, entry, now, next),
  ] as const;
  const [oldResponse, newResponse] = responses;
  const hasResponse = oldResponse !== undefined && newResponse !== undefined;
  return {
    before,
    now,
    hasResponse,
    difference: {
      seq,
      requestId: entry.requestId,
      time: entry.time,
      name: entryName(entry),
      request: differences(outcomeOf(before, parts.current.ruleBook), outcomeOf(now, next.ruleBook)),
      response: hasResponse ? bodyDifferences(oldResponse, newResponse) : [],
      before: shortened(before.v2Body ?? ''),
      now: shortened(now.v2Body ?? ''),
    },
  };
}

/** The body that the client would get for V2's kept response; undefined if there is no response, or if its content is not kept. */
async function responseOf(
  { v1Request, v2Response }: KeptExchange,
  { origin }: Entry,
  { edits, operation }: Explanation,
  rules: CompiledRuleBook,
): Promise<string | undefined> {
  const bytes = origin === undefined && v2Response !== undefined ? bodyBytes(v2Response.body) : undefined;
  if (bytes === undefined || v2Response === undefined) return undefined;
  const { status } = v2Response;
  const headers = v2Response.headers.flatMap(({ name, value }) => [name, value]);
  const { method } = v1Request;
  const facts = { method, rest: '', operation: operationOf(rules.ruleBook, operation) };
  const migration = new ResponseMigration(rules, { facts, edits, query: '', links: undefined }, status);
  migration.begin(headers);
  const end = await drive(migration, migration.finish(bytes), () => LEFT_AS_IT_IS);
  return decoder.decode(end.verdict === 'refused' ? bytes : end.body);
}

function operationOf(
  { operations }: RuleBook,
  id: string | undefined,
): RuleBook['operations'][number] | undefined {
  return operations.find((operation) => operation.id === id);
}

function shortened(body: string): string {
  const text = layOutJson(encoder.encode(body), SHOWN_LIMITS)?.text ?? body;
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}…`;
}

/** The parts of a request's outcome that a change of rules can affect. */
export interface Outcome {
  readonly verdict: Explanation['verdict'];
  readonly operation?: string;
  /** Code and pointer of a refusal. */
  readonly refusal?: string;
  readonly target?: string;
  readonly version?: string;
  readonly body?: string;
}

/** Extracts the outcome from an explanation. */
export function outcomeOf(
  { verdict, operation, refusal, v2Request, v2Body }: Explanation,
  ruleBook: Pick<RuleBook, 'version' | 'versionField'>,
): Outcome {
  const header = versionHeader(ruleBook);
  const version = v2Request?.headers.find(({ name }) => name.toLowerCase() === header)?.value;
  return {
    verdict,
    ...(operation === undefined ? {} : { operation }),
    ...(refusal === undefined
      ? {}
      : { refusal: `${refusal.code}${refusal.pointer === undefined ? '' : ` at ${refusal.pointer}`}` }),
    ...(v2Request === undefined ? {} : { target: v2Request.target }),
    ...(version === undefined ? {} : { version }),
    ...(v2Body === undefined ? {} : { body: v2Body }),
  };
}

/**
 * Returns the differences between two outcomes: pointers into the V2 body, elements as `*`, or words such as `verdict: rewritten,
 * now refused`.
 */
export function differences(before: Outcome, now: Outcome): readonly string[] {
  if (before.verdict === 'refused' || now.verdict === 'refused') {
    const [was, is] = [wordsOf(before), wordsOf(now)];
    return was === is ? [] : [`verdict: ${was}, now ${is}`];
  }
  const places = bodyDifferences(before.body ?? '', now.body ?? '');
  if (before.operation !== now.operation)
    places.push(`operation: ${before.operation ?? 'none'}, now ${now.operation ?? 'none'}`);
  if (before.target !== now.target) places.push('path');
  if (before.version !== now.version)
    places.push(`x-api-version: ${before.version ?? 'none'}, now ${now.version ?? 'none'}`);
  return places;
}

function wordsOf({ verdict, refusal }: Outcome): string {
  return refusal === undefined ? verdict : `${verdict} (${refusal})`;
}

/** The places at which two bodies differ, as pointers; elements as `*`. */
function bodyDifferences(before: string, now: string): string[] {
  if (before === now) return [];
  const [old, young] = [scalars(before), scalars(now)];
  if (old === undefined || young === undefined) return ['the body'];
  const changed = new Set<string>();
  for (const [pointer, value] of old) if (young.get(pointer) !== value) changed.add(topmost(pointer, young));
  for (const [pointer, value] of young) if (old.get(pointer) !== value) changed.add(topmost(pointer, old));
  return changed.size === 0
    ? ['the spelling of the body']
    : [...new Set([...changed].map((pointer) => generalPointer(pointer)))];
}

/** The texts of all scalar values by pointer; a container has only its kind. */
function scalars(body: string): ReadonlyMap<string, string> | undefined {
  const layout = layOutJson(new TextEncoder().encode(body), NO_LIMITS);
  if (layout === undefined) return undefined;
  return new Map(
    [...layout.places].map(([pointer, places]) => [
      pointer,
      places
        .map(
          ({ value }) =>
            /^[{[]/.exec(layout.text.slice(value.start, value.start + 1))?.[0] ??
            layout.text.slice(value.start, value.end),
        )
        .join(' '),
    ]),
  );
}

/** The topmost ancestor pointer that is absent from the other body, so that a whole new object is one difference. */
function topmost(pointer: string, other: ReadonlyMap<string, string>): string {
  let top = pointer;
  while (top !== '') {
    const above = top.slice(0, top.lastIndexOf('/'));
    if (other.has(above)) return top;
    top = above;
  }
  return pointer;
}
