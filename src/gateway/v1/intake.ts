import { NO_BYTES } from '../../json/names.ts';
import { ByteCollector, concatBytes } from '../../http/byte-collector.ts';
import { type Coding, isWhiteSpace, looksLikeJson } from '../../http/content.ts';
import { codedResponseFields, fieldsOfAnotherBody, rewrittenResponseFields } from '../../http/fields.ts';
import { type HeaderList, headerValue } from '../../http/header-list.ts';
import type { ResponseHead } from '../../http/response-head.ts';
import { openWebDecoder, type StreamDecoder } from '../../migrate/decode-web-body.ts';
import { bufferFull } from '../../migrate/failure.ts';
import { KeptBody, NOTE_OF_UNDECODED, type ResponseNote } from '../../migrate/migrated.ts';
import { type ResponseOutcome, type ResponseStep, textsOutcome } from '../../migrate/migration.ts';
import { LinkStream } from '../../rewrite/link-stream.ts';
import type { ListOutcome } from '../../rewrite/list-pieces.ts';
import type { ResponsePieces } from '../../rewrite/response-plan.ts';
import type { ResponseRecord } from '../../rewrite/response-rules.ts';
import type { BodyStream, TextNote } from '../../rewrite/text-stream.ts';
import type { UpstreamFault, UpstreamReceiver } from '../upstream.ts';
import { decodeResponse, encodeResponse, finishSmallResponse } from './body-work.ts';
import type { V1Exchange } from './v1-exchange.ts';

/** How a mode makes the client's response from V2's: a constant for each mode that reads V2's. */
export interface Answer {
  /** Decides from its head how the response is read. */
  begin(exchange: V1Exchange, status: number, headers: HeaderList): ResponseStep;
  /**
   * Converts V2's whole, decoded body to the client's. `done` also gets V2's, possibly in other memory, and further changes of the head;
   * it is not called if the exchange is over, or has failed.
   */
  finish(
    exchange: V1Exchange,
    body: Uint8Array,
    done: (outcome: ResponseOutcome, body: Uint8Array, headOf?: (head: ResponseHead) => ResponseHead) => void,
  ): void;
  /** True if the client gets a failure when there is not enough memory; otherwise it gets V2's response unchanged. */
  mayRefuse(exchange: V1Exchange): boolean;
}

/** Why a response is not read whole. */
type NotWhole = 'response-too-large' | 'response-buffer-full';

/** One of the ways to read a response. It gets decoded parts if {@link Intake} decodes them while they arrive. */
interface Way {
  /** True if it keeps no part. */
  readonly borrowsParts: boolean;
  /** True while the client has received nothing of the response, and can get a failure instead. */
  readonly isUnsent: boolean;
  /** Takes a part as received, before it is decoded. */
  keep?(part: Uint8Array): void;
  data(part: Uint8Array, isLast: boolean): void;
  end(trailers: HeaderList): void;
  /** Called when V2 breaks off after the client got some bytes: sends the rest of what has arrived. */
  breakOff(): void;
  /** Called if the parts cannot be decoded. */
  undecodable(): void;
  /** Called when the exchange is over. */
  close(): void;
}

/**
 * Reads V2's response for a V1 client. `begin` chooses a way from the head; if the body turns out to be too long, or not JSON, it changes
 * to another way.
 *
 *                     ┌─▶ forward   as it comes; its first bytes may tell that it hides JSON
 *     head ── begin ──┼─▶ whole     collected, decoded, rewritten and sent as one ──┐ too long, or no memory
 *                     │   pieces    a long list, one element after the other ◀──────┘ (else forwarded, or refused)
 *                     └─▶ texts     several JSON texts, each once it is complete
 *
 * ResponseCopy makes the copies that others read. `whole` reserves memory for the whole body, the other ways only for the bytes that they
 * have not sent yet. While the client does not read, parts wait in the decoder, or at V2.
 */
export class Intake implements UpstreamReceiver {
  readonly exchange: V1Exchange;
  readonly answer: Answer;
  /** True once the head and white space of a response that is read whole were sent. */
  hasBegun = false;
  private way: Way | undefined = undefined;
  /** Decodes parts while they arrive. */
  private decoder: StreamDecoder | undefined = undefined;
  /** The trailers of a response that is still being decoded. */
  trailers: HeaderList | undefined = undefined;

  constructor(exchange: V1Exchange, answer: Answer) {
    this.exchange = exchange;
    this.answer = answer;
  }

  get borrowsParts(): boolean {
    return (this.way ?? this.exchange).borrowsParts;
  }

  information(status: number, headers: HeaderList): void {
    this.exchange.information(status, headers);
  }

  head(head: ResponseHead): void {
    const { exchange } = this;
    exchange.noteResponseTime();
    const step = this.answer.begin(exchange, head.status, head.headers);
    switch (step.action) {
      case 'forward': {
        const { peek } = exchange.gateway.parts;
        const isSeen = step.mayHideJson === true && (step.coding === undefined || peek !== undefined);
        if (isSeen) this.way = new Hidden(exchange, step.coding);
        else if (step.note !== undefined) exchange.noteResponse(step.note);
        exchange.head(head);
        return;
      }
      case 'stream':
        this.way = new Texts(this, head, step);
        if (step.coding !== undefined) this.decode(step.coding);
        exchange.head({ ...head, headers: fieldsOfAnotherBody(head.headers) });
        return;
      case 'collect': {
        const whole = new Whole(this, head, step);
        this.way = whole;
        if (step.isTooLong) whole.giveUp('response-too-large');
      }
    }
  }

  pass(body: ReadableStream<Uint8Array>, length: number): Promise<void> | undefined {
    return this.way === undefined ? this.exchange.pass(body, length) : undefined;
  }

  data(chunk: Uint8Array, isLast = false): void {
    const { decoder } = this;
    if (decoder === undefined) (this.way ?? this.exchange).data(chunk, isLast);
    else {
      this.way?.keep?.(chunk);
      if (!decoder.push(chunk)) this.exchange.pauseResponse();
    }
  }

  end(trailers: HeaderList): void {
    this.trailers = trailers;
    if (this.decoder === undefined) (this.way ?? this.exchange).end(trailers);
    else this.decoder.end();
  }

  /** If nothing of the response was sent, the client gets a failure, and no part of V2's. */
  fail(fault: UpstreamFault): void {
    const { way, exchange } = this;
    if (way?.isUnsent === true && !this.hasBegun) {
      this.way = undefined;
      exchange.failCollected(fault);
      return;
    }
    way?.breakOff();
    exchange.fail(fault);
  }

  endUnproven(): void {
    this.exchange.endUnproven();
  }

  pause(): void {
    this.decoder?.pause();
  }

  resume(): void {
    this.decoder?.resume();
  }

  close(): void {
    this.way?.close();
    this.decoder?.close();
  }

  // For the ways.

  /** Changes to another way; undefined forwards the rest unread. */
  goOn(way: Way | undefined): void {
    this.way = way;
  }

  /** Decodes the parts from here on. */
  decode(coding: Coding): StreamDecoder {
    const { exchange } = this;
    const open = exchange.gateway.parts.openDecoder ?? openWebDecoder;
    const guarded = (act: (way: Way) => void): void =>
      exchange.guarded(() => {
        if (this.way !== undefined) act(this.way);
      });
    const decoder = open(coding, {
      data: (part) => guarded((way) => way.data(part, false)),
      drained: () => exchange.guarded(() => exchange.resumeResponse()),
      end: () => guarded((way) => way.end(this.trailers ?? [])),
      fail: () => guarded((way) => way.undecodable()),
    });
    this.decoder = decoder;
    return decoder;
  }

  /** Stops decoding, and forwards the rest as V2 sends it. */
  stopDecoding(): void {
    this.decoder?.close();
    this.decoder = undefined;
  }

  get limit(): number {
    return this.exchange.rules.ruleBook.limits.response;
  }

  /** True once the exchange is over; if its head was sent, it ends by itself. */
  get isOver(): boolean {
    return !this.hasBegun && this.exchange.isSettled;
  }

  /**
   * Refuses a response because there is no memory to rewrite it; false if the client already has some of it, or if the mode forwards it
   * unchanged.
   */
  refuse(): boolean {
    const { exchange } = this;
    if (this.hasBegun || !this.answer.mayRefuse(exchange)) return false;
    this.way = REFUSED;
    exchange.abort();
    exchange.refuse(bufferFull());
    return true;
  }

  /** Sends the head, unless it was already sent before white space, and then bytes. */
  send(head: ResponseHead, body: Uint8Array, isLast: boolean): void {
    if (!this.hasBegun) this.exchange.head(head);
    if (body.length > 0) this.exchange.data(body, isLast);
  }

  /** Reads a long response by the elements of its list, or only for its links; undefined if rules need the whole response. */
  openPieces(head: ResponseHead, isCoded: boolean, reason: NotWhole): Pieces | undefined {
    const opened: { pieces?: Pieces } = {};
    const work = this.exchange.response?.pieces((part) => opened.pieces?.emit(part));
    if (work === undefined) return undefined;
    opened.pieces = new Pieces(this, head, work, isCoded, reason);
    this.way = opened.pieces;
    return opened.pieces;
  }
}

/** The way of a refused response: drops the rest. */
const REFUSED: Way = {
  borrowsParts: true,
  isUnsent: true,
  data: () => {},
  end: () => {},
  breakOff: () => {},
  undecodable: () => {},
  close: () => {},
};

/** Encoded bytes needed for the first decoded byte: a content coding may begin with its tables. */
const PEEKED_BYTES = 1024;

/** Forwards a response unread, and notes in the log if it is JSON under another media type. */
class Hidden implements Way {
  private readonly exchange: V1Exchange;
  private readonly coding: Coding | undefined;
  /** The beginning of a response with a content coding. */
  private begin: Uint8Array = NO_BYTES;
  private isKnown = false;

  constructor(exchange: V1Exchange, coding: Coding | undefined) {
    this.exchange = exchange;
    this.coding = coding;
  }

  get borrowsParts(): boolean {
    return this.exchange.borrowsParts;
  }

  get isUnsent(): boolean {
    return false;
  }

  data(part: Uint8Array, isLast: boolean): void {
    if (!this.isKnown) this.look(part);
    this.exchange.data(part, isLast);
  }

  private look(part: Uint8Array): void {
    const { coding, exchange } = this;
    let shown = part;
    if (coding !== undefined) {
      this.begin = concatBytes([this.begin, part.subarray(0, PEEKED_BYTES - this.begin.length)]);
      shown = exchange.gateway.parts.peek?.(coding, this.begin) ?? NO_BYTES;
    }
    const looks = looksLikeJson(shown);
    this.isKnown = looks !== undefined || this.begin.length >= PEEKED_BYTES;
    if (looks === true) exchange.noteResponse('response-media-type');
  }

  end(trailers: HeaderList): void {
    this.exchange.end(trailers);
  }

  breakOff(): void {}
  undecodable(): void {}
  close(): void {}
}

/** Maximum bytes of white space that keep a connection open; more of it belongs to a complete body. */
const MAX_BLANK_BYTES = 1024;

/** A response that is read and rewritten whole. */
class Whole implements Way {
  private readonly intake: Intake;
  private readonly own: ResponseHead;
  private readonly coding: Coding | undefined;
  /** Bytes of the body according to its head; 0 if unknown. */
  private readonly length: number;
  private readonly body: ByteCollector;
  /** True if its first byte decides whether it is rewritten. */
  private readonly isGuess: boolean;
  private readonly holdsHead: boolean;
  /** The memory into which it was read. */
  private collected: Uint8Array = NO_BYTES;

  constructor(intake: Intake, head: ResponseHead, step: Extract<ResponseStep, { action: 'collect' }>) {
    const length = Number(headerValue(head.headers, 'content-length') ?? 0);
    this.intake = intake;
    this.own = head;
    this.coding = step.coding;
    this.length = length;
    this.body = new ByteCollector(step.isTooLong ? 0 : length, intake.exchange.gateway.bodyMemory);
    this.isGuess = step.isGuess && step.coding === undefined;
    this.holdsHead = step.holdsHead;
  }

  get borrowsParts(): boolean {
    return true;
  }

  get isUnsent(): boolean {
    return true;
  }

  data(chunk: Uint8Array, isLast: boolean): void {
    const { intake, body } = this;
    const isFirst = body.length === 0;
    if (isFirst && !this.isCollected(chunk, isLast)) return;
    if (isFirst && chunk.length === this.length && this.isRewrittenInPlace(chunk, isLast)) return;
    const taken = body.add(chunk, true);
    if (body.length > intake.limit) this.giveUp('response-too-large');
    else if (taken > 0 && !intake.exchange.memory.reserve(taken)) this.giveUp('response-buffer-full');
  }

  end(trailers: HeaderList): void {
    const { intake, coding, body } = this;
    intake.goOn(undefined);
    this.collected = body.buffer;
    const whole = body.take();
    if (coding === undefined || whole.length === 0) {
      this.rewrite(whole, undefined, trailers);
      return;
    }
    decodeResponse(intake.exchange, coding, whole, (decoded) => {
      if (intake.isOver) return;
      if (typeof decoded !== 'string') this.rewrite(decoded, whole, trailers);
      else if (decoded !== 'undecodable' && this.isReadByPieces(whole, coding, NOTE_OF_UNDECODED[decoded]))
        intake.end(trailers);
      else if (decoded !== 'buffer-full' || !intake.refuse()) {
        intake.exchange.noteResponse(NOTE_OF_UNDECODED[decoded]);
        this.send(this.own, whole, trailers);
      }
    });
  }

  breakOff(): void {}
  undecodable(): void {}
  close(): void {}

  /** Changes to pieces if the response is a list; otherwise forwards it unchanged, or refuses it. */
  giveUp(reason: NotWhole): void {
    const { intake, body } = this;
    if (this.isReadByPieces(body, this.coding, reason)) return;
    if (reason === 'response-buffer-full' && intake.refuse()) return;
    intake.goOn(undefined);
    intake.exchange.noteResponse(reason);
    intake.send(this.own, body.take(), false);
  }

  private isReadByPieces(
    body: Uint8Array | ByteCollector,
    coding: Coding | undefined,
    reason: NotWhole,
  ): boolean {
    const { intake, own } = this;
    const pieces = this.holdsHead ? undefined : intake.openPieces(own, coding !== undefined, reason);
    if (pieces === undefined) return false;
    pieces.begin(body instanceof Uint8Array ? body : body.take(), coding);
    return true;
  }

  /** Looks at the first bytes; false if they are sent at once. */
  private isCollected(chunk: Uint8Array, isLast: boolean): boolean {
    const { intake, own, coding, length, isGuess, holdsHead } = this;
    const { exchange } = intake;
    // The chunk is borrowed while a response is read whole.
    const copied = (): Uint8Array => (exchange.borrowsParts ? chunk : new Uint8Array(chunk));
    if (isGuess && looksLikeJson(chunk) === false) {
      intake.goOn(undefined);
      intake.send(own, copied(), isLast);
      return false;
    }
    // Services send white space so that clients and proxies do not time out: forward it at once.
    const mayWait =
      isLast || length > 0 || coding !== undefined || holdsHead || chunk.length > MAX_BLANK_BYTES;
    if (mayWait || !chunk.every(isWhiteSpace)) return true;
    intake.send(withoutLength(own), copied(), false);
    intake.hasBegun = true;
    return false;
  }

  /** Rewrites a small response that arrived complete without copying it; false if it has to be collected. */
  private isRewrittenInPlace(body: Uint8Array, isLast: boolean): boolean {
    const { intake, coding, holdsHead } = this;
    const { exchange } = intake;
    if (coding !== undefined || holdsHead || body.length > intake.limit) return false;
    const outcome = finishSmallResponse(exchange, body);
    if (outcome === undefined) return false;
    intake.goOn(undefined);
    if (isWithoutMemory(outcome) && intake.refuse()) return true;
    const kept = outcome.body === body && !exchange.borrowsParts ? new Uint8Array(body) : outcome.body;
    intake.send(this.noted(outcome, body), kept, isLast);
    return true;
  }

  /** Rewrites a decoded response; `received` is the encoded one, if it has a content coding. */
  private rewrite(decoded: Uint8Array, received: Uint8Array | undefined, trailers: HeaderList): void {
    const { intake, coding } = this;
    intake.answer.finish(intake.exchange, decoded, (outcome, body, headOf) => {
      if (intake.isOver) return;
      if (isWithoutMemory(outcome)) {
        if (this.isReadByPieces(body, undefined, 'response-buffer-full')) {
          intake.end(trailers);
          return;
        }
        if (intake.refuse()) return;
      }
      const noted = this.noted(outcome, body);
      const head = headOf?.(noted) ?? noted;
      if (outcome.verdict === 'unchanged') {
        this.send(head, received ?? body, trailers);
        return;
      }
      this.giveBack(body === decoded ? undefined : body);
      if (coding === undefined) this.send(head, outcome.body, []);
      else this.sendCoded(head, coding, outcome.body);
    });
  }

  /** Logs the outcome of the response; returns the head for the client. */
  private noted(outcome: ResponseOutcome, body: Uint8Array): ResponseHead {
    const { own, intake } = this;
    const { exchange } = intake;
    const status = exchange.response?.status ?? own.status;
    const head = status === own.status ? own : { ...own, headers: own.headers, status, reason: undefined };
    exchange.noteResponseOutcome(outcome);
    if (outcome.verdict === 'unchanged') return head;
    exchange.recorder?.recordUpstreamResponse(own.status, own.headers, body);
    return { ...head, headers: rewrittenResponseFields(own.headers, outcome.body.length) };
  }

  /** Releases the memory of a response that was replaced by a rewritten one, or `moved` by a thread. */
  private giveBack(moved: Uint8Array | undefined): void {
    const { bodyMemory } = this.intake.exchange.gateway;
    bodyMemory.release(this.collected);
    if (moved !== undefined) bodyMemory.release(bodyMemory.own(moved));
  }

  private sendCoded(head: ResponseHead, coding: Coding, body: Uint8Array): void {
    const { intake } = this;
    encodeResponse(intake.exchange, coding, body, (encoded) => {
      if (intake.isOver) return;
      if (encoded === undefined) this.send(head, body, []);
      else {
        const headers = codedResponseFields(head.headers, coding, encoded.length);
        this.send({ ...head, headers }, encoded, []);
      }
    });
  }

  private send(head: ResponseHead, body: Uint8Array, trailers: HeaderList): void {
    this.intake.send(head, body, true);
    this.intake.exchange.end(trailers);
  }
}

/** The head of a response whose body will have another length, not yet known. */
function withoutLength(head: ResponseHead): ResponseHead {
  return { ...head, headers: fieldsOfAnotherBody(head.headers), lines: undefined };
}

function isWithoutMemory(outcome: ResponseOutcome): boolean {
  return outcome.verdict === 'unchanged' && outcome.note === 'response-buffer-full';
}

/** The edits of a response without a list. */
const NO_EDITS: ListOutcome = { records: [], omitted: 0, patch: [], note: undefined };

/** Uncounted bytes of a response in pieces: those of a typical piece. */
const UNCOUNTED_BYTES = 128 * 1024;

/** Maximum bytes before a list; beyond that, they are not held back. */
const MAX_BYTES_BEFORE_LIST = 64 * 1024;

/**
 * Rewrites the elements of a long list, and links, while they arrive; if there is no list for its rules, forwards the response as
 * received.
 */
class Pieces implements Way {
  readonly borrowsParts = true;
  private readonly intake: Intake;
  private readonly own: ResponseHead;
  private readonly list: ResponsePieces['list'];
  /** Receives the output of the list, or the response itself. */
  private readonly links: LinkStream | undefined;
  /** Why it is not read whole. */
  private readonly reason: NotWhole;
  /** Bytes to send after the head, which waits for the first piece; undefined once the head was sent. */
  private waiting: Uint8Array[] | undefined = [];
  /** The parts of an encoded response as received, until the first edit: after that, the client gets other bytes. */
  private received: Uint8Array[] | undefined;
  /** Bytes reserved for an incomplete piece. */
  private reserved = UNCOUNTED_BYTES;

  constructor(
    intake: Intake,
    head: ResponseHead,
    { list, turn }: ResponsePieces,
    isCoded: boolean,
    reason: NotWhole,
  ) {
    this.intake = intake;
    this.own = head;
    this.list = list;
    this.links = turn && new LinkStream(turn);
    this.reason = reason;
    this.received = isCoded ? [] : undefined;
  }

  get isUnsent(): boolean {
    return this.waiting !== undefined;
  }

  /** Takes the list's output for its parts. */
  emit(part: Uint8Array): void {
    this.pass(this.links?.push(part) ?? part);
  }

  private pass(part: Uint8Array): void {
    if (part.length === 0) return;
    if (this.waiting === undefined) this.intake.exchange.data(part);
    else this.waiting.push(part);
  }

  /** Begins with the bytes collected so far, whose memory is reserved. */
  begin(collected: Uint8Array, coding: Coding | undefined): void {
    if (coding === undefined) {
      this.data(collected);
      return;
    }
    this.reserved += collected.length;
    this.received?.push(collected);
    this.intake.decode(coding).push(collected);
  }

  keep(part: Uint8Array): void {
    if (this.waiting !== undefined) this.received?.push(new Uint8Array(part));
  }

  data(part: Uint8Array): void {
    const { intake, list, waiting } = this;
    // A slice of a Buffer would share the memory, into which the next part is read.
    if (list === undefined) this.emit(new Uint8Array(part));
    else list.push(part);
    const heldByList = list?.held ?? 0;
    const held = heldByList + byteLength(this.received);
    if (heldByList > Math.max(intake.limit, UNCOUNTED_BYTES)) this.giveUp('response-too-large');
    else if (held > this.reserved) {
      if (intake.exchange.memory.reserve(held - this.reserved)) this.reserved = held;
      else this.giveUp('response-buffer-full');
    }
    if (waiting === undefined || this.waiting === undefined) return;
    if (list === undefined || list.pieces > 0) this.sendWaiting();
    else if (list.lists === 0 && byteLength(waiting) > MAX_BYTES_BEFORE_LIST) this.giveUp(this.reason);
  }

  end(): void {
    if (this.list?.lists === 0 && this.isPassedAsReceived(this.reason)) return;
    this.breakOff();
    this.intake.exchange.end([]);
  }

  breakOff(): void {
    const { intake, list, links, reason } = this;
    const ended = list?.end() ?? NO_EDITS;
    if (links !== undefined) this.pass(links.end());
    const { note, ...edits } = links?.withLinkRecords(ended) ?? ended;
    this.sendWaiting();
    intake.goOn(undefined);
    if (edits.records.length > 0)
      intake.exchange.noteResponseOutcome({ verdict: 'rewritten', body: NO_BYTES, ...edits });
    const why = note ?? (list?.lists === 0 ? reason : undefined);
    if (why !== undefined) intake.exchange.noteResponse(why);
  }

  undecodable(): void {
    if (this.isPassedAsReceived('response-undecodable')) return;
    this.intake.goOn(undefined);
    this.intake.exchange.breakResponse('undecodable');
  }

  close(): void {}

  /** Nothing of the list was sent yet: without memory, it is refused like any other response. */
  private giveUp(note: NotWhole): void {
    const { intake } = this;
    if (this.waiting !== undefined && note === 'response-buffer-full' && intake.refuse()) {
      this.waiting = undefined;
    } else if (!this.isPassedAsReceived(note)) {
      this.list?.giveUp(note);
      this.sendWaiting();
    }
  }

  /** Sends a response as encoded by V2; false if it has no content coding, or if the client is already getting other bytes. */
  private isPassedAsReceived(note: ResponseNote): boolean {
    const { intake, received, own } = this;
    if (received === undefined || this.waiting === undefined) return false;
    const { exchange, trailers } = intake;
    this.waiting = undefined;
    intake.goOn(undefined);
    intake.stopDecoding();
    exchange.noteResponse(note);
    intake.send(own, NO_BYTES, false);
    for (const part of received) if (part.length > 0) exchange.data(part);
    // The decoder may have held it back.
    if (trailers === undefined) exchange.resumeResponse();
    else exchange.end(trailers);
    return true;
  }

  /** Sends the head and the waiting bytes. */
  private sendWaiting(): void {
    const { waiting, intake, own } = this;
    if (waiting === undefined) return;
    this.waiting = undefined;
    if (this.received !== undefined) this.received = [];
    intake.send(withoutLength(own), NO_BYTES, false);
    for (const part of waiting) intake.exchange.data(part);
  }
}

function byteLength(parts: readonly Uint8Array[] | undefined): number {
  let bytes = 0;
  for (const part of parts ?? []) bytes += part.length;
  return bytes;
}

/** A response of several texts, each of which is forwarded as soon as it is complete. */
class Texts implements Way {
  readonly isUnsent = false;
  private readonly intake: Intake;
  private readonly own: ResponseHead;
  private readonly stream: BodyStream<ResponseRecord, TextNote>;
  /** The beginning of V2's own body, decoded, for people. */
  private readonly kept: KeptBody | undefined;
  private isOver = false;

  constructor(intake: Intake, head: ResponseHead, { texts }: Extract<ResponseStep, { action: 'stream' }>) {
    const { exchange } = intake;
    const { recorder, response = exchange.migrateResponse(head.status) } = exchange;
    this.intake = intake;
    this.own = head;
    this.kept = recorder && new KeptBody(recorder.keptBytes);
    this.stream = response.open(
      texts,
      (bytes) => exchange.memory.reserve(bytes),
      (work) => exchange.memory.during(work),
    );
  }

  get borrowsParts(): boolean {
    return this.intake.exchange.borrowsParts;
  }

  data(part: Uint8Array, isLast: boolean): void {
    if (this.isOver) return;
    this.kept?.add(part);
    const { bytes } = this.stream.push(part);
    if (!isLast) {
      this.send(bytes);
      return;
    }
    this.isOver = true;
    const rest = this.stream.end().bytes;
    this.send(rest.length === 0 ? bytes : concatBytes([bytes, rest]), true);
  }

  end(): void {
    this.breakOff();
    this.intake.exchange.end([]);
  }

  breakOff(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.send(this.stream.end().bytes);
  }

  undecodable(): void {
    this.breakOff();
    this.intake.exchange.breakResponse('undecodable');
  }

  /** All edits are known when the exchange is over, however it ends. */
  close(): void {
    const { own, stream } = this;
    const { exchange } = this.intake;
    this.isOver = true;
    exchange.noteResponseOutcome(textsOutcome(stream.findings));
    const kept = this.kept?.take();
    if (kept !== undefined && kept.length > 0)
      exchange.recorder?.recordUpstreamResponse(own.status, own.headers, kept);
  }

  private send(bytes: Uint8Array, isLast = false): void {
    if (bytes.length > 0) this.intake.exchange.data(bytes, isLast);
  }
}
