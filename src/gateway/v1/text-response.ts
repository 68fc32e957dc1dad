import { concatBytes } from '../../http/byte-collector.ts';
import type { Coding } from '../../http/content.ts';
import { fieldsOfAnotherBody } from '../../http/fields.ts';
import type { ResponseHead } from '../../http/response-head.ts';
import type { OpenDecoder, StreamDecoder } from '../../migrate/decode-web-body.ts';
import { KeptBody } from '../../migrate/migrated.ts';
import type { ResponseRecord } from '../../rewrite/response-rules.ts';
import type { BodyStream, TextNote } from '../../rewrite/text-stream.ts';
import type { UpstreamReceiver } from '../upstream.ts';

/** The exchange whose response is a stream of texts. */
export interface TextResponseOwner extends UpstreamReceiver {
  /** Opens a decoder for a body that arrives in parts. */
  readonly openDecoder: OpenDecoder;
  /** Runs work outside the calls of adapters. */
  guarded(work: () => void): void;
  /** Pauses the response of the origin, and resumes it. */
  pauseResponse(): void;
  resumeResponse(): void;
  /** Ends a response that cannot be read on, as a broken one. */
  breakResponse(cause: string): void;
}

/** A response of several texts, each of which goes on as soon as it is complete. */
export class TextResponse {
  private readonly owner: TextResponseOwner;
  private readonly stream: BodyStream<ResponseRecord, TextNote>;
  private readonly kept: KeptBody | undefined;
  private decoder: StreamDecoder | undefined = undefined;
  private isOver = false;

  /** Keeps a copy of `keeps` decoded bytes for people. */
  constructor(
    owner: TextResponseOwner,
    stream: BodyStream<ResponseRecord, TextNote>,
    keeps: number | undefined,
  ) {
    this.owner = owner;
    this.stream = stream;
    this.kept = keeps === undefined ? undefined : new KeptBody(keeps);
  }

  get findings(): BodyStream<ResponseRecord, TextNote>['findings'] {
    return this.stream.findings;
  }

  /** V2's own body, as far as it is kept; undefined where that is not asked for. */
  takeKept(): Uint8Array | undefined {
    return this.kept?.take();
  }

  /** Sends the head at once: the first text may be long in coming. */
  head(head: ResponseHead, coding: Coding | undefined): void {
    const { owner } = this;
    if (coding !== undefined)
      this.decoder = owner.openDecoder(coding, {
        data: (part) => owner.guarded(() => this.push(part, false)),
        drained: () => owner.guarded(() => owner.resumeResponse()),
        end: () => owner.guarded(() => this.finish()),
        fail: () =>
          owner.guarded(() => {
            this.breakOff();
            owner.breakResponse('undecodable');
          }),
      });
    owner.head({ ...head, headers: fieldsOfAnotherBody(head.headers) });
  }

  data(part: Uint8Array, isLast: boolean): void {
    const { decoder } = this;
    if (decoder === undefined) this.push(part, isLast);
    else if (!decoder.push(part)) this.owner.pauseResponse();
  }

  end(): void {
    if (this.decoder === undefined) this.finish();
    else this.decoder.end();
  }

  /** Sends what there is of a text that breaks off. */
  breakOff(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.send(this.stream.end().bytes);
  }

  /** The client does not read, or reads again. */
  pause(): void {
    this.decoder?.pause();
  }

  resume(): void {
    this.decoder?.resume();
  }

  /** The exchange is over. */
  close(): void {
    this.isOver = true;
    this.decoder?.close();
  }

  private push(part: Uint8Array, isLast: boolean): void {
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

  private finish(): void {
    if (!this.isOver) {
      this.isOver = true;
      this.send(this.stream.end().bytes);
    }
    this.owner.end([]);
  }

  private send(bytes: Uint8Array, isLast = false): void {
    if (bytes.length > 0) this.owner.data(bytes, isLast);
  }
}
