import type {
  Http2Session,
  IncomingHttpHeaders,
  ServerHttp2Stream,
  ServerStreamResponseOptions,
} from 'node:http2';
import type { Body, Exchange, ExchangeOwner } from '../../gateway/exchange.ts';
import { UnwritableHead } from '../../gateway/unwritable-head.ts';
import type { HeaderList } from '../../http/header-list.ts';
import { requestTrailersOf } from '../../http/hop-by-hop.ts';
import { ALREADY_SENT } from './already-sent.ts';
import { BodyExchange, type BodyExchangeOptions } from './body-exchange.ts';
import { isWellFormed, requestFields, responseFields, valuesByName } from './h2-fields.ts';
import { H2ResponseWriter, type H2WriterOwner } from './h2-response-writer.ts';
import type { H2Floods } from './h2-floods.ts';
import type { H2Streams, StreamOfSession } from './h2-streams.ts';
import type { H2Turns, SessionTurn } from './h2-turns.ts';
import { isFinalStatus, isInterimStatus, ResponseFraming } from './response-framing.ts';

/** `NO_ERROR` and `INTERNAL_ERROR` of RFC 9113 §7. */
const NO_ERROR = 0;
const INTERNAL_ERROR = 2;
/** Bytes of a frame's own head (RFC 9113 §4.1): a smaller part of a body is hardly content. */
const FRAME_HEAD_BYTES = 9;
/** Milliseconds in which a reset stream emits `close`; it never does when the peer is gone. */
const RESET_GRACE_MS = 1000;

/** Options shared by every HTTP/2 exchange. */
export interface H2ExchangeOptions extends BodyExchangeOptions {
  readonly h2Turns: H2Turns;
  readonly h2Streams: H2Streams;
  readonly h2Floods: H2Floods;
}

/** Node adds a Date unless `sendDate` is off; its types lack the option. */
interface RespondOptions extends ServerStreamResponseOptions {
  readonly sendDate: boolean;
}

const WITH_TRAILERS: RespondOptions = { sendDate: false, waitForTrailers: true };
const WITHOUT: RespondOptions = { sendDate: false };

/** An exchange on an HTTP/2 stream. Pseudo-header fields become method, target and `host`. */
export class H2Exchange extends BodyExchange implements Exchange, H2WriterOwner, StreamOfSession {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderList;
  readonly version: Exchange['version'];
  readonly remote: string;
  readonly secure = true;
  readonly hasBody: boolean;
  readonly handled = ALREADY_SENT;
  private readonly stream: ServerHttp2Stream;
  private readonly writer: H2ResponseWriter;
  private readonly turn: SessionTurn | undefined;
  private readonly streams: H2Streams;
  private readonly floods: H2Floods;
  private readonly session: Http2Session | undefined;
  private framing: ResponseFraming | undefined = undefined;
  private responseTrailers: HeaderList = [];
  /** Its slot among the streams of the connection. */
  private slot: number | undefined = undefined;
  private isEnded = false;
  private isOver = false;

  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    raw: HeaderList,
    options: H2ExchangeOptions,
  ) {
    super(stream, headers['content-length'], headers.expect !== undefined, options);
    this.stream = stream;
    this.writer = new H2ResponseWriter(stream, options, this);
    this.streams = options.h2Streams;
    this.floods = options.h2Floods;
    this.session = stream.session;
    this.method = headers[':method'] ?? '';
    this.target = headers[':path'] ?? '';
    this.headers = requestFields(raw);
    this.version = isWellFormed(raw) ? '2' : 'malformed';
    this.remote = stream.session === undefined ? '' : options.addressOf(stream.session.socket);
    this.hasBody = !stream.endAfterHeaders;
    this.turn = this.session === undefined ? undefined : options.h2Turns.of(this.session);
    if (this.hasBody) this.joinParts(stream);
    // Both may come before the exchange has its turn to begin.
    stream.on('error', ignore);
    stream.on('trailers', (_headers: unknown, _flags: number, trailers?: HeaderList) => {
      this.body.trailers = requestTrailersOf(trailers ?? []);
    });
  }

  attach(owner: ExchangeOwner): void {
    const { stream } = this;
    this.owner = owner;
    stream.on('close', this.over);
    stream.on('close', () => setImmediate(this.detach));
    // A reset is reported before `close`, which waits until the rest of the body is read.
    stream.on('aborted', () => setImmediate(this.over));
    stream.on('wantTrailers', this.sendTrailers);
    if (this.hasBody) stream.on('end', this.endBody);
    // It may have been reset before its turn, and never emit `close`.
    if (!this.isOpen) setImmediate(this.over);
    if (this.session !== undefined) this.slot = this.streams.begin(this.session, this);
  }

  onPart(bytes: number): void {
    this.turn?.count(bytes);
    if (this.session !== undefined && bytes >= FRAME_HEAD_BYTES) this.floods.count(this.session, bytes);
  }

  information(status: number, headers: HeaderList): void {
    const { stream } = this;
    const fields = responseFields(headers);
    if (!this.isOpen || stream.headersSent || !isInterimStatus(status) || fields === undefined) return;
    stream.additionalHeaders({ ':status': status, ...valuesByName(fields) });
  }

  head(status: number, _reason: string | undefined, headers: HeaderList): void {
    const { stream } = this;
    if (!this.isOpen || stream.headersSent) return;
    const framing = new ResponseFraming(this, status, headers);
    const fields = responseFields(framing.fields);
    if (fields === undefined || !isFinalStatus(status)) throw new UnwritableHead(status);
    this.framing = framing;
    stream.respond([':status', String(status), ...fields], framing.hasTrailers ? WITH_TRAILERS : WITHOUT);
    if (this.options.draining) stream.session?.close();
  }

  data(chunk: Uint8Array): boolean {
    if (!this.isOpen) return true;
    switch (this.framing?.count(chunk.length)) {
      case 'part':
      case 'last':
        return this.writer.write(chunk);
      case 'beyond':
        this.reset();
        return true;
      case 'none':
      case undefined:
        return true;
    }
  }

  end(trailers: HeaderList): void {
    if (!this.isOpen) {
      // A reset stream with an unread body does not emit `close`.
      setImmediate(this.over);
      return;
    }
    if (this.framing?.isWhole === false) {
      this.reset();
      return;
    }
    this.responseTrailers = trailers;
    this.isEnded = true;
    this.writer.end();
    if (!this.hasBody || this.body.complete) return;
    this.body.discard(ignore);
    if (this.framing?.hasTrailers !== true) this.stream.once('finish', this.stopRequest);
  }

  closeAfterResponse(): void {}

  drained(): void {
    this.owner?.drained();
  }

  reset(): void {
    const { stream } = this;
    stream.close(INTERNAL_ERROR);
    // The exchange ends whether or not the stream emits `close`.
    setTimeout(destroy, RESET_GRACE_MS, stream).unref();
    setImmediate(this.over);
  }

  override onWholeBody(body: Uint8Array): void {
    if (this.isOpen) super.onWholeBody(body);
  }

  override onBody(body: Body): void {
    if (this.isOpen) super.onBody(body);
  }

  sessionClosed(): void {
    setImmediate(this.over);
  }

  protected override writeContinue(): void {
    if (this.isOpen && !this.stream.headersSent) this.stream.additionalHeaders({ ':status': 100 });
  }

  /** False once the client has reset the stream, or its connection is closed: Node throws on every call from then on. */
  private get isOpen(): boolean {
    return !this.stream.destroyed && !this.stream.closed;
  }

  /** RFC 9113 §8.1: a response that is complete before its request makes the client stop sending. */
  private readonly stopRequest = (): void => {
    if (this.isOpen) this.stream.close(NO_ERROR);
  };

  /** When the client resets a stream with `NO_ERROR`, Node ends its body as if it were complete. */
  private readonly endBody = (): void => {
    if (!this.isOpen) this.body.stop(new Error('client gone'));
  };

  private readonly sendTrailers = (): void => {
    try {
      if (this.isOpen) this.stream.sendTrailers(valuesByName(responseFields(this.responseTrailers) ?? []));
      // Node sends them in the next turn.
      if (this.hasBody && !this.body.complete) setImmediate(this.stopRequest);
    } catch (error) {
      this.reset();
      this.options.onUnexpectedError(error);
    }
  };

  private readonly over = (): void => {
    if (this.isOver) return;
    this.isOver = true;
    if (this.session === undefined) this.finish();
    else this.streams.end(this.session, this.slot, this.finish);
  };

  private readonly finish = (): void => {
    const { stream } = this;
    this.writer.stop();
    this.body.rest();
    // An error captures its stack, which takes longer than the rest of this.
    if (this.hasBody && !this.body.complete) this.body.stop(new Error('client gone'));
    if (this.isEnded && stream.writableFinished && stream.rstCode === NO_ERROR) this.owner?.flushed();
    else this.owner?.disconnected();
    this.owner = undefined;
  };

  /**
   * Node keeps closed streams until V8 searches the whole heap. Nothing of the exchange is kept with them: copying it with the young
   * generation took a third of the processor time.
   */
  private readonly detach = (): void => {
    this.stream.removeAllListeners();
    this.stream.on('error', ignore);
    this.leaveParts();
  };
}

function destroy(stream: ServerHttp2Stream): void {
  stream.destroy();
}

/** The `close` event of the stream carries all that is needed. */
function ignore(): void {}
