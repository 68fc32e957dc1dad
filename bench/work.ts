import { Buffer } from 'node:buffer';
import { isDeepStrictEqual } from 'node:util';
import { type Order, v2Order } from './v2-order.ts';
import { v1Order } from './v1-order.ts';

export type WorkName = 'pass' | 'migrate';

/** One kind of work that proxies do repeatedly. */
export interface Work {
  readonly name: WorkName;
  readonly path: string;
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
  /** The request on the wire, in HTTP/1.1. */
  readonly request: Buffer;
  /** Returns the fault of the request that reached V2, if any. */
  fault(head: string, body: Buffer): string | undefined;
}

const TARGET = '/orders/floor_plans';

/** The same order of about `size` bytes, for `/api/v2` and for `/api/v1`. */
export function worksOf(size: number): { readonly pass: Work; readonly migrate: Work } {
  const order = v1Order(size);
  const expected = v2Order(parse(order));
  return {
    pass: passed(Buffer.from(JSON.stringify(expected))),
    migrate: migrated(Buffer.from(order), expected),
  };
}

/** An order of 1 KB, through both. */
export const { pass, migrate } = worksOf(1000);

/** Through `/api/v2`: the very same bytes must reach V2. */
function passed(flat: Buffer): Work {
  return {
    name: 'pass',
    ...message(`/api/v2${TARGET}`, flat, [['x-api-version', '2025-01-01']]),
    fault(head, body) {
      return headFault(head) ?? (body.equals(flat) ? undefined : 'the body is not the same bytes');
    },
  };
}

/** A V1 order through `/api/v1`: unwrapped, seven members nested, one renamed, one stripped, the version set. */
function migrated(order: Buffer, expected: Order): Work {
  return {
    name: 'migrate',
    ...message(`/api/v1${TARGET}`, order, []),
    fault(head, body) {
      return (
        headFault(head) ??
        (isDeepStrictEqual(parse(body), expected) ? undefined : 'the body is not the V2 order')
      );
    },
  };
}

function message(
  path: string,
  body: Buffer,
  more: Work['fields'],
): Pick<Work, 'path' | 'fields' | 'body' | 'request'> {
  const fields: Work['fields'] = [
    ['Authorization', 'Bearer 0123456789abcdef0123456789abcdef'],
    ['Content-Type', 'application/json'],
    ['Accept', 'application/json'],
    ['User-Agent', 'bench'],
    ...more,
    ['Content-Length', String(body.length)],
  ];
  const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const head = Buffer.from(`POST ${path} HTTP/1.1\r\nHost: gateway.test\r\n${lines}\r\n`);
  return { path, fields, body, request: Buffer.concat([head, body]) };
}

function headFault(head: string): string | undefined {
  if (!head.startsWith(`POST /api/v2${TARGET} HTTP/1.1\r\n`)) return `the head is ${head.split('\r\n')[0]}`;
  if (!/\r\nx-api-version: 2025-01-01\r\n/i.test(head)) return 'x-api-version is not set';
  return /\r\nauthorization: Bearer 0123456789abcdef/i.test(head) ? undefined : 'the credentials are lost';
}

function parse(body: Uint8Array): Order {
  return JSON.parse(Buffer.from(body).toString()) as Order;
}
