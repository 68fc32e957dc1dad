import type { Socket } from 'node:net';
import type { BodySource } from './incoming-body.ts';

const NOTHING = new Uint8Array(0);

/** The bytes of a body on a socket that the gateway reads itself. */
export abstract class SocketBody implements BodySource {
  readonly lendsParts = true;
  /** Number of chunks in the part that is reported; undefined for a body that is not chunked. */
  readonly pieces: number | undefined = undefined;
  /** True once the last byte has arrived. */
  abstract readonly isComplete: boolean;
  /** True once its framing is broken: nothing after it can be read. */
  isFaulty = false;
  private readonly connection: Socket;
  private onData: ((part: Uint8Array) => void) | undefined = undefined;
  private onEnd: (() => void) | undefined = undefined;
  /** Parts that arrived before anybody listened. */
  private early: Buffer[] = [];

  constructor(connection: Socket) {
    this.connection = connection;
  }

  get destroyed(): boolean {
    return this.connection.destroyed;
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

  /** Takes received bytes, which are valid until it returns, and may be written to; returns those behind the body. */
  abstract take(bytes: Buffer): Buffer;

  /** Reports the parts that arrived before anybody listened. */
  reportEarly(): void {
    const { early } = this;
    if (early.length === 0 || this.onEnd === undefined) return;
    this.early = [];
    this.connection.resume();
    for (const [at, part] of early.entries()) this.report(part, this.isComplete && at === early.length - 1);
  }

  /** Reports a part of the body, the last one if it is complete, or keeps a copy until somebody listens. */
  protected deliver(part: Buffer): void {
    if (this.onEnd !== undefined && this.early.length === 0) {
      this.report(part, this.isComplete);
      return;
    }
    if (part.length === 0 && !this.isComplete) return;
    this.early.push(Buffer.from(part));
    this.connection.pause();
  }

  private report(part: Buffer, isLast: boolean): void {
    if (part.length > 0) this.onData?.(part);
    if (isLast) this.onEnd?.();
  }
}

function reportEarly(body: SocketBody): void {
  body.reportEarly();
}
