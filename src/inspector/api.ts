/**
 * The JSON interface of the admin listener: input and output of its routes. The page, `tail` and other tools use this file.
 *
 * | route | input | output |
 * |---|---|---|
 * | `GET /entries` | `filter`, `before` (a seq), `limit` (1–500, 100) | `EntriesPage`, newest first |
 * | `GET /entries/:seq` | | `EntryDetail`, large bodies folded; 404 when it has left the ring |
 * | `GET /entries/find` | `id` (a request id), `n` (a seq, if several have the id) | `EntryDetail`, from the log file if need be; 404 |
 * | `GET /entries/histogram` | `filter` | `EntryHistogram` |
 * | `GET /entries/stream` | `filter`, `Last-Event-ID` or `after` | SSE: `entry` (`NumberedEntry`), `gap` (`StreamGap`), `state` (`State`) |
 * | `GET /entries/requests` | `filter`, `before`, `limit` | `RequestsPage`: the kept requests, as `/explain` takes them |
 * | `GET /entries/:seq/har`, `/case` | | the exchange as an HTTP Archive, or as a text case; 404, 422 |
 * | `POST /entries/:seq/resend` | `{"key"}` | `Resent`; 403 unless the setting allows it |
 * | `GET /problems` | `filter` | `ProblemsScreen`: failed requests in groups, and the errors of kept exchanges, of one moment |
 * | `GET /overview` | `by` as for `/series` | `Overview`, all of one moment |
 * | `GET /state` | | `State` |
 * | `GET /status` | | `Status`: the overall state in a sentence, and the conditions behind it |
 * | `GET /series` | `by=minute\|hour\|day` (minute) | `SeriesView`: six hours, two weeks or two years, with the changes by operators |
 * | `GET /report` | `format=json\|csv\|md` or `Accept`, `gone-after` (days); `client`: its guide, `format=json\|html\|md\|mail\|eml` | `Report` |
 * | `GET /plan` | `zone` (an IANA name; that of the rule book, or else `own`, or UTC), `lead` (days), `avoid` (days without a brownout) | `EndPlan` |
 * | `GET /clients/table` | `q`, `sort`, `order=reversed`, `offset`, `limit` (1–500, 50) | `ClientsTable`; with `open` (hashes, separated by commas; may be empty) `ClientsScreen` |
 * | `GET /timeline` | `zone`, `own`, `lead`, `avoid` as for `/plan` | `Timeline` |
 * | `GET`, `POST /clients` | `{"client","name"}` | `ClientsView` |
 * | `GET`, `POST /rollout` | `dryRuns=all` lists all pairs of client and operation, not the first 50; `RolloutRequest` | `RolloutScreen`; 422 with the reason of a refusal |
 * | `GET /rules` | | `RulesView` |
 * | `POST /rules/try` | the text of a rule book | `TrialOutcome` |
 * | `POST /explain` | `ExplainRequest` | `Explanation`, or `RefusedRules` |
 * | `POST /explain/read` | a pasted text, such as a curl command | `ReadRequests` |
 * | `GET /draft` | `question` (an id) | `DraftView`; only while `try` shows a draft |
 * | `POST /draft/answer` | `AnswerCommand` | `DraftView`; 422 |
 * | `POST /draft/effect` | `AnswerCommand` | what the answer would change; 422 |
 * | `POST /draft/judge` | `{"method","target","headers","body"}` | what V2's description has against the request |
 * | `POST /draft/run` | `{"operation"}` | the response to its example; 422 |
 * | `POST /draft/save` | | the files that were written; 422 |
 * | `GET /metrics` | | Prometheus text |
 * | `GET /livez`, `/readyz` | | whether the process lives, and takes requests |
 * | `POST /login`, `/logout` | the token, in a form | a session cookie for the page |
 *
 * A failure, such as an invalid query parameter, is `{"errors":[{"status","title","detail","code"}]}`. With a
 * token, every route but `/livez` and `/readyz` requires `Authorization: Bearer <token>`, or the cookie that `POST /login` sets for the page.
 */
import type { PlanFigure, PlanPart } from '../report/plan/plan-text.ts';
import type { EntryError, Entry, Verdict } from '../rewrite-log/entry.ts';
import type { ClientTrace } from '../rewrite-log/observer.ts';
import type { PatchOperation, EditRecord, Refusal } from '../rewrite/records.ts';
import type { ResponseRecord } from '../rewrite/response-rules.ts';
import type { SentCounts, SeriesPoint, SeriesStep } from '../rewrite-log/traffic-series.ts';
import type { ChangeRecord, ReplicaView, RolloutView } from '../rollout/rollout-tally.ts';
import type { Policies } from '../rules/rule-book.ts';
import type { Path, RequestRuleName, ResponseRule } from '../rules/rule.ts';
import type { UnfitCall } from '../report/client-report.ts';
import type { Report, ReportDay } from '../report/report.ts';
import type { ClientDetail, ClientsTable } from './clients-table.ts';
import type { ProblemsView } from './problems.ts';
import type { EndProposal } from './timeline.ts';
import type { Condition, ConditionLevel, Place } from './condition.ts';
import type { Verdict as StateVerdict } from './verdict.ts';

export type { Census } from '../report/census.ts';
export type { CensusRow } from '../report/census.ts';
export type { Entry } from '../rewrite-log/entry.ts';
export type { ClientReport } from '../report/client-report.ts';
export type { Report, ReportDay } from '../report/report.ts';
export type { SeriesPoint } from '../rewrite-log/traffic-series.ts';
export type { Problem, ProblemsView } from './problems.ts';
export type { ClientDetail, ClientRow, ClientsTable, ClientSort } from './clients-table.ts';
export type { EndProposal, Timeline, TimelineMark } from './timeline.ts';

/** An entry with its sequence number in this run of the gateway: 1, 2, 3, … */
export interface NumberedEntry extends Entry {
  readonly seq: number;
  /** The text of the errors in a 4xx or 5xx of a service; absent where the values of its body are not captured. */
  readonly reason?: string | undefined;
  /** Members that this response of V2 lacks, and that each kept response of V1 to the operation has; absent for none, and in lists of entries. */
  readonly lacks?: readonly string[] | undefined;
}

/** A page of recent entries, newest first. */
export interface EntriesPage {
  /** Identifies this run of the gateway; `seq` restarts in the next one. */
  readonly run: string;
  readonly entries: readonly NumberedEntry[];
  /** The `before` of the next page; absent on the last. */
  readonly next?: number;
  /** `oldest` to `latest` is the range of which the ring still has every entry; both are 0 when it is empty. */
  readonly oldest: number;
  /** The oldest entry in the ring: those before `oldest` are failures only. */
  readonly oldestFailure: number;
  readonly latest: number;
}

/** The kept entries that match a filter, by the time of their requests. */
export interface EntryHistogram {
  /** Width of a bar in seconds. */
  readonly step: number;
  /** Oldest first, without gaps; at most 60. */
  readonly bars: readonly HistogramBar[];
  /** RFC 3339: before this time only refusals and failures are kept. Absent while no exchange was dropped. */
  readonly wholeSince?: string;
  /** What changed and what happened, oldest first: changes by operators, roll-backs, rule books, brownouts, the end of V1 and faults. */
  readonly marks: readonly ChangeRecord[];
}

/** One bar of a histogram. */
export interface HistogramBar {
  /** RFC 3339: its start. */
  readonly time: string;
  readonly count: number;
  /** Number of those that failed, as on the Overview. */
  readonly failed: number;
}

/** The errors of the kept entries. */
export interface ErrorGroups {
  /** Number of kept entries. */
  readonly exchanges: number;
  /** True once older ones were dropped: the problems count their failures as well. */
  readonly isCut?: true;
  /** Severe ones first, then refusals, dry runs, and what is refused on purpose; of each the most frequent first; at most 300. */
  readonly groups: readonly ErrorGroup[];
  /** Number of errors in further groups. */
  readonly omitted: number;
}

/** Errors with the same code and place, found by the same side. */
export interface ErrorGroup {
  readonly error: EntryError;
  readonly count: number;
  /** Number of clients with a key. */
  readonly clients: number;
  /** The hash of the only client; absent for several, or for requests without a key. */
  readonly client?: string;
  /** True if some of the requests have no key, so that their clients cannot be counted. */
  readonly isKeyless?: true;
  /** The operations, or calls (`callName`) that no operation fits, the one with the most errors first. */
  readonly operations: readonly string[];
  /** RFC 3339. */
  readonly firstSeen: string;
  readonly lastSeen: string;
}

/** The problems, whole and counted at one moment. */
export interface ProblemsScreen extends ProblemsView {
  readonly errorGroups: ErrorGroups;
  /** Requests that fit no operation, the latest first; empty with a filter. */
  readonly unfit: readonly UnfitCall[];
}

/** The view of the clients, whole and counted at one moment. */
export interface ClientsScreen extends ClientsTable {
  readonly report: Report;
  /** The opened clients. */
  readonly opened: readonly ClientDetail[];
}

/** The first view of the page, whole and counted at one moment, so that its numbers agree. */
export interface Overview {
  readonly state: State;
  /** The gateway or replicas that counted the requests, and the start of the count. */
  readonly whose: string;
  /** What an operator may have to act on, worst first. */
  readonly items: readonly OverviewItem[];
  readonly problems: ProblemsView;
  /** Absent if the rollout cannot be read. */
  readonly rollout?: RolloutView;
  readonly series: SeriesView;
  /** V1's clients by day; with `isKeyless`, requests without a key are missing from them. */
  readonly days: readonly ReportDay[];
  readonly isKeyless?: true;
}

/** The rollout with the state of the same moment, so that a view shows no numbers of two. */
export interface RolloutScreen extends RolloutView {
  readonly state: State;
}

/** One fact, and where the page shows more. */
export interface OverviewItem {
  readonly level: Exclude<ConditionLevel, 'unknown'>;
  readonly sentence: string;
  readonly place: Place;
}

/** Data of a `gap` event. */
export interface StreamGap {
  /** Number of entries that left the ring before this slow reader reached them. */
  readonly missed: number;
}

/** The content of the page's header; a `state` event is sent at the start of a stream and every two seconds. */
export interface State {
  readonly run: string;
  /** RFC 3339. */
  readonly startedAt: string;
  readonly now: string;
  readonly version: string;
  readonly ruleBook: string;
  /** The address of V2: scheme, host and port. */
  readonly origin: string;
  readonly capture: CaptureState;
  readonly latest: number;
  /** Exchanges of the last whole second. */
  readonly perSecond: number;
  /** Maximum exchanges per second whose structure is captured. */
  readonly structurePerSecond: number;
  readonly inFlight: number;
  readonly droppedLogLines: number;
  /** Exchanges whose spans were lost on their way to the collector. */
  readonly droppedSpans: number;
  /** This replica, which keeps only its own exchanges; absent without others. */
  readonly replica?: Required<Pick<ReplicaView, 'name' | 'replicas'>>;
  /** True where operators may send a kept request to V2 again. */
  readonly canResend: boolean;
  /** True where operators log in: the listener has a token. */
  readonly canLogOut: boolean;
  /** The conditions of V2, V1, the rule book, canaries, brownouts, replicas and the log, worst first. */
  readonly conditions: readonly Condition[];
  /** The worst of them in one sentence. */
  readonly verdict: StateVerdict;
  /** What became of the requests since the start, counted when the verdict was made. */
  readonly counts: string;
  /** Where V1 clients' requests went in the last minutes. */
  readonly sent: SentCounts;
  /** The dates of V1's end in the rule book, and its brownouts' begins and ends (RFC 3339), and its `zone`; absent without either. */
  readonly end?: { readonly zone?: string; readonly times?: readonly string[] };
  /** The rule book that was refused last, until a valid one is read; until then, the previous one stays in force. */
  readonly refusedRuleBook?: RefusedRuleBook;
}

/** The overall state, for programs and people: the worst condition in a sentence, and all conditions, worst first. */
export interface Status extends Pick<State, 'conditions'> {
  readonly verdict: Omit<StateVerdict, 'own'>;
}

/** A refused rule book: at most 20 of its faults, each a sentence. */
export interface RefusedRuleBook {
  /** RFC 3339. */
  readonly at: string;
  readonly faults: readonly string[];
  /** Number of faults beyond those listed. */
  readonly omitted: number;
}

/** The capture level, and its use of memory. */
export interface CaptureState {
  readonly mode: 'off' | 'bodies';
  /** Pointers whose values are masked in captured bodies; `*` stands for any member or element. */
  readonly masks: readonly string[];
  /** Captured exchanges, with headers and structure or bodies, and their total bytes. */
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
  /** Number of further exchanges in the ring with the same request id. */
  readonly namesakes?: number;
  /** A sentence that explains why the capture is missing or incomplete. */
  readonly note?: string;
  readonly v1Request?: RequestView;
  readonly v2Request?: RequestView;
  readonly v2Response?: ResponseView;
  readonly clientResponse?: ResponseView;
  /** Absent for V2 traffic and when no V1 body was captured. */
  readonly diff?: Diff;
  /** Commands for a POSIX shell; the key is `$API_KEY`. Absent when nothing was captured. */
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

/** A header field. Credentials, cookies and, without capture, every value that is not known to be harmless are masked as `…`. */
export interface HeaderView {
  readonly name: string;
  readonly value: string;
  readonly masked: boolean;
  /** The difference from the previous perspective; absent when it is unchanged. */
  readonly change?: 'added' | 'changed' | 'removed';
}

/** A body for display. `text` is JSON with two spaces per level; number and string spellings are those of the bytes. */
export interface BodyView {
  /** `values`: as captured; `structure`: values replaced by types; `withheld`: a body existed, see `note`; `none`: no body. */
  readonly state: 'values' | 'structure' | 'withheld' | 'none';
  readonly text?: string;
  readonly bytes: number;
  readonly note?: string;
  /** True when `text` is incomplete: `…` stands for omitted nesting, values or characters. */
  readonly isFolded?: true;
}

/** Half-open range of UTF-16 code units in its text. */
export interface TextSpan {
  readonly start: number;
  readonly end: number;
}

/**
 * One edit on both sides. `before` has the spans that it removed or inspected in the V1 text, `after` those that it produced in
 * the V2 text; either may be empty, and a wrapper has two spans: its opening and its closing.
 */
export interface DiffMark {
  /** Index in `edits` of the entry or explanation; -1 for the location of a refusal. */
  readonly index: number;
  readonly change: string;
  readonly rule: RequestRuleName | 'transform' | 'refusal';
  /** One sentence for display: the edit and its reason. */
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

/** Traffic over time. */
export interface SeriesView {
  readonly by: SeriesStep;
  /** RFC 3339: nothing is known about the time before. */
  readonly since: string;
  /** A sentence that says who counted, and since when. */
  readonly known: string;
  /** Oldest first, without gaps, ending with the current one. */
  readonly points: readonly SeriesPoint[];
  /** What changed and what happened, as in {@link EntryHistogram}. */
  readonly marks: readonly ChangeRecord[];
}

/** A plan for the end of V1, made from the log of this gateway. */
export interface EndPlan {
  /** IANA name of the zone in which its texts give times. */
  readonly zone: string;
  /** Path of the log; absent where the gateway writes none to a file. */
  readonly logFile?: string;
  /** Number of exchanges that it was made from; absent where there is no log. */
  readonly exchanges?: number;
  /** Sentences about the sources of the plan, and about what it lacks. */
  readonly made: readonly string[];
  /** The output of `capture-gateway plan`; empty where there is nothing to plan. */
  readonly parts: readonly PlanPart[];
  /** The sentences of the first part as figures, and sentences that a reader must know first. */
  readonly figures?: readonly PlanFigure[];
  readonly caveat?: string;
  /** The clients that still use V1, in the order of the rows of the part *Clients*. */
  readonly clients: readonly ClientNotice[];
  /** Days from the deprecation to the sunset that it was made with; absent, like the next three, if there is nothing to plan. */
  readonly leadDays?: number;
  /** The changes of the rule book in force that declare it, the last one first; absent if that is not written in block style. */
  readonly lines?: readonly PlanLines[];
  /** Path of the rule book in force. */
  readonly ruleFile?: string;
  /** The command that writes these lines, as one starts this program here. */
  readonly command?: string;
  /** Its dates; absent where there is nothing to plan. */
  readonly proposal?: EndProposal;
}

/** Lines of a rule book that declare a part of a plan, and those of it whose place they take; each ends with a line feed. */
export interface PlanLines {
  /** `at the end of the file`, `after line 12`, `in place of line 12` or `in place of lines 12 to 14`. */
  readonly place: string;
  readonly added: string;
  readonly removed: string;
}

/** The first notice of a client that still uses V1. */
export interface ClientNotice {
  readonly client: string;
  /**
   * The first brownout that reaches the client, its time (RFC 3339), whether it has refused the client, and whether the rule book declares
   * it; absent if none reaches it.
   */
  readonly notice?: {
    readonly by: string;
    readonly at: string;
    readonly isMet: boolean;
    readonly isDeclared: boolean;
  };
  /** The counts from which this follows, as a phrase. */
  readonly because: string;
}

/** The rule book in force, with its effects since the start of this run. */
export interface RulesView {
  readonly hash: string;
  /** V2's release; absent where no field names it. */
  readonly version?: string;
  /** The path prefixes of V1 and of V2, empty at the root; the first of several of V1. */
  readonly from: string;
  readonly to: string;
  /** RFC 3339: when it came into force. */
  readonly loadedAt: string;
  readonly policies: Policies;
  readonly operations: readonly OperationView[];
  readonly changes: readonly ChangeView[];
  /** The assumptions, one sentence each: behaviour that neither the specification nor the documentation shows. */
  readonly assumptions: readonly string[];
  /** A sentence that says who counted the hits, and since when. */
  readonly counts: string;
  /** The source text of the file, for display. */
  readonly text: string;
  /** True for a draft whose questions can be answered here. */
  readonly isDraft?: true;
  /** The path of its file; absent where the gateway reads none. */
  readonly file?: string;
  /** The text of the file, if it was refused. */
  readonly refused?: string;
}

/** The outcome of trying a rule book on kept exchanges, without putting it into force. */
export interface TrialOutcome {
  /** Hash of the rule book in force, to which it was compared. */
  readonly against: string;
  /** All faults; with any there is no result. */
  readonly faults: readonly { readonly line: number; readonly column: number; readonly message: string }[];
  readonly result?: {
    readonly hash: string;
    /** A unified diff of `rules.yaml`, from the rule book in force; empty when the texts are equal. */
    readonly patch: string;
    /** Number of V1 exchanges to try: the newest of those that are kept. */
    readonly kept: number;
    /** True if older ones are kept, but not tried. */
    readonly isCut?: true;
    readonly tried: number;
    /** Numbers of the others: refused on purpose at the end of V1, without a kept body, not readable, and beyond the limit of time. */
    readonly untried: Readonly<Record<'onPurpose' | 'withoutBody' | 'unread' | 'outOfTime', number>>;
    /** Number of tried ones whose V2 response is kept, so that its rewriting was compared as well. */
    readonly responses: number;
    /** Number of tried ones with placeholders instead of values, which are not kept; rules that map values leave placeholders. */
    readonly withoutValues: number;
    readonly differing: number;
    /**
     * What V2's schema says of the changed requests whose values are kept: how many it judged, and how many it accepts now and by the rule book
     * in force; absent without a verdict.
     */
    readonly schema?: Readonly<Record<'judged' | 'accepted' | 'acceptedBefore', number>>;
    /** The newest 50 of those that differ, newest first. */
    readonly exchanges: readonly TrialDifference[];
  };
}

/** A kept exchange that another rule book would handle differently. */
export interface TrialDifference {
  readonly seq: number;
  readonly requestId: string;
  /** RFC 3339. */
  readonly time: string;
  /** The operation, or method and path. */
  readonly name: string;
  /** Pointers into the V2 body, or words such as `verdict: rewritten, now refused (duplicate-member)`. */
  readonly request: readonly string[];
  /** Pointers into the client's response. */
  readonly response: readonly string[];
  /** The body for V2 by the rule book in force and by the other one, at most 4,000 characters each; empty without a body. */
  readonly before: string;
  readonly now: string;
}

/** A count with the time of the last hit. */
export interface Hits {
  readonly hits: number;
  /** RFC 3339; absent before the first. */
  readonly lastHit?: string;
}

/** An operation with its use through V1; `(other)` stands for V1 requests that match no operation. */
export interface OperationView extends Hits {
  readonly id: string;
  readonly method: string;
  readonly template: string;
  /** V2's address, such as `POST /holds`; absent if it is the same. */
  readonly to?: string;
  /** The sentence that clients get with 410, if V2 no longer has the operation. */
  readonly gone?: string;
  readonly assumed: boolean;
  /** Ids of the changes that affect its requests or its responses. */
  readonly changes: readonly string[];
}

/** A change with its rules in words. Its hits are the requests that one of them edited. */
export interface ChangeView extends Hits {
  readonly id: string;
  readonly summary: string;
  readonly assumed: boolean;
  readonly on: 'every' | readonly string[];
  /** `on` in words: `every request`, for one with header rules only. */
  readonly scope: string;
  readonly request: readonly RuleView[];
  readonly response: readonly { readonly rule: ResponseRule['rule']; readonly text: string }[];
  /** V2's responses that these rules edited; none of a dry run. */
  readonly responses: Hits;
}

/** A request or query rule in words, such as `nest street_address, suburb in property under address`. */
export interface RuleView {
  readonly rule: RequestRuleName;
  readonly in: Path;
  readonly text: string;
}

/** A request to explain: by operation id, or by method and target. The target may have or omit V1's prefix, or be a full URL. */
export interface ExplainRequest {
  readonly operation?: string;
  readonly method?: string;
  readonly target?: string;
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly body?: string;
  /** A body that is not text, in Base64; replaces `body`. */
  readonly bodyBase64?: string;
  /** The text of a rule book to explain by, in place of the one in force. */
  readonly rules?: string;
}

/** The response to a request whose `rules` have faults. */
export type RefusedRules = Pick<TrialOutcome, 'faults'>;

/** Kept V1 requests, newest first, of exchanges with one rule book. */
export interface RequestsPage {
  readonly ruleBook?: string;
  readonly requests: readonly KeptRequest[];
  /** The `before` of the next page; absent on the last. */
  readonly next?: number;
}

/** The request of an exchange as `/explain` takes it, or the reason why it is not kept. */
export interface KeptRequest {
  readonly seq: number;
  readonly name: string;
  readonly request?: ExplainRequest;
  /** `request`: nothing of it was kept; `body`: its body was not. */
  readonly lacks?: 'request' | 'body';
}

/** The gateway's handling of a request, by the compiled plan that live traffic goes through. */
export interface Explanation {
  readonly ruleBook: string;
  /** Differences from the rule book in force, as in `TrialDifference.request`; absent if the request is explained by that one. */
  readonly edited?: readonly string[];
  /** Absent when the request matches no operation. */
  readonly operation?: string;
  readonly verdict: Verdict;
  /** The places of a moved operation in V1 and V2, as written in the rule book; absent for any other operation, and for a refused request. */
  readonly moved?: { readonly from: string; readonly to: string };
  readonly edits: readonly EditRecord[];
  readonly patch: readonly PatchOperation[];
  readonly refusal?: Refusal;
  /** Why the body was left untouched, as in the log. */
  readonly note?: string;
  readonly v1Request: RequestView;
  /** The request that V2 would receive; absent when refused. */
  readonly v2Request?: RequestView;
  /** The exact body that V2 would receive, not reformatted. */
  readonly v2Body?: string;
  readonly diff?: Diff;
  /** The delivery to the subscriber, if the request is a webhook of V2; its signature is taken to be valid. */
  readonly delivery?: DeliveryView;
  readonly policies: readonly PolicyView[];
  readonly rules: readonly RuleOutcome[];
  /** Sentences that say why such a request would not, or not always, be migrated at the moment. Absent when it would. */
  readonly live?: readonly string[];
  /** Addresses of V2 that rules look up for the response, with {} for the key; none is asked. Absent without any. */
  readonly lookups?: readonly string[];
  readonly curl: { readonly v1: string; readonly v2?: string };
}

/** A webhook of V2 as its subscriber receives it. */
export interface DeliveryView {
  /** The address of the subscriber. */
  readonly to: string;
  readonly edits: readonly ResponseRecord[];
  /** Why the body is delivered unchanged although rules apply to it, as in the log. */
  readonly note?: string;
  readonly body: string;
}

/** A policy that applies to this request, and whether it decided anything. */
export interface PolicyView {
  readonly policy: keyof Policies;
  readonly value: string;
  readonly used: boolean;
}

/** The effect of one rule of the book on this request. `why` is a sentence, most useful for rules without effect. */
export interface RuleOutcome {
  readonly change: string;
  readonly rule: RequestRuleName;
  readonly text: string;
  readonly applied: boolean;
  readonly why: string;
  /** True for a rule that is for other operations. */
  readonly isElsewhere?: true;
}

/** The clients that have a name or were seen in a captured exchange. */
export interface ClientsView {
  /** True when the gateway has a names file, so that clients can be named. */
  readonly canBeNamed: boolean;
  /** The replica whose file keeps them; absent without others. */
  readonly replica?: string;
  readonly clients: readonly (ClientTrace & {
    readonly client: string;
    readonly name?: string;
    /** What sentences call it: its name, or its `User-Agent`; absent if neither is known. */
    readonly called?: string;
  })[];
}

/** The outcome of sending a request again. */
export interface Resent {
  /** The request id under which it is logged. */
  readonly requestId: string;
  /** Absent without a response. */
  readonly status?: number;
}

/** A file of the page. The runtime, which can read files, passes it to `createInspector`. */
export interface PageFile {
  readonly mediaType: string;
  readonly body: string | Uint8Array<ArrayBuffer>;
  /** The body compressed by `gzip`. */
  readonly gzip?: Uint8Array<ArrayBuffer>;
  /** True when its name changes with its content, so that browsers can cache it forever. */
  readonly isHashed?: boolean;
}
