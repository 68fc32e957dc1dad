import type { Coding } from '../http/content-coding.ts';
import type { RequestHead } from '../http/request-head.ts';
import { readTraceparent } from '../http/trace-context.ts';
import { editsOf, type MigrateDecision, migratedTarget, verdictOf } from '../migrate/decision.ts';
import type { DecodedBody } from '../migrate/decoded-body.ts';
import { bodyTooLarge, migrateBody } from '../migrate/migrate-body.ts';
import { migrateHead } from '../migrate/migrated-head.ts';
import type { CompiledRuleBook } from '../rewrite/compiled-rule-book.ts';
import type { EditRecord } from '../rewrite/rewrite.ts';
import type { SignalHeaders } from '../rollout/signal-headers.ts';
import { headerFieldsOf } from './header-fields.ts';
import { refusedRequest } from './refused-request.ts';
import type { MigratedRequest, MigratedRequestHead, RefusedRequest } from './request-verdict.ts';
import type { CollectedRequest, StartedRequest } from './started-request.ts';

/** The parts of a V1 request that is migrated. */
export interface V1RequestParts {
  readonly rules: CompiledRuleBook;
  readonly signals: SignalHeaders | undefined;
  readonly method: string;
  readonly head: RequestHead;
  /** `Host` as received. */
  readonly host: string | undefined;
  readonly decision: MigrateDecision;
  /** The content codings that the adapter decodes; none where its caller does, who is asked for any that can be. */
  readonly codings: readonly Coding[];
}

/** Starts a V1 request: without a body, or with one that no rule concerns, it is complete. */
export function startV1Request(parts: V1RequestParts, hasBody: boolean): StartedRequest {
  const { body } = parts.decision;
  if (!hasBody) return { action: 'forward', request: withoutBodyEdits(parts, null, [], undefined) };
  switch (body.action) {
    case 'refuse':
      return { action: 'refuse', refused: refusedRequest(body.failure, parts.signals) };
    case 'forward':
      return { action: 'forward', request: withoutBodyEdits(parts, null, [], body.note) };
    case 'rewrite':
      return new CollectedV1Request(parts, body.coding);
  }
}

/** A V1 request to whose body rules apply. */
class CollectedV1Request implements CollectedRequest {
  readonly action = 'collect';
  readonly coding: Coding | undefined;
  readonly bodyLimit: number;
  private readonly parts: V1RequestParts;

  constructor(parts: V1RequestParts, coding: Coding | undefined) {
    this.parts = parts;
    this.coding = coding;
    this.bodyLimit = parts.decision.bodyLimit;
  }

  finish(decoded: DecodedBody, received?: Uint8Array): MigratedRequest | RefusedRequest {
    const { parts } = this;
    const { rules, signals, decision } = parts;
    const outcome = migrateBody(rules.requestPlan(decision.operation), decoded, this.bodyLimit);
    switch (outcome.verdict) {
      case 'refused':
        return refusedRequest(outcome.failure, signals);
      case 'unchanged': {
        const body = received ?? outcome.body;
        return withoutBodyEdits(parts, body.length === 0 ? null : body, outcome.records, outcome.note);
      }
      case 'rewritten': {
        const { body, records, patch, omitted } = outcome;
        return { verdict: 'rewritten', ...migratedHead(parts, true, records), body, patch, omitted };
      }
    }
  }

  tooLarge(): RefusedRequest {
    return refusedRequest(bodyTooLarge(this.bodyLimit), this.parts.signals);
  }
}

/** A request whose query may still have been rewritten. */
function withoutBodyEdits(
  parts: V1RequestParts,
  body: Uint8Array | null,
  records: readonly EditRecord[],
  note: string | undefined,
): MigratedRequest {
  const head = migratedHead(parts, false, records);
  if (verdictOf(parts.decision, 'unchanged') === 'unchanged')
    return { verdict: 'unchanged', ...head, body, note };
  return { verdict: 'rewritten', ...head, body, patch: [], omitted: 0 };
}

function migratedHead(
  { rules, method, head, host, decision, codings }: V1RequestParts,
  isRewritten: boolean,
  records: readonly EditRecord[],
): MigratedRequestHead {
  const { version, fields } = migrateHead(head, {
    rules,
    request: { method, rest: decision.target.rest, operation: decision.operation },
    now: Date.now(),
    codings: codings.length === 0 ? undefined : codings,
    isRewritten,
    hasTrace: readTraceparent(head.traceparent) !== undefined,
  });
  return {
    method,
    target: migratedTarget(decision),
    headers: headerFieldsOf(fields.forwardedHeaders),
    operation: decision.operation?.id,
    apiVersion: version,
    host,
    edits: editsOf(decision, records),
  };
}
