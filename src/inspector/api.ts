/**
 * The wire of the admin listener: what its routes take and give, as JSON. The page, `tail` and other tools read this file.
 *
 * | route | takes | gives |
 * |---|---|---|
 * | `GET /entries` | `filter`, `before` (a seq), `limit` (1–500, 100) | `EntriesPage`, newest first |
 * | `GET /entries/:seq` | | `EntryDetail`, large bodies folded; 404 when it has left the ring |
 * | `GET /entries/stream` | `filter`, `Last-Event-ID` or `after` | SSE: `entry` (`NumberedEntry`), `gap` (`StreamGap`), `state` (`State`) |
 * | `GET /state` | | `State` |
 * | `GET /history` | | `HistoryView`, the last hour by minute |
 * | `GET /report` | `format=json\|csv\|md` or `Accept`; `client` with `guide` (Markdown) | `Report` |
 * | `GET /rules` | | `RulesView` |
 * | `POST /explain` | `ExplainRequest` | `Explanation` |
 * | `GET /metrics` | | Prometheus text |
 *
 * Failures are `{"errors":[{"status","title","detail","code"}]}`. With a token every route but `/livez` and `/readyz`
 * wants `Authorization: Bearer <token>`, or the cookie that `POST /login` sets for the page.
 */
import type { PatchOperation, EditRecord, Refusal } from '../rewrite/rewrite.ts';
import type { Entry, Verdict } from '../rewrite-log/entry.ts';
import type { HistoryMinute } from '../rewrite-log/history.ts';
import type { Policies } from '../rules/rule-book.ts';
import type { Path, RequestRuleName, ResponseRule } from '../rules/rule.ts';

export type { Census } from '../report/census.ts';
export type { CensusRow } from '../report/census-row.ts';
export type { HistoryMinute, Quantiles } from '../rewrite-log/history.ts';
export type { Entry } from '../rewrite-log/entry.ts';
export type { ClientReport } from '../report/client-report.ts';
export type { Report, ReportDay } from '../report/report.ts';

/** An entry with its place in this run of the gateway: 1, 2, 3, … */
export interface NumberedEntry extends Entry {
  readonly seq: number;
}

/** A page of recent entries, newest first. */
export interface EntriesPage {
  /** Names this run of the gateway; `seq` starts again with another one. */
  readonly run: string;
  readonly entries: readonly NumberedEntry[];
  /** The `before` of the next page; absent on the last. */
  readonly next?: number;
  /** The range that the ring still holds; both 0 when empty. */
  readonly oldest: number;
  readonly latest: number;
}

/** Data of a `gap` event: entries that left the ring before this slow reader came to them. */
export interface StreamGap {
  readonly missed: number;
}

/** What the page's header shows; a `state` event comes at the start of a stream and every two seconds. */
export interface State {
  readonly run: string;
  /** RFC 3339. */
  readonly startedAt: string;
  readonly now: string;
  readonly version: string;
  readonly ruleBook: string;
  /** Where V2 is: scheme, host and port. */
  readonly origin: string;
  readonly capture: CaptureState;
  readonly latest: number;
  /** Exchanges of the last whole second. */
  readonly perSecond: number;
  /** How many exchanges a second have their structure kept, at most. */
  readonly structurePerSecond: number;
  readonly inFlight: number;
  readonly droppedLogLines: number;
}

/** What is kept of bodies, and how much of the room is taken. */
export interface CaptureState {
  readonly mode: 'off' | 'bodies';
  /** Pointers whose values are masked in captured bodies; `*` stands for any member or element. */
  readonly masks: readonly string[];
  /** Exchanges held with headers and structure or bodies, and their bytes. */
  readonly entries: number;
  readonly bytes: number;
  readonly maxEntries: number;
  readonly maxBytes: number;
}

/** One exchange from its four perspectives. */
export interface EntryDetail {
  readonly run: string;
  readonly entry: NumberedEntry;
  /** `structure`: every value in every body is replaced by its type, `"‹string›"`, `"‹number›"`, `"‹boolean›"`; `null` stays. */
  readonly kept: 'bodies' | 'structure' | 'nothing';
  /** Why nothing was kept, or something is missing: a sentence. */
  readonly note?: string;
  readonly v1Request?: RequestView;
  readonly v2Request?: RequestView;
  readonly v2Response?: ResponseView;
  readonly clientResponse?: ResponseView;
  /** Absent for V2 traffic and where no V1 body was kept. */
  readonly diff?: Diff;
  /** Commands for a POSIX shell; the key is `$API_KEY`. Absent where nothing was kept. */
  readonly curl?: { readonly v1: string; readonly v2?: string };
}

/** A request as one side saw it. */
export interface RequestView {
  readonly method: string;
  /** Path and query; query values are `…` unless capture is on. */
  readonly target: string;
  readonly headers: readonly HeaderView[];
  readonly body: BodyView;
}

/** A response as one side saw it. */
export interface ResponseView {
  readonly status: number;
  readonly headers: readonly HeaderView[];
  readonly body: BodyView;
}

/** A header line. Credentials, cookies and, without capture, every value that is not known to be harmless are masked as `…`. */
export interface HeaderView {
  readonly name: string;
  readonly value: string;
  readonly masked: boolean;
  /** Against the perspective before it; absent when it crossed unchanged. */
  readonly change?: 'added' | 'changed' | 'removed';
}

/** A body for people. `text` is JSON printed with two spaces a level; number and string spellings are those of the bytes. */
export interface BodyView {
  /** `values`: as captured; `structure`: values replaced by types; `withheld`: there was one, see `note`; `none`: there was none. */
  readonly state: 'values' | 'structure' | 'withheld' | 'none';
  readonly text?: string;
  readonly bytes: number;
  readonly note?: string;
  /** True when `text` has not all of it: `…` stands where nesting, values or characters are left out. */
  readonly isFolded?: true;
}

/** Half-open range of UTF-16 code units in the text it belongs to. */
export interface TextSpan {
  readonly start: number;
  readonly end: number;
}

/**
 * One edit joined on both sides. `before` has what it took or looked at in the V1 text, `after` what it made in the V2 text;
 * either may be empty, and a wrapper has two spans: what opens it and what closes it.
 */
export interface DiffMark {
  /** Index in `edits` of the entry or explanation; -1 for the place of a refusal. */
  readonly index: number;
  readonly change: string;
  readonly rule: RequestRuleName | 'refusal';
  /** One sentence for people: what happened here and why. */
  readonly reason: string;
  readonly note?: string;
  readonly before: readonly TextSpan[];
  readonly after: readonly TextSpan[];
}

/** V1 and V2 body side by side; `after` is absent when the request was refused. */
export interface Diff {
  readonly before: string;
  readonly after?: string;
  readonly marks: readonly DiffMark[];
}

/** The last 60 minutes, oldest first, the running one last. */
export interface HistoryView {
  readonly minutes: readonly HistoryMinute[];
}

/** The rule book in force, with what it did since the start of this run. */
export interface RulesView {
  readonly hash: string;
  readonly version: string;
  /** RFC 3339: when it came into force. */
  readonly loadedAt: string;
  readonly policies: Policies;
  readonly operations: readonly OperationView[];
  readonly changes: readonly ChangeView[];
  /** Sentences: what neither the specification nor the documentation shows. */
  readonly assumptions: readonly string[];
  /** The file as it was read, for people. */
  readonly text: string;
}

/** A count with its last time. */
export interface Hits {
  readonly hits: number;
  /** RFC 3339; absent before the first. */
  readonly lastHit?: string;
}

/** An operation with its use through V1; `(other)` stands for V1 requests that no operation names. */
export interface OperationView extends Hits {
  readonly id: string;
  readonly method: string;
  readonly template: string;
  readonly assumed: boolean;
  /** Ids of the changes that concern it. */
  readonly changes: readonly string[];
}

/** A change with its rules in words. */
export interface ChangeView extends Hits {
  readonly id: string;
  readonly summary: string;
  readonly assumed: boolean;
  readonly on: 'every' | readonly string[];
  readonly request: readonly RuleView[];
  readonly response: readonly { readonly rule: ResponseRule['rule']; readonly text: string }[];
}

/** A request rule in words, such as `nest street_address, suburb in property under address`. */
export interface RuleView extends Hits {
  readonly rule: RequestRuleName;
  readonly in: Path;
  readonly text: string;
}

/** A request to explain: by operation id, or by method and target (with or without `/api/v1`, a full address works too). */
export interface ExplainRequest {
  readonly operation?: string;
  readonly method?: string;
  readonly target?: string;
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly body?: string;
  /** The body, where it is no text; instead of `body`. */
  readonly bodyBase64?: string;
}

/** What the gateway would do with a request, by the same compiled plan as live; nobody is called. */
export interface Explanation {
  readonly ruleBook: string;
  /** Absent when no operation names the request. */
  readonly operation?: string;
  readonly verdict: Verdict;
  readonly edits: readonly EditRecord[];
  readonly patch: readonly PatchOperation[];
  readonly refusal?: Refusal;
  /** Why it was left untouched, as in the log. */
  readonly note?: string;
  readonly v1Request: RequestView;
  /** What V2 would get; absent when refused. */
  readonly v2Request?: RequestView;
  /** The exact body V2 would get, not printed anew. */
  readonly v2Body?: string;
  readonly diff?: Diff;
  readonly policies: readonly PolicyView[];
  readonly rules: readonly RuleOutcome[];
  readonly curl: { readonly v1: string; readonly v2?: string };
}

/** A policy that holds for this request, and whether it decided anything. */
export interface PolicyView {
  readonly policy: keyof Policies;
  readonly value: string;
  readonly used: boolean;
}

/** What one rule of the book did with this request. `why` is a sentence, for the rules that did nothing above all. */
export interface RuleOutcome {
  readonly change: string;
  readonly rule: RequestRuleName;
  readonly text: string;
  readonly applied: boolean;
  readonly why: string;
}

/** A file of the page, as `createInspector` is given it by the one who can read files. */
export interface PageFile {
  readonly mediaType: string;
  readonly body: string | Uint8Array<ArrayBuffer>;
}
