import { Buffer } from 'node:buffer';
import type { CompiledRuleBook } from '../src/rewrite/compiled-rule-book.ts';
import { AttributeNames } from '../src/rewrite-log/attributes.ts';
import type { Entry } from '../src/rewrite-log/entry.ts';
import type { CapturedExchange, CaptureLevel } from '../src/rewrite-log/observer.ts';
import { closeEntry, openEntry, type OpenEntry } from '../src/rewrite-log/open-entry.ts';
import { v1Order } from './v1-order.ts';

/** One exchange as an observer gets it. */
export interface ObservedExchange {
  readonly entry: Entry;
  readonly material: CapturedExchange | undefined;
}

/** One kind of exchange, with what the gateway found out once for all of its kind. */
interface Kind {
  readonly facts: Pick<OpenEntry, 'route' | 'method' | 'verdict' | 'edits' | 'status'> & Partial<OpenEntry>;
  /** As the client sent it; `{id}` is another one each time. */
  readonly target: string;
  readonly upstreamTarget: string | undefined;
  readonly body: Uint8Array | undefined;
  readonly sentBytes: number;
  readonly names: readonly string[];
}

const order = JSON.parse(Buffer.from(v1Order(1000)).toString()) as object;

/** Method, target, V1 body and status. Most of the responses are 201. */
const requests: readonly (readonly [method: string, target: string, body: unknown, status: number])[] = [
  ['POST', '/api/v1/orders/floor_plans', order, 201],
  ['POST', '/api/v1/orders/post_productions', order, 201],
  ['POST', '/api/v1/clients', { data: { name: 'Acme', email: 'a@acme.example' } }, 201],
  ['POST', '/api/v1/bookings', { data: { starts_at: '2026-11-21T09:00', notes: 'Gate', client_id: 7 } }, 201],
  ['POST', '/api/v1/contacts', { name: 'Ann', email: 'ann@acme.example' }, 201],
  ['POST', '/api/v1/virtual_tours', { data: { property_id: 12, rooms: [{ name: 'Hall' }] } }, 422],
  ['PATCH', '/api/v1/properties/{id}', { data: { display_name: '12 Harbour View' } }, 200],
  ['GET', '/api/v1/heartbeat', undefined, 200],
  ['GET', '/api/v1/orders/{id}?page=2', undefined, 200],
  ['POST', '/api/v1/clients', [], 400],
  ['POST', '/api/v1/bookings', { data: { starts_at: null } }, 502],
  ['POST', '/api/v2/orders/floor_plans', order, 201],
  ['GET', '/api/v2/orders/{id}', undefined, 200],
];

const CLIENTS = 50;
const headers = [
  ['Host', 'gateway.test'],
  ['Authorization', 'Bearer key'],
  ['Content-Type', 'application/json'],
  ['Accept', 'application/json'],
  ['User-Agent', 'bench'],
].flat();
const response = Buffer.from(`{"data":{"id":4711,"status":"ordered","notes":"${'x'.repeat(300)}"}}`);

/** Entries such as the gateway makes them of the exchanges of 50 clients; like requests share their lists of edits, as there. */
export class DayTraffic {
  private readonly kinds: readonly Kind[];
  private readonly ruleBook: string;

  constructor(rules: CompiledRuleBook) {
    this.ruleBook = rules.ruleBook.hash;
    const names = new AttributeNames(() => performance.now());
    this.kinds = requests.map(([method, target, body, status]) => {
      const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
      return kindOf(rules, names, method, target, bytes, status);
    });
  }

  /** The exchange number `number`, which began at `time` (milliseconds since 1970). */
  exchange(number: number, time: number, wanted: CaptureLevel): ObservedExchange {
    const mixed = Math.imul(number + 1, 0x9e37_79b1) >>> 0;
    const kind = this.kinds[mixed % this.kinds.length];
    if (kind === undefined) throw new RangeError('there is at least one kind');
    const id = mixed.toString(16).padStart(8, '0');
    const upstreamMs = 5 + (mixed % 977) / 10;
    const requestId = `5f0e2b6c-9a41-4c7e-8d3b-0000${id}`;
    const target = kind.target.replace('{id}', id);
    const upstreamTarget = kind.upstreamTarget?.replace('{id}', id);
    const entry = openEntry({ ...kind.facts, requestId, ruleBook: this.ruleBook });
    Object.assign(entry, kind.facts);
    entry.traceId = `4bf92f3577b34da6a3ce0000${id}`;
    entry.bytesIn = kind.body?.length ?? 0;
    entry.bytesOut = kind.sentBytes;
    entry.responseBytes = response.length;
    entry.totalMs = upstreamMs + 0.4;
    if (upstreamTarget !== undefined) entry.upstreamMs = upstreamMs;
    if (wanted !== 'nothing' && kind.names.length > 0) entry.attributes = [...kind.names];
    entry.client = (Math.imul((mixed >>> 8) % CLIENTS, 0x85eb_ca6b) >>> 0).toString(16).padStart(16, '0');
    return {
      entry: closeEntry(entry, { time, target, upstreamTarget, attempts: 1 }),
      material: wanted === 'nothing' ? undefined : materialOf(kind, target, upstreamTarget),
    };
  }
}

function kindOf(
  rules: CompiledRuleBook,
  names: AttributeNames,
  method: string,
  target: string,
  body: Uint8Array | undefined,
  status: number,
): Kind {
  const time = { status, rewriteMs: 0.01 };
  if (target.startsWith('/api/v2')) {
    const facts = {
      route: 'pass' as const,
      method,
      verdict: 'passed' as const,
      edits: [],
      status,
    };
    return { facts, target, upstreamTarget: target, body, sentBytes: body?.length ?? 0, names: [] };
  }
  const rest = target.slice('/api/v1'.length);
  const operation = rules.match(method, rest.split('?', 1)[0] ?? '');
  const outcome = rules.requestPlan(operation).rewrite(body ?? new Uint8Array());
  const common = { route: 'migrate' as const, method, operation: operation?.id, ...time };
  const attributes = body === undefined ? [] : (names.of(body) ?? []);
  if (outcome.verdict === 'refused') {
    const { code, pointer, position } = outcome.refusal;
    const facts = { ...common, verdict: 'refused' as const, edits: [], failure: code, pointer, position };
    return { facts, target, upstreamTarget: undefined, body, sentBytes: 0, names: attributes };
  }
  const facts = {
    ...common,
    verdict: outcome.verdict,
    edits: outcome.records,
    patch: outcome.verdict === 'rewritten' ? outcome.patch : undefined,
    apiVersion: { sent: '2025-01-01', why: 'absent' as const },
    failure: status === 502 ? 'upstream-unreachable' : undefined,
    cause: status === 502 ? 'ECONNREFUSED' : undefined,
  };
  return {
    facts,
    target,
    upstreamTarget: `/api/v2${rest}`,
    body,
    sentBytes: outcome.body.length,
    names: attributes,
  };
}

/** The bodies that the gateway passes with an entry whose structure is recorded. */
function materialOf(
  { body, facts: { route, failure, method, status } }: Kind,
  target: string,
  upstreamTarget: string | undefined,
): CapturedExchange {
  const read = route === 'migrate' ? { body } : { withheld: 'streamed' };
  const v1Response = { status, headers, body: response };
  return {
    v1Request: { method, target, headers, ...(body === undefined ? {} : read) },
    v2Request: upstreamTarget === undefined ? undefined : { method, target: upstreamTarget, headers },
    v2Response: failure === undefined ? v1Response : undefined,
    clientResponse: v1Response,
  };
}
