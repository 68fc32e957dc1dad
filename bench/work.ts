import { isDeepStrictEqual } from 'node:util';
import { type Order, v2Order } from './v2-order.ts';

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
  return { pass: passed(Buffer.from(JSON.stringify(expected))), migrate: migrated(order, expected) };
}

/**
 * A V1 floor plan order of about `size` bytes, with everything that the migration touches: the wrapper, seven address members,
 * `transition_type` and a removed attribute. The rest is typical of orders: issues and rooms.
 */
function v1Order(size: number): Buffer {
  const data = {
    external_id: 'BK-2026-000417',
    transition_type: 'slide',
    legacy: true,
    property: {
      display_name: '12 Harbour View',
      street_address: '12 Harbour View Road',
      suburb: 'Milsons Point',
      state: 'NSW',
      postcode: '2061',
      country: 'Australia',
      latitude: -33.8479,
      longitude: 151.2111,
      external_reference: 'PR-88',
    },
    notes: '',
    issues: [] as unknown[],
  };
  let left = size - JSON.stringify({ data }).length;
  for (let id = 0; left >= 90; id += 1) {
    const issue = { id, room: 'Bedroom é 2', area: 14.25, is_open: true, tags: ['north', null] };
    data.issues.push(issue);
    left -= Buffer.byteLength(JSON.stringify(issue)) + 1;
  }
  data.notes = 'n'.repeat(Math.max(0, left));
  return Buffer.from(JSON.stringify({ data }));
}

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

function parse(body: Buffer): Order {
  return JSON.parse(body.toString()) as Order;
}
