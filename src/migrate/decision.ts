import { ALL_CODINGS, type Coding } from '../http/content-coding.ts';
import { countedDown, type HopFields } from '../http/hop-fields.ts';
import { originForm, type Target, readTarget } from '../http/target.ts';
import type { CompiledRuleBook } from '../rewrite/compiled-rule-book.ts';
import type { RewrittenQuery } from '../rewrite/query-plan.ts';
import type { EditRecord } from '../rewrite/rewrite.ts';
import type { Operation } from '../rules/rule-book.ts';
import { type BodyDecision, decideBody } from './decide-body.ts';
import { type Failure, failure } from './failure.ts';
import { type CheckedHead, headFailure } from './head-failure.ts';

/** The parts of a request that are known before its body is read. */
export interface DecidedRequest extends CheckedHead {
  /** As sent by the client, not decoded. */
  readonly target: string;
  readonly hasBody: boolean;
}

/** Limits set by the operator and the runtime. */
export interface DecisionLimits {
  /** Maximum bytes of a body to rewrite; undefined leaves it to the rule book. */
  readonly bodyLimit: number | undefined;
  /** The content codings that the runtime can decode; all by default. */
  readonly codings?: readonly Coding[] | undefined;
  /** Path at which a client gets its own report, under `/api/v1`; undefined where none is given. */
  readonly selfService?: string | undefined;
}

/** The same, where requests come and go over a hop. */
export interface HopLimits extends DecisionLimits {
  /** Recognises a request that has been here before; absent where none is forwarded. */
  readonly hopFields?: HopFields | undefined;
}

/** How a request is handled: refused, passed to V2 unchanged, migrated from V1 to V2, or served with the client's own report. */
export type Decision =
  | RefuseDecision
  | OptionsDecision
  | PassDecision
  | MigrateDecision
  | SelfServiceDecision;

/** The gateway responds itself to an OPTIONS that asks about it, or that must not be forwarded. */
export interface OptionsDecision {
  readonly route: 'options';
}

/** The gateway responds itself, with the report of the client that asks. */
export interface SelfServiceDecision {
  readonly route: 'self-service';
}

/** The gateway responds itself, without an upstream. */
export interface RefuseDecision {
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
  /** Undefined for a request that the rule book does not name. */
  readonly operation: Operation | undefined;
  /** The query for V2. */
  readonly query: RewrittenQuery;
  /** Maximum bytes of a body to rewrite, received or decoded. */
  readonly bodyLimit: number;
  readonly body: BodyDecision;
}

/**
 * Decides on a request that came over a hop of its own, as `decide` does, with what HTTP asks of an intermediary besides: it finds loops
 * (RFC 9110 §7.6.3), counts hops down (§7.6.2), speaks for itself (§9.3.7), and reads the absolute form (RFC 9112 §3.2.2).
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
  const failed = headFailure(request);
  if (failed !== undefined) return { route: 'none', failure: failed, closesConnection: true };
  if (head.via !== undefined && limits.hopFields?.isLoop(head.via) === true)
    return refuse(failure('loop-detected'));
  if (target === '*' && method === 'OPTIONS') return { route: 'options' };
  return decideMaxForwards(method, head.maxForwards) ?? decide({ ...request, target }, rules, limits);
}

/**
 * Decides how to handle a request, from its head alone. Live exchanges, dry runs, explanations and replays all call it, so that
 * none of them can differ from what the gateway does.
 */
export function decide(request: DecidedRequest, rules: CompiledRuleBook, limits: DecisionLimits): Decision {
  const failed = headFailure(request);
  if (failed !== undefined) return { route: 'none', failure: failed, closesConnection: true };
  const target = readTarget(request.target);
  if (target.fault !== undefined) return refuse(failure('bad-target', target.fault));
  switch (target.prefix) {
    case undefined:
      return refuse(failure('not-found'));
    case '/api/v2':
      return { route: 'pass', target };
    case '/api/v1': {
      if (limits.selfService !== undefined && isSelfService(target, limits.selfService))
        return { route: 'self-service' };
      const { ruleBook } = rules;
      const operation = rules.match(request.method, target.rest);
      const bodyLimit = limits.bodyLimit ?? ruleBook.limits.body;
      const { codings = ALL_CODINGS } = limits;
      const { method, hasBody, head } = request;
      const hasRules = rules.rewritesBodies(operation, method);
      const body = decideBody(
        { hasRules, hasBody, head },
        { policies: ruleBook.policies, bodyLimit, codings },
      );
      // A HEAD asks for what a GET of the same target would get (RFC 9110 §9.3.2).
      const asked =
        method === 'HEAD' && operation === undefined ? rules.match('GET', target.rest) : operation;
      const query = rules.queryPlan(asked, method)?.rewrite(target.query) ?? unchangedQuery(target);
      return { route: 'migrate', target, operation, query, bodyLimit, body };
    }
  }
}

/** Responds to an OPTIONS or TRACE that may be forwarded no more (RFC 9110 §7.6.2); other methods have no such limit. */
function decideMaxForwards(method: string, maxForwards: string | undefined): Decision | undefined {
  if (maxForwards === undefined || (method !== 'OPTIONS' && method !== 'TRACE')) return undefined;
  const left = countedDown(maxForwards);
  if (left === undefined) return refuse(failure('bad-request', 'Max-Forwards is not a number.'));
  if (left >= 0) return undefined;
  return method === 'OPTIONS' ? { route: 'options' } : refuse(failure('not-implemented'));
}

/** True for the client's own report; the query is ignored. */
function isSelfService({ rest }: Target, path: string): boolean {
  return rest.length === path.length - V1_PREFIX_LENGTH && path.endsWith(rest);
}

const V1_PREFIX_LENGTH = '/api/v1'.length;

/** Refuses a request without closing its connection. */
function refuse(failed: Failure): RefuseDecision {
  return { route: 'none', failure: failed, closesConnection: false };
}

/** The target of a migrated request at V2: the same path under `/api/v2`, and the query as the query rules leave it. */
export function migratedTarget({ target, query }: MigrateDecision): string {
  return `/api/v2${target.rest}${query.query}`;
}

/** All edits of a request: those of its query, then those of its body. */
export function editsOf({ query }: MigrateDecision, body: readonly EditRecord[]): readonly EditRecord[] {
  // Similar bodies share their list, which others rely on.
  return query.records.length === 0 ? body : [...query.records, ...body];
}

/** The verdict on a request, given the one on its body: a rewritten query alone makes it `rewritten`. */
export function verdictOf(
  { query }: MigrateDecision,
  body: 'rewritten' | 'unchanged',
): 'rewritten' | 'unchanged' {
  return query.records.length > 0 ? 'rewritten' : body;
}

function unchangedQuery({ query }: Target): RewrittenQuery {
  return { query, records: [], rules: [] };
}
