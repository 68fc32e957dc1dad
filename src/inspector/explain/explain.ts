import { type BodyFormat, boundaryOf, isForm, isOfTexts, isStreamed } from '../../http/content.ts';
import { type HeaderList, headerValue, isFieldName } from '../../http/header-list.ts';
import { type HeadLimits, readHead } from '../../http/request-head.ts';
import { unlimitedMemory } from '../../json/tape.ts';
import {
  type BodyDecision,
  bodyTooLarge,
  codingOf,
  type DecidedRequest,
  decideReceived,
  type Decision,
  type DecisionLimits,
  type MigrateDecision,
  streamedFormat,
} from '../../migrate/decision.ts';
import type { DecodeBody, DecodedBody } from '../../migrate/decode-web-body.ts';
import type { Failure } from '../../migrate/failure.ts';
import { counted } from '../../rules/words.ts';
import type { Verdict } from '../../rewrite-log/entry.ts';
import { keyFieldAtV1 } from '../../rewrite/client-key.ts';
import { maskHeaders, maskQuerySecrets } from '../../rewrite-log/masks.ts';
import type { CompiledRuleBook } from '../../rewrite/compiled-rule-book.ts';
import { formModel, jsonInForm } from '../../rewrite/form.ts';
import { multipartModel } from '../../rewrite/multipart.ts';
import type { HashBody } from '../../migrate/judge-digests.ts';
import { drive, type MigratedMessage, RequestMigration } from '../../migrate/migration.ts';
import type { TransformJob, TransformOutcome, TransformResult } from '../../migrate/transform.ts';
import { isOfBody, type Refusal } from '../../rewrite/records.ts';
import { modesInForce, ownMode, pinnedRelease } from '../../rollout/modes-in-force.ts';
import { printDestination } from '../../rules/move.ts';
import { type Modes, ownEnd, type Rollout, type Scope } from '../../rules/rollout.ts';
import { ChangeIndex, clientNames, isRewritten, mayHaveRules, type RuleBook } from '../../rules/rule-book.ts';
import { nearNames } from '../../rules/rule-book-fault.ts';
import { printAddress } from '../../rules/rule.ts';
import type { BodyView, ExplainRequest, Explanation, RequestView } from '../api.ts';
import { makeDiff } from '../diff/diff.ts';
import { layOutJson } from '../diff/json-layout.ts';
import { curlCommand, decodeBase64 } from '../entries/curl.ts';
import { compareHeaders, delivery } from '../entries/entry-detail.ts';
import { goneWords } from '../end-of-v1.ts';
import { namedScope } from '../rollout-admin.ts';
import { type BodyOutcome, type ExplainedBody, policyViews, ruleOutcomes } from './explain-rules.ts';

/** The parts of a gateway that an explanation needs. */
export interface ExplainParts extends BodyExplainer {
  readonly limits: HeadLimits & DecisionLimits;
  /** Scheme, host and port of the gateway and of V2, for commands. */
  readonly gatewayOrigin: string;
  readonly origin: string;
  /** The modes in force; by default those of the rule book. */
  readonly modes?: Modes | undefined;
  /** Display names of clients by hash; by default those of the rule book. */
  readonly names?: ReadonlyMap<string, string> | undefined;
}

function unnamed(method: string): string {
  return `Bodies of ${method} are read only for an operation that a change with request rules names.`;
}

const JSON_TYPE: readonly [string, string] = ['Content-Type', 'application/json'];

const MODE_SENTENCES: Readonly<Record<Modes['default']['mode'], (share: number) => readonly string[]>> = {
  migrate: () => [],
  observe: () => ['The mode is observe: V1 gets the request as it came, and V2 gets nothing.'],
  shadow: () => [
    'The mode is shadow: V1 gets the request as it came; V2 gets a migrated copy of reads, whose response no client sees.',
  ],
  verify: (share) => [
    `The mode is verify: V1 afterwards gets a copy of ${share} % of the reads, whose response no client sees.`,
  ],
  canary: (share) =>
    share >= 100
      ? []
      : [
          `The mode is a canary: ${share} % of the clients are migrated; for the others, V1 gets the request as it came.`,
        ],
};

/** Explains how the gateway would handle a request, by the decision and the plan that live requests go through; nothing is sent. */
export async function explain(
  request: ExplainRequest,
  parts: ExplainParts,
): Promise<Explanation | ExplainFault> {
  const { rules, limits } = parts;
  const received = requestToExplain(request, rules.ruleBook, limits);
  if ('fault' in received) return received;
  const decision = decideReceived(received, rules, limits);
  return explanationOf(received, await explainRequest(received, decision, parts), parts);
}

/** The results for a request, and its body for readers of its rules. */
interface Explained extends ExplainedBody {
  readonly decision: Decision;
  /** Set for a V1 request that V2 gets. */
  readonly migrated?: { readonly migration: RequestMigration; readonly message: MigratedMessage };
}

function explanationOf(received: RequestToExplain, explained: Explained, parts: ExplainParts): Explanation {
  const { decision, outcome, read, migrated } = explained;
  const { ruleBook } = parts.rules;
  const { method, body } = received;
  const { secrets } = parts.rules;
  const shown = (whole: string): string =>
    secrets === undefined ? whole : maskQuerySecrets(whole, [], secrets);
  const target = shown(received.target);
  const ruled = decision.route === 'migrate' ? decision.method : method;
  const operation = decision.route === 'migrate' ? decision.operation : undefined;
  const sent = sentRequest(received, explained, parts);
  const v1Headers = maskHeaders(received.headers, true, secrets);
  const compared = compareHeaders(v1Headers, sent && maskHeaders(sent.headers, true, secrets));
  const v1Request: RequestView = { method, target, headers: compared.before, body: bodyView(body) };
  const v2Request: RequestView | undefined = sent && {
    method: decision.route === 'migrate' ? decision.v2Method : method,
    target: shown(sent.target),
    headers: compared.after,
    body: bodyView(sent.body),
  };
  const { edits, patch, note } = migrated?.message ?? { edits: [], patch: [], note: undefined };
  const ofHead = migrated?.migration.decision;
  return {
    ruleBook: ruleBook.hash,
    ...(operation === undefined ? {} : { operation: operation.id }),
    verdict: entryVerdict(explained),
    ...(outcome.verdict === 'refused' ? {} : movedIn(decision)),
    edits,
    patch,
    ...(outcome.verdict === 'refused' ? { refusal: outcome.refusal } : {}),
    ...(note === undefined ? {} : { note }),
    v1Request,
    ...(v2Request === undefined || sent === undefined ? {} : { v2Request, v2Body: textOf(sent.body) }),
    ...(outcome.verdict === 'unread'
      ? {}
      : { diff: makeDiff(read, 'records' in outcome ? { ...outcome, records: edits } : outcome, ruleBook) }),
    policies: policyViews(ruleBook, outcome, note),
    rules: ruleOutcomes(
      ruleBook,
      {
        operation,
        method: ruled,
        queryRules: ofHead?.query.rules ?? [],
        headerRules: ofHead?.headers?.rules ?? [],
      },
      explained,
    ),
    ...liveIn(decision, parts),
    ...deliveryIn(decision, body, parts),
    ...(outcome.verdict === 'refused' ? {} : lookupsIn(decision, ruleBook)),
    curl: {
      v1: curlCommand(
        rawBody(v1Request, body),
        parts.gatewayOrigin,
        keyFieldAtV1(parts.rules.ruleBook, '')?.[0],
      ),
      ...(v2Request === undefined || sent === undefined
        ? {}
        : { v2: curlCommand(rawBody(v2Request, sent.body), parts.origin) }),
    },
  };
}

/** The addresses of V2 that rules may look up for the response; some of the rules may apply only to certain statuses. */
function lookupsIn(decision: Decision, { changes, to }: RuleBook): Pick<Explanation, 'lookups'> {
  if (decision.route !== 'migrate') return {};
  const { operation, method } = decision;
  const lookups = new ChangeIndex(changes)
    .of(operation?.id, isRewritten(method))
    .flatMap(({ response }) => response)
    .flatMap((rule) => ('address' in rule ? [to + printAddress(rule.address)] : []));
  return lookups.length === 0 ? {} : { lookups: [...new Set(lookups)] };
}

function movedIn(decision: Decision): Pick<Explanation, 'moved'> {
  if (decision.route !== 'migrate' || decision.operation?.to === undefined) return {};
  const { method, template, to } = decision.operation;
  return { moved: { from: `${method} ${template}`, to: printDestination(to) } };
}

/** The delivery of a webhook by the rules. The signature is not checked, since an example rarely has a valid one. */
function deliveryIn(
  decision: Decision,
  body: Uint8Array,
  { rules, origin }: ExplainParts,
): Pick<Explanation, 'delivery'> {
  if (decision.route !== 'webhook') return {};
  const { to } = decision.webhook;
  const made = delivery(rules, decision.webhook, body, { origin, gateway: undefined });
  if (made === undefined) return { delivery: { to, edits: [], body: textOf(body) } };
  const edits = made.verdict === 'rewritten' ? made.records : [];
  const note = made.verdict === 'unchanged' && made.note !== undefined ? { note: made.note } : {};
  return { delivery: { to, edits, ...note, body: textOf(made.body) } };
}

/** Empty for a request that is not V1 traffic, since modes do not affect it. */
function liveIn(decision: Decision, { rules, modes, names }: ExplainParts): Pick<Explanation, 'live'> {
  if (decision.route !== 'migrate') return {};
  const { rollout } = rules.ruleBook;
  const state: LiveState = {
    rollout,
    names: names ?? clientNames(rules.ruleBook),
    modes: modes ?? modesInForce(rollout?.modes, undefined),
    operation: decision.operation?.id,
    now: Date.now(),
  };
  const live = [...goneSentences(state), ...brownoutSentences(state), ...modeSentences(state)];
  return live.length === 0 ? {} : { live };
}

/** The request to V2; undefined when the gateway refuses. */
function sentRequest(
  { head, body }: RequestToExplain,
  { decision, migrated }: Explained,
  { rules, limits }: ExplainParts,
): { readonly target: string; readonly headers: HeaderList; readonly body: Uint8Array } | undefined {
  if (decision.route === 'pass') return { target: decision.target.raw, headers: head.forwardedHeaders, body };
  if (migrated === undefined) return undefined;
  const { migration, message } = migrated;
  const { v2Target, body: decided, operation } = migration.decision;
  const { fields } = migration.head(head, message.body !== undefined, {
    now: Date.now(),
    // The client of the request is not known.
    pinned: pinnedRelease(rules.ruleBook, { client: undefined, operation: operation?.id }),
    codings: limits.codings,
  });
  return {
    target: v2Target,
    headers: fields.forwardedHeaders,
    body: message.body ?? (decided.action === 'drop' ? NO_BODY : body),
  };
}

const NO_BODY = new Uint8Array();

function entryVerdict({ decision, migrated }: Explained): Verdict {
  if (decision.route === 'pass' || decision.route === 'webhook') return 'passed';
  if (decision.route === 'self-service' || decision.route === 'options') return 'served';
  return migrated?.message.verdict ?? 'refused';
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

/** The parts of a gateway that decide the handling of a body. */
interface BodyExplainer {
  readonly rules: CompiledRuleBook;
  readonly decode: DecodeBody;
  /** Hashes bodies that came with a digest; if absent, digests are not checked. */
  readonly hash?: HashBody | undefined;
  /** Calls transforms; if absent, they are left out. */
  readonly transform?: ((book: RuleBook, job: TransformJob) => Promise<TransformOutcome>) | undefined;
}

/** Why a body is not read, by the route of its request. */
const UNREAD = {
  pass: 'V2 traffic is not read.',
  webhook: 'A webhook of V2: response rules make the body for its subscriber.',
  'self-service': 'The gateway itself responds, with the report of the client.',
  options: 'The gateway itself responds, with 204.',
} as const;

/** Migrates a request as live traffic is, and keeps what its rules have read. */
async function explainRequest(
  received: RequestToExplain,
  decision: Decision,
  explainer: BodyExplainer,
): Promise<Explained> {
  const { body: read, hasBody } = received;
  if (decision.route === 'none') return { decision, outcome: refused(decision.failure), read };
  if (decision.route !== 'migrate')
    return { decision, outcome: { verdict: 'unread', why: UNREAD[decision.route] }, read };
  const { rules, transform } = explainer;
  const migration = new RequestMigration(rules, decision);
  const step = migration.begin(hasBody);
  if (step.action === 'refuse') return { decision, outcome: refused(step.failure), read };
  if (step.action === 'rewrite' && read.length > decision.bodyLimit && streamedFormat(step) === undefined)
    return { decision, outcome: refused(bodyTooLarge(decision.bodyLimit)), read };
  const given =
    step.action === 'rewrite'
      ? await decodedBody(received, decision, explainer)
      : hasBody
        ? 'unread'
        : undefined;
  const bytes = given instanceof Uint8Array ? given : read;
  const json = step.action === 'rewrite' && isForm(step.format) ? jsonInForm(bytes) : undefined;
  const model = step.action === 'rewrite' && json === undefined ? modelOf(step.format, bytes) : undefined;
  if (hasBody && given !== 'unread') await migration.judge(read, explainer.hash);
  let work = migration.finish(given);
  let ruled: BodyOutcome = { verdict: 'unread', why: whyUnread(received, step, decision.v2Method) };
  if ('rules' in work) {
    const rewrite = migration.rewrite(work.rules);
    work = migration.ruled(rewrite);
    ruled = rewrite;
  }
  const end = await drive(migration, work, (job) =>
    transform === undefined ? LEFT_AS_IT_IS : transform(rules.ruleBook, job),
  );
  if (end.verdict === 'refused') {
    const { failure, cause } = end;
    const outcome = refused(failure, cause?.detail);
    return { decision, outcome, read: bytes, model, json };
  }
  const outcome =
    end.body === undefined || isBodyOf(ruled, end.body) ? ruled : madeBody(bytes, end.body, end);
  return { decision, outcome, read: bytes, model, json, migrated: { migration, message: end } };
}

/** The result for a message if transforms are not called. */
export const LEFT_AS_IT_IS: TransformResult = {
  body: undefined,
  query: undefined,
  status: undefined,
  patch: [],
};

function isBodyOf(outcome: BodyOutcome, body: Uint8Array): boolean {
  return outcome.verdict === 'rewritten' && outcome.body === body;
}

/** The outcome for a body that a transform returned after the rules. */
function madeBody(
  read: Uint8Array,
  body: Uint8Array,
  { edits, patch, omitted }: MigratedMessage,
): BodyOutcome {
  const records = edits.filter(isOfBody);
  const made = [{ start: 0, end: read.length, insert: body }];
  return { verdict: 'rewritten', body, edits: made, records, patch, omitted };
}

/** The content of a form or a multipart body as JSON text; undefined for a body that is JSON itself. */
function modelOf(format: BodyFormat, bytes: Uint8Array): Uint8Array | undefined {
  if (isForm(format)) return formModel(bytes);
  return isStreamed(format) && !isOfTexts(format) ? multipartModel(bytes, boundaryOf(format)) : undefined;
}

async function decodedBody(
  { body }: RequestToExplain,
  { bodyLimit, body: decided }: MigrateDecision,
  { decode }: BodyExplainer,
): Promise<DecodedBody> {
  const coding = codingOf(decided, body);
  if (coding === undefined || body.length > bodyLimit) return body;
  return new Promise((resolve) => {
    decode(coding, body, bodyLimit, unlimitedMemory, resolve);
  });
}

function refused({ code, status, detail, pointer, position, reason }: Failure, why = detail): BodyOutcome {
  const refusal: Refusal = {
    code,
    status,
    detail: why,
    ...(pointer === undefined ? {} : { pointer }),
    ...(position === undefined ? {} : { position }),
    ...(reason === undefined ? {} : { reason }),
  };
  return { verdict: 'refused', refusal };
}

function whyUnread(
  { method, hasBody, head }: RequestToExplain,
  step: BodyDecision,
  v2Method: string,
): string {
  if (step.action === 'drop') return `The body is dropped: ${v2Method} takes none.`;
  const note = step.action === 'forward' ? step.note : undefined;
  if (!hasBody) return head.chunked ? 'The body is empty.' : 'There is no body.';
  if (note === 'unnamed-put' || note === 'unnamed-body') return unnamed(method);
  if (note === undefined) return mayHaveRules(method) ? unnamed(method) : `Bodies of ${method} are not read.`;
  if (note !== 'media-type')
    return 'The charset or the content coding cannot be read, and the policy unsupported says forward.';
  if (head.contentType === undefined) return 'The body is not read: there is no Content-Type.';
  return `The body is not read: ${head.contentType} is not JSON.`;
}

/** Explains in a sentence why a request cannot be explained. */
export interface ExplainFault {
  readonly fault: string;
}

/** A request as a client would send it, with its complete body. */
interface RequestToExplain extends DecidedRequest {
  /** The given fields, before a `Host` is added. */
  readonly headers: HeaderList;
  readonly body: Uint8Array;
}

/**
 * Completes a partial description of a request: an operation supplies method and target, a body without header fields is JSON,
 * and a missing `Host` is added.
 */
function requestToExplain(
  request: ExplainRequest,
  { from, operations }: RuleBook,
  limits: HeadLimits,
): RequestToExplain | ExplainFault {
  const named = operations.find(({ id }) => id === request.operation);
  if (request.operation !== undefined && named === undefined) {
    return {
      fault: `The rule book has no operation ${request.operation}${nearNames(
        request.operation,
        operations.map(({ id }) => id),
        'the command check',
      )}`,
    };
  }
  if (named === undefined && request.target === undefined)
    return { fault: 'Name an operation, or give a method and a target.' };
  if (request.method !== undefined && !isFieldName(request.method))
    return { fault: `${JSON.stringify(request.method)} is not an HTTP method.` };
  const body = bodyOf(request);
  if (body === undefined) return { fault: 'The bodyBase64 is not Base64.' };
  const headers = (request.headers ?? (body.length > 0 ? [JSON_TYPE] : [])).flat();
  const complete = headerValue(headers, 'host') === undefined ? ['Host', 'gateway', ...headers] : headers;
  const head = readHead(complete, limits, false);
  return {
    method: request.method ?? named?.method ?? 'POST',
    target: request.target ?? `${from}${named?.template ?? ''}`,
    version: '1.1',
    head,
    hasBody: body.length > 0,
    headers,
    body,
  };
}

function bodyOf({ body = '', bodyBase64 }: ExplainRequest): Uint8Array | undefined {
  return bodyBase64 === undefined ? new TextEncoder().encode(body) : decodeBase64(bodyBase64);
}

export function isExplainRequest(value: unknown): value is ExplainRequest {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const {
    operation,
    method,
    target,
    headers,
    body,
    bodyBase64,
    rules,
  }: Partial<Record<keyof ExplainRequest, unknown>> = value;
  return (
    [operation, method, target, body, bodyBase64, rules].every(
      (text) => text === undefined || typeof text === 'string',
    ) &&
    (headers === undefined || (Array.isArray(headers) && headers.every((pair) => isHeader(pair))))
  );
}

function isHeader(pair: unknown): boolean {
  return Array.isArray(pair) && pair.length === 2 && pair.every((text) => typeof text === 'string');
}

/** The state that, with the rules, decides how a live V1 request is handled. */
interface LiveState {
  readonly rollout: Pick<Rollout, 'signals' | 'gone' | 'ends' | 'brownouts'> | undefined;
  readonly names: ReadonlyMap<string, string>;
  readonly modes: Modes;
  /** Undefined for a request that the rule book does not name. */
  readonly operation: string | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
}

function goneSentences({ rollout, names, operation, now }: LiveState): readonly string[] {
  const { gone, ends, signals } = rollout ?? {};
  const { sunset } = signals ?? {};
  const own = operation === undefined || ends === undefined ? undefined : ownEnd(ends.operations, operation);
  if (own?.gone !== undefined && own.sunset !== undefined && now >= own.sunset)
    return [
      `Operation ${operation} of V1 has ended: ${goneWords({ sunset: new Date(own.sunset).toISOString(), gone: namedScope(own.gone, names) }, now, ' for it')}.`,
    ];
  if (gone === undefined || sunset === undefined || now < sunset || !mayConcern(gone, operation)) return [];
  const end = { sunset: new Date(sunset).toISOString(), gone: namedScope(gone, names) };
  return [`V1 has ended: ${goneWords(end, now)}.`];
}

function brownoutSentences({ rollout, operation, now }: LiveState): readonly string[] {
  return (rollout?.brownouts ?? [])
    .filter(({ from = -Infinity, until = Infinity }) => now >= from && now < until)
    .filter((brownout) => mayConcern(brownout, operation))
    .map(({ id, share, status, clients, except }) => {
      const whose = clients === undefined && except === undefined ? '' : ' of the clients that it names';
      return `Brownout ${id} is on: ${share} % of such requests${whose} get ${status}, and nothing is sent.`;
    });
}

/** True when a scope includes the operation for at least one client: the client of the request is not known. */
function mayConcern({ operations }: Scope, operation: string | undefined): boolean {
  return operations === undefined || (operation !== undefined && operations.includes(operation));
}

function modeSentences({ modes, operation }: LiveState): readonly string[] {
  const stage = (operation === undefined ? undefined : ownMode(modes.operations, operation)) ?? modes.default;
  const others = Object.values(modes.clients).filter(
    ({ mode, share }) => mode !== stage.mode || share !== stage.share,
  ).length;
  return [
    ...MODE_SENTENCES[stage.mode](stage.share ?? 0),
    ...(others === 0 ? [] : [`${counted(others, 'client')} ${others === 1 ? 'has' : 'have'} another mode.`]),
  ];
}
