import type { Socket } from 'node:net';
import type { BodyParts } from '../../gateway/exchange.ts';
import { writeFieldLines } from '../../http/field-lines.ts';

const NOTHING = Buffer.alloc(0);

/** Receives the failure of a body. */
export interface BodyWriterOwner {
  /** The body broke, or differs from its length: the part already written must never look complete. */
  bodyBroke(cause: string): void;
}

/**
 * Writes a body that arrives in parts after the head of its request, framed by its length or by chunks (RFC 9112 §6), and reads
 * the next part only once the system has taken the one before: a large upload takes no more memory than a part.
 */
export class BodyWriter {
  /** True once the socket has the last byte. */
  isWhole = false;
  private isAwaitingPart = false;
  /** True while the system has not taken all that was written. */
  private isAwaitingSystem = false;
  /** True when bytes were read or written since the last check. */
  private moved = true;
  private readonly socket: Socket;
  private readonly body: BodyParts;
  private readonly parts: AsyncIterator<Uint8Array>;
  private readonly owner: BodyWriterOwner;
  /** Bytes still to come; undefined for chunks. */
  private left: number | undefined;
  private isStopped = false;

  constructor(socket: Socket, parts: BodyParts, length: number | undefined, owner: BodyWriterOwner) {
    this.socket = socket;
    this.body = parts;
    this.parts = parts[Symbol.asyncIterator]();
    this.left = length;
    this.owner = owner;
    socket.on('drain', this.drained);
    this.pull();
  }

  /** False when V2 took nothing since the last check, though there was something to take: otherwise it is not V2 that is late. */
  goesOn(): boolean {
    const { moved } = this;
    this.moved = false;
    return moved || (this.isAwaitingPart && !this.isWhole);
  }

  /** Stops reading the body and reports nothing more. */
  stop(): void {
    if (this.isStopped) return;
    this.isStopped = true;
    this.socket.off('drain', this.drained);
    // A generator is ended; the body of a client is dropped by its receiver.
    void this.parts.return?.().catch(ignore);
  }

  /** The system has taken all that was written; `drain` also covers earlier writes: a long head, or small parts. */
  private readonly drained = (): void => {
    if (this.isStopped || !this.isAwaitingSystem || this.socket.writableLength > 0) return;
    this.isAwaitingSystem = false;
    this.pull();
  };

  private pull(): void {
    this.isAwaitingPart = true;
    this.moved = true;
    this.parts.next().then(this.take).catch(this.broke);
  }

  private readonly take = ({ done, value }: IteratorResult<Uint8Array, unknown>): void => {
    if (this.isStopped) return;
    this.isAwaitingPart = false;
    this.moved = true;
    if (done === true) {
      this.end();
      return;
    }
    // An empty chunk would be the last one.
    const isRoom = value.length === 0 || this.write(value);
    const { socket } = this;
    if (isRoom && socket.writableLength === 0) {
      this.pull();
      return;
    }
    this.isAwaitingSystem = true;
    // Below its high-water mark the socket emits no `drain`.
    if (isRoom) socket.write(NOTHING, this.drained);
  };

  /** False when the socket has enough for now, and when there is nothing more to read. */
  private write(part: Uint8Array): boolean {
    const { socket, left } = this;
    if (left === undefined) {
      socket.cork();
      socket.write(`${part.length.toString(16)}\r\n`, 'latin1');
      socket.write(part);
      const isRoom = socket.write('\r\n', 'latin1');
      socket.uncork();
      return isRoom;
    }
    if (part.length > left) {
      this.broke(new Error('body longer than its length'));
      return false;
    }
    this.left = left - part.length;
    this.isWhole = this.left === 0;
    return socket.write(part);
  }

  private end(): void {
    this.socket.off('drain', this.drained);
    if (this.left === undefined) {
      this.socket.write(`0\r\n${writeFieldLines(this.body.trailers ?? []) ?? ''}\r\n`, 'latin1');
      this.isWhole = true;
      return;
    }
    if (this.left > 0) this.broke(new Error('body shorter than its length'));
  }

  private readonly broke = (error: unknown): void => {
    if (this.isStopped) return;
    this.stop();
    this.owner.bodyBroke(error instanceof Error ? error.message : 'body broke');
  };
}

function ignore(): void {}
