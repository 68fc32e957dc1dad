import { ByteCollector, concatBytes } from '../http/byte-collector.ts';
import { type Coding, looksLikeJson, type StreamedFormat, type TextFormat } from '../http/content.ts';
import { endToEnd, fieldsOfAnotherBody, markTags, rewrittenResponseFields } from '../http/fields.ts';
import { isRequestId } from '../http/forwarding.ts';
import { type HeaderList, headerValue } from '../http/header-list.ts';
import { readHead, type RequestHead } from '../http/request-head.ts';
import { unlimitedMemory } from '../json/tape.ts';
import {
  bodyTooLarge,
  decide,
  editsOf,
  formatOf,
  isReadAsJson,
  makesBody,
  migrateBody,
  type MigrateDecision,
  migrateHead,
  refusalForm,
  streamedFormat,
  verdictOf,
  withMadeBody,
} from '../migrate/decision.ts';
import { type DecodedBody, decodeWebBody } from '../migrate/decode-web-body.ts';
import { JsonDocument } from '../json/document.ts';
import { type Failure, failure, failureOf } from '../migrate/failure.ts';
import {
  NOTE_OF_UNDECODED,
  contentlessFields,
  decideResponse,
  hasContent,
  headerPlanOf,
  mappedHead,
  representationPlan,
  rewriteLinks,
  transformsRepresentation,
  type ResponseNote,
} from '../migrate/migrated.ts';
import { Preflight } from '../migrate/preflight.ts';
import {
  callWithin,
  isAsynchronous,
  queryOf,
  TRANSFORM_BUDGET_MS,
  type TransformJob,
  transformJob,
  type TransformModule,
  type TransformOutcome,
  transformRecords,
  type TransformResult,
  transformsStatus,
  withQuery,
} from '../migrate/transform.ts';
import { type BodyLinks, type LinkRewriting, type RequestFacts, restoredLink } from '../rewrite/links.ts';
import { CompiledRuleBook } from '../rewrite/compiled-rule-book.ts';
import {
  deprecatedAttributes,
  deprecatedInV1,
  type EditRecord,
  joinedPatch,
  type Refusal,
} from '../rewrite/records.ts';
import type { ResponseRecord } from '../rewrite/response-rules.ts';
import { type BodyStream, ResponseTexts, type TextNote } from '../rewrite/text-stream.ts';
import { SignalHeaders } from '../rollout/retirement.ts';
import type { RefusalForm } from '../rules/refusal-form.ts';
import { isTransformed, type RuleBook } from '../rules/rule-book.ts';
import {
  type HeaderFields,
  headerFieldsOf,
  headerListOf,
  type HeadersLike,
  type MigratedRequest,
  type MigratedRequestHead,
  type RefusedRequest,
  type RequestVerdict,
  type ResponseVerdict,
  type UnchangedResponseVerdict,
} from './verdicts.ts';

/** A body: bytes, or text that is sent in UTF-8. */
export type BodyLike = Uint8Array | string | null | undefined;

/** Limits that an application sets instead of those of its rule book. */
export interface MigrationOptions {
  /** Maximum bytes of a request body to rewrite, received or decoded; by default that of the rule book. */
  readonly bodyLimit?: number;
  /** The modules that operations name as their `transform`, by the path that the rule book has for them. */
  readonly transforms?: Readonly<Record<string, TransformModule>>;
}

/** The server in front has limits of its own. */
const NO_LIMITS = { count: Infinity, bytes: Infinity };

const EMPTY = new Uint8Array();

/** The parts of a migrated request that its response depends on. */
export type RequestOfResponse = Pick<MigratedRequestHead, 'target' | 'v1' | 'host' | 'edits'>;

/** What an adapter knows of a body before it reads it. */
export interface RequestBodyFacts {
  readonly hasBody: boolean;
  /** The content codings that the adapter decodes. */
  readonly codings: readonly Coding[];
}

/** How to handle a request whose head is known; `action` tells the cases apart. For adapters that stream or decode bodies. */
export type StartedRequest =
  /** It is not for V1. */
  | { readonly action: 'pass' }
  | { readonly action: 'refuse'; readonly refused: RefusedRequest }
  /** The body, if there is one, is sent as received. */
  | {
      readonly action: 'forward';
      readonly request: MigratedRequest;
      /** True where the body is not sent: the operation has a method at V2 that has no use for one. */
      readonly dropsBody?: true;
    }
  | CollectedRequest
  | StreamedRequest;

/** A request whose body is rewritten as it comes. */
export interface StreamedRequest extends FinishedRequest {
  readonly action: 'stream';
  /** The request without its body, whose length is not known. */
  readonly request: MigratedRequest;
  /** Returns a stream for the body. */
  open(): BodyStream;
  /** Returns the refusal of a body that is at fault. */
  refuse(refusal: Refusal): RefusedRequest;
}

/** A request whose body may be there whole. */
interface FinishedRequest {
  /** Returns the outcome for a body; `received` is the one with its content coding, if it has one. */
  finish(decoded: DecodedBody, received?: Uint8Array): MigratedRequest | RefusedRequest;
  /** Returns the refusal of a body that the service has read, and no longer has. */
  alreadyRead(): RefusedRequest;
}

/** A request whose body is needed whole. */
export interface CollectedRequest extends FinishedRequest {
  readonly action: 'collect';
  /** The coding to remove from a body that is not empty. */
  readonly coding: Coding | undefined;
  /** Maximum bytes to collect, and to decode. */
  readonly bodyLimit: number;
  /** Like `finish`, but waits for a transform that returns a promise. */
  settle(
    decoded: DecodedBody,
    received?: Uint8Array,
  ): MigratedRequest | RefusedRequest | Promise<MigratedRequest | RefusedRequest>;
  /** Returns the refusal of a body that has more than `bodyLimit` bytes as received. */
  tooLarge(): RefusedRequest;
}

/** How to handle a response whose head is known; `action` tells the cases apart. For adapters that stream or decode bodies. */
export type StartedResponse = ForwardedResponse | CollectedResponse | StreamedResponse;

/** A response of several texts, each of which is rewritten as it comes. */
export interface StreamedResponse {
  readonly action: 'stream';
  readonly coding: Coding | undefined;
  /** The response without rewriting, and without its body. */
  readonly unchanged: UnchangedResponseVerdict;
  /** The response without its body, whose length is not known. */
  readonly response: UnchangedResponseVerdict;
  /** Returns a stream for the decoded body. */
  open(): BodyStream<ResponseRecord, TextNote>;
  /** Returns the outcome for a body that is there whole. */
  finish(decoded: DecodedBody, received?: Uint8Array): ResponseVerdict;
}

/** A response that no rule concerns, or that cannot be rewritten. */
export interface ForwardedResponse {
  readonly action: 'forward';
  /** The response without its body. */
  readonly unchanged: UnchangedResponseVerdict;
}

/** A response whose body is needed whole. */
export interface CollectedResponse {
  readonly action: 'collect';
  /** The coding to remove from a body that is not empty. */
  readonly coding: Coding | undefined;
  /** Maximum bytes to collect, and to decode; a larger response is sent as it is. */
  readonly limit: number;
  /** The response without rewriting, and without its body. */
  readonly unchanged: UnchangedResponseVerdict;
  /** Returns the outcome for a body; `received` is the one with its content coding, if it has one. */
  finish(decoded: DecodedBody, received?: Uint8Array): ResponseVerdict;
  /** The same, which waits for a transform that returns a promise. */
  settle(decoded: DecodedBody, received?: Uint8Array): ResponseVerdict | Promise<ResponseVerdict>;
}

/**
 * Migrates V1 requests to V2, and V2's responses back, by the decision and the plans of the gateway. It keeps no state of requests.
 * Every V1 request is migrated: modes, pinned versions, brownouts, newcomers and the sunset of the rule book are not applied.
 */
export class Migration {
  readonly ruleBook: RuleBook;
  private readonly rules: CompiledRuleBook;
  private readonly signals: SignalHeaders | undefined;
  private readonly options: MigrationOptions;
  private readonly run: CallTransform;

  /** `run` calls the transforms that `modules` of the rule book has. */
  constructor(ruleBook: RuleBook, options: MigrationOptions, run: CallTransform) {
    this.ruleBook = ruleBook;
    this.rules = new CompiledRuleBook(ruleBook);
    this.signals = SignalHeaders.of(ruleBook.rollout);
    this.options = options;
    this.run = run;
  }

  /**
   * Migrates a request with the raw path and query `target`. A body with a content coding is refused with 415, because decoding
   * has to wait: decode it before, and leave `Content-Encoding` out.
   */
  request(method: string, target: string, headers: HeadersLike, body?: BodyLike): RequestVerdict {
    const bytes = bytesOf(body);
    const hasBody = bytes.length > 0;
    const started = this.startRequest(method, target, headers, { hasBody, codings: [] });
    switch (started.action) {
      case 'pass':
        return { verdict: 'passed' };
      case 'refuse':
        return started.refused;
      case 'forward':
        return { ...started.request, body: hasBody && started.dropsBody !== true ? bytes : null };
      case 'collect':
        return bytes.length > started.bodyLimit ? started.tooLarge() : started.finish(bytes);
      case 'stream':
        return started.finish(bytes);
    }
  }

  /**
   * Returns V2's response to a migrated request as the V1 client reads it. A body with a content coding is left as it is, with the
   * note `response-undecodable`, unless it is JSON already: `fetch` decodes bodies and leaves their `Content-Encoding`.
   */
  response(
    request: RequestOfResponse,
    status: number,
    headers: HeadersLike,
    body?: BodyLike,
  ): ResponseVerdict {
    const bytes = bytesOf(body);
    const started = this.startResponse(request, status, headers);
    if (started.action === 'forward') {
      const isEmpty = bytes.length === 0 || !hasContent(started.unchanged.status);
      return { ...started.unchanged, body: isEmpty ? null : bytes };
    }
    if (started.action === 'collect' && bytes.length > started.limit)
      return { ...started.unchanged, body: bytes, note: 'response-too-large' };
    if (started.coding !== undefined && !isJsonText(bytes) && bytes.length > 0)
      return started.finish('undecodable', bytes);
    return started.finish(bytes);
  }

  /** True for a raw target under V1's prefix. */
  isV1Target(target: string): boolean {
    return this.rules.prefixes.versionOf(target.split('?', 1)[0] ?? '') === 'v1';
  }

  /** Decides on a request from its head, for adapters that stream or decode its body. */
  startRequest(method: string, target: string, headers: HeadersLike, body: RequestBodyFacts): StartedRequest {
    const { hasBody, codings } = body;
    const list = headerListOf(headers);
    const received = readHead(list, NO_LIMITS, true);
    const { host } = received;
    // Names and addresses are the server's matter: without `Host`, the decision is made for any.
    const head = host === undefined ? readHead([...list, 'Host', 'localhost'], NO_LIMITS, true) : received;
    const decision = decide({ method, target, version: '1.1', head, hasBody }, this.rules, {
      bodyLimit: this.options.bodyLimit,
      codings,
    });
    switch (decision.route) {
      case 'none':
        return {
          action: 'refuse',
          refused: refusedRequest(decision.failure, {
            form: refusalForm(decision, target, this.rules),
            requestId: ownId(head),
            signals: undefined,
            operation: undefined,
          }),
        };
      case 'pass':
      case 'self-service':
      case 'options':
      // A library has no way to subscribers: the path is the application's own.
      case 'webhook':
        return { action: 'pass' };
      case 'migrate': {
        const { rules, signals, run } = this;
        return startV1Request({ rules, signals, run, method, head, host, decision, codings }, hasBody);
      }
    }
  }

  /** Decides on the response to a migrated request from its head, for adapters that stream or decode its body. */
  startResponse(request: RequestOfResponse, status: number, headers: HeadersLike): StartedResponse {
    const { rules, signals, run } = this;
    return startV1Response({ rules, signals, run, request, status, headers: headerListOf(headers) });
  }
}

function bytesOf(body: BodyLike): Uint8Array {
  if (body === undefined || body === null) return EMPTY;
  if (typeof body === 'string') return new TextEncoder().encode(body);
  if (ArrayBuffer.isView(body) && 'length' in body) return body;
  throw new TypeError('A body is a Uint8Array, text, null or undefined.');
}

/** How a refusal is written. */
interface RefusalParts {
  readonly form: RefusalForm | undefined;
  readonly requestId: string | undefined;
  /** Header fields of responses to V1 clients. */
  readonly signals: SignalHeaders | undefined;
  readonly operation: string | undefined;
}

/** The id that the client or a proxy in front gave the request; here nobody else does. */
function ownId({ requestId }: RequestHead): string | undefined {
  return isRequestId(requestId) ? requestId : undefined;
}

/** Returns the refusal for a failure. */
function refusedRequest(
  failed: Failure,
  { form, requestId, signals, operation }: RefusalParts,
): RefusedRequest {
  const { status, code, detail, pointer, position } = failed;
  const content = failed.content(form, requestId);
  const body = new TextEncoder().encode(content.body);
  const headers = ['Content-Type', content.type, 'Content-Length', String(body.length)];
  headers.push('x-gateway-error', code, ...failed.headers);
  signals?.addTo(headers, { operation, used: [], edits: [] });
  return {
    verdict: 'refused',
    status,
    headers: headerFieldsOf(headers),
    body,
    code,
    detail,
    pointer,
    position,
  };
}

/** Calls a transform, at once where it can. */
type CallTransform = (job: TransformJob) => TransformOutcome | Promise<TransformOutcome>;

/** The parts of a V1 request that is migrated. */
interface V1RequestParts {
  readonly run: CallTransform;
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

/** Returns the refusal for a failure of a V1 request. */
function refusedV1({ rules, head, signals, decision }: V1RequestParts, failed: Failure): RefusedRequest {
  const form = rules.ruleBook.refusals;
  return refusedRequest(failed, {
    form,
    requestId: ownId(head),
    signals,
    operation: decision.operation?.id,
  });
}

/** Starts a V1 request: without a body, or with one that no rule concerns, it is complete. */
function startV1Request(parts: V1RequestParts, hasBody: boolean): StartedRequest {
  const { body, refusal } = parts.decision;
  if (refusal !== undefined) return { action: 'refuse', refused: refusedV1(parts, refusal) };
  if (!hasBody && (makesBody(body) || transformsRequest(parts)))
    return new CollectedV1Request(parts, undefined);
  if (!hasBody) return { action: 'forward', request: withoutBodyEdits(parts, null, [], undefined) };
  switch (body.action) {
    case 'refuse':
      return { action: 'refuse', refused: refusedV1(parts, body.failure) };
    case 'forward':
      // Its query is transformed, and the body that no rule reads is the same behind it.
      if (transformsRequest(parts)) return new CollectedV1Request(parts, undefined);
      return { action: 'forward', request: withoutBodyEdits(parts, null, [], body.note) };
    case 'drop':
      return {
        action: 'forward',
        request: withoutBodyEdits(parts, null, [], body.note),
        dropsBody: true,
      };
    case 'rewrite': {
      const format = streamedFormat(body);
      return format === undefined
        ? new CollectedV1Request(parts, body.coding)
        : new StreamedV1Request(parts, format);
    }
  }
}

function transformsRequest({ rules: { ruleBook }, decision }: V1RequestParts): boolean {
  return isTransformed(ruleBook, decision.operation, 'request');
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
  { rules, head, host, decision, codings }: V1RequestParts,
  isRewritten: boolean,
  records: readonly EditRecord[],
): MigratedRequestHead {
  const { version, fields } = migrateHead(head, {
    rules,
    decision,
    request: { method: decision.method, rest: decision.target.rest, operation: decision.operation },
    now: Date.now(),
    codings: codings.length === 0 ? undefined : codings,
    isRewritten,
  });
  return {
    method: decision.v2Method,
    target: decision.v2Target,
    v1: {
      method: decision.method,
      target: decision.target.raw,
      ...(decision.preflight === undefined ? {} : { preflight: head.preflightMethod }),
    },
    headers: headerFieldsOf(fields.forwardedHeaders),
    operation: decision.operation?.id,
    apiVersion: version,
    host,
    edits: editsOf(decision, records),
  };
}

/** A V1 request to whose body rules apply. */
class RewrittenV1Request implements FinishedRequest {
  readonly bodyLimit: number;
  protected readonly parts: V1RequestParts;

  constructor(parts: V1RequestParts) {
    this.parts = parts;
    this.bodyLimit = parts.decision.bodyLimit;
  }

  alreadyRead(): RefusedRequest {
    return refusedV1(this.parts, failure('body-already-read'));
  }

  finish(decoded: DecodedBody, received?: Uint8Array): MigratedRequest | RefusedRequest {
    return this.transformed(this.ruled(decoded, received), decoded, (job, done) =>
      done(atOnce(this.parts, job)),
    );
  }

  settle(
    decoded: DecodedBody,
    received?: Uint8Array,
  ): MigratedRequest | RefusedRequest | Promise<MigratedRequest | RefusedRequest> {
    return this.transformed<MigratedRequest | RefusedRequest | Promise<MigratedRequest | RefusedRequest>>(
      this.ruled(decoded, received),
      decoded,
      (job, done) => {
        const outcome = this.parts.run(job);
        return outcome instanceof Promise ? outcome.then(done) : done(outcome);
      },
    );
  }

  /** Calls the transform behind the rules. */
  private transformed<Outcome>(
    ruled: MigratedRequest | RefusedRequest,
    decoded: DecodedBody,
    call: (
      job: TransformJob,
      done: (outcome: TransformOutcome) => MigratedRequest | RefusedRequest,
    ) => Outcome | MigratedRequest | RefusedRequest,
  ): Outcome | MigratedRequest | RefusedRequest {
    const { parts } = this;
    const { decision } = parts;
    const { operation, method, target, body } = decision;
    if (ruled.verdict === 'refused' || operation === undefined || !transformsRequest(parts)) return ruled;
    const query = queryOf(ruled.target);
    const isJson = isReadAsJson(body);
    const read = ruled.verdict === 'rewritten' ? ruled.body : decoded instanceof Uint8Array ? decoded : null;
    const hasBody = read !== null && read.length > 0;
    const json = isJson && hasBody ? read : undefined;
    const isUnread = !isJson && hasBody;
    const message = { method, rest: target.rest, query, status: undefined, body: json, isUnread };
    return call(transformJob('request', operation, message), (outcome) => {
      if ('why' in outcome) return refusedV1(parts, failure('transform-failed', outcome.why));
      const records = transformRecords(outcome, query);
      if (records.length === 0) return ruled;
      const made = outcome.body ?? ruled.body;
      const { patch, omitted } = 'patch' in ruled ? ruled : { patch: [], omitted: 0 };
      const ruledStep = { records: ruled.edits, patch, omitted };
      return {
        ...ruled,
        verdict: 'rewritten',
        target: withQuery(ruled.target, outcome.query),
        headers:
          outcome.body === undefined
            ? ruled.headers
            : migratedHead({ ...parts, decision: withMadeBody(decision) }, true, []).headers,
        edits: [...ruled.edits, ...records],
        body: made,
        patch: joinedPatch([ruledStep, { patch: outcome.patch }]),
        omitted,
      };
    });
  }

  private ruled(decoded: DecodedBody, received?: Uint8Array): MigratedRequest | RefusedRequest {
    const { parts } = this;
    const { rules, decision } = parts;
    if (decision.body.action === 'forward') {
      const body = received ?? (decoded instanceof Uint8Array ? decoded : EMPTY);
      return withoutBodyEdits(parts, body.length === 0 ? null : body, [], decision.body.note);
    }
    const plan = rules.requestPlan(decision.operation, formatOf(decision.body), this.bodyLimit);
    const outcome = migrateBody(plan, decoded, this.bodyLimit);
    switch (outcome.verdict) {
      case 'refused':
        return refusedV1(parts, outcome.failure);
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
}

class CollectedV1Request extends RewrittenV1Request implements CollectedRequest {
  readonly action = 'collect';
  readonly coding: Coding | undefined;

  constructor(parts: V1RequestParts, coding: Coding | undefined) {
    super(parts);
    this.coding = coding;
  }

  tooLarge(): RefusedRequest {
    return refusedV1(this.parts, bodyTooLarge(this.bodyLimit));
  }
}

class StreamedV1Request extends RewrittenV1Request implements StreamedRequest {
  readonly action = 'stream';
  private readonly format: StreamedFormat;

  constructor(parts: V1RequestParts, format: StreamedFormat) {
    super(parts);
    this.format = format;
  }

  get request(): MigratedRequest {
    return { verdict: 'rewritten', ...migratedHead(this.parts, true, []), body: null, patch: [], omitted: 0 };
  }

  open(): BodyStream {
    const { rules, decision } = this.parts;
    const limits = { limit: this.bodyLimit, hold: () => true };
    return rules.requestStream(decision.operation, this.format, limits, (text, plan) => plan.rewrite(text));
  }

  refuse(refusal: Refusal): RefusedRequest {
    return refusedV1(this.parts, failureOf(refusal));
  }
}

/** The outcome of a call that does not wait. */
function atOnce({ run }: { readonly run: CallTransform }, job: TransformJob): TransformOutcome {
  const outcome = run(job);
  return outcome instanceof Promise ? isAsynchronous(job) : outcome;
}

/** The parts of the response to a V1 client. */
interface V1ResponseParts {
  readonly run: CallTransform;
  readonly rules: CompiledRuleBook;
  readonly signals: SignalHeaders | undefined;
  readonly request: RequestOfResponse;
  readonly status: number;
  readonly headers: HeaderList;
}

/** Starts a response: one that no rule concerns, or that cannot be rewritten, is complete but for its body. */
function startV1Response(parts: V1ResponseParts): StartedResponse {
  const { rules, request, status, headers } = parts;
  const { method, operation } = requestFacts(parts);
  const plan = rules.responsePlan(operation, method);
  const deprecated = deprecatedInV1(request.edits);
  const { limits, policies } = rules.ruleBook;
  const isMade = transformsStatus(rules.ruleBook, operation, status);
  if (method === 'HEAD' || (!isMade && !plan.appliesTo(status, deprecated.length > 0)))
    return forward(parts, undefined);
  const decided = decideResponse(status, headers, limits.response, policies.media);
  if (decided.action === 'forward') return forward(parts, decided.note);
  // Adapters collect whole bodies: one without a length may be a stream of text.
  if (decided.isGuess && headerValue(headers, 'content-length') === undefined)
    return forward(parts, 'response-media-type');
  return decided.texts === undefined
    ? new CollectedV1Response(parts, decided.coding, decided.isGuess)
    : new StreamedV1Response(parts, decided.coding, decided.texts);
}

function requestFacts({ rules, request }: V1ResponseParts): RequestFacts {
  const { method, target } = request.v1;
  const [path = ''] = target.split('?', 1);
  const rest = path.slice(rules.prefixes.v1.length);
  return { method, rest, operation: rules.match(method, rest) };
}

function forward(parts: V1ResponseParts, note: ResponseNote | undefined): StartedResponse {
  return { action: 'forward', unchanged: unchanged(parts, null, note) };
}

function unchanged(
  parts: V1ResponseParts,
  body: Uint8Array | null,
  note: ResponseNote | undefined,
): UnchangedResponseVerdict {
  const { status, headers } = mapped(parts, parts.headers);
  const fields = clientFields(parts, headers);
  const isEmpty = body?.length === 0 || !hasContent(status);
  return { verdict: 'unchanged', status, headers: fields, body: isEmpty ? null : body, note };
}

/** Status and fields for the client, where the operation has other statuses at V2. */
function mapped(
  parts: V1ResponseParts,
  headers: HeaderList,
): { readonly status: number; readonly headers: HeaderList } {
  const head = { status: parts.status, headers, reason: undefined, lines: undefined };
  return mappedHead(head, requestFacts(parts), parts.rules);
}

/** Returns the header fields for the client: links lead to V1, and the end of V1 is announced in the final ones. */
function clientFields(parts: V1ResponseParts, headers: HeaderList): HeaderFields {
  const { rules, signals, request, status } = parts;
  const facts = requestFacts(parts);
  const asked = { method: facts.method, asked: request.v1.preflight, rest: facts.rest };
  const received = endToEnd(headers, true);
  const allowed = Preflight.of(asked, rules)?.response(received).headers ?? received;
  const own = contentlessFields(facts, rules, status, allowed);
  const fields = [...(headerPlanOf(facts, rules)?.response(status, own).headers ?? own)];
  if (!representationPlan(facts, rules).isEmpty || transformsRepresentation(facts, rules))
    markTags(fields, rules.ruleBook.hash);
  const places = linkPlaces(parts);
  rewriteLinks(fields, { ...places, restore: (link) => restoredLink(facts, rules, link) });
  if (status >= 200)
    signals?.addTo(fields, {
      operation: facts.operation?.id,
      used: deprecatedAttributes(request.edits),
      edits: [request.edits],
    });
  return headerFieldsOf(fields);
}

function linkPlaces({ rules, request }: V1ResponseParts): LinkRewriting {
  return {
    upstreamHosts: request.host === undefined ? [] : [request.host],
    upstreamPath: '',
    prefix: rules.prefixes.v2,
    clientPrefix: rules.prefixes.v1,
    gateway: 'same-origin',
    base: rules.moves && { v1: request.v1.target, v2: request.target },
  };
}

/** What turns links in a body back. */
function bodyLinks(parts: V1ResponseParts): BodyLinks {
  return { request: requestFacts(parts), places: linkPlaces(parts) };
}

/** A response that rules apply to. */
class CollectedV1Response implements CollectedResponse {
  readonly action = 'collect';
  readonly coding: Coding | undefined;
  readonly limit: number;
  private readonly isGuess: boolean;
  private readonly parts: V1ResponseParts;

  constructor(parts: V1ResponseParts, coding: Coding | undefined, isGuess: boolean) {
    this.parts = parts;
    this.coding = coding;
    this.isGuess = isGuess;
    this.limit = parts.rules.ruleBook.limits.response;
  }

  get unchanged(): UnchangedResponseVerdict {
    return unchanged(this.parts, null, undefined);
  }

  finish(decoded: DecodedBody, received?: Uint8Array): ResponseVerdict {
    const job = this.job(decoded);
    return job === undefined
      ? this.ruled(this.parts, decoded, received, undefined)
      : this.transformed(decoded, received, atOnce(this.parts, job));
  }

  settle(decoded: DecodedBody, received?: Uint8Array): ResponseVerdict | Promise<ResponseVerdict> {
    const job = this.job(decoded);
    if (job === undefined) return this.ruled(this.parts, decoded, received, undefined);
    const outcome = this.parts.run(job);
    if (!(outcome instanceof Promise)) return this.transformed(decoded, received, outcome);
    return outcome.then((made) => this.transformed(decoded, received, made));
  }

  /** The call of the transform, if there is one for this response. */
  private job(decoded: DecodedBody): TransformJob | undefined {
    const { parts } = this;
    const { status, request } = parts;
    const { ruleBook } = parts.rules;
    const { operation, method, rest } = requestFacts(parts);
    if (operation === undefined || !transformsStatus(ruleBook, operation, status)) return undefined;
    if (!(decoded instanceof Uint8Array) || decoded.length === 0) return undefined;
    if (!(JsonDocument.read(decoded, ruleBook.limits.depth) instanceof JsonDocument)) return undefined;
    return transformJob('response', operation, {
      method,
      rest,
      query: queryOf(request.v1.target),
      status,
      body: decoded,
    });
  }

  /** Applies the rules to what the transform made. */
  private transformed(
    decoded: DecodedBody,
    received: Uint8Array | undefined,
    made: TransformOutcome,
  ): ResponseVerdict {
    const { parts } = this;
    if ('why' in made) {
      const { rules, signals } = parts;
      const operation = requestFacts(parts).operation?.id;
      const refusal = { form: rules.ruleBook.refusals, requestId: undefined, signals, operation };
      return refusedRequest(failure('transform-failed', made.why), refusal);
    }
    const withStatus = made.status === undefined ? parts : { ...parts, status: made.status };
    return this.ruled(withStatus, made.body ?? decoded, made.body === undefined ? received : undefined, made);
  }

  private ruled(
    parts: V1ResponseParts,
    decoded: DecodedBody,
    received: Uint8Array | undefined,
    made: TransformResult | undefined,
  ): ResponseVerdict {
    const { rules, request, headers } = parts;
    if (typeof decoded === 'string') return unchanged(parts, received ?? null, NOTE_OF_UNDECODED[decoded]);
    if (this.isGuess && looksLikeJson(decoded) !== true)
      return unchanged(parts, received ?? decoded, undefined);
    const { method, operation } = requestFacts(parts);
    const ofTransform = made === undefined ? [] : transformRecords(made, undefined);
    const links = rules.ruleBook.followsBodyLinks ? bodyLinks(parts) : undefined;
    const context = rules.responseContext(this.parts.status, request.edits, links);
    const outcome = rules.responsePlan(operation, method).rewrite(decoded, context);
    if (outcome.verdict === 'unchanged' && made?.body === undefined)
      return unchanged(parts, received ?? decoded, outcome.note);
    const { body } = outcome;
    const omitted = 'omitted' in outcome ? outcome.omitted : 0;
    const edits = [...ofTransform, ...('records' in outcome ? outcome.records : [])];
    const patch = joinedPatch([{ patch: made?.patch }, outcome]);
    const head = mapped(parts, rewrittenResponseFields(headers, body.length));
    const fields = clientFields(parts, head.headers);
    const sent = hasContent(head.status) ? body : EMPTY;
    return { verdict: 'rewritten', status: head.status, headers: fields, body: sent, edits, patch, omitted };
  }
}

/** A response of several texts that rules apply to. */
class StreamedV1Response implements StreamedResponse {
  readonly action = 'stream';
  readonly coding: Coding | undefined;
  private readonly parts: V1ResponseParts;
  private readonly format: TextFormat;

  constructor(parts: V1ResponseParts, coding: Coding | undefined, format: TextFormat) {
    this.parts = parts;
    this.coding = coding;
    this.format = format;
  }

  get unchanged(): UnchangedResponseVerdict {
    return unchanged(this.parts, null, undefined);
  }

  get response(): UnchangedResponseVerdict {
    return this.headFor(fieldsOfAnotherBody(this.parts.headers));
  }

  private headFor(headers: HeaderList): UnchangedResponseVerdict {
    return unchanged({ ...this.parts, headers }, null, undefined);
  }

  open(): ResponseTexts {
    const { rules, request, status } = this.parts;
    const { method, operation } = requestFacts(this.parts);
    const links = rules.ruleBook.followsBodyLinks ? bodyLinks(this.parts) : undefined;
    const context = rules.responseContext(status, request.edits, links);
    const plan = rules.responsePlan(operation, method);
    return new ResponseTexts(this.format, {
      limit: rules.ruleBook.limits.response,
      hold: () => true,
      rewrite: (text) => plan.rewrite(text, context),
    });
  }

  finish(decoded: DecodedBody, received?: Uint8Array): ResponseVerdict {
    const { parts } = this;
    if (typeof decoded === 'string') return unchanged(parts, received ?? null, NOTE_OF_UNDECODED[decoded]);
    const stream = this.open();
    const body = concatBytes([stream.push(decoded).bytes, stream.end().bytes]);
    const { records: edits, patch, omitted, isRewritten, note } = stream.findings;
    const { status, headers } = this.headFor(rewrittenResponseFields(parts.headers, body.length));
    const sent = hasContent(status) ? body : EMPTY;
    if (isRewritten) return { verdict: 'rewritten', status, headers, body: sent, edits, patch, omitted };
    return { verdict: 'unchanged', status, headers, body: sent.length === 0 ? null : sent, note };
  }
}

/**
 * Compiles a rule book, for requests of V1 clients and responses to them. Throws a TypeError for a value that is no rule book, and for a limit
 * that is no number of bytes.
 */
export function createMigration(ruleBook: RuleBook, options: MigrationOptions = {}): Migration {
  if (!('operations' in Object(ruleBook)))
    throw new TypeError('A migration needs a checked rule book, such as the ruleBook of readRuleBook.');
  const { bodyLimit = 0, transforms = {} } = options;
  if (!(bodyLimit >= 0)) throw new TypeError(`bodyLimit is a number of bytes, not ${bodyLimit}.`);
  const modules = modulesOf(ruleBook, transforms);
  const budgetMs = ruleBook.limits.transform ?? TRANSFORM_BUDGET_MS;
  return new Migration(modules === undefined ? ruleBook : { ...ruleBook, modules }, options, (job) =>
    callWithin(transforms[job.module] ?? {}, job, budgetMs),
  );
}

/** What the modules of a rule book export; undefined for one that names none. Throws a TypeError for one that is not given. */
function modulesOf(
  { operations }: RuleBook,
  transforms: Readonly<Record<string, TransformModule>>,
): RuleBook['modules'] {
  const named = operations.flatMap(({ id, transform }) =>
    transform === undefined ? [] : [{ id, transform }],
  );
  if (named.length === 0) return undefined;
  const modules = named.map(({ id, transform }) => {
    const module = Object.hasOwn(transforms, transform) ? transforms[transform] : undefined;
    const exports = (['request', 'response'] as const).filter((name) => typeof module?.[name] === 'function');
    if (exports.length > 0) return [transform, { text: '', exports }] as const;
    const what = module === undefined ? 'is not in transforms' : 'exports neither request nor response';
    throw new TypeError(
      `The operation ${id} has the transform ${transform}, which ${what}: import the module, and give createMigration { transforms: { '${transform}': module } }.`,
    );
  });
  return Object.fromEntries(modules);
}

/** A stream that was read up to a limit. */
type CollectedStream =
  | { readonly whole: Uint8Array }
  /** The body is larger: the part that was read, and the reader of the rest. */
  | { readonly start: Uint8Array; readonly reader: ReadableStreamDefaultReader<Uint8Array> };

/** Reads a stream up to `limit` bytes; rejects when it breaks off. */
export async function collectStream(
  stream: ReadableStream<Uint8Array>,
  limit: number,
): Promise<CollectedStream> {
  const reader = stream.getReader();
  const body = new ByteCollector(undefined);
  for (;;) {
    const { value } = await reader.read();
    if (value === undefined) return { whole: body.take() };
    body.add(value);
    if (body.length > limit) return { start: body.take(), reader };
  }
}

/** Returns the stream of a body of which `start` was read. */
export function continueStream(
  start: Uint8Array,
  reader: ReadableStreamDefaultReader<Uint8Array>,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream<Uint8Array<ArrayBuffer>>({
    start: (controller) => controller.enqueue(new Uint8Array(start)),
    pull: async (controller) => {
      const { value } = await reader.read();
      if (value === undefined) controller.close();
      else controller.enqueue(new Uint8Array(value));
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/**
 * True for a body that is JSON text, whatever its `Content-Encoding` says: `fetch` decodes the bodies of responses, and leaves the
 * field. No body in gzip or zlib's format begins so.
 */
export function isJsonText(body: Uint8Array): boolean {
  const first = body.find((byte) => byte > 0x20);
  return first === 0x7b || first === 0x5b;
}

/** A whole body that is rewritten: a part of a request or response that was started. */
interface Finishing<Outcome> {
  readonly coding: Coding | undefined;
  settle(decoded: DecodedBody, received?: Uint8Array): Outcome | Promise<Outcome>;
}

/** Finishes a request or response with its whole body, without its content coding, up to `limit` decoded bytes. */
export function finishWith<Outcome>(
  started: Finishing<Outcome>,
  whole: Uint8Array,
  limit: number,
): Promise<Outcome> {
  const { coding } = started;
  if (coding === undefined || whole.length === 0) return Promise.resolve(started.settle(whole));
  return new Promise((resolve) => {
    decodeWebBody(coding, whole, limit, unlimitedMemory, (decoded) =>
      resolve(started.settle(decoded, whole)),
    );
  });
}

/** The body of a web request or response: whole, streamed, or none. */
export type WebBody = Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>> | null;
