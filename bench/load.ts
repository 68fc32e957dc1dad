import type { Buffer } from 'node:buffer';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { WireReader } from './wire-reader.ts';

/** A kept connection with one request at a time. */
export class Client {
  private readonly socket: Socket;
  private onResponse: ((head: string, body: Buffer) => void) | undefined;
  private onFailure: ((error: Error) => void) | undefined;

  private constructor(socket: Socket) {
    this.socket = socket;
    const reader = new WireReader((head, body) => {
      if (!head.startsWith('HTTP/1.1 201')) {
        this.onFailure?.(new Error(`${head}${body.toString()}`));
        return;
      }
      this.onResponse?.(head, body);
    });
    socket.on('data', (chunk: Buffer) => reader.read(chunk));
    socket.on('error', (error) => this.onFailure?.(error));
    socket.on('close', () => this.onFailure?.(new Error('the connection was closed')));
  }

  static async open(port: number, isTls = false): Promise<Client> {
    return new Client(await connectTo(port, isTls));
  }

  /** Sends a request; `onResponse` is called with each response from now on. */
  on(onResponse: (head: string, body: Buffer) => void, onFailure: (error: Error) => void): void {
    this.onResponse = onResponse;
    this.onFailure = onFailure;
  }

  send(request: Buffer): void {
    this.socket.write(request);
  }

  /** Sends a request and waits for its response. */
  request(request: Buffer): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.on((_, body) => resolve(body), reject);
      this.send(request);
    });
  }

  close(): void {
    this.onFailure = undefined;
    this.socket.destroy();
  }
}

/** Opens a connection to this machine; over TLS, any certificate will do. */
export function connectTo(port: number, isTls: boolean): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const options = { port, host: '127.0.0.1', noDelay: true };
    const socket = isTls ? connectTls({ ...options, rejectUnauthorized: false }) : connect(options);
    socket.once('error', reject);
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      socket.off('error', reject);
      resolve(socket);
    });
  });
}
