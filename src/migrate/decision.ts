import { ALL_CODINGS, type Coding } from '../http/content-coding.ts';
import { type Target, readTarget } from '../http/target.ts';
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

/** How a request is handled: refused, passed to V2 unchanged, migrated from V1 to V2, or served with the client's own report. */
export type Decision = RefuseDecision | PassDecision | MigrateDecision | SelfServiceDecision;

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
