import type { HashBody } from '../migrate/judge-digests.ts';
import type { DecodeBody } from '../migrate/decode-web-body.ts';
import type { StripProposal } from '../report/census.ts';
import type { GuideSamples } from '../report/guide/guide-samples.ts';
import type { PlanOptions } from '../report/plan/plan.ts';
import type { FittedBook } from '../report/text.ts';
import { parsedJson } from '../rewrite-log/attributes.ts';
import type { KeptExchange } from '../rewrite-log/capture.ts';
import type { Entry } from '../rewrite-log/entry.ts';
import type { CompiledRuleBook } from '../rewrite/compiled-rule-book.ts';
import type { EarlierModes } from '../rollout/rollout-state.ts';
import type { RollbackRule } from '../rules/rollout.ts';
import type { RuleBook } from '../rules/rule-book.ts';
import type { KeptRequest, RequestsPage } from './api.ts';
import { type DetailParts, entryDetail } from './entries/entry-detail.ts';
import { exportEntry, type ExportParts, keptRequest, type OperatorResult } from './entries/export-entry.ts';
import { explain, type ExplainParts, isExplainRequest } from './explain/explain.ts';
import { type JudgeBody, type RulesTrialParts, tryRequest, tryRules } from './explain/try-rules.ts';
import { failureBody } from './routes/responses.ts';

/** Work whose cost grows with the bytes of clients. It contains only data, so that it can be sent to a thread. */
export type OperatorWork =
  | ExplainWork
  | DetailWork
  | ExportWork
  | RequestsWork
  | TryWork
  | PlanWork
  | GuideWork
  | HistoryWork;

/** A request to explain, as the JSON text that the operator sent. */
interface ExplainWork extends Pick<ExplainParts, 'limits' | 'gatewayOrigin' | 'origin' | 'modes' | 'names'> {
  readonly kind: 'explain';
  readonly text: string;
  readonly ruleBook: RuleBook;
}

/** An entry to show. */
interface DetailWork extends Omit<DetailParts, 'rules'> {
  readonly kind: 'entry';
  /** The rule book of the entry; undefined if it is no longer known. */
  readonly ruleBook: RuleBook | undefined;
  /** Number of other entries with the same request id. */
  readonly namesakes: number;
}

/** Another rule book, to be tried on kept exchanges. */
interface TryWork extends Omit<RulesTrialParts, 'current' | 'decode' | 'judge' | 'now'> {
  readonly kind: 'try';
  /** V2's description; undefined without one. */
  readonly description?: object | undefined;
  readonly ruleBook: RuleBook;
}

/** An entry to export. */
interface ExportWork extends ExportParts {
  readonly kind: 'export';
  readonly ruleBook: RuleBook | undefined;
}

/** The kept requests of one page. */
interface RequestsWork {
  readonly kind: 'requests';
  /** Exchanges with the rule book, newest first. */
  readonly exchanges: readonly {
    readonly seq: number;
    readonly entry: Entry;
    readonly kept: KeptExchange | undefined;
  }[];
  readonly ruleBook: RuleBook | undefined;
  readonly next: number | undefined;
}

/** A plan for the end of V1, from a log file and the rotated files beside it. */
export interface PlanWork extends Omit<PlanOptions, 'gaps' | 'avoid' | 'leadDays'> {
  readonly kind: 'plan';
  readonly logFile: string;
  /** Path and text of the rule book in force. */
  readonly ruleFile: string;
  readonly ruleText: string;
  /** The operations of the rule book, for calls that fitted none before. */
  readonly operations?: FittedBook;
  /** The command that starts this program, as a person writes it. */
  readonly program: string;
  /** Days from the deprecation to the sunset; those of the rule book, or else 90, if absent. */
  readonly lead?: number | undefined;
  /** Days without a brownout, as `plan --avoid` takes them. */
  readonly avoid?: readonly string[];
  /** IANA name. */
  readonly zone: string;
  /** A sentence that names the replica of the log; absent for a log of all replicas. */
  readonly whose?: string | undefined;
}

/** The guide of one client, from a log file and the rotated files beside it. */
export interface GuideWork {
  readonly kind: 'guide';
  readonly logFile: string;
  /** Its hash. */
  readonly client: string;
  readonly name: string | undefined;
  readonly ruleBook: RuleBook;
  /** Members that V2 does not know by the requests of all clients. */
  readonly strips: readonly StripProposal[];
  /** What this replica keeps of its exchanges. */
  readonly samples: GuideSamples;
  /** When it is made: RFC 3339. */
  readonly now: string;
}

/** The history of a log file and the rotated files beside it, up to the start of this run. */
export interface HistoryWork {
  readonly kind: 'history';
  readonly logFile: string;
  /** Milliseconds since 1970: later entries are left out. */
  readonly until: number;
  /** Milliseconds after which a client that is not seen is forgotten. */
  readonly keepMs: number;
  /** The test of canaries, by which operations are judged. */
  readonly rule: RollbackRule;
  /** The modes after each change that is known, the latest first; `at` is milliseconds since 1970. */
  readonly moves: readonly Pick<EarlierModes, 'at' | 'after'>[];
}

/** A response for an operator as bytes. */
export interface OperatorText {
  readonly status: OperatorResult['status'];
  readonly isJson: boolean;
  readonly bytes: Uint8Array;
}

export type RunInThread = (work: OperatorWork) => Promise<OperatorText>;

/** The runtime's parts for the work. */
interface WorkParts {
  readonly compiled: (ruleBook: RuleBook) => CompiledRuleBook;
  readonly decode: DecodeBody;
  readonly hash?: HashBody | undefined;
  readonly transform?: ExplainParts['transform'];
  /** Reads V2's description, by which bodies are judged; absent on platforms without one. */
  readonly judgeBy?: (description: object) => Promise<JudgeBody | undefined>;
  /** Makes plans; absent on platforms without files. */
  readonly plan?: (work: PlanWork) => Promise<OperatorResult>;
  /** Makes guides from logs; absent on platforms without files. */
  readonly guide?: (work: GuideWork) => Promise<OperatorResult>;
  /** Reads histories; absent on platforms without files. */
  readonly history?: (work: HistoryWork) => Promise<OperatorResult>;
  /** Monotonic clock, in milliseconds. */
  readonly now: () => number;
  /** Awaited before each large step. */
  readonly pause: () => Promise<void>;
}

/** Bytes of clients from which work is done in a worker thread; with fewer, it takes less than a millisecond. */
const LARGE_BYTES = 16 * 1024;

/** Bytes of the body for warming up: enough for the engine to compile the code, and explained in a moment. */
const BODY_BYTES = 256 * 1024;

/** True if work is large enough for a thread. */
export function isLargeWork(work: OperatorWork): boolean {
  // A transform may take long; in a thread, it delays no client.
  if (work.kind === 'plan' || work.kind === 'guide' || work.kind === 'history' || work.kind === 'try')
    return true;
  if (work.ruleBook?.modules !== undefined) return true;
  if (work.kind === 'requests') return work.exchanges.some((one) => keptBytes(one) > 0);
  return (work.kind === 'explain' ? work.text.length : keptBytes(work)) >= LARGE_BYTES;
}

export async function doOperatorWork(work: OperatorWork, parts: WorkParts): Promise<OperatorResult> {
  if (work.kind === 'entry') {
    const { kind: _, ruleBook, namesakes, ...entry } = work;
    const rules = ruleBook && parts.compiled(ruleBook);
    const detail = await entryDetail({ ...entry, rules }, parts.pause);
    return { status: 200, value: namesakes > 0 ? { ...detail, namesakes } : detail };
  }
  if (work.kind === 'try') {
    const { kind: _, ruleBook, description, ...run } = work;
    const { decode, now } = parts;
    const judge = description && (await parts.judgeBy?.(description));
    const current = parts.compiled(ruleBook);
    return { status: 200, value: await tryRules({ ...run, current, decode, judge, now }, parts.pause) };
  }
  if (work.kind === 'requests') return { status: 200, value: await keptRequests(work, parts) };
  if (work.kind === 'plan') {
    if (parts.plan === undefined) throw new Error('there is no log to plan from');
    return parts.plan(work);
  }
  if (work.kind === 'guide') {
    if (parts.guide === undefined) throw new Error('there is no log to read');
    return parts.guide(work);
  }
  if (work.kind === 'history') {
    if (parts.history === undefined) throw new Error('there is no log to read');
    return parts.history(work);
  }
  if (work.kind === 'export') {
    const { ruleBook } = work;
    return exportEntry(work, ruleBook && parts.compiled(ruleBook));
  }
  const request = parsedJson(work.text);
  if (!isExplainRequest(request)) {
    const detail = 'Send {"operation" or "method" and "target", "headers": [[name, value]], "body": text}.';
    return { status: 400, value: failureBody(400, 'bad-request', detail) };
  }
  const { limits, gatewayOrigin, origin, modes, names, ruleBook } = work;
  const rules = parts.compiled(ruleBook);
  const explainParts = {
    rules,
    limits,
    decode: parts.decode,
    hash: parts.hash,
    transform: parts.transform,
    gatewayOrigin,
    origin,
    modes,
    names,
  };
  const explanation =
    request.rules === undefined
      ? await explain(request, explainParts)
      : await tryRequest(request, request.rules, explainParts);
  if ('fault' in explanation)
    return { status: 422, value: failureBody(422, 'not-explained', explanation.fault) };
  return { status: 200, value: explanation };
}

async function keptRequests(
  { exchanges, ruleBook, next }: RequestsWork,
  { compiled, pause }: WorkParts,
): Promise<RequestsPage> {
  const rules = ruleBook && compiled(ruleBook);
  const requests: KeptRequest[] = [];
  for (const { seq, entry, kept } of exchanges) {
    if (keptBytes({ kept }) >= LARGE_BYTES) await pause();
    const name = entry.operation ?? `${kept?.v1Request.method ?? entry.method} ${entry.path}`;
    requests.push({ seq, name, ...keptRequest(entry, kept, rules) });
  }
  const book = exchanges[0]?.entry.ruleBook;
  return {
    ...(book === undefined ? {} : { ruleBook: book }),
    requests,
    ...(next === undefined ? {} : { next }),
  };
}

export function keptBytes({ kept }: { readonly kept?: KeptExchange | undefined }): number {
  if (kept === undefined) return 0;
  const bodies = [kept.v1Request.body, kept.v2Response?.body, kept.clientResponse?.body];
  return bodies.reduce((sum, body) => sum + (body?.bytes?.length ?? 0), 0);
}

/** Work that makes a thread load and compile its code before an operator opens the first large body; its result is discarded. */
export function warmUpWork(parts: Omit<ExplainWork, 'kind' | 'text'>): ExplainWork {
  const photo = { id: 1, url: 'https://photos.invalid/', tags: ['a', 'b'], isCover: false, caption: null };
  const photos = Array.from({ length: BODY_BYTES / JSON.stringify(photo).length }, () => photo);
  const body = JSON.stringify({ data: { photos, name: 'none' } });
  const headers = [['Content-Type', 'application/json']];
  const text = JSON.stringify({ method: 'POST', target: `${parts.ruleBook.from}/warm-up`, headers, body });
  return { kind: 'explain', text, ...parts };
}
