import fc from 'fast-check';
import type { TallyEntry } from '../../src/report/tally/tally-entry.ts';

/** Start of the time of random entries, in milliseconds since 1970. */
export const ENTRIES_FROM = Date.parse('2026-10-01T00:00:00.000Z');
const DAYS = 20;

const NAMES = ['/data', '/data/name', '/data/transition_type'];

const edits = fc.constantFrom<TallyEntry['edits']>(
  [],
  [{ change: 'body-wrapper', rule: 'unwrap', from: '/data', path: '' }],
  [
    { change: 'body-wrapper', rule: 'unwrap', from: '/data', path: '' },
    { change: 'highlight-type', rule: 'rename', from: '/data/transition_type', path: '/highlight_type' },
  ],
  [{ change: 'body-wrapper', rule: 'unwrap', note: 'already-flat', path: '' }],
);

const responseEdits = fc.constantFrom<TallyEntry['responseEdits']>(
  undefined,
  [],
  [{ change: 'highlight-type', rule: 'rename', from: '/data/highlight_type', path: '/data/transition_type' }],
  [
    { change: 'highlight-type', rule: 'rename', from: '/data/highlight_type', path: '/data/transition_type' },
    { change: 'highlight-type', rule: 'map', from: '/data/highlight_type', path: '/data/transition_type' },
    { change: 'kind', rule: 'map', path: '/data/kind' },
  ],
);

/** Random entries of a few clients, in time order of no kind. */
export const arbitraryEntry: fc.Arbitrary<TallyEntry> = fc
  .record({
    at: fc.integer({ min: 0, max: DAYS * 86_400_000 - 1 }),
    client: fc.constantFrom('00aa', '11bb', '22cc', '33dd', '44ee', undefined),
    route: fc.constantFrom<TallyEntry['route'][]>('migrate', 'migrate', 'migrate', 'pass', 'webhook', 'none'),
    operation: fc.constantFrom('create_client', 'order_post_production', undefined),
    ruleBook: fc.constantFrom('one', 'two', undefined),
    status: fc.constantFrom(200, 201, 204, 401, 422, 500, 0),
    isRefused: fc.boolean(),
    why: fc.constantFrom<NonNullable<TallyEntry['apiVersion']>['why'][]>('absent', 'invalid', 'future'),
    edits,
    responseEdits,
    origin: fc.constantFrom<TallyEntry['origin'][]>('v1', undefined),
    v2: fc.constantFrom<('valid' | 'invalid' | undefined)[]>('valid', 'invalid', undefined),
    attributes: fc.constantFrom<TallyEntry['attributes'][]>(undefined, NAMES, ['/data', '/data/legacy']),
    refusal: fc.constantFrom({ failure: 'malformed' }, { failure: 'brownout', note: 'first' }),
    errorPointers: fc.constantFrom<TallyEntry['errorPointers'][]>(undefined, ['/legacy', '/name']),
  })
  .map(({ at, isRefused, refusal, why, v2, edits: requestEdits, attributes, ...rest }) => {
    const isV1 = rest.origin === 'v1';
    // The names of a body are those that edits move.
    const names = requestEdits.some(({ rule }) => rule === 'rename') ? attributes && NAMES : attributes;
    const entry: TallyEntry = {
      ...rest,
      attributes: names,
      time: new Date(ENTRIES_FROM + at).toISOString(),
      method: 'POST',
      path: '/api/v1/orders/17/things',
      verdict: isRefused ? 'refused' : 'rewritten',
      edits: requestEdits,
      apiVersion: { sent: '2025-01-01', why },
      ...(isRefused ? refusal : {}),
      ...(isV1 && v2 !== undefined
        ? { would: { verdict: 'rewritten', v2, ...(v2 === 'invalid' ? { at: '/name' } : {}) } }
        : {}),
    };
    return entry;
  });
