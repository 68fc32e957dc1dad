import { type Coding, readJsonType, takesCoding } from '../../http/content.ts';
import { type HeaderList, headerValue } from '../../http/header-list.ts';
import type { ResponseHead } from '../../http/response-head.ts';
import type { MigrateDecision } from '../../migrate/decision.ts';
import { Failure } from '../../migrate/failure.ts';
import {
  hasContent,
  mappedHead,
  type ResponseNote,
  type KeptBody,
  type RewrittenBody,
} from '../../migrate/migrated.ts';
import {
  FEW_VALUES,
  type MigratedMessage,
  type PatchValues,
  RequestMigration,
  ResponseMigration,
  type ResponseOutcome,
} from '../../migrate/migration.ts';
import { deprecatedAttributes } from '../../rewrite/records.ts';
import type { BodyStream } from '../../rewrite/text-stream.ts';
import type { ResponseRecord } from '../../rewrite/response-rules.ts';
import type { RolloutSubject, RoutedMode } from '../../rollout/modes-in-force.ts';
import { type QueuedRequest, RateLimitReset } from '../../rollout/rate-limit.ts';
import { isPreflight, type Newcomer, type RetirementRefusal, takesKey } from '../../rollout/retirement.ts';
import { isShared } from '../cross-origin.ts';
import type { GatewayContext, ReceivedRequest } from '../gateway-context.ts';
import { type Mode, ProxiedExchange } from '../proxied-exchange.ts';
import { ResponseCopy } from '../response-copy.ts';
import type { UpstreamFault, UpstreamReceiver, UpstreamRequest } from '../upstream.ts';
import type { DryRun } from './dry-run.ts';
import { changesFields, fieldsFromV2, linksInBodies, translateLinks } from './response-head.ts';
import { addFindings, keptForFindings } from './response-findings.ts';
import type { V2Lookups } from './lookups.ts';
import { beginSpan, withSpan } from './span.ts';

/** A mode of V1 traffic. */
export interface V1Mode extends Mode<V1Exchange> {
  /** Changes a request for V2, if V2 gets another one than the client's. */
  readonly sends?: (request: UpstreamRequest) => UpstreamRequest;
}

/** The routing of a V1 request; absent while neither the rule book nor an operator has set a mode. */
export interface V1Routing {
  readonly subject: RolloutSubject;
  readonly routed: RoutedMode;
}

/** A body that is rewritten while it arrives. */
interface Upload {
  readonly body: RewrittenBody;
  readonly stream: BodyStream;
  /** The copy for people. */
  readonly kept: KeptBody | undefined;
}

/** Reads the response instead of the exchange, and writes the client's. */
interface ResponseReader extends UpstreamReceiver {
  /** Called when the client stops reading, or continues. */
  pause(): void;
  resume(): void;
  /** The exchange is over. */
  close(): void;
}

/** Reads the response in addition to the client, with work after it. */
export interface BesideReader {
  readonly copy: ResponseCopy;
  /** Called when the client has its response; true if the log entry waits for the work after it. */
  after(): boolean;
  /** The exchange is over. */
  close(): void;
}

/** A V1 exchange, whose response is for a V1 client. Its mode decides which service gets the request, and in which form. */
export class V1Exchange extends ProxiedExchange implements QueuedRequest {
  declare mode: V1Mode;
  readonly migration: RequestMigration;
  readonly routing: V1Routing | undefined;
  /** The migration of V2's response, once its head has arrived. */
  response: ResponseMigration | undefined = undefined;
  /** Reads the response for its client; undefined if the exchange forwards it unread. */
  reader: ResponseReader | undefined = undefined;
  /** Reads the response in addition to the client. */
  beside: BesideReader | undefined = undefined;
  /** The lookups at V2 for the response. */
  lookups: V2Lookups | undefined = undefined;
  /** The body of the request, if it is rewritten while it arrives. */
  upload: Upload | undefined = undefined;
  /** The dry run of a request that goes to V1: the migration of a copy. */
  dryRun: DryRun | undefined = undefined;
  /** True for a body that the gateway itself makes, such as V1's description, with its own tag. */
  hasOwnTag = false;
  /** V2's status, or a transform's, before it is mapped. */
  private v2Status = 0;
  private rateLimitReset: RateLimitReset | undefined = undefined;
  /** True once V2's status is mapped to one whose responses have no content. */
  private dropsContent = false;
  private sample: ResponseCopy | undefined = undefined;
  /** Set for a client that may be new to V1. */
  private newcomer: Newcomer | undefined = undefined;
  /** True once the sampling decision for the trace is made. */
  private isTraceDecided = false;

  constructor(
    gateway: GatewayContext,
    received: ReceivedRequest,
    decision: MigrateDecision,
    mode: V1Mode,
    routing?: V1Routing,
  ) {
    super(gateway, received, 'migrate', mode);
    const { operation } = decision;
    const chosen = routing?.routed.mode.mode;
    this.migration = new RequestMigration(this.rules, decision, this.patchValues);
    this.routing = routing;
    if (chosen !== undefined && chosen !== 'migrate') this.entry.mode = chosen;
    this.entry.operation = operation?.id;
  }

  /** The decision about the request; a transform may have changed its query. */
  get decision(): MigrateDecision {
    return this.migration.decision;
  }

  /** Values that reveal what the client sent are not logged, unless capture is on. */
  private get patchValues(): PatchValues | undefined {
    return this.recorder?.logsValues === true ? undefined : FEW_VALUES;
  }

  private get isFromV2(): boolean {
    return this.origin.version === 'v2';
  }

  // Before it is served.

  /**
   * Records that the client may be new to V1; before the day from which newcomers are refused, the gateway learns its key if a service
   * accepts it.
   */
  judge(newcomer: Newcomer): void {
    this.entry.newcomer = newcomer.note;
    this.newcomer = newcomer;
  }

  /** Refuses the request because V1 is being retired. */
  retire(refusal: RetirementRefusal): void {
    this.entry.note = refusal.note;
    // In observe and shadow mode, V1 does not get it either.
    this.entry.origin = undefined;
    this.refuse(new Failure(refusal));
  }

  /** Called when the rate limit of the service admits the request; `heldMs` is the time it was queued. */
  release(heldMs: number): void {
    if (heldMs > 0) this.entry.heldMs = heldMs;
    this.begin();
  }

  // The request.

  override send(request: UpstreamRequest): void {
    this.beginSpan();
    const sent = this.mode.sends?.(request) ?? request;
    super.send(withSpan(sent, this.entry, this.received.head));
  }

  /** Begins the span, once, while spans are exported. */
  beginSpan(): void {
    const { observer, newTraceHex } = this.gateway.parts;
    const isSampled = observer?.isSampled;
    if (isSampled === undefined || this.isTraceDecided) return;
    this.isTraceDecided = true;
    beginSpan(this.entry, this.received.head.traceparent, { isSampled, newTraceHex });
  }

  /** Logs the edits of the request. */
  noteEdits({ edits, patch, omitted, note }: MigratedMessage): void {
    const { entry } = this;
    entry.edits = edits;
    entry.note = note;
    entry.patch = patch.length > 0 ? patch : undefined;
    entry.editsOmitted = omitted > 0 ? omitted : undefined;
  }

  // The response.

  protected override sampled(): ResponseCopy | undefined {
    const { recorder } = this;
    if (recorder === undefined) return undefined;
    this.sample = new ResponseCopy({
      limit: ({ status, headers }) => {
        if (!recorder.isWanted(status >= 400) || headerValue(headers, 'content-encoding') !== undefined)
          return undefined;
        return readJsonType(headerValue(headers, 'content-type')) === 'json'
          ? keptForFindings(status, headers)
          : undefined;
      },
    });
    return this.sample;
  }

  /** The migration of V2's response with this status. */
  migrateResponse(status: number): ResponseMigration {
    const { facts, decision } = this.migration;
    const query = decision.target.query.slice(1);
    const answered = { facts, edits: this.entry.edits, query, links: linksInBodies(this) };
    return new ResponseMigration(this.rules, answered, status, this.patchValues);
  }

  override information(status: number, received: HeaderList): void {
    const headers = [...received];
    translateLinks(this, headers);
    super.information(status, headers);
  }

  override head(head: ResponseHead): void {
    const isShielded = this.rules.ruleBook.rollout?.shield !== undefined;
    if (head.status === 429 && isShielded)
      this.rateLimitReset = new RateLimitReset(head.headers, this.gateway.parts.time());
    this.v2Status = head.status;
    const mapped = this.isFromV2 ? mappedHead(head, this.migration.facts, this.rules) : head;
    if (mapped !== head) this.entry.upstreamStatus = head.status;
    this.dropsContent = mapped !== head && !hasContent(mapped.status);
    this.beside?.copy.head({ status: mapped.status, headers: head.headers });
    super.head(mapped);
  }

  override data(chunk: Uint8Array, isLast?: boolean): void {
    this.beside?.copy.data(chunk);
    this.rateLimitReset?.data(chunk);
    if (!this.dropsContent) super.data(chunk, isLast);
  }

  override pass(body: ReadableStream<Uint8Array>, length: number): Promise<void> | undefined {
    const isRead = this.beside !== undefined || this.rateLimitReset !== undefined;
    return isRead || this.dropsContent ? undefined : super.pass(body, length);
  }

  override end(trailers: HeaderList): void {
    this.beside?.copy.end();
    const { rateLimitReset, routing } = this;
    if (rateLimitReset !== undefined && routing?.subject.client !== undefined && this.isFromV2)
      this.gateway.rateLimitQueue.block(routing.subject.client, rateLimitReset.seconds ?? 0);
    super.end(trailers);
  }

  override fail(fault: UpstreamFault): void {
    this.beside?.copy.fail(fault);
    super.fail(fault);
  }

  protected override awaitReader(): void {
    super.awaitReader();
    this.reader?.pause();
  }

  override drained(): void {
    this.reader?.resume();
    super.drained();
  }

  /** The verdict describes the whole exchange: a rewritten response makes it `rewritten`. */
  noteResponseOutcome(outcome: ResponseOutcome): void {
    const { entry } = this;
    if (outcome.note !== undefined) this.noteResponse(outcome.note);
    if (outcome.verdict === 'unchanged') return;
    const { records, patch, omitted } = outcome;
    this.noteResponseRecords(records);
    if (patch.length > 0) entry.responsePatch = patch;
    if (omitted > 0) entry.responseEditsOmitted = omitted;
  }

  private noteResponseRecords(records: readonly ResponseRecord[]): void {
    const { entry } = this;
    entry.verdict = 'rewritten';
    if (records.length > 0) entry.responseEdits = [...(entry.responseEdits ?? []), ...records];
  }

  /** Logs why the response is not rewritten. */
  noteResponse(note: ResponseNote): void {
    const isTooLarge = note === 'response-buffer-full' && this.memory.needsTooMuch;
    this.entry.responseNote = isTooLarge ? 'response-too-large' : note;
  }

  // The head of the response.

  protected override headForClient(head: ResponseHead): ResponseHead {
    return changesFields(this, head) ? this.editedHead(head) : super.headForClient(head);
  }

  protected override responseHeaders(received: HeaderList): string[] {
    const ruled = this.isFromV2 ? this.fieldsFromV2(received) : [...received];
    if (!this.isFromV2) translateLinks(this, ruled);
    this.addSignals(ruled);
    // A service exposes its own fields to scripts, but not these.
    if (
      this.received.head.origin !== undefined &&
      this.gateway.signals(this.rules.ruleBook) !== undefined &&
      isShared(ruled)
    )
      ruled.push('Access-Control-Expose-Headers', 'Deprecation, Sunset, Link');
    return ruled;
  }

  /** V2's response fields translated for V1; logs the effects of header rules. */
  private fieldsFromV2(received: HeaderList): string[] {
    const { headers, records } = fieldsFromV2(this, this.v2Status, received);
    if (records.length > 0) this.noteResponseRecords(records);
    return headers;
  }

  /** Whether a rewritten response gets V2's content coding again. */
  keepsCoding(coding: Coding): boolean {
    return this.gateway.parts.encode !== undefined && takesCoding(this.received.head.acceptEncoding, coding);
  }

  /** V2's permissions for pages of another origin, in V1's names: the gateway uses them while V2 is unavailable. */
  protected override permissions(headers: HeaderList): HeaderList {
    const { preflight } = this.decision;
    return preflight === undefined || !this.isFromV2 ? headers : preflight.response(headers).headers;
  }

  protected override addSignals(headers: string[]): void {
    const { edits, responseEdits, operation } = this.entry;
    this.gateway.signals(this.rules.ruleBook)?.addTo(headers, {
      operation,
      used: deprecatedAttributes(edits),
      edits: [edits, responseEdits],
      newcomer: this.newcomer,
    });
  }

  // The end.

  protected override onFinished(status: number): void {
    this.reader?.close();
    this.beside?.close();
    this.lookups?.close();
    this.beginSpan();
    const { gateway, entry, newcomer } = this;
    const { routed, subject } = this.routing ?? {};
    if (newcomer?.learns === true && subject?.client !== undefined && this.attempts > 0 && takesKey(status))
      gateway.knownClients.learn(subject.client);
    if (this.sample !== undefined) addFindings(entry, this.sample, this.rules, this.decision);
    if (isPreflight(entry)) return;
    if (this.attempts > 0 && entry.sent !== false) gateway.rollout.requests[routed?.origin ?? 'v2'] += 1;
    // Without a canary only V1's responses count: a request that V1 refuses now must not count as a failure of V2 in a later canary.
    const isCounted = routed !== undefined && (routed.canary !== undefined || routed.origin === 'v1');
    if (isCounted && subject !== undefined)
      gateway.rollout.countAnswer(routed, status, {
        client: subject.client,
        operation: subject.operation,
        pointer: entry.failure === undefined ? entry.errorPointers?.[0] : entry.pointer,
        failure: entry.failure,
        ms: entry.upstreamMs,
      });
  }
}
