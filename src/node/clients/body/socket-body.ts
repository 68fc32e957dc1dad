import type { Flow } from '../../piece-turns.ts';
import type { BodySource } from './incoming-body.ts';

const NOTHING = new Uint8Array(0);

/** The bytes of a body on a connection that the gateway reads itself. */
export abstract class SocketBody implements BodySource {
  readonly lendsParts = true;
  /** Number of chunks in the part that is reported; undefined for a body that is not chunked. */
  readonly pieces: number | undefined = undefined;
  /** True once the last byte has arrived. */
  abstract readonly isComplete: boolean;
  /** True once its framing is broken: nothing after it can be read. */
  isFaulty = false;
  private readonly flow: Flow;
  private onData: ((part: Uint8Array) => void) | undefined = undefined;
  private onEnd: (() => void) | undefined = undefined;
  /** Parts that arrived before anybody listened. */
  private early: Buffer[] = [];

  /** `flow` is what brings it: its connection, or one of several streams on that. */
  constructor(flow: Flow) {
    this.flow = flow;
  }

  get destroyed(): boolean {
    return this.flow.destroyed;
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
    this.flow.pause();
  }

  resume(): void {
    this.flow.resume();
  }

  /** Reports the parts that arrived before anybody listened. */
  reportEarly(): void {
    const { early } = this;
    if (early.length === 0 || this.onEnd === undefined) return;
    this.early = [];
    this.flow.resume();
    for (const [at, part] of early.entries()) this.report(part, this.isComplete && at === early.length - 1);
  }

  /** Takes the parts that arrived before anybody listened. */
  protected takeEarly(): Buffer[] {
    const { early } = this;
    this.early = [];
    return early;
  }

  /** Reports a part of the body, the last one if it is complete, or keeps a copy until somebody listens. */
  protected deliver(part: Buffer): void {
    if (this.onEnd !== undefined && this.early.length === 0) {
      this.report(part, this.isComplete);
      return;
    }
    if (part.length === 0 && !this.isComplete) return;
    this.early.push(Buffer.from(part));
    this.flow.pause();
  }

  private report(part: Buffer, isLast: boolean): void {
    if (part.length > 0) this.onData?.(part);
    if (isLast) this.onEnd?.();
  }
}

function reportEarly(body: SocketBody): void {
  body.reportEarly();
}
