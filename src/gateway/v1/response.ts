import { ByteCollector, type CollectorMemory, concatBytes } from '../../http/byte-collector.ts';
import {
  type Coding,
  isWhiteSpace,
  looksLikeJson,
  readJsonType,
  type TextFormat,
} from '../../http/content.ts';
import { codedResponseFields, fieldsOfAnotherBody, rewrittenResponseFields } from '../../http/fields.ts';
import { type HeaderList, headerValue } from '../../http/header-list.ts';
import type { ResponseHead } from '../../http/response-head.ts';
import type { MigrateDecision } from '../../migrate/decision.ts';
import type { DecodedBody, StreamDecoder } from '../../migrate/decode-web-body.ts';
import { NOTE_OF_UNDECODED, type ResponseNote } from '../../migrate/migrated.ts';
import type { ResponseOutcome, ResponseStep } from '../../migrate/migration.ts';
import type { ResponseDifference } from '../../rewrite-log/entry.ts';
import type { OpenEntry } from '../../rewrite-log/observer.ts';
import {
  deprecatedMembers,
  errorPointers,
  MovedMembers,
  responseObject,
  unechoedMembers,
} from '../../rewrite-log/response-findings.ts';
import type { CompiledRuleBook } from '../../rewrite/compiled-rule-book.ts';
import type { ListPieces } from '../../rewrite/list-pieces.ts';
import type { EditRecord } from '../../rewrite/records.ts';
import { resourcePath } from '../../rules/inverse.ts';
import { isRewritten } from '../../rules/rule-book.ts';
import { changesValue } from '../../rules/rule.ts';
import type { UpstreamFault, UpstreamReceiver } from '../upstream.ts';
import type { TextResponse } from './text-response.ts';

/** The exchange that a response is collected for; it receives the response as if V2 had sent it in one piece. */
export interface ResponseCollectorOwner extends UpstreamReceiver {
  /** True once nothing waits for a response: one is being written, or the client disconnected. */
  readonly isSettled: boolean;
  /** Memory for a response that is collected. */
  readonly responseMemory: CollectorMemory;
  /** Maximum decoded bytes of a response to rewrite. */
  readonly responseLimit: number;
  /** Decides how to rewrite the response with this head. */
  planResponse(status: number, headers: HeaderList): ResponseStep;
  /** Returns what rewrites a long list while it arrives; undefined where the whole response is needed. */
  responsePieces(emit: (part: Uint8Array) => void): ListPieces | undefined;
  /** Opens a response of several texts, which goes on as it comes. */
  openTexts(status: number, headers: HeaderList, format: TextFormat): TextResponse;
  /** Reserves bytes in the budget; false when they do not fit. */
  takeResponse(bytes: number): boolean;
  /** Responds itself where there is no memory to rewrite the response; false if that is then to be streamed unchanged. */
  refuseResponse(): boolean;
  decodeResponse(coding: Coding, body: Uint8Array, done: (outcome: DecodedBody) => void): void;
  /** Opens a decoder for a response, which passes its parts on as fast as the client reads. */
  decodeInParts(coding: Coding, parts: DecodedParts): StreamDecoder;
  /** Pauses the response of the origin, and resumes it. */
  pauseResponse(): void;
  resumeResponse(): void;
  /** Ends a response that cannot be read on, as a broken one. */
  breakResponse(cause: string): void;
  /** Returns what the first bytes of a response with a content coding decode to, as far as that can be read. */
  peekResponse(coding: Coding, begin: Uint8Array): Uint8Array;
  /** Gives a rewritten response the coding that V2 sent it in, if its client takes that; otherwise `done` gets undefined. */
  encodeResponse(coding: Coding, body: Uint8Array, done: (encoded: Uint8Array | undefined) => void): void;
  /** Migrates a small response at once, where it is; undefined for one that takes longer. */
  finishSmallResponse(body: Uint8Array): ResponseOutcome | undefined;
  /** Migrates a decoded response; it may then be in other memory. `done` is not called when the exchange is over, or has failed. */
  finishResponse(body: Uint8Array, done: (outcome: ResponseOutcome, body: Uint8Array) => void): void;
  /** The status that a transform gave the response, or V2's; undefined where the head says it. */
  readonly responseStatus: number | undefined;
  /** Logs what became of the response. */
  noteResponseOutcome(outcome: ResponseOutcome): void;
  /** Logs why the response is not rewritten. */
  noteResponse(note: ResponseNote): void;
  /** Responds to a fault before anything of the response was sent. */
  failCollected(fault: UpstreamFault): void;
  /** Passes V2's own response with its decoded body to the observer. */
  observeResponse(status: number, headers: HeaderList, body: Uint8Array): void;
}

/** Receives the parts of a response without its content coding; after `fail` nothing follows. */
export interface DecodedParts {
  data(part: Uint8Array): void;
  end(): void;
  fail(): void;
}

/** A response that is rewritten by pieces. */
interface ResponseInPieces {
  readonly head: ResponseHead;
  readonly list: ListPieces;
  /** Set for one with a content coding. */
  readonly coded: CodedResponse | undefined;
  /** Why it is not collected. */
  readonly reason: 'response-too-large' | 'response-buffer-full';
  /** What is to be sent behind the head, which waits for the first piece; undefined once it is sent. */
  waiting: Uint8Array[] | undefined;
  /** Bytes taken for a piece whose rest has not arrived. */
  taken: number;
}

/** A response that is decoded as it arrives. */
interface CodedResponse {
  readonly decoder: StreamDecoder;
  /** Its parts as they came, until it is known that what is sent are others. */
  received: Uint8Array[];
  /** Set once it has arrived. */
  trailers: HeaderList | undefined;
}

/** Bytes of a response by pieces that are not counted: those of a usual piece. */
const UNCOUNTED_BYTES = 128 * 1024;

/** Bytes before a list, of which more are not waited for. */
const MAX_BYTES_BEFORE_LIST = 64 * 1024;

/** Bytes of white space that keep a connection open: more of it is how a body begins that is all there. */
const MAX_BLANK_BYTES = 1024;

/** Bytes of a response with a content coding that tell its first byte: a coding begins with its tables. */
const PEEKED_BYTES = 1024;

interface PendingResponse {
  readonly head: ResponseHead;
  readonly coding: Coding | undefined;
  /** Bytes of the body, by its head; 0 where that does not say. */
  readonly length: number;
  readonly body: ByteCollector;
  /** True where its first byte decides whether it is rewritten. */
  readonly isGuess: boolean;
  readonly holdsHead: boolean;
}

/** Collects the responses that response rules apply to, and streams all others; rewrites those of several texts text by text. */
export class ResponseCollector implements UpstreamReceiver {
  private readonly owner: ResponseCollectorOwner;
  private pending: PendingResponse | undefined;
  private inPieces: ResponseInPieces | undefined = undefined;
  private texts: TextResponse | undefined = undefined;
  /** True while a response is streamed whose first byte is still to come. */
  private mayHideJson = false;
  /** The content coding of such a response, and its beginning as received. */
  private hiding: { readonly coding: Coding; readonly begin: Uint8Array } | undefined = undefined;
  /** True once head and white space of a response that is collected were sent. */
  private hasBegun = false;
  /** The memory that the whole response was collected in. */
  private collected: Uint8Array | undefined = undefined;

  constructor(owner: ResponseCollectorOwner) {
    this.owner = owner;
  }

  /** A response that is collected is copied. */
  get borrowsParts(): boolean {
    return this.pending !== undefined || this.inPieces !== undefined || this.owner.borrowsParts === true;
  }

  information(status: number, headers: HeaderList): void {
    this.owner.information(status, headers);
  }

  head(head: ResponseHead): void {
    const { status, headers } = head;
    const plan = this.owner.planResponse(status, headers);
    const { coding } = plan;
    if (plan.action === 'forward') {
      this.mayHideJson = plan.mayHideJson === true;
      this.hiding = this.mayHideJson && coding !== undefined ? { coding, begin: NO_BYTES } : undefined;
      this.owner.head(head);
    } else if (plan.action === 'stream') {
      this.texts = this.owner.openTexts(status, headers, plan.texts);
      this.texts.head(head, coding);
    } else {
      const length = Number(headerValue(headers, 'content-length') ?? 0);
      const { isTooLong, holdsHead } = plan;
      const body = new ByteCollector(isTooLong ? 0 : length, this.owner.responseMemory);
      const isGuess = plan.isGuess && coding === undefined;
      const pending = { head, coding, length, body, isGuess, holdsHead };
      this.pending = pending;
      if (isTooLong) this.inPiecesOrStream(pending, 'response-too-large');
    }
  }

  pass(body: ReadableStream<Uint8Array>, length: number): Promise<void> | undefined {
    const { pending, inPieces, texts } = this;
    const isStreamed = (pending ?? inPieces ?? texts) === undefined && !this.mayHideJson;
    return isStreamed ? this.owner.pass?.(body, length) : undefined;
  }

  data(chunk: Uint8Array, isLast = false): void {
    const { pending, inPieces } = this;
    if (inPieces !== undefined) {
      if (inPieces.coded === undefined) this.pushPiece(inPieces, chunk);
      else this.decode(inPieces, inPieces.coded, chunk);
      return;
    }
    if (pending === undefined) {
      if (this.mayHideJson) this.noteHidden(chunk);
      if (this.texts === undefined) this.owner.data(chunk, isLast);
      else this.texts.data(chunk, isLast);
      return;
    }
    if (pending.body.length === 0 && !this.isCollected(pending, chunk, isLast)) return;
    const isWhole = pending.body.length === 0 && chunk.length === pending.length;
    if (isWhole && this.rewriteWhole(pending, chunk, isLast)) return;
    const taken = pending.body.add(chunk, true);
    if (pending.body.length > this.owner.responseLimit) this.inPiecesOrStream(pending, 'response-too-large');
    else if (taken > 0 && !this.owner.takeResponse(taken))
      this.inPiecesOrStream(pending, 'response-buffer-full');
  }

  /** Notes JSON under a name that hides it. */
  private noteHidden(chunk: Uint8Array): void {
    const looks = looksLikeJson(this.hiding === undefined ? chunk : this.uncovered(this.hiding, chunk));
    this.mayHideJson =
      looks === undefined && !(this.hiding !== undefined && this.hiding.begin.length >= PEEKED_BYTES);
    if (looks === true) this.owner.noteResponse('response-media-type');
  }

  /** Returns what is known of a response behind its content coding, once there is another part of it. */
  private uncovered(
    { coding, begin }: NonNullable<ResponseCollector['hiding']>,
    part: Uint8Array,
  ): Uint8Array {
    const longer = concatBytes([begin, part.subarray(0, PEEKED_BYTES - begin.length)]);
    this.hiding = { coding, begin: longer };
    return this.owner.peekResponse(coding, longer);
  }

  /** Looks at the first bytes of a response; false where they are sent at once. */
  private isCollected(pending: PendingResponse, chunk: Uint8Array, isLast: boolean): boolean {
    const { owner } = this;
    const { head, coding, length, isGuess, holdsHead } = pending;
    // The chunk is borrowed as long as a response is collected.
    const own = (): Uint8Array => (owner.borrowsParts === true ? chunk : new Uint8Array(chunk));
    if (isGuess && looksLikeJson(chunk) === false) {
      this.stream(pending, undefined);
      owner.data(own(), isLast);
      return false;
    }
    // Services send white space so that nobody in between gives up on them: it must not wait for the bytes behind it.
    const mayWait =
      isLast || length > 0 || coding !== undefined || holdsHead || chunk.length > MAX_BLANK_BYTES;
    if (mayWait || !chunk.every(isWhiteSpace)) return true;
    this.sendHead({ ...head, headers: fieldsOfAnotherBody(head.headers), lines: undefined });
    this.hasBegun = true;
    owner.data(own());
    return false;
  }

  end(trailers: HeaderList): void {
    const { pending, inPieces } = this;
    if (inPieces !== undefined) {
      const { coded } = inPieces;
      if (coded === undefined) this.finishPieces(inPieces);
      else {
        coded.trailers = trailers;
        coded.decoder.end();
      }
      return;
    }
    if (pending === undefined) {
      if (this.texts === undefined) this.owner.end(trailers);
      else this.texts.end();
      return;
    }
    this.pending = undefined;
    const { coding } = pending;
    this.collected = pending.body.buffer;
    const body = pending.body.take();
    if (coding === undefined || body.length === 0) {
      this.rewrite(pending, body, undefined, trailers);
      return;
    }
    this.owner.decodeResponse(coding, body, (decoded) => {
      if (this.isOver) return;
      if (typeof decoded !== 'string') {
        this.rewrite(pending, decoded, body, trailers);
        return;
      }
      if (decoded !== 'undecodable' && this.beginPieces(pending, body, NOTE_OF_UNDECODED[decoded])) {
        this.end(trailers);
        return;
      }
      if (decoded === 'buffer-full' && this.isRefused()) return;
      this.owner.noteResponse(NOTE_OF_UNDECODED[decoded]);
      this.send(pending.head, body, trailers);
    });
  }

  /** The client has nothing of a response that is collected: it gets a failure, and no part of V2's response. */
  fail(fault: UpstreamFault): void {
    const { pending, inPieces } = this;
    const isUnsent = !this.hasBegun && (pending !== undefined || inPieces?.waiting !== undefined);
    this.pending = undefined;
    if (isUnsent) {
      this.inPieces = undefined;
      this.owner.failCollected(fault);
      return;
    }
    if (inPieces !== undefined) this.endPieces(inPieces);
    this.texts?.breakOff();
    this.owner.fail(fault);
  }

  endUnproven(): void {
    this.owner.endUnproven?.();
  }

  /** Rewrites a small response that has arrived whole without copying it; false where it is to be collected. */
  private rewriteWhole(
    { head, coding, holdsHead }: PendingResponse,
    body: Uint8Array,
    isLast: boolean,
  ): boolean {
    const { owner } = this;
    if (coding !== undefined || holdsHead || body.length > owner.responseLimit) return false;
    const outcome = owner.finishSmallResponse(body);
    if (outcome === undefined) return false;
    this.pending = undefined;
    if (isWithoutMemory(outcome) && this.isRefused()) return true;
    const kept = outcome.body === body && owner.borrowsParts !== true ? new Uint8Array(body) : outcome.body;
    this.begin(this.settled(head, outcome, body), kept, isLast);
    return true;
  }

  /** Rewrites a decoded response; `received` is the one with its content coding, if it has one. */
  private rewrite(
    { head, coding }: PendingResponse,
    decoded: Uint8Array,
    received: Uint8Array | undefined,
    trailers: HeaderList,
  ): void {
    this.owner.finishResponse(decoded, (outcome, body) => {
      if (this.isOver) return;
      if (isWithoutMemory(outcome)) {
        if (this.beginPieces({ head, coding: undefined }, body, 'response-buffer-full')) {
          this.end(trailers);
          return;
        }
        if (this.isRefused()) return;
      }
      const settled = this.settled(head, outcome, body);
      if (outcome.verdict === 'unchanged') {
        this.send(settled, received ?? body, trailers);
        return;
      }
      this.giveBack(body === decoded ? undefined : body);
      if (coding === undefined) this.send(settled, outcome.body, []);
      else this.sendCoded(settled, coding, outcome.body);
    });
  }

  /** Logs what became of a response; returns the head for the client. */
  private settled(own: ResponseHead, outcome: ResponseOutcome, body: Uint8Array): ResponseHead {
    const { owner } = this;
    const { responseStatus: status = own.status } = owner;
    const head = status === own.status ? own : { ...own, headers: own.headers, status, reason: undefined };
    owner.noteResponseOutcome(outcome);
    if (outcome.verdict === 'unchanged') return head;
    owner.observeResponse(own.status, own.headers, body);
    return { ...head, headers: rewrittenResponseFields(own.headers, outcome.body.length) };
  }

  /** Gives back the memory of a response that a rewritten one replaces, and of the one that a thread has `moved`. */
  private giveBack(moved: Uint8Array | undefined): void {
    const { responseMemory } = this.owner;
    if (this.collected !== undefined) responseMemory.release(this.collected);
    if (moved !== undefined) responseMemory.release(responseMemory.own(moved));
  }

  private sendCoded(head: ResponseHead, coding: Coding, body: Uint8Array): void {
    this.owner.encodeResponse(coding, body, (encoded) => {
      if (this.isOver) return;
      if (encoded === undefined) this.send(head, body, []);
      else
        this.send(
          { ...head, headers: codedResponseFields(head.headers, coding, encoded.length) },
          encoded,
          [],
        );
    });
  }

  private send(head: ResponseHead, body: Uint8Array, trailers: HeaderList): void {
    this.begin(head, body, true);
    this.owner.end(trailers);
  }

  private begin(head: ResponseHead, body: Uint8Array, isLast: boolean): void {
    this.sendHead(head);
    if (body.length > 0) this.owner.data(body, isLast);
  }

  /** Sends the head, unless white space has gone with it. */
  private sendHead(head: ResponseHead): void {
    if (!this.hasBegun) this.owner.head(head);
  }

  /** True once the exchange is over; one whose head is sent ends by itself. */
  private get isOver(): boolean {
    return !this.hasBegun && this.owner.isSettled;
  }

  /** Refuses a response where there is no memory to rewrite it; false where that is too late, and where it is streamed. */
  private isRefused(): boolean {
    return !this.hasBegun && this.owner.refuseResponse();
  }

  /** Rewrites a response while it arrives, if it is a list; otherwise it is streamed unchanged, or refused. */
  private inPiecesOrStream(pending: PendingResponse, reason: ResponseInPieces['reason']): void {
    if (this.beginPieces(pending, pending.body, reason)) return;
    if (reason === 'response-buffer-full' && this.isRefused()) this.pending = undefined;
    else this.stream(pending, reason);
  }

  /** Begins to rewrite the list; false where rules need the whole response. */
  private beginPieces(
    { head, coding }: Pick<PendingResponse, 'head' | 'coding'>,
    body: Uint8Array | ByteCollector,
    reason: ResponseInPieces['reason'],
  ): boolean {
    const { owner } = this;
    const emit = (part: Uint8Array): void => {
      const waiting = this.inPieces?.waiting;
      if (waiting === undefined) owner.data(part);
      else waiting.push(part);
    };
    const list = owner.responsePieces(emit);
    if (list === undefined) return false;
    const coded = coding && this.decoded(coding);
    const begin = body instanceof Uint8Array ? body : body.take();
    const taken = UNCOUNTED_BYTES + (coded === undefined ? 0 : begin.length);
    const inPieces: ResponseInPieces = { head, list, coded, reason, waiting: [], taken };
    this.inPieces = inPieces;
    this.pending = undefined;
    if (coded === undefined) this.pushPiece(inPieces, begin);
    else {
      coded.received.push(begin);
      coded.decoder.push(begin);
    }
    return true;
  }

  /** Opens a decoder for what is rewritten by pieces. */
  private decoded(coding: Coding): CodedResponse {
    const withPieces = (act: (inPieces: ResponseInPieces) => void) => (): void => {
      if (this.inPieces !== undefined) act(this.inPieces);
    };
    const decoder = this.owner.decodeInParts(coding, {
      data: (part) => withPieces((inPieces) => this.pushPiece(inPieces, part))(),
      end: withPieces((inPieces) => this.finishPieces(inPieces)),
      fail: withPieces((inPieces) => {
        if (this.isPassedAsReceived(inPieces, 'response-undecodable')) return;
        this.inPieces = undefined;
        this.owner.breakResponse('undecodable');
      }),
    });
    return { decoder, received: [], trailers: undefined };
  }

  private decode(
    { waiting }: ResponseInPieces,
    { decoder, received }: CodedResponse,
    chunk: Uint8Array,
  ): void {
    if (waiting !== undefined) received.push(new Uint8Array(chunk));
    if (!decoder.push(chunk)) this.owner.pauseResponse();
  }

  /** Sends a response with its content coding, as V2 does; false where it has none, and where another one is being sent. */
  private isPassedAsReceived({ head, coded, waiting }: ResponseInPieces, note: ResponseNote): boolean {
    if (coded === undefined || waiting === undefined) return false;
    const { owner } = this;
    const { decoder, received, trailers } = coded;
    this.inPieces = undefined;
    decoder.close();
    owner.noteResponse(note);
    this.sendHead(head);
    for (const part of received) if (part.length > 0) owner.data(part);
    // The decoder may have held it back.
    if (trailers === undefined) owner.resumeResponse();
    else owner.end(trailers);
    return true;
  }

  private pushPiece(inPieces: ResponseInPieces, part: Uint8Array): void {
    const { owner } = this;
    const { list, taken, reason, waiting, coded } = inPieces;
    list.push(part);
    const held = list.held + (coded === undefined ? 0 : byteLength(coded.received));
    if (list.held > Math.max(owner.responseLimit, UNCOUNTED_BYTES))
      this.giveUp(inPieces, 'response-too-large');
    else if (held > taken) {
      if (owner.takeResponse(held - taken)) inPieces.taken = held;
      else this.giveUp(inPieces, 'response-buffer-full');
    }
    if (waiting === undefined || this.inPieces === undefined) return;
    if (list.pieces > 0) this.sendPieces(inPieces);
    else if (list.lists === 0 && byteLength(waiting) > MAX_BYTES_BEFORE_LIST) this.giveUp(inPieces, reason);
  }

  /** Nothing of the list was sent yet: without memory for it, it is refused as any other response would be. */
  private giveUp(inPieces: ResponseInPieces, note: ResponseInPieces['reason']): void {
    if (inPieces.waiting !== undefined && note === 'response-buffer-full' && this.isRefused()) {
      this.inPieces = undefined;
      return;
    }
    if (this.isPassedAsReceived(inPieces, note)) return;
    inPieces.list.giveUp(note);
    this.sendPieces(inPieces);
  }

  /** Sends the head, and what waits behind it. */
  private sendPieces(inPieces: ResponseInPieces): void {
    const { head, waiting } = inPieces;
    if (waiting === undefined) return;
    inPieces.waiting = undefined;
    if (inPieces.coded !== undefined) inPieces.coded.received = [];
    const { owner } = this;
    this.sendHead({ ...head, headers: fieldsOfAnotherBody(head.headers), lines: undefined });
    for (const part of waiting) owner.data(part);
  }

  private finishPieces(inPieces: ResponseInPieces): void {
    if (inPieces.list.lists === 0 && this.isPassedAsReceived(inPieces, inPieces.reason)) return;
    this.endPieces(inPieces);
    this.owner.end([]);
  }

  private endPieces(inPieces: ResponseInPieces): void {
    const { owner } = this;
    const { list, reason } = inPieces;
    const { note, ...edits } = list.end();
    this.sendPieces(inPieces);
    this.inPieces = undefined;
    if (edits.records.length > 0)
      owner.noteResponseOutcome({ verdict: 'rewritten', body: NO_BYTES, ...edits });
    const why = note ?? (list.lists === 0 ? reason : undefined);
    if (why !== undefined) owner.noteResponse(why);
  }

  /** Streams the response from here on, unchanged. */
  private stream(pending: PendingResponse, note: ResponseNote | undefined): void {
    this.pending = undefined;
    if (note !== undefined) this.owner.noteResponse(note);
    this.begin(pending.head, pending.body.take(), false);
  }
}

const NO_BYTES = new Uint8Array();

function byteLength(parts: readonly Uint8Array[]): number {
  return parts.reduce((bytes, part) => bytes + part.length, 0);
}

function isWithoutMemory(outcome: ResponseOutcome): boolean {
  return outcome.verdict === 'unchanged' && outcome.note === 'response-buffer-full';
}

/** A response that only the gateway reads. */
export interface CollectedResponse {
  readonly status: number;
  readonly headers: HeaderList;
  readonly body: Uint8Array;
}

/** Why a response was not collected. */
export type CollectFault = UpstreamFault['kind'] | 'too-large';

/** Collects one response, up to `limit` bytes of its body, and reports it once. */
export class ResponseCopy implements UpstreamReceiver {
  readonly borrowsParts = true;
  private readonly limit: number;
  private readonly take: (bytes: number) => boolean;
  private readonly done: (outcome: CollectedResponse | CollectFault) => void;
  private status = 0;
  private headers: HeaderList = [];
  private readonly body = new ByteCollector();
  private isFinished = false;

  /** `take` reserves bytes in the budget; false when they do not fit. */
  constructor(
    limit: number,
    take: (bytes: number) => boolean,
    done: (outcome: CollectedResponse | CollectFault) => void,
  ) {
    this.limit = limit;
    this.take = take;
    this.done = done;
  }

  information(): void {}

  head({ status, headers }: Pick<ResponseHead, 'status' | 'headers'>): void {
    this.status = status;
    this.headers = headers;
  }

  data(chunk: Uint8Array): void {
    if (this.isFinished) return;
    const taken = this.body.add(chunk, true);
    if (this.body.length > this.limit || (taken > 0 && !this.take(taken))) this.finish('too-large');
  }

  end(): void {
    this.finish({ status: this.status, headers: this.headers, body: this.body.take() });
  }

  fail(fault: UpstreamFault): void {
    this.finish(fault.kind);
  }

  private finish(outcome: CollectedResponse | CollectFault): void {
    if (this.isFinished) return;
    this.isFinished = true;
    this.body.take();
    this.done(outcome);
  }
}

/**
 * Maximum bytes of a response to keep, of a success and of an error: longer ones are lists of resources, which say nothing about a
 * request. With the limited number of exchanges per second that are captured, they limit the work.
 */
const MAX_BYTES = 32 * 1024;
const MAX_ERROR_BYTES = 8 * 1024;

/** Passes a response on as it arrives, and keeps a short JSON body, as the service sent it, for the log entry. */
export class ResponseSample implements UpstreamReceiver {
  /** Status of the service, 0 before its response. */
  status = 0;
  private readonly receiver: UpstreamReceiver;
  private readonly isWanted: (status: number) => boolean;
  private collector: ByteCollector | undefined = undefined;
  private isComplete = false;

  constructor(receiver: UpstreamReceiver, isWanted: (status: number) => boolean) {
    this.receiver = receiver;
    this.isWanted = isWanted;
  }

  get borrowsParts(): boolean {
    return this.receiver.borrowsParts === true;
  }

  /** The whole body; undefined when it is not JSON, encoded, too long, incomplete or not wanted. */
  takeBody(): Uint8Array | undefined {
    return this.isComplete ? this.collector?.take() : undefined;
  }

  private get limit(): number {
    return this.status >= 400 ? MAX_ERROR_BYTES : MAX_BYTES;
  }

  information(status: number, headers: HeaderList): void {
    this.receiver.information(status, headers);
  }

  head(head: ResponseHead): void {
    const { status, headers } = head;
    this.status = status;
    if (
      this.isWanted(status) &&
      headerValue(headers, 'content-encoding') === undefined &&
      readJsonType(headerValue(headers, 'content-type')) === 'json' &&
      !(Number(headerValue(headers, 'content-length')) > this.limit)
    )
      this.collector = new ByteCollector();
    this.receiver.head(head);
  }

  pass(body: ReadableStream<Uint8Array>, length: number): Promise<void> | undefined {
    return this.collector === undefined ? this.receiver.pass?.(body, length) : undefined;
  }

  data(chunk: Uint8Array, isLast?: boolean): void {
    const { collector } = this;
    if (collector !== undefined) {
      if (collector.length + chunk.length > this.limit) this.collector = undefined;
      else collector.add(chunk, true);
    }
    this.receiver.data(chunk, isLast);
  }

  end(trailers: HeaderList): void {
    this.isComplete = true;
    this.receiver.end(trailers);
  }

  fail(fault: UpstreamFault): void {
    this.receiver.fail(fault);
  }

  endUnproven(): void {
    this.receiver.endUnproven?.();
  }
}

/** Maximum differences of one response. */
const MAX_DIFFERENCES = 64;

/** Adds the findings from a service's own response to the entry of its exchange, for the census and the report. */
export function addFindings(
  entry: OpenEntry,
  sample: ResponseSample,
  rules: CompiledRuleBook,
  decision: MigrateDecision,
): void {
  const body = sample.takeBody();
  const response = body === undefined ? undefined : responseObject(body);
  if (body === undefined || response === undefined) return;
  const { status } = sample;
  const { attributes } = entry;
  if (status >= 400 && status < 500) {
    const pointers = errorPointers(response);
    if (pointers.length > 0) entry.errorPointers = pointers;
    return;
  }
  if (status < 200 || status >= 300 || !isRewritten(entry.method) || attributes === undefined) return;
  if (entry.origin === undefined) {
    const resource = resourcePath(decision.operation, rules.ruleBook.resource);
    entry.unechoed = unechoedMembers(response, attributes, entry.edits, resource);
    return;
  }
  const deprecated = deprecatedMembers(response, attributes, new MovedMembers(entry.edits).wrapper);
  if (deprecated.length > 0) entry.deprecated = deprecated;
  const { operation } = decision;
  const outcome = operation && rules.requestPlan(operation).rewrite(body);
  if (outcome !== undefined && outcome.verdict !== 'refused')
    entry.responseWould = differences(outcome.records);
}

/** V2's response wraps its resource like V1's, so that only the edits inside the wrapper tell a difference. */
function differences(records: readonly EditRecord[]): ResponseDifference[] {
  const { wrapper } = new MovedMembers(records);
  return records
    .filter(({ rule, note }) => rule !== 'unwrap' && note === undefined)
    .slice(0, MAX_DIFFERENCES)
    .flatMap(({ change, rule, from, path }) =>
      from === undefined
        ? []
        : [
            {
              change,
              ...(rule !== 'transform' && changesValue(rule) ? { rule } : {}),
              path: from,
              ...(path === undefined ? {} : { from: `${wrapper}${path}` }),
            },
          ],
    );
}
