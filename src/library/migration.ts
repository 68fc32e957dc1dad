import { NO_BYTES, bytesOfText } from '../json/names.ts';
import type { Coding } from '../http/content.ts';
import { endToEnd, fieldsOfAnotherBody, rewrittenResponseFields } from '../http/fields.ts';
import { isRequestId } from '../http/forwarding.ts';
import { type HeaderList, headerValue } from '../http/header-list.ts';
import { readHead, type RequestHead } from '../http/request-head.ts';
import { unlimitedMemory } from '../json/tape.ts';
import { bodyTooLarge, decide, editsOf, refusalForm, streamedFormat } from '../migrate/decision.ts';
import { type DecodeBody, type DecodedBody, decodeWebBody } from '../migrate/decode-web-body.ts';
import { Failure, failure, failureOf } from '../migrate/failure.ts';
import type { HashBody } from '../migrate/judge-digests.ts';
import { hasContent, mappedHead, type ResponseNote } from '../migrate/migrated.ts';
import {
  type Drivable,
  fieldsForV1,
  type MigratedMessage,
  type ReceivedBody,
  type RefusedMigration,
  type RequestEnd,
  RequestMigration,
  type ResponseEnd,
  ResponseMigration,
  drive,
  type LookUp,
  type ResponseWork,
} from '../migrate/migration.ts';
import { skipLookups } from '../migrate/lookups.ts';
import { Preflight } from '../migrate/preflight.ts';
import {
  callWithin,
  isAsynchronous,
  queryOf,
  TRANSFORM_BUDGET_MS,
  type TransformJob,
  type TransformModule,
  type TransformOutcome,
} from '../migrate/transform.ts';
import { linkPrefixes, type LinkRewriting, type RequestFacts } from '../rewrite/links.ts';
import { CompiledRuleBook } from '../rewrite/compiled-rule-book.ts';
import { deprecatedAttributes, type Refusal } from '../rewrite/records.ts';
import type { ResponseRecord } from '../rewrite/response-rules.ts';
import type { BodyStream, TextNote } from '../rewrite/text-stream.ts';
import { SignalHeaders } from '../rollout/retirement.ts';
import type { RefusalForm } from '../rules/refusal-form.ts';
import type { RuleBook } from '../rules/rule-book.ts';
import { type AskV2, lookUpBy } from './ask-v2.ts';
import { isJsonText } from './web-body.ts';
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
  /**
   * Hashes a body that came with `Content-MD5`, `Digest`, `Content-Digest` or `Repr-Digest`; undefined for an unknown algorithm. The
   * adapters have their own. If there is none, or if it returns a promise, for which `request` and `finish` do not wait, the digest of an
   * edited body is not checked: it is dropped, with the note `digest-unjudged`.
   */
  readonly hash?: HashBody;
  /**
   * Sends the lookups of response rules to V2; the adapters for `fetch` and Hono have their own. Without it, and in `response` and
   * `finish`, which do not wait, nothing is looked up: clients get what `absent` of the rule says, with the note `lookup-unasked`.
   */
  readonly lookup?: AskV2;
}

/** The server in front of the library has its own limits. */
const NO_LIMITS = { count: Infinity, bytes: Infinity };

/** The parts of a migrated request that its response depends on. */
export type RequestOfResponse = Pick<MigratedRequestHead, 'target' | 'v1' | 'host' | 'edits'> &
  /** Lookups of rules use these fields. */
  Partial<Pick<MigratedRequestHead, 'headers'>>;

/** The facts about a body that an adapter knows before reading it. */
export interface RequestBodyFacts {
  readonly hasBody: boolean;
  /** The content codings that the adapter decodes. */
  readonly codings: readonly Coding[];
  /** Hashes a body that came with a digest; by default the option of the migration. */
  readonly hash?: HashBody | undefined;
}

/** How to handle a request whose head is known; `action` tells the cases apart. For adapters that stream or decode bodies. */
export type StartedRequest =
  /** The request is not for V1. */
  | { readonly action: 'pass' }
  | { readonly action: 'refuse'; readonly refused: RefusedRequest }
  /** The body, if there is one, is sent as received. */
  | {
      readonly action: 'forward';
      readonly request: MigratedRequest;
      /** True if the body must not be sent, because V2's method for the operation has no use for one. */
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

/** A request whose body may be available as a whole. */
interface FinishedRequest {
  /** Returns the outcome for a body; `received` is the body before decoding, if it has a content coding. */
  finish(decoded: DecodedBody, received?: Uint8Array): MigratedRequest | RefusedRequest;
  /** Returns the refusal of a request whose body the service has already read. */
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

/** How to handle a response whose head is known; `action` is the case. For adapters that stream or decode bodies. */
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
  /** Returns the outcome for a body; `received` is the body before decoding, if it has a content coding. */
  finish(decoded: DecodedBody, received?: Uint8Array): ResponseVerdict;
  /** Like `finish`, but waits for a transform that returns a promise, and for the lookups of rules. */
  settle(decoded: DecodedBody, received?: Uint8Array): ResponseVerdict | Promise<ResponseVerdict>;
}

/**
 * Migrates V1 requests to V2, and V2's responses back, with the gateway's decisions and plans. It keeps no state between requests. Every V1
 * request is migrated: modes, pinned versions, brownouts, newcomers and the sunset of the rule book are not applied.
 */
export class Migration {
  readonly ruleBook: RuleBook;
  private readonly rules: CompiledRuleBook;
  private readonly signals: SignalHeaders | undefined;
  private readonly options: MigrationOptions;
  private readonly run: CallTransform;

  /** `run` calls the transforms in `modules` of the rule book. */
  constructor(ruleBook: RuleBook, options: MigrationOptions, run: CallTransform) {
    this.ruleBook = ruleBook;
    this.rules = new CompiledRuleBook(ruleBook);
    this.signals = SignalHeaders.of(ruleBook.rollout);
    this.options = options;
    this.run = run;
  }

  /**
   * Migrates a request with the raw path and query `target`. A body with a content coding is refused with 415, because decoding is
   * asynchronous: decode it first, and omit `Content-Encoding`.
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
    const { lookup } = this.options;
    const started = startV1Response(this.partsOf(request, status, headers, lookup), true);
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
    const { hasBody, codings, hash = this.options.hash } = body;
    const list = headerListOf(headers);
    const received = readHead(list, NO_LIMITS, true);
    const { host } = received;
    // Checking `Host` is the server's task: without it, the decision is made for any host.
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
      // The library does not deliver webhooks: their path belongs to the application.
      case 'webhook':
        return { action: 'pass' };
      case 'migrate': {
        const { rules, signals, run } = this;
        const migration = new RequestMigration(rules, decision);
        return startV1Request({ rules, signals, run, head, host, migration, codings, hash }, hasBody);
      }
    }
  }

  /**
   * Decides on the response to a migrated request from its head, for adapters that stream or decode its body. `ask` sends the lookups of
   * rules to V2; by default it is the option of the migration.
   */
  startResponse(
    request: RequestOfResponse,
    status: number,
    headers: HeadersLike,
    ask = this.options.lookup,
  ): StartedResponse {
    return startV1Response(this.partsOf(request, status, headers, ask));
  }

  private partsOf(
    request: RequestOfResponse,
    status: number,
    headers: HeadersLike,
    ask: MigrationOptions['lookup'],
  ): V1ResponseParts {
    const { rules, signals, run } = this;
    const facts = requestFacts(rules, request);
    const links = rules.ruleBook.followsBodyLinks
      ? { request: facts, places: linkPlaces(rules, request) }
      : undefined;
    const answered = { facts, edits: request.edits, query: queryOf(request.v1.target), links };
    const migration = new ResponseMigration(rules, answered, status);
    return {
      rules,
      signals,
      run,
      lookUp: ask === undefined ? skipLookups : lookUpBy(ask, request.headers),
      request,
      facts,
      headers: headerListOf(headers),
      migration,
    };
  }
}

function bytesOf(body: BodyLike): Uint8Array {
  if (body === undefined || body === null) return NO_BYTES;
  if (typeof body === 'string') return bytesOfText(body);
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

/** The id of the request from the client or a proxy in front; the library does not create ids. */
function ownId({ requestId }: RequestHead): string | undefined {
  return isRequestId(requestId) ? requestId : undefined;
}

function refusedRequest(
  failed: Failure,
  { form, requestId, signals, operation }: RefusalParts,
): RefusedRequest {
  const { status, code, detail, pointer, position } = failed;
  const content = failed.content(form, requestId);
  const body = bytesOfText(content.body);
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

/** Calls a transform, synchronously if possible. */
type CallTransform = (job: TransformJob) => TransformOutcome | Promise<TransformOutcome>;

/** A whole body: `finish` returns the outcome at once, `settle` waits for a transform that returns a promise. */
interface WholeBody<Body, Outcome> {
  finish(decoded: Body, received?: Uint8Array): Outcome;
  settle(decoded: Body, received?: Uint8Array): Outcome | Promise<Outcome>;
}

/**
 * Drives `migration` with transforms that `run` calls. `judge` is called first, and `read` converts the end of the migration to the
 * outcome.
 */
function wholeBody<Body, Rewrite, End extends object, Outcome>(
  migration: Drivable<Rewrite, End> & { finish(body: Body): ResponseWork | End },
  run: CallTransform,
  read: (end: End, body: Body, received: Uint8Array | undefined) => Outcome,
  judge: (received: Body | Uint8Array) => Promise<void> | undefined = () => undefined,
  lookUp: LookUp = skipLookups,
): WholeBody<Body, Outcome> {
  const atOnce: CallTransform = (job) => {
    const made = run(job);
    return made instanceof Promise ? isAsynchronous(job) : made;
  };
  return {
    finish: (body, received) => {
      // The result of a promise comes too late for this function.
      judge(received ?? body)?.catch(() => {});
      const end = drive(migration, migration.finish(body), atOnce);
      if (end instanceof Promise) throw new Error('nothing waits here');
      return read(end, body, received);
    },
    settle: (body, received) => {
      const settled = (): Outcome | Promise<Outcome> => {
        const end = drive(migration, migration.finish(body), run, lookUp);
        return end instanceof Promise
          ? end.then((late) => read(late, body, received))
          : read(end, body, received);
      };
      const judged = judge(received ?? body);
      return judged === undefined ? settled() : judged.then(settled);
    },
  };
}

/** The parts of a V1 request that is migrated. */
interface V1RequestParts {
  readonly run: CallTransform;
  readonly rules: CompiledRuleBook;
  readonly signals: SignalHeaders | undefined;
  readonly head: RequestHead;
  /** `Host` as received. */
  readonly host: string | undefined;
  readonly migration: RequestMigration;
  /** The content codings that the adapter decodes; empty if its caller decodes bodies, from any coding. */
  readonly codings: readonly Coding[];
  readonly hash: HashBody | undefined;
}

/** Returns the refusal for a failure of a V1 request. */
function refusedV1({ rules, head, signals, migration }: V1RequestParts, failed: Failure): RefusedRequest {
  return refusedRequest(failed, {
    form: rules.ruleBook.refusals,
    requestId: ownId(head),
    signals,
    operation: migration.decision.operation?.id,
  });
}

/** Starts a V1 request: without a body, or with one that no rule or transform concerns, it is complete. */
function startV1Request(parts: V1RequestParts, hasBody: boolean): StartedRequest {
  const { migration, run, hash } = parts;
  const { bodyLimit } = migration.decision;
  const step = migration.begin(hasBody);
  if (step.action === 'refuse') return { action: 'refuse', refused: refusedV1(parts, step.failure) };
  const whole = wholeBody(
    migration,
    run,
    (end: RequestEnd, decoded: ReceivedBody, received) =>
      requestVerdict(parts, end, received ?? (decoded instanceof Uint8Array ? decoded : NO_BYTES)),
    (received) => (received instanceof Uint8Array ? migration.judge(received, hash) : undefined),
  );
  const alreadyRead = (): RefusedRequest => refusedV1(parts, failure('body-already-read'));
  const format = streamedFormat(step);
  if (migration.isTransformed || (step.action === 'rewrite' && format === undefined))
    return {
      action: 'collect',
      coding: step.action === 'rewrite' ? step.coding : undefined,
      bodyLimit,
      tooLarge: () => refusedV1(parts, bodyTooLarge(bodyLimit)),
      alreadyRead,
      ...whole,
    };
  if (format !== undefined)
    return {
      action: 'stream',
      get request() {
        return streamedRequest(parts);
      },
      open: () => migration.open(format),
      refuse: (refusal) => refusedV1(parts, failureOf(refusal)),
      alreadyRead,
      ...whole,
    };
  const request = whole.finish(hasBody ? 'unread' : undefined);
  if (request.verdict === 'refused') return { action: 'refuse', refused: request };
  return step.action === 'drop'
    ? { action: 'forward', request, dropsBody: true }
    : { action: 'forward', request };
}

function requestVerdict(
  parts: V1RequestParts,
  end: RequestEnd,
  received: Uint8Array,
): MigratedRequest | RefusedRequest {
  if (end.verdict === 'refused') return refusedV1(parts, explained(end));
  const { verdict, edits, patch, omitted, note } = end;
  const head = migratedHead(parts, end.body !== undefined, edits);
  const isKept = received.length > 0 && parts.migration.decision.body.action !== 'drop';
  const body = end.body ?? (isKept ? received : null);
  return verdict === 'unchanged'
    ? { verdict, ...head, body, note }
    : { verdict, ...head, body, patch, omitted, note };
}

/** A request whose body follows as it comes. */
function streamedRequest(parts: V1RequestParts): MigratedRequest {
  const { decision, noteOfDigests: note } = parts.migration;
  const head = migratedHead(parts, true, editsOf(decision, []));
  return { verdict: 'rewritten', ...head, body: null, patch: [], omitted: 0, note };
}

/** The failure; if a transform failed, its detail is the cause, for the author of the transform. */
function explained({ failure: failed, cause }: RefusedMigration): Failure {
  return cause === undefined
    ? failed
    : new Failure({ code: failed.code, status: failed.status, title: failed.title, detail: cause.why });
}

function migratedHead(
  { head, host, migration, codings }: V1RequestParts,
  isRewritten: boolean,
  edits: MigratedMessage['edits'],
): MigratedRequestHead {
  const { decision } = migration;
  const { version, fields } = migration.head(head, isRewritten, {
    now: Date.now(),
    codings: codings.length === 0 ? undefined : codings,
  });
  return {
    method: decision.v2Method,
    target: decision.v2Target,
    v1: {
      method: decision.method,
      target: decision.target.raw,
      ...(decision.preflight === undefined ? {} : { preflight: head.preflightMethod }),
      ...(decision.release === undefined ? {} : { release: decision.release }),
    },
    headers: headerFieldsOf(fields.forwardedHeaders),
    operation: decision.operation?.id,
    apiVersion: version,
    host,
    edits,
  };
}

/** The parts of the response to a V1 client. */
interface V1ResponseParts {
  readonly run: CallTransform;
  readonly lookUp: LookUp;
  readonly rules: CompiledRuleBook;
  readonly signals: SignalHeaders | undefined;
  readonly request: RequestOfResponse;
  readonly facts: RequestFacts;
  readonly headers: HeaderList;
  readonly migration: ResponseMigration;
}

/**
 * Starts a response. One that no rule concerns, or that cannot be rewritten, is complete except for its body. `isWhole` means that the body
 * is already available.
 */
function startV1Response(parts: V1ResponseParts, isWhole = false): StartedResponse {
  const { migration, headers, run, lookUp, rules } = parts;
  const step = migration.begin(headers);
  const own = (note: ResponseNote | undefined): UnchangedResponseVerdict =>
    unchanged(parts, headers, null, note);
  if (step.action === 'forward') return { action: 'forward', unchanged: own(step.note) };
  const whole = wholeBody(
    migration,
    run,
    (end: ResponseEnd, decoded: DecodedBody, received) =>
      responseVerdict(parts, end, received ?? (typeof decoded === 'string' ? null : decoded)),
    undefined,
    lookUp,
  );
  const { coding } = step;
  if (step.action === 'stream')
    return {
      action: 'stream',
      coding,
      get unchanged() {
        return own(undefined);
      },
      get response() {
        return unchanged(parts, fieldsOfAnotherBody(headers), null, undefined);
      },
      open: () => migration.open(step.texts),
      ...whole,
    };
  // Adapters collect whole bodies: one without a length may be a stream of text.
  if (step.isGuess && !isWhole && headerValue(headers, 'content-length') === undefined)
    return { action: 'forward', unchanged: own('response-media-type') };
  if (step.isTooLong) return { action: 'forward', unchanged: own('response-too-large') };
  return {
    action: 'collect',
    coding,
    limit: rules.ruleBook.limits.response,
    get unchanged() {
      return own(undefined);
    },
    ...whole,
  };
}

function responseVerdict(
  parts: V1ResponseParts,
  end: ResponseEnd,
  received: Uint8Array | null,
): ResponseVerdict {
  const { rules, signals, facts } = parts;
  if (end.verdict === 'refused') {
    const form = rules.ruleBook.refusals;
    const operation = facts.operation?.id;
    return refusedRequest(explained(end), { form, requestId: undefined, signals, operation });
  }
  if (end.verdict === 'unchanged') return unchanged(parts, parts.headers, received, end.note);
  const { verdict, body, records: edits, patch, omitted, note } = end;
  const head = clientHead(parts, rewrittenResponseFields(parts.headers, body.length));
  const noted = note === undefined ? {} : { note };
  return { verdict, ...head, body: bodyFor(head.status, body) ?? NO_BYTES, edits, patch, omitted, ...noted };
}

function requestFacts(
  rules: CompiledRuleBook,
  { v1: { method, target, release } }: RequestOfResponse,
): RequestFacts {
  const [path = ''] = target.split('?', 1);
  const rest = path.slice((rules.prefixes.find(path)?.text ?? rules.prefixes.v1).length);
  const operation = rules.match(method, rest, target.slice(path.length));
  return { method, rest, operation, ...(release === undefined ? {} : { release }) };
}

function unchanged(
  parts: V1ResponseParts,
  received: HeaderList,
  body: Uint8Array | null,
  note: ResponseNote | undefined,
): UnchangedResponseVerdict {
  const head = clientHead(parts, received);
  return { verdict: 'unchanged', ...head, body: bodyFor(head.status, body), note };
}

function bodyFor(status: number, body: Uint8Array | null): Uint8Array | null {
  return body?.length === 0 || !hasContent(status) ? null : body;
}

/** Status and fields for the client: links lead to V1, and the end of V1 is announced in the final ones. */
function clientHead(
  { rules, signals, request, facts, migration }: V1ResponseParts,
  received: HeaderList,
): { readonly status: number; readonly headers: HeaderFields } {
  const head = { status: migration.status, headers: received, reason: undefined, lines: undefined };
  const { status, headers } = mappedHead(head, facts, rules);
  const query = `?${queryOf(request.v1.target)}`;
  const asked = { method: facts.method, asked: request.v1.preflight, rest: facts.rest, query };
  const { headers: fields } = fieldsForV1(migration.status, endToEnd(headers, true), {
    rules,
    facts,
    preflight: Preflight.of(asked, rules),
    places: () => linkPlaces(rules, request),
  });
  if (status >= 200)
    signals?.addTo(fields, {
      operation: facts.operation?.id,
      used: deprecatedAttributes(request.edits),
      edits: [request.edits],
    });
  return { status, headers: headerFieldsOf(fields) };
}

function linkPlaces({ prefixes, linkFields }: CompiledRuleBook, request: RequestOfResponse): LinkRewriting {
  return {
    upstreamHosts: request.host === undefined ? [] : [request.host],
    upstreamPath: '',
    ...linkPrefixes(prefixes, prefixes.find(request.v1.target)?.text ?? prefixes.v1, 'v2'),
    fields: linkFields,
    gateway: 'same-origin',
    base: { v1: request.v1.target, v2: request.target },
  };
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

/**
 * The exports of the modules that a rule book names; undefined if it names none. Throws a TypeError for a module that is not in
 * `transforms`.
 */
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
      `The operation ${id} has the transform ${transform}, which ${what}: give createMigration { transforms: { '${transform}': module } }.`,
    );
  });
  return Object.fromEntries(modules);
}

/** A whole body that is rewritten: a part of a request or response that was started. */
interface Finishing<Outcome> {
  readonly coding: Coding | undefined;
  settle(decoded: DecodedBody, received?: Uint8Array): Outcome | Promise<Outcome>;
}

/** Finishes a request or response with its whole body, without its content coding, up to `limit` decoded bytes. */
export async function finishWith<Outcome>(
  started: Finishing<Outcome>,
  whole: Uint8Array,
  limit: number,
  decode: DecodeBody = decodeWebBody,
): Promise<Outcome> {
  const { coding } = started;
  if (coding === undefined || whole.length === 0) return started.settle(whole);
  const decoded = await new Promise<DecodedBody>((done) => {
    decode(coding, whole, limit, unlimitedMemory, done);
  });
  return started.settle(decoded, whole);
}

/** The body of a web request or response: whole, streamed, or none. */
export type WebBody = Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>> | null;
