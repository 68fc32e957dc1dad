import { Socket } from 'node:net';

/** Node's socket with no connection below it: each write calls `onWrite`, and it reads what `receive` is given. */
export class MemorySocket extends Socket {
  private readonly onWrite: () => void;

  constructor(onWrite: () => void) {
    super();
    this.onWrite = onWrite;
    Reflect.set(this, '_handle', handle);
  }

  /** Reads bytes into the buffer that connections share (`ReusedReadBuffer`). */
  receive(bytes: Buffer): void {
    const buffer: unknown = Reflect.get(this, symbolOf(this, 'kBuffer'));
    const callback: unknown = Reflect.get(this, symbolOf(this, 'kBufferCb'));
    if (!Buffer.isBuffer(buffer) || typeof callback !== 'function') throw new Error('nobody reads');
    bytes.copy(buffer);
    Reflect.apply(callback, this, [bytes.length]);
  }

  override write(...given: readonly unknown[]): boolean {
    const done = given.at(-1);
    if (typeof done === 'function') process.nextTick(done);
    this.onWrite();
    return true;
  }

  override pause(): this {
    return this;
  }

  override resume(): this {
    return this;
  }

  override destroy(): this {
    this.emit('close');
    return this;
  }
}

const handle = {
  bytesWritten: 0,
  writeQueueSize: 0,
  useUserBuffer: () => {},
  getpeername(peer: { address?: string; port?: number }): number {
    Object.assign(peer, { address: '127.0.0.1', family: 'IPv4', port: 1 });
    return 0;
  },
};

const symbols = new Map<string, symbol>();

function symbolOf(socket: Socket, description: string): symbol {
  const known = symbols.get(description);
  if (known !== undefined) return known;
  const found = Object.getOwnPropertySymbols(socket).find((symbol) => symbol.description === description);
  if (found === undefined) throw new Error(`this Node has no ${description}`);
  symbols.set(description, found);
  return found;
}
