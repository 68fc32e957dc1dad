import type { Socket } from 'node:net';
import type { BodySource } from './incoming-body.ts';

/** The bytes of a body on a socket that the gateway reads itself, framed by a length (RFC 9112 §6.2). */
export class SocketBody implements BodySource {
  readonly lendsParts = true;
  private readonly connection: Socket;
  /** Bytes that have not arrived. */
  private missing: number;
  private onData: ((part: Uint8Array) => void) | undefined = undefined;
  private onEnd: (() => void) | undefined = undefined;
  /** Parts that arrived before anybody listened. */
  private early: Buffer[] = [];

  /** `length` is the number of its bytes. */
  constructor(connection: Socket, length: number) {
    this.connection = connection;
    this.missing = length;
  }

  get destroyed(): boolean {
    return this.connection.destroyed;
  }

  /** True once the last byte has arrived. */
  get isComplete(): boolean {
    return this.missing === 0;
  }

  /** Sets the listener of an event; parts that have arrived already are reported later in this turn. */
  on(event: 'data', listener: (part: Uint8Array) => void): void;
  on(event: 'end', listener: () => void): void;
  on(event: 'data' | 'end', listener: (part: Uint8Array) => void): void {
    if (event === 'data') this.onData = listener;
    else this.onEnd = () => listener(NOTHING);
    if (this.early.length > 0) process.nextTick(reportEarly, this);
  }

  pause(): void {
    this.connection.pause();
  }

  resume(): void {
    this.connection.resume();
  }

  /** Takes received bytes, which are valid until it returns; returns those behind the body. */
  take(bytes: Buffer): Buffer {
    const part = bytes.length > this.missing ? bytes.subarray(0, this.missing) : bytes;
    this.missing -= part.length;
    if (this.onEnd === undefined || this.early.length > 0) {
      this.early.push(Buffer.from(part));
      this.connection.pause();
    } else {
      this.report(part, this.isComplete);
    }
    return bytes.subarray(part.length);
  }

  /** Reports the parts that arrived before anybody listened. */
  reportEarly(): void {
    const { early } = this;
    if (early.length === 0 || this.onEnd === undefined) return;
    this.early = [];
    this.connection.resume();
    for (const [at, part] of early.entries()) this.report(part, this.isComplete && at === early.length - 1);
  }

  private report(part: Buffer, isLast: boolean): void {
    if (part.length > 0) this.onData?.(part);
    if (isLast) this.onEnd?.();
  }
}

const NOTHING = new Uint8Array(0);

function reportEarly(body: SocketBody): void {
  body.reportEarly();
}
