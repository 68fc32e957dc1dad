import {
  acceptedCodings,
  ALL_CODINGS,
  type BodyFormat,
  type Coding,
  readCoding,
  isOfTexts,
  isStreamed,
  jsonFormat,
  readFormat,
  type StreamedFormat,
  readJsonType,
  withoutMethods,
} from '../http/content.ts';
import { type BodyDigests, readDigests, UNCHECKED } from '../http/digests.ts';
import {
  BODY_KINDS,
  type HeaderKind,
  kindOfName,
  tagsOfRules,
  tagsOfState,
  countedDown,
  type HopFields,
} from '../http/fields.ts';
import { isRequestId } from '../http/forwarding.ts';
import { type HeaderList, headerValue, headerValues, isNamed, setField } from '../http/header-list.ts';
import { type ForwardedFields, isHost, type LineChanges, type RequestHead } from '../http/request-head.ts';
import {
  originForm,
  prefixOf,
  valuesInQuery,
  withValueInQuery,
  readTarget,
  type Target,
} from '../http/target.ts';
import { printClientField } from '../rewrite/client-key.ts';
import type { CompiledRuleBook } from '../rewrite/compiled-rule-book.ts';
import type { RewrittenHeaders, RewrittenRequestHeaders } from '../rewrite/header-plan.ts';
import type { MovedTarget, Moves, PathAndQuery } from '../rewrite/moves.ts';
import { type RewrittenQuery, UNMAPPED } from '../rewrite/query-plan.ts';
import type { EditRecord } from '../rewrite/records.ts';
import { type ReleaseMedia, takesPlainJson } from '../rules/release-place.ts';
import type { RefusalForm } from '../rules/refusal-form.ts';
import {
  isReleaseDate,
  isReleaseOfV1,
  type Operation,
  type Policies,
  type ReleaseParts,
  type RuleBook,
  VERSION_HEADER,
  versionHeader,
  versionPlace,
  type Webhook,
} from '../rules/rule-book.ts';
import type { DecodedBody } from './decode-web-body.ts';
import { bufferFull, type Failure, failure, type FailureCode, failureOf } from './failure.ts';
import { overriddenMethod, type OverriddenMethod, withoutMethod } from './method-override.ts';
import { askedOperation } from './migrated.ts';
import { Preflight } from './preflight.ts';

/** The parts of a request that are available before its body is read. */
export interface DecidedRequest extends CheckedHead {
  /** As sent by the client, not decoded. */
  readonly target: string;
  readonly hasBody: boolean;
}

/** Limits set by the operator and the runtime. */
export interface DecisionLimits {
  /** Maximum bytes of a body to rewrite; undefined leaves it to the rule book. */
  readonly bodyLimit?: number | undefined;
  /** The content codings that the runtime can decode; all by default. */
  readonly codings?: readonly Coding[] | undefined;
  /** Path below V1's prefix at which a client gets its own report; undefined if there is none. */
  readonly selfService?: string | undefined;
}

/** The limits for requests that are received and forwarded over HTTP. */
export interface HopLimits extends DecisionLimits {
  /** Recognises a request that has already passed through this gateway; absent if none is forwarded. */
  readonly hopFields?: HopFields | undefined;
}

/** How a request is handled: refused, passed to V2 unchanged, migrated from V1 to V2, delivered to a subscriber, or served with a report. */
export type Decision =
  | RefuseDecision
  | OptionsDecision
  | PassDecision
  | MigrateDecision
  | SelfServiceDecision
  | WebhookDecision;

/** The gateway itself responds to an OPTIONS that asks about it, or that must not be forwarded. */
interface OptionsDecision {
  readonly route: 'options';
}

/** A delivery from V2, for a subscriber that was built for V1. */
export interface WebhookDecision {
  readonly route: 'webhook';
  readonly webhook: Webhook;
  /** The operation whose response rules rewrite the body; undefined if it is not rewritten. */
  readonly operation: Operation | undefined;
  /** Maximum bytes of a body, received or decoded. */
  readonly bodyLimit: number;
}

/** The gateway itself responds with the report of the client that asks. */
interface SelfServiceDecision {
  readonly route: 'self-service';
}

/** The gateway itself responds, without an upstream. */
interface RefuseDecision {
  readonly route: 'none';
  readonly failure: Failure;
  /** True when the rest of the connection cannot be trusted. */
  readonly closesConnection: boolean;
}

/** Native V2 traffic. */
export interface PassDecision {
  readonly route: 'pass';
  readonly target: Target;
}

/** V1 traffic, with the plan for its body. */
export interface MigrateDecision {
  readonly route: 'migrate';
  readonly target: Target;
  /** The method that selects the rules: the request's, or the one that overrides a POST. */
  readonly method: string;
  /** Undefined for a request that the rule book does not name. */
  readonly operation: Operation | undefined;
  /** The query after the query rules. */
  readonly query: RewrittenQuery;
  /** The method that V2 receives. Retries depend on it; everything that the client sees depends on the client's own method. */
  readonly v2Method: string;
  /** The target that V2 receives, without the path of the service itself. */
  readonly v2Target: string;
  /** Edits of the target that belong to no change: parameters that a moved operation drops. */
  readonly targetEdits: readonly EditRecord[];
  /** True if the header fields that name a method are dropped. */
  readonly dropsOverride: boolean;
  /** The header fields after the header rules, before the gateway's own; undefined if no rule applies. */
  readonly headers: RewrittenHeaders | undefined;
  /** The question of a browser's preflight; undefined for any other request. */
  readonly preflight?: Preflight | undefined;
  /** Why the request is not sent to V2, with any body. */
  readonly refusal: Failure | undefined;
  /** Maximum bytes of a body to rewrite, received or decoded. */
  readonly bodyLimit: number;
  readonly body: BodyDecision;
  /** The release that the rule book's query parameter or media types name; see {@link RequestFacts.release}. */
  readonly release?: string | undefined;
}

/**
 * Decides on a received request like `decide`, with the duties of an HTTP intermediary: detects loops (RFC 9110 §7.6.3), decrements
 * Max-Forwards (§7.6.2), responds for itself (§9.3.7), and reads the absolute form (RFC 9112 §3.2.2).
 */
export function decideReceived(
  request: DecidedRequest,
  rules: CompiledRuleBook,
  limits: HopLimits,
): Decision {
  const { head, method, version } = request;
  const isOriginForm = request.target.startsWith('/');
  if (isOriginForm && head.via === undefined && head.maxForwards === undefined)
    return decide(request, rules, limits);
  const target = isOriginForm
    ? request.target
    : originForm(request.target, { method, version, host: head.host });
  const failed = headFailure(request, rules);
  if (failed !== undefined) return { route: 'none', failure: failed, closesConnection: true };
  if (head.via !== undefined && limits.hopFields?.isLoop(head.via) === true)
    return refuse(failure('loop-detected'));
  if (target === '*' && method === 'OPTIONS') return { route: 'options' };
  return decideMaxForwards(method, head.maxForwards) ?? decide({ ...request, target }, rules, limits);
}

/**
 * Decides how to handle a request, from its head alone. Live exchanges, dry runs, explanations and replays all call it, so that they
 * cannot differ from live traffic.
 */
export function decide(request: DecidedRequest, rules: CompiledRuleBook, limits: DecisionLimits): Decision {
  const failed = headFailure(request, rules);
  if (failed !== undefined) return { route: 'none', failure: failed, closesConnection: true };
  const { ruleBook, prefixes } = rules;
  const target = readTarget(request.target, prefixes);
  if (target.fault !== undefined) return refuse(failure('bad-target', target.fault));
  if (target.version === undefined || (prefixes.hasRoot && prefixOf(target) === '')) {
    const webhook = rules.webhooks?.get(target.rest);
    if (webhook !== undefined) return decideWebhook(webhook, ruleBook, limits);
  }
  switch (target.version) {
    case undefined: {
      return ruleBook.other === 'pass' ? { route: 'pass', target } : refuse(notServed(ruleBook));
    }
    case 'v2':
      return { route: 'pass', target };
    case 'v1': {
      const { releaseParameter } = rules;
      if (releaseParameter !== undefined && valuesInQuery(target.query, releaseParameter).length > 1)
        return refuse(failure('bad-request', `The query parameter ${releaseParameter} has two values.`));
      const release = requestedVersion(request.head, target.query, rules);
      const isNative = release !== undefined && !isReleaseOfV1(release, ruleBook);
      if (isNative && prefixes.isShared && prefixOf(target) === prefixes.v2) return { route: 'pass', target };
      if (limits.selfService !== undefined && target.rest === limits.selfService)
        return { route: 'self-service' };
      const { hasBody, head } = request;
      if (
        ruleBook.client !== undefined &&
        rules.clientKeys?.isAmbiguous(head.forwardedHeaders, target.raw) === true
      )
        return refuse(failure('bad-request', `The key ${printClientField(ruleBook.client)} occurs twice.`));
      if (ruleBook.policies.signed === 'refuse' && isSigned(head, target.query))
        return refuse(failure('signed'));
      const seen =
        request.method === 'POST'
          ? overriddenMethod(head.methodOverride, target.query, ruleBook.override)
          : undefined;
      if (seen === 'ambiguous') return refuse(failure('bad-request', TWO_METHODS));
      const { method = request.method } = seen ?? {};
      const decided = decideTarget(method, target, head, rules, seen);
      const { operation, v2Method } = decided;
      const bodyLimit = limits.bodyLimit ?? ruleBook.limits.body;
      const { codings = ALL_CODINGS } = limits;
      const isMoved = operation?.to !== undefined;
      // Rules give a request a body only if HTTP defines a meaning for content with the method that V2 gets.
      const mayHaveBody = hasBody || hasContent(isMoved ? v2Method : method);
      const hasRules = mayHaveBody && rules.rewritesBodies(operation, method);
      const dropsOverride = seen !== undefined && (seen.isDropped || (seen.isOverridden && isMoved));
      const body =
        v2Method !== request.method && hasBody && !hasContent(v2Method)
          ? DROP
          : !hasRules && hasBody && rules.leavesBody(method) && readJsonType(head.contentType) === 'json'
            ? method === 'PUT'
              ? UNNAMED_PUT
              : UNNAMED_BODY
            : decideBody(
                {
                  hasRules,
                  hasBody,
                  head,
                  form: isFollowed(request, ruleBook) ? { method, target } : undefined,
                },
                { policies: ruleBook.policies, bodyLimit, codings },
                rules,
                operation,
              );
      // Listed one by one: a spread would take a tenth of a microsecond longer for every request.
      return {
        route: 'migrate',
        target,
        method,
        operation,
        query: decided.query,
        v2Method,
        v2Target: decided.v2Target,
        targetEdits: decided.targetEdits,
        headers: decided.headers,
        refusal: oddity(target) ?? decided.refusal,
        preflight: decided.preflight,
        dropsOverride,
        bodyLimit,
        body,
        release: releaseParameter === undefined ? releaseInMedia(release, head, rules) : release,
      };
    }
  }
}

/** The release that a request names in media types; empty if it asks for JSON without a release. */
function releaseInMedia(
  release: string | undefined,
  { forwardedHeaders }: RequestHead,
  { releaseMedia }: CompiledRuleBook,
): string | undefined {
  if (releaseMedia === undefined || release !== undefined) return releaseMedia && release;
  return takesPlainJson(headerValues(forwardedHeaders, 'accept').join(',')) ? '' : undefined;
}

/** True for a request whose method V2 takes from a field of its form. */
function isFollowed({ method }: DecidedRequest, { override }: RuleBook): boolean {
  return method === 'POST' && override === 'follow';
}

function decideWebhook(webhook: Webhook, book: RuleBook, { bodyLimit }: DecisionLimits): WebhookDecision {
  return {
    route: 'webhook',
    webhook,
    operation: book.operations.find(({ id }) => id === webhook.as),
    bodyLimit: bodyLimit ?? book.limits.body,
  };
}

/**
 * Why a V1 request is not migrated: servers could read its target differently. Requests that are only forwarded may have such a target,
 * because the service received them before there was a gateway.
 */
function oddity({ oddity: detail }: Target): Failure | undefined {
  return detail === undefined ? undefined : failure('bad-target', detail);
}

/** True for a request that its client has signed, in a field for signatures or, as for AWS, in a parameter. */
export function isSigned(head: RequestHead, query: string): boolean {
  return head.isSigned || query.includes('X-Amz-Signature=');
}

const TWO_METHODS =
  'The request asks for two methods: send only one of X-HTTP-Method-Override, X-HTTP-Method, X-Method-Override and _method.';

/**
 * The form of the gateway's own error for a request with this raw target: the rule book's for clients that use V1, or may use it.
 * Undefined for V2's clients, which get the service's own form.
 */
export function refusalForm(
  { route }: Decision,
  target: string,
  { prefixes, ruleBook }: CompiledRuleBook,
): RefusalForm | undefined {
  if (ruleBook.refusals === undefined || route === 'pass' || route === 'webhook') return undefined;
  return route === 'none' && prefixes.versionOf(target) === 'v2' ? undefined : ruleBook.refusals;
}

/** Responds to an OPTIONS or TRACE with Max-Forwards: 0 (RFC 9110 §7.6.2); other methods have no such limit. */
function decideMaxForwards(method: string, maxForwards: string | undefined): Decision | undefined {
  if (maxForwards === undefined || (method !== 'OPTIONS' && method !== 'TRACE')) return undefined;
  const left = countedDown(maxForwards);
  if (left === undefined) return refuse(failure('bad-request', 'Max-Forwards is not a number.'));
  if (left >= 0) return undefined;
  return method === 'OPTIONS' ? { route: 'options' } : refuse(failure('not-implemented'));
}

/** The failure for a path under neither prefix. */
export function notServed({ from, alsoFrom = [], to }: Pick<RuleBook, 'from' | 'alsoFrom' | 'to'>): Failure {
  const prefixes = [...new Set([from, ...alsoFrom, to])];
  const last = prefixes.at(-1) ?? '';
  const served =
    prefixes.length === 1 ? `Only ${last} is` : `Only ${prefixes.slice(0, -1).join(', ')} and ${last} are`;
  return failure('not-found', `${served} served here.`);
}

/** Refuses a request without closing its connection. */
function refuse(failed: Failure): RefuseDecision {
  return { route: 'none', failure: failed, closesConnection: false };
}

/** A method and a raw target. */
export interface RequestLine {
  readonly method: string;
  readonly target: string;
}

/** Returns V2's request line for a V1 request, for readers of recorded requests; returns any other unchanged. */
export function requestLineAtV2(method: string, target: string, rules: CompiledRuleBook): RequestLine {
  const read = readTarget(target, rules.prefixes);
  if (read.fault !== undefined || read.version !== 'v1') return { method, target };
  const { v2Method, v2Target } = decideTarget(method, read, NO_FIELDS, rules);
  return { method: v2Method, target: v2Target };
}

/** The parts of a decision that follow from method and target. */
type TargetDecision = Pick<
  MigrateDecision,
  'operation' | 'query' | 'v2Method' | 'v2Target' | 'targetEdits' | 'headers' | 'refusal' | 'preflight'
>;

/** The parts of a head that decisions about target and fields depend on. */
type TargetHead = Pick<RequestHead, 'forwardedHeaders' | 'preflightMethod'>;

const NO_FIELDS: TargetHead = { forwardedHeaders: [], preflightMethod: undefined };

function decideTarget(
  method: string,
  target: Target,
  head: TargetHead,
  rules: CompiledRuleBook,
  seen?: OverriddenMethod,
): TargetDecision {
  const { rest } = target;
  const preflight = Preflight.of({ method, asked: head.preflightMethod, rest, query: target.query }, rules);
  const operation = rules.match(method, rest, target.query);
  // A HEAD asks for the head of the GET of the same target (RFC 9110 §9.3.2).
  const asked = askedOperation({ method, rest, operation }, rules, target.query);
  const received = seen?.query ?? target.query;
  const rewritten = rules.headerPlan(asked)?.request(head.forwardedHeaders, received);
  const refused = rewritten !== undefined && 'code' in rewritten;
  const ruled = refused ? undefined : rewritten;
  const headers = preflight === undefined ? ruled : preflightHeaders(preflight, ruled, head, received);
  const { gone } = asked ?? {};
  const refusal =
    gone === undefined ? (refused ? failureOf(rewritten) : undefined) : failure('operation-gone', gone);
  const v1Query = headers?.query ?? received;
  // If V2 gets the method itself, the parameter that names it is removed.
  const named = seen?.isOverridden === true && asked?.to !== undefined ? withoutMethod(v1Query) : v1Query;
  const query = rules.queryPlan(asked, method)?.rewrite(named) ?? unchangedQuery(named);
  const edits = seen?.edits ?? NO_EDITS;
  const { moves, prefixes } = rules;
  const moved =
    moves && movedLine(method, { path: target.rest, query: query.query }, asked, moves, preflight);
  if (moved === undefined) {
    const v2Target = `${prefixes.v2 + target.rest || '/'}${queryAtV2(query.query, rules)}`;
    const v2Method = seen === undefined ? method : 'POST';
    return { operation, query, v2Method, v2Target, targetEdits: edits, headers, refusal, preflight };
  }
  const v2Target = `${prefixes.v2}${moved.path}${queryAtV2(moved.query, rules)}`;
  const targetEdits = edits.length === 0 ? moved.records : [...edits, ...moved.records];
  return { operation, query, v2Method: moved.method, v2Target, targetEdits, headers, refusal, preflight };
}

/** The query with V2's release, if a parameter names it. */
function queryAtV2(query: string, { releaseParameter, ruleBook }: CompiledRuleBook): string {
  if (releaseParameter === undefined) return query;
  const [requested] = valuesInQuery(query, releaseParameter);
  const version = chooseApiVersion(requested, ruleBook, Infinity);
  return version === undefined || version.why === 'client'
    ? query
    : withValueInQuery(query, releaseParameter, version.sent);
}

/** The fields of a preflight after the header rules, which apply to its own fields, with its question translated for V2. */
function preflightHeaders(
  preflight: Preflight,
  ruled: RewrittenRequestHeaders | undefined,
  { forwardedHeaders }: TargetHead,
  query: string,
): RewrittenRequestHeaders | undefined {
  const asked = preflight.request(ruled?.headers ?? forwardedHeaders);
  if (asked.headers === (ruled?.headers ?? forwardedHeaders)) return ruled;
  return {
    headers: asked.headers,
    query: ruled?.query ?? query,
    records: [...(ruled?.records ?? []), ...asked.records],
    rules: [...(ruled?.rules ?? []), ...asked.rules],
  };
}

const NO_EDITS: readonly EditRecord[] = [];

/** V2's method and path for a request; undefined if the path is the same. */
function movedLine(
  method: string,
  at: PathAndQuery,
  asked: Operation | undefined,
  moves: Moves,
  preflight: Preflight | undefined,
): (MovedTarget & { readonly method: string }) | undefined {
  // An OPTIONS that is not a preflight asks about all methods of a path (RFC 9110 §9.3.7).
  const about = preflight === undefined && method === 'OPTIONS' ? moves.anyAt(at.path) : preflight?.operation;
  const operation = asked ?? about;
  const moved = operation && moves.forward(operation, at);
  if (moved === undefined) return undefined;
  const isOwn = operation?.method === method;
  const sent =
    isOwn || (method === 'HEAD' && operation?.to?.method !== 'GET') ? operation?.to?.method : method;
  return { ...moved, method: sent ?? method };
}

/** All edits of a request: those of its header fields, then of its query, then of its body. */
export function editsOf(
  { query, targetEdits, headers }: MigrateDecision,
  body: readonly EditRecord[],
): readonly EditRecord[] {
  const ofHeaders = headers?.records ?? NO_EDITS;
  // Similar bodies share their list, so it must not be changed.
  if (query.records.length === 0 && targetEdits.length === 0 && ofHeaders.length === 0) return body;
  return [...ofHeaders, ...query.records, ...targetEdits, ...body];
}

/** The verdict on a request, given the one on its body: a rewritten query or header field alone makes it `rewritten`. */
export function verdictOf(
  { query, targetEdits, headers }: MigrateDecision,
  body: 'rewritten' | 'unchanged',
): 'rewritten' | 'unchanged' {
  if (query.records.some(({ note }) => note !== UNMAPPED) || targetEdits.length > 0) return 'rewritten';
  return headers !== undefined && headers.records.length > 0 ? 'rewritten' : body;
}

function unchangedQuery(query: string): RewrittenQuery {
  return { query, records: [], rules: [] };
}

/** How the body of a V1 request is handled. */
export type BodyDecision =
  /** Rules apply: the body is read, decoded and rewritten. */
  | {
      readonly action: 'rewrite';
      readonly coding: Coding | undefined;
      readonly format: BodyFormat;
      /** True for a request without a body, for which the rules create one. */
      readonly isMade?: true;
      /** The digests that the client sent: an edited body loses them, and a wrong one refuses it. */
      readonly digests?: BodyDigests;
    }
  /** The body is forwarded unchanged; `note` says why, if rules would have applied. */
  | { readonly action: 'forward'; readonly note: string | undefined }
  | { readonly action: 'refuse'; readonly failure: Failure }
  /** The body is read and dropped: V2 has the operation under another method, which takes no body. */
  | { readonly action: 'drop'; readonly note: string };

/** Policies, limit and codings that decide how a body is handled. */
interface BodyLimits {
  readonly policies: Policies;
  /** Maximum bytes of a body to rewrite. */
  readonly bodyLimit: number;
  readonly codings: readonly Coding[];
}

/** The parts of a request that decide about its body. */
interface BodyFacts {
  readonly hasRules: boolean;
  readonly hasBody: boolean;
  readonly head: RequestHead;
  /** The method that rules use, and the target, if a form could name another method. */
  readonly form?: { readonly method: string; readonly target: Target } | undefined;
}

/**
 * Decides from its head how to handle the body of a V1 request; `hasRules` says whether request rules may apply to it. A form is not read
 * if its `operation` has no rules.
 */
export function decideBody(
  { hasRules, hasBody, head, form }: BodyFacts,
  { policies, bodyLimit, codings }: BodyLimits,
  rules?: CompiledRuleBook,
  operation?: Operation,
): BodyDecision {
  if (!hasRules) return FORWARD;
  if (!hasBody) return rules?.makesBodies(operation) === true ? MAKE : FORWARD;
  let type: ReturnType<typeof readJsonType> | BodyFormat = readJsonType(head.contentType);
  if (type === 'other') {
    const format = readFormat(head.contentType, policies.forms === 'rewrite');
    const others =
      form === undefined || format === undefined ? NO_METHODS : methodsElsewhere(form, rules, operation);
    if (format === undefined || (rules?.requestPlan(operation).isEmpty === true && others.length === 0))
      return { action: 'forward', note: 'media-type' };
    if (format === 'malformed') return unreadType(policies);
    type = format === 'charset' || format === 'ambiguous' ? format : withoutMethods(format, others);
  }
  if (type === 'json') type = jsonFormat(head.contentType);
  if (type === 'ambiguous')
    return { action: 'refuse', failure: failure('ambiguous-media-type', undefined, ACCEPT) };
  if (type === 'charset') {
    if (policies.unsupported === 'forward') return { action: 'forward', note: 'unsupported: forward' };
    return { action: 'refuse', failure: failure('unsupported-charset', undefined, ACCEPT) };
  }
  const coding = readCoding(head.contentEncoding);
  if (coding === 'unsupported' || (coding !== undefined && !codings.includes(coding))) {
    if (policies.unsupported === 'forward') return { action: 'forward', note: 'unsupported: forward' };
    return { action: 'refuse', failure: unsupportedCoding(codings) };
  }
  // For a body that is rewritten while it arrives, the limit applies to one text, or to its fields.
  const isWhole = !isStreamed(type) || coding !== undefined;
  if (isWhole && head.contentLength !== undefined && head.contentLength > bodyLimit)
    return { action: 'refuse', failure: bodyTooLarge(bodyLimit) };
  if (!head.hasDigest) return { action: 'rewrite', coding, format: type };
  const digests =
    isWhole || isCollectable(type, head, bodyLimit) ? readDigests(head.forwardedHeaders) : UNCHECKED;
  return { action: 'rewrite', coding, format: type, digests };
}

/** True for a body that may be read whole although it could be rewritten while it arrives; texts without a length may never end. */
function isCollectable(type: BodyFormat, { contentLength }: RequestHead, bodyLimit: number): boolean {
  return contentLength === undefined ? !isOfTexts(type) : contentLength <= bodyLimit;
}

/** A media type that resembles one of forms: V2 may find fields where the rules find none. */
function unreadType({ malformed }: Policies): BodyDecision {
  if (malformed === 'forward') return { action: 'forward', note: 'malformed-form' };
  return { action: 'refuse', failure: failure('malformed-form') };
}

function methodsElsewhere(
  { method, target }: NonNullable<BodyFacts['form']>,
  rules: CompiledRuleBook | undefined,
  operation: Operation | undefined,
): readonly string[] {
  return rules?.methodsElsewhere(operation, method, target.rest) ?? NO_METHODS;
}

const NO_METHODS: readonly string[] = [];

/** True if the rules give a body to a request without one. */
export function makesBody(decision: BodyDecision): boolean {
  return decision.action === 'rewrite' && decision.isMade === true;
}

/** True for a body that rules treat as JSON. */
export function isReadAsJson(decision: BodyDecision): boolean {
  return decision.action === 'rewrite' && decision.format === 'json';
}

/** The decision for a request whose body was made by a transform: V2 gets JSON, even if the client sent a form. */
export function withMadeBody<Decided extends { readonly body: BodyDecision }>(decision: Decided): Decided {
  return isReadAsJson(decision.body) ? decision : { ...decision, body: MAKE };
}

/**
 * The format of a body that is rewritten while it arrives; undefined for any other. A body with a content coding is decoded whole, and
 * one with a digest is checked whole before V2 gets any of it.
 */
export function streamedFormat(decision: BodyDecision): StreamedFormat | undefined {
  if (decision.action !== 'rewrite' || decision.coding !== undefined) return undefined;
  if (decision.digests !== undefined && decision.digests.checks.length > 0) return undefined;
  return isStreamed(decision.format) ? decision.format : undefined;
}

/** Returns the format of a request body to which rules apply. */
export function formatOf(decision: BodyDecision): BodyFormat {
  return decision.action === 'rewrite' ? decision.format : 'json';
}

/** Returns the content coding to remove before rewriting; an empty body has none, even if its head declares one. */
export function codingOf(decision: BodyDecision, body: Uint8Array): Coding | undefined {
  return decision.action === 'rewrite' && body.length > 0 ? decision.coding : undefined;
}

/** Rules add members to the body of a request without one: it becomes a JSON object. */
const MAKE: BodyDecision = { action: 'rewrite', coding: undefined, format: 'json', isMade: true };

const FORWARD: BodyDecision = { action: 'forward', note: undefined };

/**
 * Some clients cannot send PATCH, and V1 may have read their PUT as one. If no rule names the operation, V2 gets the body of the PUT
 * unread.
 */
const UNNAMED_PUT: BodyDecision = { action: 'forward', note: 'unnamed-put' };

/** The same for methods whose content HTTP does not define, or that are rare: DELETE, GET, QUERY. */
const UNNAMED_BODY: BodyDecision = { action: 'forward', note: 'unnamed-body' };

const DROP: BodyDecision = { action: 'drop', note: 'body-dropped' };

/** False for a method whose content has no meaning (RFC 9110 §9.3.1, §9.3.2 and §9.3.5). */
function hasContent(method: string): boolean {
  return method !== 'GET' && method !== 'HEAD' && method !== 'DELETE';
}

/** RFC 9110 §15.5.16. */
const ACCEPT: HeaderList = ['Accept', 'application/json'];

function unsupportedCoding(codings: readonly Coding[]): Failure {
  return failure('unsupported-coding', undefined, ['Accept-Encoding', codings.join(', ') || 'identity']);
}

/** The failure for a body that could not be decoded, up to `bodyLimit` bytes. */
export function undecoded(fault: Exclude<DecodedBody, Uint8Array>, bodyLimit: number): Failure {
  switch (fault) {
    case 'too-large':
      return failure('body-too-large', `The decoded body is larger than ${bodyLimit} bytes.`);
    case 'undecodable':
      return failure('undecodable-body');
    case 'buffer-full':
      return bufferFull();
  }
}

/** The failure for a body of more than `bodyLimit` bytes, as received. */
export function bodyTooLarge(bodyLimit: number): Failure {
  return failure('body-too-large', `The body is larger than ${bodyLimit} bytes.`);
}

/** The inputs that determine the header fields of a migrated request. */
export interface HeadMigration {
  /** Undefined if the rule book names no release: no field for one is then read or sent. */
  readonly version: ApiVersion | undefined;
  /** The forwarded fields after the header rules; undefined for the received ones. */
  readonly headers?: HeaderList | undefined;
  /** True when the body was rewritten: fields that describe the original body are then left out. */
  readonly isRewritten: boolean;
  /** True when the body and its media type are dropped. */
  readonly isBodyDropped?: boolean | undefined;
  /** True when rules created a JSON body for a request without one. */
  readonly isBodyMade?: boolean | undefined;
  /** True when the fields that name another method are dropped. */
  readonly dropsOverride?: boolean | undefined;
  /** The id to send if the client's is absent or invalid; undefined leaves the field as received. */
  readonly requestId?: string | undefined;
  /** The `traceparent` of a trace that begins here, in place of any that the client sent; undefined leaves the client's as received. */
  readonly traceparent?: string | undefined;
  /**
   * The codings that the response may have so that it can be rewritten; undefined if it is not rewritten: `Accept-Encoding` and `Range`
   * then stay as received.
   */
  readonly codings?: readonly Coding[] | undefined;
  /** The hash of the rule book, for a conditional request whose response rules rewrite; undefined if none do. */
  readonly rereadBy?: string | undefined;
  /** The media types that name the release; undefined if it is named elsewhere. */
  readonly releaseMedia?: ReleaseMedia | undefined;
}

/** The header fields of a migrated request. */
export class MigratedHead implements ForwardedFields, LineChanges {
  private readonly received: RequestHead;
  private readonly ruled: HeaderList | undefined;
  private readonly isRewritten: boolean;
  private readonly isBodyDropped: boolean;
  readonly isBodyMade: boolean;
  private readonly dropsOverride: boolean;
  private readonly isResponseRewritten: boolean;
  private readonly isPaged: boolean;
  readonly versionHeader: string;
  /** False if the rule book names no release, and no field for one. */
  private readonly isReleased: boolean;
  /** The fields that are set; undefined leaves one as received. */
  readonly version: string | undefined;
  readonly requestId: string | undefined;
  readonly traceparent: string | undefined;
  private readonly acceptEncoding: string | undefined;
  private readonly ifMatch: string | undefined;
  private readonly ifNoneMatch: string | undefined;
  /** True if the client may have a copy that was rewritten by other rules. */
  private readonly isReread: boolean;
  /** The media types that name V2's release; undefined if the client chose them, or the release is named elsewhere. */
  private readonly media: { readonly types: ReleaseMedia; readonly release: string } | undefined;
  private list: HeaderList | undefined = undefined;

  constructor(received: RequestHead, migration: HeadMigration) {
    const { version, headers, isRewritten, requestId, traceparent, codings } = migration;
    this.received = received;
    // Lines that no rule changed are written as received.
    this.ruled = headers === undefined || headers === received.forwardedHeaders ? undefined : headers;
    this.isRewritten = isRewritten;
    this.isBodyDropped = migration.isBodyDropped === true;
    this.isBodyMade = migration.isBodyMade === true;
    this.dropsOverride = migration.dropsOverride === true;
    this.isResponseRewritten = codings !== undefined;
    this.isPaged = received.range !== undefined && !/^bytes[ \t]*=/i.test(received.range);
    const { releaseMedia } = migration;
    const isChosen = version === undefined || version.why === 'client';
    const inField = releaseMedia === undefined && version?.field?.startsWith('?') !== true;
    this.version = isChosen || !inField ? undefined : version.sent;
    this.media =
      isChosen || releaseMedia === undefined ? undefined : { types: releaseMedia, release: version.sent };
    this.versionHeader = (inField ? version?.field : undefined) ?? VERSION_HEADER;
    this.isReleased = version !== undefined && inField;
    this.requestId = isRequestId(received.requestId) ? undefined : requestId;
    this.traceparent = traceparent;
    const { acceptEncoding: accepted, ifMatch, ifNoneMatch } = received;
    const strong = ifMatch === undefined ? undefined : tagsOfState(ifMatch);
    this.ifMatch = strong === ifMatch ? undefined : strong;
    const { rereadBy } = migration;
    this.isReread = rereadBy !== undefined;
    this.ifNoneMatch =
      rereadBy === undefined || ifNoneMatch === undefined ? undefined : tagsOfRules(ifNoneMatch, rereadBy);
    const readable =
      accepted === undefined || codings === undefined ? accepted : acceptedCodings(accepted, codings);
    this.acceptEncoding = readable === accepted ? undefined : readable;
  }

  get forwardedHeaders(): HeaderList {
    this.list ??= this.listed();
    return this.list;
  }

  get forwardedLines(): string | undefined {
    if (this.ruled !== undefined || this.media !== undefined) return undefined;
    // A replaced field keeps its place.
    if (this.acceptEncoding !== undefined || this.ifMatch !== undefined || this.ifNoneMatch !== undefined)
      return undefined;
    return this.received.changedLines(this);
  }

  readonly isKept = (kind: HeaderKind): boolean => {
    // V1's body has different bytes, so the client gets all of it, as RFC 9110 §14.2 allows; units other than bytes are for paging.
    if (kind === 'range' || kind === 'if-range') return !this.isResponseRewritten || this.isPaged;
    // A date does not tell which rules wrote the client's copy, and a tag with other rules identifies another text.
    if (this.isReread && kind === 'if-modified-since') return false;
    if (this.isReread && kind === 'if-none-match') return this.ifNoneMatch !== undefined;
    // The state of a trace that ends here does not apply to the new one (W3C Trace Context §3.3).
    if (kind === 'tracestate') return this.traceparent === undefined;
    if (kind === 'method-override') return !this.dropsOverride;
    // nginx drops such names, and Node's servers do not decode them.
    if (kind === 'alias') return false;
    if ((this.isBodyDropped || this.isBodyMade) && kind === 'content-type') return false;
    return !(this.isRewritten || this.isBodyDropped) || !BODY_KINDS.has(kind);
  };

  /** True if a field of which only the first line counts is repeated; `RequestHead` checks only `x-api-version` for the release. */
  hasRepetition(): boolean {
    const { versionHeader, received } = this;
    if (received.repeatsFields) return true;
    return (
      versionHeader !== VERSION_HEADER && headerValues(received.forwardedHeaders, versionHeader).length > 1
    );
  }

  private listed(): HeaderList {
    const forwardedHeaders = this.ruled ?? this.received.forwardedHeaders;
    const headers: string[] = [];
    const hasRepetition = this.hasRepetition();
    const single = new Set<string>();
    for (let at = 0; at < forwardedHeaders.length; at += 2) {
      const name = forwardedHeaders[at] ?? '';
      const kind = kindOfName(name);
      // Only the first line of such a field counts; V2 could use the second.
      const isSingle = kind === 'authorization' || kind === 'content-type';
      if (hasRepetition && (isSingle || (this.isReleased && isNamed(name, this.versionHeader)))) {
        const lower = name.toLowerCase();
        if (single.has(lower)) continue;
        single.add(lower);
      }
      if (this.isKept(kind)) headers.push(name, forwardedHeaders[at + 1] ?? '');
    }
    const { version, requestId, traceparent, acceptEncoding, ifMatch, ifNoneMatch } = this;
    if (this.isBodyMade) setField(headers, 'content-type', JSON_TYPE);
    if (acceptEncoding !== undefined) setField(headers, 'accept-encoding', acceptEncoding);
    if (ifMatch !== undefined) setField(headers, 'if-match', ifMatch);
    if (ifNoneMatch !== undefined) setField(headers, 'if-none-match', ifNoneMatch);
    if (version !== undefined) setField(headers, this.versionHeader, version);
    if (requestId !== undefined) setField(headers, 'x-request-id', requestId);
    if (traceparent !== undefined) setField(headers, 'traceparent', traceparent);
    if (this.media !== undefined) nameRelease(headers, this.media);
    return headers;
  }
}

/** Names V2's release in Accept, and in the media type of the body if that names one. */
function nameRelease(
  headers: string[],
  { types, release }: { readonly types: ReleaseMedia; readonly release: string },
): void {
  const accept = headerValues(headers, 'accept');
  setField(headers, 'accept', types.accepted(accept.length === 0 ? undefined : accept.join(', '), release));
  const type = headerValue(headers, 'content-type');
  if (type !== undefined) setField(headers, 'content-type', types.replaced(type, release));
}

const JSON_TYPE = 'application/json';

/**
 * The release that a request names; undefined if it names none. Of several media types, the first with a V1 release counts: the client
 * accepts it, and its body may have that release's form.
 */
export function requestedVersion(
  head: RequestHead,
  query: string,
  { ruleBook, releaseMedia, releaseParameter }: CompiledRuleBook,
): string | undefined {
  if (releaseParameter !== undefined) return valuesInQuery(query, releaseParameter)[0];
  if (releaseMedia !== undefined) {
    const types = [...headerValues(head.forwardedHeaders, 'accept'), head.contentType ?? ''].join(',');
    const named = releaseMedia.releasesIn(types);
    return named.find((release) => isReleaseOfV1(release, ruleBook)) ?? named[0];
  }
  const header = versionHeader(ruleBook);
  if (header === undefined) return undefined;
  return header === VERSION_HEADER ? head.apiVersion : headerValue(head.forwardedHeaders, header);
}

/** How the `x-api-version` of the forwarded request was chosen. */
export type ApiVersionReason = 'absent' | 'invalid' | 'future' | 'client' | 'pin';

/** The dated release to request from V2, and why. */
export interface ApiVersion {
  readonly sent: string;
  readonly why: ApiVersionReason;
  /**
   * The place of the release: a header field in lower case, `accept` for media types, or a query parameter after `?`; absent for
   * `x-api-version`.
   */
  readonly field?: string;
}

/** Milliseconds by which the first time zone is ahead of UTC: a day begins when it begins there. */
const FIRST_ZONE_MS = 14 * 3_600_000;

/**
 * Chooses the `x-api-version` of a migrated request. A valid one is the client's choice. Without one, V2 would silently move the client
 * to the latest release, so the gateway sends the release of the rule book, or the one pinned for the client or operation. A future date
 * would also select the latest release; the policy `future` decides. The reasons `invalid` and `future` stay even if a pin replaces the
 * value, because the report lists those clients. `now` is in milliseconds since 1970. Undefined if the rule book names no release.
 */
export function chooseApiVersion(
  requested: string | undefined,
  book: ReleaseParts & Pick<RuleBook, 'policies'>,
  now: number,
  pinned?: string,
): ApiVersion | undefined {
  const { version, versionField, policies } = book;
  if (version === undefined) return undefined;
  const { form = 'date' } = versionField ?? {};
  const field = versionPlace(book);
  const chosen = (sent: string, why: ApiVersionReason): ApiVersion =>
    field === VERSION_HEADER ? { sent, why } : { sent, why, field };
  if (requested === undefined)
    return pinned === undefined ? chosen(version, 'absent') : chosen(pinned, 'pin');
  if (isReleaseOfV1(requested, book)) return chosen(pinned ?? version, 'invalid');
  if (form === 'text') return chosen(requested, 'client');
  if (!isReleaseDate(requested, field)) return chosen(pinned ?? version, 'invalid');
  if (Date.parse(requested) <= now + FIRST_ZONE_MS) return chosen(requested, 'client');
  return chosen(policies.future === 'replace' ? (pinned ?? version) : requested, 'future');
}

/** The HTTP version of a request; `other` is an unsupported one, `malformed` stands for a request with an invalid line or field. */
export type HttpVersion = '1.0' | '1.1' | '2' | '3' | 'other' | 'malformed';

/** The parts of a request that decide whether its head is accepted. */
interface CheckedHead {
  readonly method: string;
  readonly version: HttpVersion;
  readonly head: RequestHead;
}

/**
 * Returns why a head is refused, independent of its target. The gateway then closes the connection, because it cannot tell where the
 * request ends.
 */
function headFailure(
  { method, version, head }: CheckedHead,
  { ruleBook, clientKeys }: CompiledRuleBook,
): Failure | undefined {
  if (version === 'malformed')
    return failure('bad-request', 'The request line or a header field is not valid.');
  if (version === 'other') return failure('unsupported-version');
  if (head.fault !== undefined) return failure(CODE_OF_STATUS[head.fault.status], head.fault.detail);
  const { client } = ruleBook;
  if (
    client !== undefined &&
    'header' in client &&
    clientKeys?.isAmbiguous(head.forwardedHeaders, '') === true
  )
    return failure('bad-request', `The header ${client.header.toLowerCase()} occurs twice.`);
  const header = versionHeader(ruleBook);
  if (header !== undefined && isRepeated(head, header))
    return failure('bad-request', `The header ${header} occurs twice.`);
  if (head.host === undefined) {
    if (version !== '1.0') return failure('bad-request', 'The request has no Host.');
  } else if (!isHost(head.host)) {
    return failure('bad-request', "The request's Host is not a name or an address with an optional port.");
  }
  if (head.chunked && version === '1.0') {
    return failure('bad-request', 'HTTP/1.0 does not define Transfer-Encoding.');
  }
  if (method === 'CONNECT') return failure('upgrade-refused');
  // Java's HTTP clients offer h2c or TLS with requests that need neither. RFC 9110 §7.8 allows a server to ignore an offer.
  if (head.upgrade !== undefined && !IGNORED_OFFERS.test(head.upgrade)) return failure('upgrade-refused');
  if (head.expect !== undefined && head.expect.toLowerCase() !== '100-continue')
    return failure('expectation-failed');
  return undefined;
}

/** True for a request in which servers could find two releases in this field. */
function isRepeated(head: RequestHead, header: string): boolean {
  if (header === VERSION_HEADER) return head.repeatsVersion;
  return new Set(headerValues(head.forwardedHeaders, header)).size > 1;
}

/**
 * A list of protocols that the client can do without, because HTTP/1.1 has the same meaning; after any other upgrade, other bytes follow.
 */
const IGNORED_OFFERS = /^(?:(?:h2c?|HTTP\/2\.0|TLS\/1\.\d)[ \t]*(?:,[ \t]*|$))+$/i;

const CODE_OF_STATUS = {
  400: 'bad-request',
  431: 'headers-too-large',
  501: 'not-implemented',
} as const satisfies Record<number, FailureCode>;
