import { Buffer } from 'node:buffer';
import type { ResponsePlan } from '../src/rewrite/response-plan.ts';
import { compare, type Contender } from './engine.ts';
import { ADDRESS, type Order, v2Order } from './v2-order.ts';
import { v1Order } from './v1-order.ts';

const CONTEXT = { status: 200, deprecated: [], isWrapped: true };

/** Turns V2's order into a V1 order, as code that parses bodies does it. */
function v1Answer(order: Order): void {
  const { property } = order;
  const address = property?.['address'];
  if (property !== undefined && typeof address === 'object' && address !== null) {
    for (const name of ADDRESS) {
      const value: unknown = Reflect.get(address, name);
      if (value !== undefined) property[name] = value;
    }
    delete property['address'];
  }
  if ('highlight_type' in order) {
    order['transition_type'] = order['highlight_type'];
    delete order['highlight_type'];
  }
}

const native: Contender = (body) => {
  const response = JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.length).toString()) as {
    data: Order | Order[];
  };
  for (const order of [response.data].flat()) v1Answer(order);
  return Buffer.from(JSON.stringify(response));
};

/** Measures the inverse on responses beside parsing and printing them, interleaved: an order, and a page of orders. */
export function benchResponses(plan: ResponsePlan, isQuick: boolean): void {
  const engine: Contender = (body) => {
    const outcome = plan.rewrite(body, CONTEXT);
    if (outcome.verdict !== 'rewritten') throw new Error('the engine found nothing to undo');
    return outcome.body;
  };
  console.log('\nengine: responses, unnest seven members and rename, records for the log included');
  console.log('| response | engine | parse, mutate, stringify | ratio |');
  console.log('|---|---|---|---|');
  const rounds = isQuick ? 9 : 25;
  for (const [label, bodies] of RESPONSES) {
    const { ours, theirs, ratio } = compare([engine, native], bodies, rounds);
    console.log(`| ${label} (${bodies[0]?.length} bytes) | ${ours} | ${theirs} | ${ratio} |`);
  }
}

const RESPONSES: readonly (readonly [label: string, bodies: readonly Uint8Array[]])[] = [
  ['an order of 0.5 KiB', [response(answered(512))]],
  ['an order of 2 KiB', [response(answered(2048))]],
  ['an order of 20 KiB', [response(answered(20_480))]],
  ['a page of 25 orders', [response(page(25, 800))]],
  ['a page of 100 orders', [response(page(100, 2048))]],
  ['pages of 25 orders, each of another shape', otherPages()],
];

function page(count: number, size: number): Order[] {
  return Array.from({ length: count }, () => answered(size));
}

/** Returns pages that differ in which of their orders have an address and a `highlight_type`. */
function otherPages(): readonly Uint8Array[] {
  return Array.from({ length: 500 }, (_, k) => {
    const orders = page(25, 800);
    for (const [n, order] of orders.entries()) {
      if (n < 9 && ((k >> n) & 1) === 1) delete order['highlight_type'];
    }
    return response(orders);
  });
}

function answered(size: number): Order {
  const order = JSON.parse(Buffer.from(v1Order(size)).toString()) as Order;
  return { id: 12_345, ...v2Order(order) };
}

function response(data: Order | readonly Order[]): Uint8Array {
  return new Uint8Array(Buffer.from(JSON.stringify({ data })));
}
