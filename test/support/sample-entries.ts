import type { Entry } from '../../src/rewrite-log/entry.ts';
import type { EditRecord } from '../../src/rewrite/records.ts';

const UNWRAP: EditRecord = { change: 'body-wrapper', rule: 'unwrap', from: '/data', path: '' };
const NESTED = ['street_address', 'suburb', 'state', 'postcode', 'country', 'latitude', 'longitude'];
const NEST: readonly EditRecord[] = NESTED.map((name) => ({
  change: 'property-address',
  rule: 'nest',
  from: `/data/property/${name}`,
  path: `/property/address/${name}`,
}));
const RENAME: EditRecord = {
  change: 'highlight-type',
  rule: 'rename',
  from: '/data/transition_type',
  path: '/highlight_type',
};
const FLAT: EditRecord = { change: 'body-wrapper', rule: 'unwrap', from: '', path: '', note: 'already-flat' };

const SHAPES: readonly {
  operation: string;
  path: string;
  edits: readonly EditRecord[];
  attributes: string[];
}[] = [
  { operation: 'create_client', path: '/clients', edits: [UNWRAP], attributes: ['/data', '/data/name'] },
  {
    operation: 'order_floor_plan',
    path: '/orders/floor_plans',
    edits: [UNWRAP, ...NEST],
    attributes: ['/data', '/data/property', ...NESTED.map((name) => `/data/property/${name}`)],
  },
  {
    operation: 'order_post_production',
    path: '/orders/post_productions',
    edits: [UNWRAP, ...NEST, RENAME],
    attributes: ['/data', '/data/property', '/data/transition_type'],
  },
  { operation: 'create_contact', path: '/contacts', edits: [FLAT], attributes: ['/name', '/email'] },
];

const LEGACY = ['/data', '/data/property', '/data/transition_type', '/data/legacy_flag'];

/** An entry of a V1 or V2 request; `n` decides client, operation and outcome, `at` is milliseconds since 1970. */
export function sampleEntry(n: number, at: number): Entry {
  const shape = SHAPES[n % SHAPES.length];
  if (shape === undefined) throw new RangeError('n is a whole number from 0');
  const isV2 = n % 7 === 6;
  const isLegacy = shape.operation === 'order_post_production' && n % 8 === 2;
  const client = ((n % 211) * 0x9e37_79b1).toString(16).padStart(16, '0').slice(0, 16);
  const common = {
    time: new Date(at).toISOString(),
    level: 'info' as const,
    requestId: `5f0e2b6c-9a41-4c7e-8d3b-${n.toString(16).padStart(12, '0')}`,
    traceId: `4bf92f3577b34da6a3ce${n.toString(16).padStart(12, '0')}`,
    client,
    method: 'POST',
    bytesIn: 870,
    bytesOut: 842,
    responseBytes: 512,
    status: n % 31 === 30 || isLegacy ? 422 : 201,
    upstreamMs: 12.345,
    totalMs: 13.579,
    ruleBook: 'eb82c2a592dfffd9',
  };
  if (isV2) return { ...common, route: 'pass', path: `/api/v2${shape.path}`, verdict: 'passed', edits: [] };
  return {
    ...common,
    route: 'migrate',
    path: `/api/v1${shape.path}`,
    upstreamPath: `/api/v2${shape.path}`,
    operation: shape.operation,
    apiVersion: { sent: '2025-01-01', why: n % 97 === 0 ? 'invalid' : 'absent' },
    verdict: shape.edits.includes(FLAT) ? 'unchanged' : 'rewritten',
    edits: shape.edits,
    patch: shape.edits.flatMap(({ from, path }) =>
      from === undefined || path === undefined ? [] : [{ op: 'move' as const, from, path }],
    ),
    attributes: isLegacy ? LEGACY : shape.attributes,
  };
}
