import { Buffer } from 'node:buffer';
import { isDeepStrictEqual } from 'node:util';
import { type Order, v2Order } from './v2-order.ts';
import { v1Order } from './v1-order.ts';

export type WorkName = 'pass' | 'migrate';

/** One kind of work that proxies do repeatedly. */
export interface Work {
  readonly name: WorkName;
  /** The request on the wire. */
  readonly request: Buffer;
  /** Returns the fault of the request that reached V2, if any. */
  fault(head: string, body: Buffer): string | undefined;
}

const TARGET = '/orders/floor_plans';
const order = v1Order(1000);
const expected = v2Order(parse(order));
const flat = Buffer.from(JSON.stringify(expected));

/** An order of 1 KB through `/api/v2`: the very same bytes must reach V2. */
export const pass: Work = {
  name: 'pass',
  request: request(`/api/v2${TARGET}`, flat, 'x-api-version: 2025-01-01\r\n'),
  fault(head, body) {
    return headFault(head) ?? (body.equals(flat) ? undefined : 'the body is not the same bytes');
  },
};

/** A V1 order of 1 KB through `/api/v1`: unwrapped, seven members nested, one renamed, one stripped, the version set. */
export const migrate: Work = {
  name: 'migrate',
  request: request(`/api/v1${TARGET}`, Buffer.from(order), ''),
  fault(head, body) {
    return (
      headFault(head) ??
      (isDeepStrictEqual(parse(body), expected) ? undefined : 'the body is not the V2 order')
    );
  },
};

function request(path: string, body: Buffer, headers: string): Buffer {
  const head =
    `POST ${path} HTTP/1.1\r\nHost: gateway.test\r\nAuthorization: Bearer 0123456789abcdef0123456789abcdef\r\n` +
    `Content-Type: application/json\r\nAccept: application/json\r\nUser-Agent: bench\r\n${headers}Content-Length: ${body.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), body]);
}

function headFault(head: string): string | undefined {
  if (!head.startsWith(`POST /api/v2${TARGET} HTTP/1.1\r\n`)) return `the head is ${head.split('\r\n')[0]}`;
  if (!/\r\nx-api-version: 2025-01-01\r\n/i.test(head)) return 'x-api-version is not set';
  return /\r\nauthorization: Bearer 0123456789abcdef/i.test(head) ? undefined : 'the credentials are lost';
}

function parse(body: Uint8Array): Order {
  return JSON.parse(Buffer.from(body).toString()) as Order;
}
