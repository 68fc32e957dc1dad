import { NO_BYTES } from '../json/names.ts';
import { concatBytes } from '../http/byte-collector.ts';
import {
  ALL_CODINGS,
  type Coding,
  looksLikeJson,
  type StreamedFormat,
  type TextFormat,
} from '../http/content.ts';
import { type HeaderList, headerValue, setField } from '../http/header-list.ts';
import { isVariedBy, markTags } from '../http/fields.ts';
import { isRead, type RequestHead } from '../http/request-head.ts';
import { JsonDocument } from '../json/document.ts';
import type { WorkMemory } from '../json/tape.ts';
import type { CompiledRuleBook } from '../rewrite/compiled-rule-book.ts';
import { type BodyLinks, type LinkRewriting, type RequestFacts, restoredLink } from '../rewrite/links.ts';
import type { RewrittenHeaders } from '../rewrite/header-plan.ts';
import {
  type EditRecord,
  joinedPatch,
  type PatchOperation,
  type Rewrite,
  withoutValues,
} from '../rewrite/records.ts';
import type { ResponsePieces, ResponsePlan } from '../rewrite/response-plan.ts';
import type { ResponseRewrite, RewrittenResponse } from '../rewrite/response-rules.ts';
import type { ResponseContext } from '../rewrite/response-rules.ts';
import { type BodyStream, ResponseTexts, type StreamFindings } from '../rewrite/text-stream.ts';
import { isReleaseOfV1, isTransformed, type RuleBook, versionPlace } from '../rules/rule-book.ts';
import {
  type ApiVersion,
  type BodyDecision,
  chooseApiVersion,
  editsOf,
  formatOf,
  isReadAsJson,
  makesBody,
  type MigrateDecision,
  MigratedHead,
  requestedVersion,
  undecoded,
  verdictOf,
  withMadeBody,
} from './decision.ts';
import type { DecodedBody } from './decode-web-body.ts';
import { type Failure, failure, failureOf } from './failure.ts';
import { digestMismatch, type HashBody, judgeDigests, type Judgement } from './judge-digests.ts';
import {
  contentlessFields,
  decideResponse,
  hasLinks,
  headerPlanOf,
  isRepresentationRead,
  NOTE_OF_UNDECODED,
  type ResponseNote,
  rewriteLinks,
} from './migrated.ts';
import { type LookupJob, type LookupResult, Lookups, type LookupSummary, skipLookups } from './lookups.ts';
import type { Preflight } from './preflight.ts';
import {
  queryOf,
  type TransformFailure,
  transformJob,
  type TransformJob,
  type TransformOutcome,
  transformRecords,
  type TransformResult,
  transformsStatus,
  withQuery,
} from './transform.ts';

/** An outcome without its byte edits, which only explanations show. */
export type WithoutEdits<Outcome> = Outcome extends { readonly edits: unknown }
  ? Omit<Outcome, 'edits'>
  : Outcome;

/**
 * Work that a migration waits for. Its driver does the work, at once, in a thread or later, and passes the outcome to `ruled` or
 * `transformed`.
 */
export type Work =
  /** Rules are to be applied to a body. */
  | { readonly rules: Uint8Array }
  /** A transform is to be called. */
  | { readonly transform: TransformJob };

/** Work that the migration of a response waits for. */
export type ResponseWork =
  | Work
  /** V2 is to be asked for objects: the driver goes on with `lookedUp`. */
  | { readonly lookup: LookupJob };

/** The part of a migration that its driver uses. */
export interface Drivable<Outcome, End extends object> {
  /** Applies the rules, for a driver without threads and memory limits. */
  rewrite(body: Uint8Array): Outcome;
  /** `body` is the one to which the rules were applied, possibly moved to other memory by a thread. */
  ruled(outcome: Outcome, body: Uint8Array): ResponseWork | End;
  transformed(made: TransformOutcome): Work | End;
  lookedUp?(results: readonly LookupResult[]): Work | End;
}

/** Gets the objects that rules look up from V2: at once, or later. */
export type LookUp = (job: LookupJob) => readonly LookupResult[] | Promise<readonly LookupResult[]>;

/** Drives a migration to its end, with `call` for transforms and `lookUp` for lookups: at once, unless one returns a promise. */
export function drive<Outcome, End extends object>(
  migration: Drivable<Outcome, End>,
  begun: ResponseWork | End,
  call: (job: TransformJob) => TransformOutcome | Promise<TransformOutcome>,
  lookUp: LookUp = skipLookups,
): End | Promise<End> {
  let step = begun;
  for (;;) {
    if ('rules' in step) step = migration.ruled(migration.rewrite(step.rules), step.rules);
    else if ('lookup' in step) {
      const goOn = (results: readonly LookupResult[]): ResponseWork | End => {
        if (migration.lookedUp === undefined) throw new Error('this migration looks nothing up');
        return migration.lookedUp(results);
      };
      const results = lookUp(step.lookup);
      if (results instanceof Promise)
        return results.then((late) => drive(migration, goOn(late), call, lookUp));
      step = goOn(results);
    } else if ('transform' in step) {
      const made = call(step.transform);
      if (made instanceof Promise)
        return made.then((late) => drive(migration, migration.transformed(late), call, lookUp));
      step = migration.transformed(made);
    } else return step;
  }
}

/** The decoded body of a request; `unread` if it is forwarded as received, undefined if there is none. */
export type ReceivedBody = DecodedBody | 'unread' | undefined;

/** The request for V2, and the data for the log. */
export interface MigratedMessage {
  /** `rewritten` if anything besides path, release and hop-by-hop fields was edited. */
  readonly verdict: 'rewritten' | 'unchanged';
  /** The body that rules or a transform made; undefined if V2 gets the received one, or none. */
  readonly body: Uint8Array | undefined;
  /** V2's body, if it is JSON that was read; undefined if V2 gets none. */
  readonly json: Uint8Array | 'not-read' | undefined;
  /** The edits of header fields, query, target and body, then those of a transform. */
  readonly edits: readonly EditRecord[];
  /** From V1's body to V2's; empty if it cannot express all edits. */
  readonly patch: readonly PatchOperation[];
  /** Number of edits that are not in `edits`. */
  readonly omitted: number;
  /** Why rules were not applied to the body, or `digest-unjudged` if the gateway dropped a digest that it could not check. */
  readonly note: string | undefined;
}

/** A request that is not sent to V2, or a response that is replaced by an error. */
export interface RefusedMigration {
  readonly verdict: 'refused';
  readonly failure: Failure;
  /** Why the transform or the lookup failed. */
  readonly cause: TransformFailure | undefined;
}

/** How the migration of a request ends. */
export type RequestEnd = MigratedMessage | RefusedMigration;

/** The data for the fields of a V2 request, in addition to the decision. */
export interface HeadParts {
  /** Time in milliseconds since 1970. */
  readonly now: number;
  /** The release pinned for the request, if any. */
  readonly pinned?: string | undefined;
  /** The content codings that the runtime decodes; all by default. */
  readonly codings?: readonly Coding[] | undefined;
  /** See {@link HeadMigration}. */
  readonly requestId?: string | undefined;
  readonly traceparent?: string | undefined;
}

/** The result of rules for a body, or for as much of it as has arrived. */
interface RuledBody {
  readonly verdict: 'rewritten' | 'unchanged';
  readonly body: Uint8Array;
  readonly records: readonly EditRecord[];
  readonly patch?: readonly PatchOperation[];
  readonly omitted?: number;
  readonly note?: string | undefined;
}

/** Which values the patches of rules and transforms keep. */
export interface PatchValues {
  readonly ofRules: (patch: readonly PatchOperation[]) => readonly PatchOperation[];
  readonly ofTransform: (patch: readonly PatchOperation[]) => readonly PatchOperation[];
}

const ALL_VALUES: PatchValues = { ofRules: (patch) => patch, ofTransform: (patch) => patch };

/** For a log without the values of clients. It contains none of a transform, whose values nearly always come from the client or V2. */
export const FEW_VALUES: PatchValues = {
  ofRules: withoutValues,
  ofTransform: (patch) => patch.map(({ op, path }) => ({ op, path })),
};

const NO_PATCH: readonly PatchOperation[] = [];

const NO_BODY: BodyDecision = { action: 'forward', note: undefined };

const UNREAD: RuledBody = { verdict: 'unchanged', body: NO_BYTES, records: [] };

function refused(failed: Failure, cause?: TransformFailure): RefusedMigration {
  return { verdict: 'refused', failure: failed, cause };
}

/**
 * The migration of one V1 request to V2, from the decision about its head on: `begin` decides how to handle its body, `finish` takes a
 * complete body, `open` rewrites one while it arrives, and `head` makes the fields for V2. It uses no sockets, threads or clocks: live
 * traffic, dry runs, explanations and the library drive it, and leave all merging of results to it.
 */
export class RequestMigration implements Drivable<WithoutEdits<Rewrite>, RequestEnd> {
  readonly rules: CompiledRuleBook;
  readonly facts: RequestFacts;
  /** The decision about the head; after a transform, with its query and body. */
  decision: MigrateDecision;
  private readonly values: PatchValues;
  private outcome = UNREAD;
  private json: MigratedMessage['json'] = undefined;
  private made: MadeRequest | undefined = undefined;
  private judgement: Judgement = undefined;

  constructor(rules: CompiledRuleBook, decision: MigrateDecision, values = ALL_VALUES) {
    const { method, target, operation } = decision;
    this.rules = rules;
    const { release } = decision;
    this.facts = { method, rest: target.rest, operation, ...(release === undefined ? {} : { release }) };
    this.decision = decision;
    this.values = values;
  }

  /** True if a transform follows the rules. */
  get isTransformed(): boolean {
    return isTransformed(this.rules.ruleBook, this.facts.operation, 'request');
  }

  /** Decides how to handle the body; a body of unknown length may turn out to be empty, which is never refused. */
  begin(hasBody: boolean): BodyDecision {
    const { refusal, body } = this.decision;
    if (refusal !== undefined) return { action: 'refuse', failure: refusal };
    return hasBody || makesBody(body) ? body : NO_BODY;
  }

  /**
   * Checks the digests of a body against the bytes that the client sent. Call it before `finish`, which then refuses a body that rules
   * edit and whose digest is wrong. Returns a promise if `hash` does.
   */
  judge(received: Uint8Array, hash: HashBody | undefined): Promise<void> | undefined {
    const { body } = this.decision;
    if (hash === undefined || body.action !== 'rewrite' || body.digests === undefined) return undefined;
    const judged = judgeDigests(body.digests, received, hash);
    if (judged instanceof Promise) return judged.then((late) => void (this.judgement = late));
    this.judgement = judged;
    return undefined;
  }

  /** Takes the whole body. */
  finish(body: ReceivedBody): Work | RequestEnd {
    const { body: decided, bodyLimit } = this.decision;
    if (decided.action === 'rewrite' && body instanceof Uint8Array) return { rules: body };
    if (typeof body === 'string' && body !== 'unread') return refused(undecoded(body, bodyLimit));
    const isNone = body === undefined || body.length === 0;
    if (!isNone && 'note' in decided) this.outcome = { ...UNREAD, note: decided.note };
    return this.follow(isNone || decided.action === 'drop' ? undefined : 'not-read');
  }

  rewrite(body: Uint8Array): Rewrite {
    const { operation, body: decided, bodyLimit } = this.decision;
    return this.rules.requestPlan(operation, formatOf(decided), bodyLimit).rewrite(body);
  }

  ruled(outcome: WithoutEdits<Rewrite>): Work | RequestEnd {
    if (outcome.verdict === 'refused') return refused(failureOf(outcome.refusal));
    const { judgement } = this;
    if (outcome.verdict === 'rewritten' && typeof judgement === 'object')
      return refused(digestMismatch(judgement));
    this.outcome = outcome;
    return this.follow(isReadAsJson(this.decision.body) ? outcome.body : 'not-read');
  }

  transformed(made: TransformOutcome): RequestEnd {
    if ('why' in made) return refused(failure('transform-failed'), made);
    const { decision, judgement } = this;
    const { body, patch } = made;
    if (body !== undefined && typeof judgement === 'object') return refused(digestMismatch(judgement));
    const records = transformRecords(made, queryOf(decision.v2Target));
    if (records.length > 0) this.made = { body, records, patch: this.values.ofTransform(patch) };
    const after = body === undefined ? decision : withMadeBody(decision);
    this.decision = { ...after, v2Target: withQuery(decision.v2Target, made.query) };
    this.json = body ?? this.json;
    return this.end();
  }

  /** Opens a body that is rewritten while it arrives; `hold` reserves memory, and `run` runs the work on one text. */
  open(
    format: StreamedFormat,
    hold: (bytes: number) => boolean = () => true,
    run: <Result>(work: (memory?: WorkMemory) => Result) => Result = (work) => work(),
  ): BodyStream {
    const { operation, bodyLimit: limit } = this.decision;
    return this.rules.requestStream(operation, format, { limit, hold }, (text, plan) =>
      run((memory) => plan.rewrite(text, memory)),
    );
  }

  /** The log data of such a body, as far as it has arrived. */
  streamed({ isRewritten, ...findings }: StreamFindings<EditRecord>): MigratedMessage {
    const note = findings.note ?? this.noteOfDigests;
    this.outcome = { verdict: isRewritten ? 'rewritten' : 'unchanged', body: NO_BYTES, ...findings, note };
    return this.end();
  }

  /** The fields for V2, and the dated release to request; `isRewritten` says whether V2's body differs from the client's. */
  head(
    received: RequestHead,
    isRewritten: boolean,
    parts: HeadParts,
  ): { readonly version: ApiVersion | undefined; readonly fields: MigratedHead } {
    const { rules, facts, decision } = this;
    const { ruleBook } = rules;
    const { now, pinned, requestId, traceparent } = parts;
    const requested = requestedVersion(received, decision.target.query, rules);
    const version = chooseApiVersion(requested, ruleBook, now, pinned);
    // V2 may use any content coding for a response that the gateway does not read.
    const isResponseRead = isRepresentationRead(facts, rules);
    const migration = {
      version,
      headers: decision.headers?.headers,
      isRewritten,
      isBodyDropped: decision.body.action === 'drop',
      isBodyMade: makesBody(decision.body) && isRewritten,
      dropsOverride: decision.dropsOverride,
      requestId,
      traceparent,
      codings: isResponseRead ? (parts.codings ?? ALL_CODINGS) : undefined,
      releaseMedia: rules.releaseMedia,
      rereadBy: isResponseRead && isRead(facts.method) ? ruleBook.hash : undefined,
    };
    return { version, fields: new MigratedHead(received, migration) };
  }

  /** The transform, if there is one. */
  private follow(json: MigratedMessage['json']): Work | MigratedMessage {
    const { facts } = this;
    this.json = json?.length === 0 ? undefined : json;
    if (facts.operation === undefined || !this.isTransformed) return this.end();
    const isUnread = json === 'not-read';
    const body = isUnread || json?.length === 0 ? undefined : json;
    const query = queryOf(this.decision.v2Target);
    return {
      transform: transformJob('request', facts.operation, {
        ...facts,
        query,
        status: undefined,
        body,
        isUnread,
      }),
    };
  }

  /** The note on an edited body whose digests the gateway drops. */
  get noteOfDigests(): string | undefined {
    const { body } = this.decision;
    if (body.action !== 'rewrite' || body.digests === undefined || this.judgement === 'right')
      return undefined;
    return 'digest-unjudged';
  }

  private end(): MigratedMessage {
    const { decision, made, json, outcome } = this;
    const { verdict, records, omitted = 0 } = outcome;
    const patch = this.values.ofRules(outcome.patch ?? NO_PATCH);
    const edits = editsOf(decision, records);
    const body = verdict === 'rewritten' ? outcome.body : undefined;
    const isEdited = body !== undefined || made?.body !== undefined;
    const note = outcome.note ?? (isEdited ? this.noteOfDigests : undefined);
    if (made === undefined)
      return { verdict: verdictOf(decision, verdict), body, json, edits, patch, omitted, note };
    return {
      verdict: 'rewritten',
      body: made.body ?? body,
      json,
      edits: [...edits, ...made.records],
      patch: joinedPatch([{ records, patch, omitted }, { patch: made.patch }]),
      omitted,
      note,
    };
  }
}

/** The result of a transform of a request. */
interface MadeRequest {
  readonly body: Uint8Array | undefined;
  readonly records: readonly EditRecord[];
  readonly patch: readonly PatchOperation[];
}

/** The V1 request of a response. */
export interface AnsweredRequest {
  readonly facts: RequestFacts;
  readonly edits: readonly EditRecord[];
  /** As the client sent it, without its question mark. */
  readonly query: string;
  /** The links in a body to rewrite; undefined if the rule book leaves them. */
  readonly links: BodyLinks | undefined;
}

/** How to handle the body of a response. */
export type ResponseStep =
  /** It is forwarded unchanged; see `decideResponse`. */
  | {
      readonly action: 'forward';
      readonly note: ResponseNote | undefined;
      readonly mayHideJson?: true;
      readonly coding?: Coding | undefined;
    }
  | {
      readonly action: 'collect';
      readonly coding: Coding | undefined;
      /** True if it is JSON only if its first byte says so, and is forwarded unchanged otherwise. */
      readonly isGuess: boolean;
      /** True if it is too long to be read whole: a list can still be rewritten while it arrives. */
      readonly isTooLong: boolean;
      /** True if the head depends on the body, and waits for all of it. */
      readonly holdsHead: boolean;
    }
  /** It is several texts, each rewritten when it arrives. */
  | {
      readonly action: 'stream';
      readonly coding: Coding | undefined;
      readonly texts: TextFormat;
    };

/** The outcome for the body of a response. */
export type ResponseOutcome =
  | (WithoutEdits<RewrittenResponse> & { readonly note?: ResponseNote | undefined })
  | {
      readonly verdict: 'unchanged';
      readonly body: Uint8Array;
      readonly note?: ResponseNote | undefined;
    };

type RecordedResponse = Pick<ResponseOutcome, 'body' | 'note'> &
  Partial<Pick<RewrittenResponse, 'records' | 'patch' | 'omitted'>>;

/** How the migration of a response ends. */
export type ResponseEnd = ResponseOutcome | RefusedMigration;

const FORWARDED: ResponseStep = { action: 'forward', note: undefined };

/**
 * The migration of V2's response to one V1 request: `begin` decides from its head, `finish` takes a complete body, and `pieces` and
 * `open` rewrite a long list or several texts while they arrive. Driven like {@link RequestMigration}.
 */
export class ResponseMigration implements Drivable<WithoutEdits<ResponseRewrite>, ResponseEnd> {
  readonly rules: CompiledRuleBook;
  readonly facts: RequestFacts;
  /** The data for rules in addition to the body; after lookups, with V2's objects. */
  context: ResponseContext;
  /** V2's status, or the one set by a transform, before it is mapped to V1's. */
  status: number;
  readonly plan: ResponsePlan;
  private readonly query: string;
  private readonly values: PatchValues;
  private step = FORWARDED;
  /** V2's own body, and the transform's. */
  private own: Uint8Array = NO_BYTES;
  private made: TransformResult | undefined = undefined;
  private readonly lookups: Lookups | undefined;
  /** The body to which the rules are applied again after lookups. */
  private asking: Uint8Array = NO_BYTES;

  constructor(
    rules: CompiledRuleBook,
    { facts, edits, links, query }: AnsweredRequest,
    status: number,
    values = ALL_VALUES,
  ) {
    this.rules = rules;
    this.status = status;
    this.facts = facts;
    this.query = query;
    this.values = values;
    this.plan = rules.responsePlan(facts.operation, facts.method);
    this.context = rules.responseContext(status, edits, links);
    this.lookups = this.plan.looksUp(status) ? new Lookups(rules, query) : undefined;
  }

  /** True if rules may look something up: the response then waits for V2. */
  get looksUp(): boolean {
    return this.lookups !== undefined;
  }

  /** The lookups so far, for the log; undefined if there were none. */
  get lookupCounts(): readonly LookupSummary[] | undefined {
    const { counts = [] } = this.lookups ?? {};
    return counts.length === 0 ? undefined : counts;
  }

  /** Decides from its head how to handle a response. */
  begin(headers: HeaderList): ResponseStep {
    this.step = this.decide(headers);
    return this.step;
  }

  private decide(headers: HeaderList): ResponseStep {
    const { isMade: holdsHead, context } = this;
    const { status, deprecated } = context;
    if (this.facts.method === 'HEAD' || !(holdsHead || this.plan.appliesTo(status, deprecated.length > 0)))
      return FORWARDED;
    return stepFor(status, headers, this.rules.ruleBook, holdsHead);
  }

  /** True if a transform makes the body, from all of it. */
  private get isMade(): boolean {
    return transformsStatus(this.rules.ruleBook, this.facts.operation, this.context.status);
  }

  /** Takes the whole body, decoded. */
  finish(decoded: DecodedBody): Work | ResponseEnd {
    const { step, facts } = this;
    if (typeof decoded === 'string') return unchanged(NO_BYTES, NOTE_OF_UNDECODED[decoded]);
    if (step.action === 'forward') return unchanged(decoded);
    if (step.action === 'stream') {
      const stream = this.open(step.texts);
      const parts = [stream.push(decoded).bytes, stream.end().bytes];
      return textsOutcome(stream.findings, stream.findings.isRewritten ? concatBytes(parts) : decoded);
    }
    if (step.isGuess && looksLikeJson(decoded) !== true) return unchanged(decoded);
    if (facts.operation === undefined || !this.isMade || decoded.length === 0) return { rules: decoded };
    if (!(JsonDocument.read(decoded, this.rules.ruleBook.limits.depth) instanceof JsonDocument))
      return unchanged(decoded, 'response-malformed');
    this.own = decoded;
    const message = { ...facts, query: this.query, status: this.status, body: decoded };
    return { transform: transformJob('response', facts.operation, message) };
  }

  rewrite(body: Uint8Array): ResponseRewrite {
    return this.plan.rewrite(body, this.context);
  }

  transformed(made: TransformOutcome): Work | RefusedMigration {
    if ('why' in made)
      return refused(
        failure('transform-failed', 'The gateway could not convert the response of the service.'),
        made,
      );
    this.made = made;
    return { rules: made.body ?? this.own };
  }

  /** Takes the outcome of the rules, from this thread or another. Every response that was read whole passes through here. */
  ruled(outcome: WithoutEdits<ResponseRewrite>, body: Uint8Array): ResponseWork | ResponseEnd {
    const { lookups } = this;
    const { asked } = outcome;
    if (asked === undefined || lookups === undefined) return this.merged(outcome);
    const job = lookups.jobFor(asked);
    if (job !== undefined) {
      this.asking = body;
      return { lookup: job };
    }
    const { why } = lookups;
    if (asked.missing === 'failed') return refused(failure('lookup-failed'), { why, detail: why });
    const end = this.merged(outcome);
    if (asked.missing === undefined) return end;
    return { ...end, note: end.note ?? (lookups.isUnasked ? 'lookup-unasked' : 'lookup-failed') };
  }

  /** Takes the results of lookups: the rules are applied again, and may look up more objects. */
  lookedUp(results: readonly LookupResult[]): Work {
    this.context = { ...this.context, ...this.lookups?.take(results) };
    return { rules: this.asking };
  }

  private merged(outcome: WithoutEdits<ResponseRewrite>): ResponseOutcome {
    const { made, own, values } = this;
    if (made === undefined) return outcome;
    // Half a response would be neither V2's nor V1's.
    if (outcome.verdict === 'unchanged' && outcome.note === 'response-buffer-full')
      return { ...outcome, body: own };
    this.status = made.status ?? this.status;
    if (made.body === undefined) return outcome;
    const { body, records = [], patch, omitted = 0, note }: RecordedResponse = outcome;
    return {
      verdict: 'rewritten',
      body,
      records: [...transformRecords(made, undefined), ...records],
      patch: joinedPatch([{ patch: values.ofTransform(made.patch) }, { records, patch, omitted }]),
      omitted,
      note,
    };
  }

  /** Returns what rewrites a long response while it arrives; undefined if all of it is needed. */
  pieces(emit: (part: Uint8Array) => void): ResponsePieces | undefined {
    return this.isMade ? undefined : this.plan.pieces(this.context, emit);
  }

  /** Opens a response of several texts; `hold` reserves memory, and `run` runs the work on one text. */
  open(
    format: TextFormat,
    hold: (bytes: number) => boolean = () => true,
    run: (work: (memory?: WorkMemory) => ResponseRewrite) => ResponseRewrite = (work) => work(),
  ): ResponseTexts {
    const { plan, context } = this;
    const { response: limit } = this.rules.ruleBook.limits;
    const rewrite = (text: Uint8Array): ResponseRewrite =>
      run((memory) => plan.rewrite(text, context, memory));
    return new ResponseTexts(format, { limit, hold, rewrite });
  }
}

/** True if rules or a transform may apply to responses to a request. */
export function mayEditResponses({ method, operation }: RequestFacts, rules: CompiledRuleBook): boolean {
  if (method === 'HEAD') return false;
  return (
    !rules.responsePlan(operation, method).isEmpty || isTransformed(rules.ruleBook, operation, 'response')
  );
}

/** How to handle a response that is read; with `holdsHead` the head depends on the whole body. */
export function stepFor(
  status: number,
  headers: HeaderList,
  { limits, policies }: RuleBook,
  holdsHead: boolean,
): ResponseStep {
  const decided = decideResponse(status, headers, limits.response, policies.media);
  const { coding } = decided;
  if (decided.action === 'forward') {
    if (decided.note !== 'response-too-large') return decided;
    return { action: 'collect', coding, isGuess: false, isTooLong: true, holdsHead };
  }
  const { texts, isGuess } = decided;
  if (texts !== undefined && !holdsHead) return { action: 'stream', coding, texts };
  // A transform takes one JSON value, but a stream of texts may never end.
  if (texts !== undefined) return { action: 'forward', note: 'response-media-type' };
  return { action: 'collect', coding, isGuess, isTooLong: false, holdsHead };
}

function unchanged(body: Uint8Array, note?: ResponseNote): ResponseOutcome {
  return { verdict: 'unchanged', body, note };
}

/** The outcome of several texts, as far as they have arrived. */
export function textsOutcome(
  { isRewritten, note, ...findings }: ResponseTexts['findings'],
  body: Uint8Array = NO_BYTES,
): ResponseOutcome {
  return isRewritten ? { verdict: 'rewritten', body, ...findings, note } : unchanged(body, note);
}

const NO_RECORDS: RewrittenHeaders['records'] = [];

/** The data for the fields of a response to a V1 client. */
export interface FieldsOfResponse {
  readonly rules: CompiledRuleBook;
  readonly facts: RequestFacts;
  readonly preflight: Preflight | undefined;
  /** Returns the targets of rewritten links. */
  readonly places: () => LinkRewriting;
  /** Whether a rewritten body gets V2's content coding again; by default, never. */
  readonly keepsCoding?: (coding: Coding) => boolean;
  /** Whether V2's tag is marked with the rules that rewrite the response. */
  readonly marksTags?: boolean;
}

/**
 * Sets V1's media type for a response: for an error the one that the rule book declares; for any other body V1's release, as the client
 * named it, or else the first in the rule book. Under a prefix of both versions, `Vary` tells caches which field chose the version (RFC
 * 9110 §12.5.5).
 */
function nameTypesOfV1(
  status: number,
  headers: string[],
  { release }: RequestFacts,
  { releaseMedia, namesTypes, prefixes, ruleBook }: CompiledRuleBook,
): void {
  if (!namesTypes) return;
  const type = headerValue(headers, 'content-type');
  const { as } = ruleBook.errors ?? {};
  if (as !== undefined && status >= 400 && type !== undefined && JSON_TYPE.test(type))
    setField(headers, 'content-type', as.type);
  else if (releaseMedia !== undefined && type !== undefined) {
    const isOfV1 = release === undefined || isReleaseOfV1(release, ruleBook);
    const named = release === undefined ? ruleBook.versionField?.v1?.[0] : release;
    if (isOfV1)
      setField(
        headers,
        'content-type',
        named ? releaseMedia.replaced(type, named) : releaseMedia.plain(type),
      );
  }
  const isInField = ruleBook.version !== undefined && ruleBook.versionField?.query === undefined;
  if (!prefixes.isShared || !isInField) return;
  const place = versionPlace(ruleBook);
  if (!isVariedBy(headers, place)) headers.push('Vary', place);
}

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json[ \t]*(?:;|$)/i;

/** Returns the fields of V2's response for a V1 client, and the edits of header rules. `status` is V2's, or a transform's. */
export function fieldsForV1(
  status: number,
  received: HeaderList,
  {
    rules,
    facts,
    preflight,
    places,
    keepsCoding,
    marksTags = isRepresentationRead(facts, rules),
  }: FieldsOfResponse,
): { readonly headers: string[]; readonly records: RewrittenHeaders['records'] } {
  const fields = [...contentlessFields(facts, rules, status, received, keepsCoding)];
  if (marksTags && headerValue(fields, 'etag') !== undefined) markTags(fields, rules.ruleBook.hash);
  const allowed = preflight?.response(fields);
  const plan = headerPlanOf(facts, rules);
  const ruled =
    plan?.hasResponseRules === true ? plan.response(status, allowed?.headers ?? fields) : undefined;
  const edited = ruled ?? allowed;
  const headers = edited === undefined ? fields : [...edited.headers];
  if (hasLinks(headers, rules.linkFields))
    rewriteLinks(headers, { ...places(), restore: (link) => restoredLink(facts, rules, link) });
  nameTypesOfV1(status, headers, facts, rules);
  if (edited === undefined) return { headers, records: NO_RECORDS };
  return { headers, records: [...(allowed?.records ?? []), ...(ruled?.records ?? [])] };
}
