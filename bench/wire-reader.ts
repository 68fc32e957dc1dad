import { Buffer } from 'node:buffer';

const HEAD_END = Buffer.from('\r\n\r\n');

/** A message in chunks that is not complete. */
interface ChunkedMessage {
  readonly head: string;
  readonly parts: Buffer[];
}

/** Splits one direction of an HTTP/1.1 connection into messages, by length or by chunks. Trusts the other side: it is a bench. */
export class WireReader {
  private readonly onMessage: (head: string, body: Buffer) => void;
  private parts: Buffer[] = [];
  /** Bytes without which the message under way cannot be complete; long bodies are put together once. */
  private missing = 0;
  private chunked: ChunkedMessage | undefined = undefined;

  constructor(onMessage: (head: string, body: Buffer) => void) {
    this.onMessage = onMessage;
  }

  /** Takes the received bytes, and reports each complete message. */
  read(chunk: Buffer): void {
    this.missing -= chunk.length;
    if (this.missing > 0) {
      this.parts.push(chunk);
      return;
    }
    let bytes = this.parts.length === 0 ? chunk : Buffer.concat([...this.parts, chunk]);
    this.missing = 0;
    for (;;) {
      const length = this.message(bytes);
      if (length === 0) break;
      bytes = bytes.subarray(length);
    }
    this.parts = bytes.length === 0 ? [] : [bytes];
  }

  /** The length of the message at the start of `bytes`, or of what is read of one in chunks; 0 when it is not complete. */
  private message(bytes: Buffer): number {
    if (bytes.length === 0) return 0;
    if (this.chunked !== undefined) return this.chunk(this.chunked, bytes);
    const headEnd = bytes.indexOf(HEAD_END);
    if (headEnd < 0) return 0;
    const head = bytes.toString('latin1', 0, headEnd + 2);
    const start = headEnd + 4;
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    if (length !== undefined) {
      const end = start + Number(length);
      if (bytes.length < end) {
        this.missing = end - bytes.length;
        return 0;
      }
      this.onMessage(head, bytes.subarray(start, end));
      return end;
    }
    if (/\r\ntransfer-encoding: *chunked/i.test(head)) this.chunked = { head, parts: [] };
    else this.onMessage(head, bytes.subarray(start, start));
    return start;
  }

  /** The length of the chunk at the start of `bytes`; 0 when it is not complete. */
  private chunk({ head, parts }: ChunkedMessage, bytes: Buffer): number {
    const line = bytes.indexOf('\r\n');
    if (line < 0) return 0;
    const size = Number.parseInt(bytes.toString('latin1', 0, line), 16);
    const end = line + 2 + size + 2;
    if (bytes.length < end) {
      this.missing = end - bytes.length;
      return 0;
    }
    if (size > 0) {
      parts.push(bytes.subarray(line + 2, end - 2));
      return end;
    }
    this.chunked = undefined;
    this.onMessage(head, Buffer.concat(parts));
    return end;
  }
}
