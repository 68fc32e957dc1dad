import type { Socket } from 'node:net';
import { SocketBody } from './socket-body.ts';

/** The bytes of a body on a socket that the gateway reads itself, framed by a length (RFC 9112 §6.2). */
export class SizedBody extends SocketBody {
  /** Bytes that have not arrived. */
  private missing: number;

  /** `length` is the number of its bytes. */
  constructor(connection: Socket, length: number) {
    super(connection);
    this.missing = length;
  }

  get isComplete(): boolean {
    return this.missing === 0;
  }

  take(bytes: Buffer): Buffer {
    const part = bytes.length > this.missing ? bytes.subarray(0, this.missing) : bytes;
    this.missing -= part.length;
    this.deliver(part);
    return bytes.subarray(part.length);
  }
}
