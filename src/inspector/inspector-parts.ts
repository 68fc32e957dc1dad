import type { FleetTotals } from '../report/fleet/fleet-totals.ts';
import type { LogGap } from '../report/log-gaps.ts';
import type { ReportTotals } from '../report/report-totals.ts';
import type { Entry } from '../rewrite-log/entry.ts';
import type { GatewayStats } from '../rewrite-log/metric-families.ts';
import type { CompiledRuleBook } from '../rewrite/compiled-rule-book.ts';
import { isTransformed, type Operation } from '../rules/rule-book.ts';
import type { PageFile } from './api.ts';
import type { DraftDesk } from './draft-desk.ts';
import type { ExplainParts } from './explain/explain.ts';
import type { GuardOptions } from './guard.ts';
import type { LogHistory } from './log-history.ts';
import type { OperatorView } from './operator-view.ts';
import {
  doOperatorWork,
  isLargeWork,
  type OperatorWork,
  type GuideWork,
  type PlanWork,
  type RunInThread,
} from './operator-work.ts';
import type { OperationRollBack } from './roll-back.ts';
import type { RolloutAdmin } from './rollout-admin.ts';
import { jsonResponse, pause } from './routes/responses.ts';
import { Guide } from '../report/guide/guide.ts';
import { type GuideSamples, type ResponseNames, SampleReader } from '../report/guide/guide-samples.ts';
import {
  makeOwnReport,
  type OwnReportOutcome,
  type OwnReportType,
  printOwnReport,
} from '../report/own-report.ts';
import type { ClientNames } from '../rewrite-log/filter.ts';
import { jsonText } from '../report/text.ts';

/** The data and functions behind the inspector's routes. */
export interface InspectorParts extends GuardOptions {
  readonly view: OperatorView;
  /** Counts for the report and the rule book, of this gateway or of all replicas. */
  readonly totals: ReportTotals;
  /** The other replicas that share a store; absent without one. */
  readonly fleet?: Pick<FleetTotals, 'heard' | 'silent'> | undefined;
  /** Periods in which this gateway's counts are incomplete or wrong, in addition to those in `totals`. */
  readonly gaps?: (() => readonly LogGap[]) | undefined;
  /** The log from before the start; absent without a file. */
  readonly history?: Pick<LogHistory, 'read' | 'countedFrom'> | undefined;
  /** Identifies this run of the gateway. */
  readonly run: string;
  /** Start of this run, in milliseconds since 1970. */
  readonly startedAt: number;
  readonly time: () => number;
  readonly stats: () => GatewayStats;
  /** The rule book in force; `since` is milliseconds since 1970, `text` the source text of the file. */
  readonly rules: () => {
    readonly current: CompiledRuleBook;
    readonly since: number;
    readonly text: string;
    /** The rule book that was refused last, until a valid one is read. */
    readonly refusal?:
      | { readonly at: number; readonly faults: readonly string[]; readonly text?: string }
      | undefined;
  };
  /** The path of the file of the rule book; absent on platforms without files. */
  readonly ruleFile?: string | undefined;
  /** V2's description; undefined without one, and until it is read. */
  readonly v2Description?: (() => object | undefined) | undefined;
  /** Returns a function that lists the names of members in the responses to an operation by V2's description; see `responseNames`. */
  readonly describedNames?:
    | (() => Promise<((operation: Operation) => ReadonlySet<string> | undefined) | undefined>)
    | undefined;
  /** Finds the newest entry of a request in the log file; absent without one. */
  readonly loggedEntry?: ((requestId: string) => Promise<Entry | undefined>) | undefined;
  /** Makes a plan for the end of V1 from the log file, in its own thread; absent without a file. */
  readonly planEnd?:
    | ((work: Omit<PlanWork, 'kind' | 'logFile' | 'ruleFile' | 'program'>) => ReturnType<RunInThread>)
    | undefined;
  /** Makes the guide of a client from the log file, in the same thread; absent without a file. */
  readonly loggedGuide?: ((work: Omit<GuideWork, 'kind' | 'logFile'>) => ReturnType<RunInThread>) | undefined;
  /** Returns the rule book of an entry by its hash; undefined once it is no longer in memory. */
  readonly rulesOf: (hash: string) => CompiledRuleBook | undefined;
  /** A message to a thread contains them. */
  readonly limits: ExplainParts['limits'];
  readonly decode: ExplainParts['decode'];
  readonly hash?: ExplainParts['hash'];
  /** Does large work in a worker thread; absent where the runtime has no threads. */
  readonly runInThread?: RunInThread | undefined;
  /** Called when an operator begins to watch the entries, and may soon open a large one; the returned function is called when they leave. */
  readonly watch?: (() => () => void) | undefined;
  /** Scheme, host and port of the gateway and of V2. */
  readonly gatewayOrigin: () => string;
  readonly origin: string;
  /** Display names by client hash. */
  readonly names: () => ReadonlyMap<string, string>;
  /** Sets or removes the name of a client; absent without a names file. */
  readonly nameClient?:
    | ((client: string, name: string | undefined) => { readonly fault: string } | undefined)
    | undefined;
  /** Sends a request to the gateway and returns the status; absent where the setting forbids it. */
  readonly resend?: ((request: RequestToResend) => Promise<number | undefined>) | undefined;
  /** Calls `run` at a fixed interval until the returned function is called. */
  readonly every: (milliseconds: number, run: () => void) => () => void;
  /** The draft whose questions are answered in the inspector; absent for a gateway with a finished rule book. */
  readonly draft?: DraftDesk | undefined;
  /** The rollout; absent when it cannot be changed. */
  readonly rollout?: RolloutAdmin | undefined;
  /** Rolls an operation back; absent if its health is not known. */
  readonly rollBack?: Pick<OperationRollBack, 'earlier' | 'modeOnV1' | 'standing'> | undefined;
  /** The page's files by path, loaded on the first request for the page; empty without a page. */
  readonly page: () => ReadonlyMap<string, PageFile>;
}

/** A V2 request to send, with its whole body. */
export interface RequestToResend {
  readonly method: string;
  /** Path and query, under `/api/v2`. */
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array | undefined;
}

/** Maximum bytes of a response that are sent at once. */
const PART_BYTES = 256 * 1024;

const JSON_HEADERS = { 'Content-Type': 'application/json' };

/**
 * Does the work, in a worker thread if it is large and the runtime has threads, and responds with the result. `rules` is the compiled
 * rule book of the work; `textHeaders` are the fields of a response that is a text.
 */
export async function workResponse(
  work: OperatorWork,
  rules: CompiledRuleBook | undefined,
  { runInThread, decode, hash, time }: Pick<InspectorParts, 'runInThread' | 'decode' | 'hash' | 'time'>,
  textHeaders: Readonly<Record<string, string>> = {},
): Promise<Response> {
  if (runInThread !== undefined && isLargeWork(work)) {
    const { status, isJson, bytes } = await runInThread(work);
    return new Response(inParts(bytes), { status, headers: isJson ? JSON_HEADERS : textHeaders });
  }
  const compiled = (): CompiledRuleBook => {
    if (rules === undefined) throw new Error('the work has no rule book');
    return rules;
  };
  const { status, value } = await doOperatorWork(work, { compiled, decode, hash, now: time, pause });
  if (typeof value === 'string') return new Response(value, { status, headers: textHeaders });
  return status === 200
    ? jsonResponse(value)
    : new Response(jsonText(value), { status, headers: JSON_HEADERS });
}

function inParts(bytes: Uint8Array): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      if (at > 0) await pause();
      controller.enqueue(bytes.subarray(at, at + PART_BYTES));
      at += PART_BYTES;
      if (at >= bytes.length) controller.close();
    },
  });
}

/** Parts of the reports that clients get about themselves. */
interface OwnReportParts extends Pick<InspectorParts, 'view' | 'totals' | 'time'> {
  readonly rules: () => Pick<ReturnType<InspectorParts['rules']>, 'current'>;
}

/** Maximum reports in the queue. */
const MAX_WAITING = 16;

/** Milliseconds between two steps, so that reports take only a few percent of a processor. */
const REST_MS = 20;

/** Entries that are read between two pauses. */
export const ENTRIES_PER_STEP = 100;

/** Makes the reports that clients request about themselves, one at a time and slowly, so that other requests are not delayed. */
export class OwnReports {
  private readonly parts: OwnReportParts;
  private last: Promise<unknown> = Promise.resolve();
  private waiting = 0;

  constructor(parts: OwnReportParts) {
    this.parts = parts;
  }

  /** Makes the report for the client with this hash. */
  async of(client: string, type: OwnReportType): Promise<OwnReportOutcome> {
    const { view, totals } = this.parts;
    const coverage = totals.coverage();
    const since = new Date(coverage.since).toISOString();
    const tally = totals.client(client);
    if (tally === undefined || tally.v1.count === 0) return { kind: 'not-seen', since };
    if (this.waiting >= MAX_WAITING) return { kind: 'busy' };
    this.waiting += 1;
    const made = this.last.then(async (): Promise<OwnReportOutcome> => {
      const { rules, time } = this.parts;
      const { guide, samples } = await clientGuide(client, view, rest);
      const { ruleBook } = rules().current;
      const all = await totals.tally(rest);
      // The evidence counts requests of other clients, which this one must not learn.
      const strips = all.tally.census
        .result(undefined, ruleBook)
        .strips.map((strip) => ({ ...strip, why: '' }));
      const at = new Date(time()).toISOString();
      const document = guide.document(ruleBook, undefined, {
        inForce: ruleBook.hash,
        unknown: strips,
        samples,
        now: at,
      });
      const report = makeOwnReport(client, tally, document, { at, since, coverage, ruleBook: ruleBook.hash });
      return { kind: 'report', text: printOwnReport(report, type) };
    });
    this.last = made.catch(() => undefined);
    try {
      return await made;
    } finally {
      this.waiting -= 1;
    }
  }
}

function rest(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, REST_MS);
  });
}

/**
 * Collects the guide for the client whose hash is or begins with `client`, from the entries still in the ring. `pause` is awaited
 * between steps, which take up to a few milliseconds where all entries are of this client.
 */
export async function clientGuide(
  client: string,
  { ring, capture }: Pick<OperatorView, 'ring' | 'capture'>,
  pause: () => Promise<void>,
  namesOf?: ResponseNames,
): Promise<{ readonly guide: Guide; readonly samples: GuideSamples }> {
  const guide = new Guide(client);
  const reader = new SampleReader();
  for (let seq = ring.oldest; seq > 0 && seq <= ring.latest; seq += 1) {
    const entry = ring.at(seq);
    if (entry !== undefined) {
      const kept = capture.of(seq);
      if (kept !== undefined) reader.addResponse(entry, kept);
      if (guide.add(entry) && kept !== undefined) reader.add(entry, kept);
    }
    if (seq % ENTRIES_PER_STEP === 0) await pause();
  }
  return { guide, samples: reader.result(namesOf) };
}

/** The names of members in responses by V2's description and the rules; without a description, none is known. */
export async function namesOfResponses({
  rules,
  describedNames,
}: Pick<InspectorParts, 'rules' | 'describedNames'>): Promise<ResponseNames | undefined> {
  const described = await describedNames?.();
  if (described === undefined) return undefined;
  const { ruleBook } = rules().current;
  return (call) => {
    const operation = ruleBook.operations.find(({ id }) => id === call);
    if (operation === undefined || isTransformed(ruleBook, operation, 'response')) return undefined;
    const names = described(operation);
    const own = ruleBook.changes.filter(({ on }) => on === 'every' || on.includes(call));
    return (
      names && new Set([...names, ...own.flatMap(({ request, response }) => textsIn([request, response]))])
    );
  };
}

/** All texts in a value, such as the names in rules. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** The name and the `User-Agent` fields by which a filter finds a client, of the moment at which it is asked. */
export function clientTexts({ names, view }: Pick<InspectorParts, 'names' | 'view'>): ClientNames {
  return {
    get: (client) => [names().get(client), ...(view.traces.all.get(client)?.userAgents ?? [])].join('\n'),
  };
}
