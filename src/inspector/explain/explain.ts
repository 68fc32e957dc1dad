import type { HeaderList } from '../../http/header-list.ts';
import { readTraceparent } from '../../http/trace-context.ts';
import {
  type Decision,
  type DecisionLimits,
  decideReceived,
  editsOf,
  migratedTarget,
  verdictOf,
} from '../../migrate/decision.ts';
import { migrateHead } from '../../migrate/migrated-head.ts';
import type { EditRecord } from '../../rewrite/rewrite.ts';
import { modesInForce } from '../../rollout/modes.ts';
import { pinnedRelease } from '../../rollout/scope.ts';
import type { Modes } from '../../rules/rollout.ts';
import type { Verdict } from '../../rewrite-log/entry.ts';
import { maskHeaders } from '../../rewrite-log/capture/mask-headers.ts';
import type { BodyView, ExplainRequest, Explanation, RequestView } from '../api.ts';
import { curlCommand } from '../entries/curl.ts';
import { makeDiff } from '../diff/diff.ts';
import { type BodyExplainer, explainBody } from './explain-body.ts';
import { type BodyOutcome, type ExplainedBody, policyViews, ruleOutcomes } from './explain-rules.ts';
import { compareHeaders } from '../entries/header-views.ts';
import { layOutJson } from '../diff/json-layout.ts';
import { liveSentences } from './live-sentences.ts';
import { type ExplainFault, type RequestToExplain, requestToExplain } from './request-to-explain.ts';
import type { HeadLimits } from '../../http/request-head.ts';

/** The gateway that explains: its rule book, limits and content decoding. */
export interface ExplainParts extends BodyExplainer {
  readonly limits: HeadLimits & DecisionLimits;
  /** Scheme, host and port of the gateway and of V2, for commands. */
  readonly gatewayOrigin: string;
  readonly origin: string;
  /** The modes in force; those of the rule book where it is not known what was chosen at run time. */
  readonly modes?: Modes | undefined;
}

/**
 * Explains how the gateway would handle a request, by the decision and the plan that live requests go through; nothing is sent.
 */
export async function explain(
  request: ExplainRequest,
  parts: ExplainParts,
): Promise<Explanation | ExplainFault> {
  const { rules, limits } = parts;
  const received = requestToExplain(request, rules.ruleBook, limits);
  if ('fault' in received) return received;
  const decision = decideReceived(received, rules, limits);
  return explanationOf(received, decision, await explainBody(received, decision, parts), parts);
}

function explanationOf(
  received: RequestToExplain,
  decision: Decision,
  { outcome, read }: ExplainedBody,
  parts: ExplainParts,
): Explanation {
  const { ruleBook } = parts.rules;
  const { method, target, body } = received;
  const operation = decision.route === 'migrate' ? decision.operation : undefined;
  const sent = sentRequest(received, decision, outcome, parts);
  const v1Headers = maskHeaders(received.headers, true);
  const compared = compareHeaders(v1Headers, sent && maskHeaders(sent.headers, true));
  const v1Request: RequestView = { method, target, headers: compared.before, body: bodyView(body) };
  const v2Request: RequestView | undefined = sent && {
    method,
    target: sent.target,
    headers: compared.after,
    body: bodyView(sent.body),
  };
  const note = 'note' in outcome ? outcome.note : undefined;
  const edits = editsIn(decision, outcome);
  const queryRules =
    decision.route === 'migrate' && outcome.verdict !== 'refused' ? decision.query.rules : [];
  return {
    ruleBook: ruleBook.hash,
    ...(operation === undefined ? {} : { operation: operation.id }),
    verdict: entryVerdict(outcome, decision),
    edits,
    patch: 'patch' in outcome ? outcome.patch : [],
    ...(outcome.verdict === 'refused' ? { refusal: outcome.refusal } : {}),
    ...(note === undefined ? {} : { note }),
    v1Request,
    ...(v2Request === undefined || sent === undefined
      ? {}
      : { v2Request, v2Body: new TextDecoder('utf-8', { ignoreBOM: true }).decode(sent.body) }),
    ...(outcome.verdict === 'unread'
      ? {}
      : { diff: makeDiff(read, 'records' in outcome ? { ...outcome, records: edits } : outcome, ruleBook) }),
    policies: policyViews(ruleBook, outcome, note),
    rules: ruleOutcomes(ruleBook, { operation, method, queryRules }, { outcome, read }),
    ...liveIn(decision, parts),
    curl: {
      v1: curlCommand(rawBody(v1Request, body), parts.gatewayOrigin),
      ...(v2Request === undefined || sent === undefined
        ? {}
        : { v2: curlCommand(rawBody(v2Request, sent.body), parts.origin) }),
    },
  };
}

/** A request that is not V1 traffic, or is refused before its body is read, is handled alike in every mode. */
function liveIn(decision: Decision, { rules, modes }: ExplainParts): Pick<Explanation, 'live'> {
  if (decision.route !== 'migrate') return {};
  const { rollout } = rules.ruleBook;
  const live = liveSentences({
    rollout,
    modes: modes ?? modesInForce(rollout?.modes, undefined),
    operation: decision.operation?.id,
    now: Date.now(),
  });
  return live.length === 0 ? {} : { live };
}

/** The request to V2; undefined when the gateway refuses. */
function sentRequest(
  { method, head, body }: RequestToExplain,
  decision: Decision,
  outcome: BodyOutcome,
  { rules, limits }: ExplainParts,
): { readonly target: string; readonly headers: HeaderList; readonly body: Uint8Array } | undefined {
  if (outcome.verdict === 'refused' || decision.route === 'none') return undefined;
  if (decision.route === 'self-service' || decision.route === 'options') return undefined;
  if (decision.route === 'pass') return { target: decision.target.raw, headers: head.forwardedHeaders, body };
  const isRewritten = outcome.verdict === 'rewritten';
  const { operation } = decision;
  const { fields } = migrateHead(head, {
    rules,
    request: { method, rest: decision.target.rest, operation },
    now: Date.now(),
    // Whose request it is, is not known.
    pinned: pinnedRelease(rules.ruleBook, { client: undefined, operation: operation?.id }),
    codings: limits.codings,
    isRewritten,
    hasTrace: readTraceparent(head.traceparent) !== undefined,
  });
  return {
    target: migratedTarget(decision),
    headers: fields.forwardedHeaders,
    body: isRewritten ? outcome.body : body,
  };
}

function entryVerdict(outcome: BodyOutcome, decision: Decision): Verdict {
  if (decision.route === 'pass') return 'passed';
  if (decision.route === 'self-service' || decision.route === 'options') return 'served';
  if (decision.route === 'none' || outcome.verdict === 'refused') return 'refused';
  return verdictOf(decision, outcome.verdict === 'unread' ? 'unchanged' : outcome.verdict);
}

/** The edits of the query and of the body; a refused request has none. */
function editsIn(decision: Decision, outcome: BodyOutcome): readonly EditRecord[] {
  if (decision.route !== 'migrate' || outcome.verdict === 'refused') return [];
  return editsOf(decision, 'records' in outcome ? outcome.records : []);
}

function bodyView(body: Uint8Array): BodyView {
  if (body.length === 0) return { state: 'none', bytes: 0 };
  return { state: 'values', text: layOutJson(body)?.text ?? textOf(body), bytes: body.length };
}

/** A command sends the original bytes, not the formatted ones. */
function rawBody(view: RequestView, body: Uint8Array): RequestView {
  return body.length === 0 ? view : { ...view, body: { ...view.body, text: textOf(body) } };
}

function textOf(body: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(body);
}
