import { readJsonType } from '../http/media-type.ts';
import type { ApiVersionReason } from '../migrate/api-version.ts';
import type { Verdict } from '../rewrite-log/entry.ts';
import { maskHeaders, type ShownHeader } from '../rewrite-log/mask-headers.ts';
import type { Refusal, Rewrite } from '../rewrite/rewrite.ts';
import type { BodyView, ExplainRequest, Explanation, RequestView } from './api.ts';
import { aimOf, type ExplainAim, type ExplainFault } from './explain-aim.ts';
import { curlCommand } from './curl.ts';
import { makeDiff } from './diff.ts';
import { type BodyOutcome, policyViews, ruleOutcomes } from './explain-rules.ts';
import { compareHeaders } from './header-views.ts';
import { layOutJson } from './json-layout.ts';
import type { InspectedRules } from './inspected-rules.ts';

/** What an explanation needs to know of the gateway. */
export interface ExplainParts {
  readonly rules: InspectedRules;
  /** The choice of `x-api-version`, as live. */
  readonly versionOf: (
    asked: string | undefined,
    ruleBook: string,
  ) => { readonly sent: string; readonly why: ApiVersionReason };
  /** Scheme, host and port of the gateway and of V2, for commands. */
  readonly gatewayOrigin: string;
  readonly origin: string;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * Says what the gateway would do with a request, by the plan that live requests go through; nobody is called. Without
 * headers, a body is taken for JSON.
 */
export function explain(request: ExplainRequest, parts: ExplainParts): Explanation | ExplainFault {
  const { rules } = parts;
  const aim = aimOf(request, rules);
  if ('fault' in aim) return aim;
  const body = encoder.encode(request.body ?? '');
  const headers = request.headers ?? (body.length > 0 ? [JSON_TYPE] : []);
  const outcome = outcomeOf(aim, headers, body, rules);
  const version = parts.versionOf(valueOf(headers, 'x-api-version'), rules.ruleBook.version);
  const v1Headers = maskHeaders(headers.flat(), true);
  const v2Headers = aim.isV1 ? withVersion(v1Headers, version.sent) : v1Headers;
  const refused = outcome.verdict === 'refused';
  const compared = compareHeaders(v1Headers, refused ? undefined : v2Headers);
  const sentBody = 'body' in outcome ? outcome.body : body;
  const v1Request = {
    method: aim.method,
    target: aim.target,
    headers: compared.before,
    body: bodyView(body),
  };
  const v2Request: RequestView | undefined = refused
    ? undefined
    : { method: aim.method, target: aim.v2Target, headers: compared.after, body: bodyView(sentBody) };
  const note = 'note' in outcome ? outcome.note : undefined;
  return {
    ruleBook: rules.ruleBook.hash,
    ...(aim.operation === undefined ? {} : { operation: aim.operation.id }),
    verdict: verdictOf(outcome, aim.isV1),
    edits: 'records' in outcome ? outcome.records : [],
    patch: 'patch' in outcome ? outcome.patch : [],
    ...(refused ? { refusal: outcome.refusal } : {}),
    ...(note === undefined ? {} : { note }),
    v1Request,
    ...(v2Request === undefined ? {} : { v2Request, v2Body: decoder.decode(sentBody) }),
    ...(outcome.verdict === 'unread' ? {} : { diff: makeDiff(body, outcome, rules.ruleBook) }),
    policies: policyViews(rules.ruleBook, outcome, note),
    rules: ruleOutcomes(rules.ruleBook, aim.operation, aim.method, outcome),
    curl: {
      v1: curlCommand(rawBody(v1Request, body), parts.gatewayOrigin),
      ...(v2Request === undefined ? {} : { v2: curlCommand(rawBody(v2Request, sentBody), parts.origin) }),
    },
  };
}

const JSON_TYPE: readonly [string, string] = ['Content-Type', 'application/json'];

type Outcome =
  | Exclude<BodyOutcome, { verdict: 'unread' }>
  | { verdict: 'unread'; why: string; note?: string };

function outcomeOf(
  aim: ExplainAim,
  headers: NonNullable<ExplainRequest['headers']>,
  body: Uint8Array,
  rules: InspectedRules,
): Outcome {
  if (!aim.isV1) return { verdict: 'unread', why: 'It is V2 traffic, which is not read.' };
  if (body.length === 0) return { verdict: 'unread', why: 'There is no body.' };
  if (aim.method !== 'POST' && aim.method !== 'PATCH')
    return { verdict: 'unread', why: `Bodies of ${aim.method} are not read.` };
  const type = readJsonType(valueOf(headers, 'content-type'));
  if (type === 'other') return { verdict: 'unread', why: notJson(headers), note: 'media-type' };
  const { limits, policies } = rules.ruleBook;
  if (type !== 'json' && policies.unsupported === 'forward' && type === 'charset') {
    return {
      verdict: 'unread',
      why: 'The charset cannot be read, and the policy unsupported says forward.',
      note: 'unsupported: forward',
    };
  }
  if (type !== 'json')
    return refusal(
      type === 'charset' ? 'unsupported-charset' : 'ambiguous-media-type',
      415,
      'The Content-Type is not one that can be read.',
    );
  if (body.length > limits.body)
    return refusal('body-too-large', 413, `The body is larger than ${limits.body} bytes.`);
  return rules.plans.of(aim.operation).rewrite(body);
}

function notJson(headers: NonNullable<ExplainRequest['headers']>): string {
  const type = valueOf(headers, 'content-type');
  return type === undefined
    ? 'The body is not read: there is no Content-Type.'
    : `The body is not read: ${type} is not JSON.`;
}

function refusal(code: string, status: number, detail: string): Rewrite {
  const refused: Refusal = { code, status, detail };
  return { verdict: 'refused', refusal: refused };
}

function verdictOf(outcome: Outcome, isV1: boolean): Verdict {
  if (outcome.verdict === 'unread') return isV1 ? 'unchanged' : 'passed';
  return outcome.verdict;
}

function valueOf(headers: NonNullable<ExplainRequest['headers']>, name: string): string | undefined {
  return headers.find(([field]) => field.toLowerCase() === name)?.[1];
}

function withVersion(headers: readonly ShownHeader[], version: string): ShownHeader[] {
  const field = { name: 'x-api-version', value: version, masked: false };
  const others = headers.filter(({ name }) => name.toLowerCase() !== 'x-api-version');
  return [...others, field];
}

function bodyView(body: Uint8Array): BodyView {
  if (body.length === 0) return { state: 'none', bytes: 0 };
  return { state: 'values', text: layOutJson(body)?.text ?? decoder.decode(body), bytes: body.length };
}

/** A command sends the bytes themselves, not the printed ones. */
function rawBody(view: RequestView, body: Uint8Array): RequestView {
  return body.length === 0 ? view : { ...view, body: { ...view.body, text: decoder.decode(body) } };
}
