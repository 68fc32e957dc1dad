import { requestRuleWords } from '../../src/rules/kinds/words.ts';
import { describe, expect, test } from 'vitest';
import {
  accountOf,
  bodyCheckWords,
  durationWords,
  editsTitle,
  failureWords,
  reasonWords,
  requestBadge,
  requestOutcomeOf,
  responseEditWords,
  responseTitle,
  sentToWords,
  OUTCOME_MEANINGS,
} from '../../src/inspector/entries/entry-words.ts';
import { entryRow } from '../../src/cli/entry-row.ts';
import { whyMissing } from '../../src/inspector/page/entry/perspectives.ts';
import type { Perspective } from '../../src/inspector/page/page-state.ts';
import { editReason, anyResponseRuleWords } from '../../src/inspector/explain/explain-rules.ts';
import { editsByPlace, type Entry, modeOf, outcomeOf } from '../../src/rewrite-log/entry.ts';
import type { EditRecord } from '../../src/rewrite/records.ts';
import type { Comparison } from '../../src/rollout/comparison-tally.ts';
import { sampleEntry } from '../support/sample-entries.ts';

/** A V1 request that went to V2, which took 4 ms to respond with 201; a case states what is different. */
function entryWith(different: Partial<Entry>): Entry {
  const { edits: _, cause: _cause, failure: _failure, ...sample } = sampleEntry(1, 0);
  return {
    ...sample,
    route: 'migrate',
    verdict: 'unchanged',
    upstreamPath: '/api/v2/clients',
    status: 201,
    bytesIn: 10,
    totalMs: 9,
    upstreamMs: 4,
    edits: [],
    ...different,
  };
}

const UNCHANGED = 'Sent to V2 with its body unchanged.';
const RESPONDED = 'V2 responded with 201 after 4.0 ms.';
const SAME: Comparison = { verdict: 'same', differences: [], noise: 0, extra: 0 };

/** An entry without members that the sample may have. */
function without(entry: Entry, ...names: readonly (keyof Entry)[]): Entry {
  return Object.fromEntries(
    Object.entries(entry).filter(([name]) => !names.includes(name as keyof Entry)),
  ) as unknown as Entry;
}

describe('the account of an entry', () => {
  const unsent = without(entryWith({ verdict: 'unchanged', status: 0 }), 'upstreamPath', 'upstreamMs');

  test.each<[fact: string, entry: Entry, sentences: readonly string[]]>([
    [
      'the client disconnected while it sent its body',
      unsent,
      ['The exchange with the client ended before its request was forwarded. Nothing was sent.'],
    ],
    [
      'the gateway had no room',
      { ...unsent, status: 503, failure: 'overloaded' },
      [
        'The gateway sent nothing (overloaded).',
        'V2 gave no response; the gateway responded with 503 (overloaded).',
      ],
    ],
    [
      'a webhook, delivered',
      without(
        entryWith({
          route: 'webhook',
          verdict: 'rewritten',
          responseEdits: [{ change: 'a', rule: 'rename', from: '/data/b', path: '/data/a' }],
        }),
        'operation',
      ),
      ['Sent to the subscriber with 1 edit.', 'The subscriber responded with 201 after 4.0 ms.'],
    ],
    [
      'a webhook that is no JSON',
      entryWith({ route: 'webhook', verdict: 'unchanged', responseNote: 'response-malformed', status: 503 }),
      [
        'Sent to the subscriber with its body unchanged.',
        'The subscriber responded with 503 after 4.0 ms.',
        'It was delivered as it came, although a response rule applies (response-malformed).',
      ],
    ],
    [
      'a webhook whose signature is not valid',
      entryWith({ route: 'webhook', verdict: 'refused', status: 401, failure: 'bad-signature' }),
      ['The gateway refused it with 401: bad-signature. Nothing was delivered.'],
    ],
    [
      'a webhook whose subscriber is away',
      without(
        entryWith({ route: 'webhook', status: 502, failure: 'upstream-unreachable', sent: false }),
        'upstreamMs',
      ),
      [
        'Nothing of the request reached the subscriber (upstream-unreachable).',
        'The gateway responded with 502 (upstream-unreachable).',
      ],
    ],
    [
      'observed, of an operation that is gone',
      entryWith({
        verdict: 'passed',
        origin: 'v1',
        would: { verdict: 'refused', failure: 'operation-gone' },
      }),
      [
        'Sent to V1 as it came.',
        'V1 responded with 201 after 4.0 ms.',
        'Dry run, not sent to V2: V2 does not have this operation, so the gateway responds with 410 after the migration.',
      ],
    ],
    [
      'V1 has ended',
      entryWith({ verdict: 'refused', status: 410, failure: 'sunset' }),
      ['The gateway responded with 410: V1 has ended. Nothing was sent to V1 or V2.'],
    ],
    [
      'a client asked for its own report',
      entryWith({ verdict: 'served', status: 200 }),
      ['The client requested its own report; the gateway responded with 200. Nothing was sent to V1 or V2.'],
    ],
    [
      'a client asked for its own report, and left',
      entryWith({ verdict: 'served', status: 0 }),
      [
        'The client requested its own report, and disconnected before the response. Nothing was sent to V1 or V2.',
      ],
    ],
    [
      'the client disconnected after V2 had responded',
      entryWith({ status: 0 }),
      [UNCHANGED, 'V2 responded after 4.0 ms, but the exchange with the client had ended.'],
    ],
    [
      'V1 got a body that the gateway did not read whole',
      entryWith({ origin: 'v1', verdict: 'passed', upstreamPath: '/api/v1/clients' }),
      [
        'Sent to V1 as it came.',
        'V1 responded with 201 after 4.0 ms.',
        'The outcome of a migration is not known: the gateway did not read the whole body.',
      ],
    ],
    [
      'a response of V2 that could not be used',
      entryWith({ status: 502, failure: 'upstream-invalid', sent: true }),
      [
        'Sent to V2 with its body unchanged. V2 may have carried it out.',
        'V2 gave an unusable response after 4.0 ms; the gateway responded with 502 (upstream-invalid).',
      ],
    ],
    [
      'a request that waited for the rate limit',
      entryWith({ heldMs: 1500 }),
      [UNCHANGED, RESPONDED, 'It was held for 1,500 ms for the rate limit of the service.'],
    ],
    [
      'a response that ended with its TLS connection',
      entryWith({ responseNote: 'response-until-close' }),
      [
        UNCHANGED,
        RESPONDED,
        'Only the end of the TLS connection, without close_notify, marked the end of the response: it may be cut off.',
      ],
    ],
    [
      'a response that was too large for its rule',
      entryWith({ responseNote: 'response-too-large' }),
      [
        UNCHANGED,
        RESPONDED,
        'The response was passed on as it came, although a response rule applies (response-too-large).',
      ],
    ],
    [
      'a response with lookups at V2',
      entryWith({
        responseNote: 'lookup-failed',
        lookups: [
          { address: '/api/v2/users/{}', status: 200, count: 3, ms: 4, bytes: 90 },
          { address: '/api/v2/users/{}', cause: 'timeout', count: 1, ms: 5000, bytes: 0 },
        ],
      }),
      [
        UNCHANGED,
        RESPONDED,
        'For the response, V2 was asked 4 times more: /api/v2/users/{} 200 (3), /api/v2/users/{} timeout (1). A part of the response that a rule looks up is missing.',
      ],
    ],
    [
      'a body that no rule reads',
      entryWith({ note: 'media-type' }),
      ['Sent to V2 with its body unchanged (media-type).', RESPONDED],
    ],
  ])('%s', (_fact, entry, sentences) => {
    expect(accountOf(entry)).toEqual(sentences);
  });

  test.each([
    ['unusable-schema', 'the schema could not be interpreted'],
    ['no-description', "V2's description could not be read yet"],
    ['not-read', 'the gateway does not read such a body'],
    ['not-json', 'the body is not JSON'],
    ['too-large', 'it is larger than 16 KiB'],
    ['too-slow', 'the check took too many steps'],
    ['budget', 'the checks of that second were used up'],
    ['a-new-one', 'a-new-one'],
  ])('a check that was not made for %s is called so', (why, words) => {
    const entry = entryWith({
      origin: 'v1',
      verdict: 'passed',
      would: { verdict: 'unchanged', v2: 'unknown', why },
    });
    expect(accountOf(entry)).toContain(`Whether V2 accepts that body is not known: ${words}.`);
    expect(bodyCheckWords(entry)).toBe(`V2's schema: not known (${why})`);
  });

  test('facts that the entry lacks are called unknown', () => {
    const nothingKnown = without({ ...unsent, status: 502 }, 'failure');
    expect(accountOf(nothingKnown)[0]).toBe('The gateway sent nothing (no reason is known).');
    expect(accountOf(entryWith({ verdict: 'refused', status: 400 }))).toEqual([
      'The gateway refused it with 400: no reason is known. Nothing was sent to V1 or V2.',
    ]);
    expect(accountOf(entryWith({ sent: false, status: 502, failure: 'upstream-unreachable' }))[0]).toBe(
      'Nothing of the request reached V2 (upstream-unreachable).',
    );
    expect(accountOf(without(entryWith({ sent: false, status: 502 }), 'failure'))[0]).toBe(
      'Nothing of the request reached V2 (no cause is known).',
    );
  });

  test.each<
    [fact: string, entry: Parameters<typeof reasonWords>[0], words: string | undefined, first: string]
  >([
    [
      'a 4xx of V2 with its places and its sentence',
      { ...entryWith({ status: 422, errorPointers: ['/name', '/a'] }), reason: 'name is missing.' },
      'V2 422 at /name, /a: name is missing.',
      'V2 responded with 422 after 4.0 ms at /name, /a: name is missing.',
    ],
    [
      'a 5xx without an error text',
      entryWith({ status: 500 }),
      'V2 500',
      'V2 responded with 500 after 4.0 ms.',
    ],
    [
      'a refusal of the gateway',
      entryWith({ verdict: 'refused', status: 400, failure: 'duplicate-member', pointer: '/data' }),
      'duplicate-member at /data',
      'The gateway refused it with 400: duplicate-member at /data. Nothing was sent to V1 or V2.',
    ],
    [
      'a shadow read that V2 refused',
      entryWith({
        origin: 'v1',
        status: 200,
        comparison: { ...SAME, verdict: 'different', status: { v1: 200, v2: 422 } },
      }),
      'read repeated on V2: 422 instead of 200',
      'Sent to V1 as it came.',
    ],
    ['a success', entryWith({}), undefined, UNCHANGED],
  ])('the reason comes first: %s', (_fact, entry, words, first) => {
    expect(reasonWords(entry)).toBe(words);
    expect(accountOf(entry)[0]).toBe(first);
    const row = entryRow(entry, { columns: undefined, hasColour: false });
    const cells = row.split(/ {2,}/);
    expect(cells[cells.indexOf(entry.totalMs.toFixed(1)) + 1]).toBe(words ?? entry.operation);
  });

  test('more differences than the log lists are "at least", and edits beyond the list are counted', () => {
    const differences = Array.from({ length: 32 }, (_, at) => ({
      path: `/data/${at}`,
      kind: 'value' as const,
    }));
    const responseEdits: NonNullable<Entry['responseEdits']> = Array.from({ length: 64 }, (_, at) => ({
      change: 'c',
      rule: 'rename',
      from: `/a${at}`,
      path: `/b${at}`,
    }));
    const words = accountOf(
      entryWith({
        comparison: { ...SAME, verdict: 'different', differences, noise: 1 },
        responseEdits,
        responseEditsOmitted: 6,
      }),
    ).join(' ');
    const lacking = [...differences, { path: '/data/*/phone', kind: 'missing' as const }];
    expect(
      accountOf(entryWith({ comparison: { ...SAME, differences: lacking, verdict: 'different' } })).join(' '),
    ).toContain('V2 differs in 33 fields. It lacks /data/*/phone.');
    expect(words).toContain('V2 differs in at least 32 fields, except for 1 that differs on V1 itself.');
    expect(words).toContain('Its response was rewritten for the V1 client with 70 edits, 64 of them listed.');
    expect(accountOf(entryWith({ comparison: SAME, origin: 'v1' })).join(' ')).toContain(
      'After the response, the read was repeated on V1 and, migrated in both directions, on V2: V2 has every field of V1 with the same value.',
    );
    expect(accountOf(entryWith({ comparison: SAME, mode: 'verify' })).join(' ')).toContain(
      'After the response, the read was sent to V1 twice, as it came: V2 has every field of V1 with the same value.',
    );
    expect(accountOf(entryWith({ comparison: { ...SAME, noise: 2 } })).join(' ')).toContain(
      'V2 has every field of V1 with the same value, except for 2 that differ on V1 itself.',
    );
    expect(accountOf(entryWith({ comparison: { ...SAME, verdict: 'unknown' } })).join(' ')).toContain(
      'V1 and V2 could not be compared (no reason is known).',
    );
  });
});

test('a failure has its place and cause if known, and a duration the share of the service', () => {
  expect(failureWords({ failure: 'malformed', position: { offset: 7, line: 1, column: 8 } })).toBe(
    'malformed at byte 7, line 1, column 8',
  );
  expect(durationWords(entryWith({}))).toBe('9.0 ms, of it V2 4.0 ms');
  expect(durationWords(without(entryWith({ totalMs: 1204 }), 'upstreamMs'))).toBe('1,204 ms');
});

test('the meaning of each outcome and mode states the facts from which it is derived', () => {
  for (const verdict of ['rewritten', 'unchanged', 'refused', 'passed', 'served'] as const) {
    const meaning = OUTCOME_MEANINGS[outcomeOf(entryWith({ verdict }))];
    expect([outcomeOf(entryWith({ verdict })), meaning.includes('nothing was sent')]).toEqual([
      verdict,
      verdict === 'refused' || verdict === 'served',
    ]);
    const forV1 = entryWith({ verdict: 'passed', origin: 'v1' });
    const wouldBe = { ...forV1, ...(verdict !== 'passed' && verdict !== 'served' && { would: { verdict } }) };
    expect(outcomeOf(wouldBe)).toBe('would' in wouldBe ? `would-${verdict}` : 'to-v1');
    expect(OUTCOME_MEANINGS[outcomeOf(wouldBe)]).toMatch(/^for V1, as it came; .*migration/);
  }
  expect([modeOf(entryWith({})), modeOf(entryWith({ mode: 'shadow' }))]).toEqual(['migrate', 'shadow']);
});

test.each<[different: Partial<Entry>, outcome: string]>([
  [{}, 'unchanged'],
  [{ edits: [{ change: 'c', rule: 'rename', from: '/a', path: '/b' }] }, 'rewritten'],
  [{ route: 'webhook' }, 'rewritten'],
])('a request whose response alone was edited is not called rewritten: %o', (different, outcome) => {
  const responseEdits = [{ change: 'c', rule: 'rename', from: '/b', path: '/a' }] as const;
  expect(requestOutcomeOf(entryWith({ verdict: 'rewritten', edits: [], responseEdits, ...different }))).toBe(
    outcome,
  );
});

test.each<[Partial<Entry>, words: string]>([
  [{ verdict: 'unchanged' }, 'address changed'],
  [{ origin: 'v1', would: { verdict: 'unchanged' } }, 'would: address changed'],
  [{ verdict: 'refused' }, 'refused'],
  [{ verdict: 'passed', route: 'pass' }, 'passed'],
])('a request that only gets another address is not called unchanged: %o', (different, words) => {
  expect(requestBadge(entryWith({ edits: [], ...different }), 'POST /holds').words).toBe(words);
  expect(requestBadge(entryWith({ edits: [], ...different }), undefined).words).not.toContain('address');
});

test('a response of V2 without a member of V1 says so, in the account and above its edits', () => {
  const entry = { ...entryWith({ operation: 'read' }), seq: 1, lacks: ['/data/*/phone'] };
  expect(accountOf(entry)).toContain(
    "The client does not get all that V1 gave: it lacks /data/*/phone, which V1's responses had.",
  );
  const responseEdits = [{ change: 'c', rule: 'rename', from: '/b', path: '/a' }] as const;
  const lacks = "it lacks /data/*/phone, which V1's responses had";
  expect(responseTitle(entry)).toBe(`No edits of the response; ${lacks}`);
  expect(responseTitle({ ...entry, responseEdits })).toBe(`1 edit of the response; ${lacks}`);
  expect(responseTitle({ responseEdits })).toBe('1 edit of the response');
  expect(responseTitle({})).toBe('');
});

test.each<[Partial<Entry>, title: string]>([
  [{ verdict: 'served' }, 'No edits: the gateway itself responded'],
  [{ verdict: 'passed', origin: 'v1' }, 'Edits are not known'],
  [
    { verdict: 'passed', origin: 'v1', would: { verdict: 'refused' } },
    'It would have been refused: no edits',
  ],
  [{ verdict: 'unchanged', bytesIn: 0 }, 'No edits: there is no body'],
  [{ verdict: 'unchanged', bytesIn: 5 }, 'No edits: the body stays as it is'],
  [{ verdict: 'refused' }, 'Refused: no edits'],
  // V1's circuit is open: the edits are those of the dry run.
  [
    {
      verdict: 'refused',
      origin: 'v1',
      mode: 'observe',
      would: { verdict: 'rewritten' },
      failure: 'circuit-open',
      edits: [{ change: 'c', rule: 'rename', from: '/a', path: '/b' }],
    },
    'Refused; dry run: 1 edit',
  ],
])('the heading above the edits of %j: %s', (facts, title) => {
  expect(editsTitle(entryWith(facts))).toBe(title);
});

test('a compared read was sent to both services, one that could not be compared was not', () => {
  const compared = (verdict: Comparison['verdict']): Entry =>
    entryWith({ origin: 'v1', upstreamPath: '/x', comparison: { ...SAME, verdict } });
  expect([
    sentToWords(compared('same')),
    sentToWords(compared('different')),
    sentToWords(compared('unknown')),
  ]).toEqual(['V1, V2', 'V1, V2', 'V1']);
});

describe('a perspective without a message says why', () => {
  const nothingSent = without(
    entryWith({ status: 503, failure: 'overloaded' }),
    'upstreamPath',
    'upstreamMs',
  );
  const toV1 = entryWith({ origin: 'v1', verdict: 'passed', upstreamPath: '/api/v1/clients' });
  const shadowed = { ...toV1, comparison: SAME };
  const unheard = without(entryWith({ status: 504, failure: 'upstream-timeout' }), 'upstreamMs');

  test.each<[Perspective, Entry, 'nothing' | 'bodies', string]>([
    [
      'v2-request',
      without({ ...nothingSent, status: 0 }, 'failure'),
      'bodies',
      'Nothing was sent: the exchange with the client ended before that.',
    ],
    ['v2-request', nothingSent, 'bodies', 'Nothing was sent: the gateway itself responded.'],
    ['v2-request', toV1, 'bodies', 'Nothing was sent to V2: the mode sends this request to V1.'],
    [
      'v2-request',
      shadowed,
      'bodies',
      'The mode sends this request to V1. The copy of the read for the comparison is not kept.',
    ],
    ['v2-response', unheard, 'bodies', 'There is no response: upstream-timeout.'],
    ['client-response', entryWith({}), 'nothing', 'Only the log entry of this exchange was kept.'],
    ['client-response', entryWith({}), 'bodies', 'The gateway has no record of this side.'],
  ])('%s', (perspective, entry, kept, words) => {
    expect(whyMissing({ entry: { seq: 1, ...entry }, kept }, perspective)).toBe(words);
  });
});

test('rules that move a member of a response between the same two places are one edit', () => {
  const [from, path] = ['/customer/phone', '/data/phone'];
  const edits = (['rename', 'unnest'] as const).map(
    (rule) => ({ change: 'customer', rule, from, path }) as const,
  );
  const responseEdits = [...edits, { change: 'other', rule: 'rename', from, path } as const];
  expect(editsByPlace({ responseEdits }).map(({ change, rule }) => `${change}: ${rule}`)).toEqual([
    'customer: rename, unnest',
    'other: rename',
  ]);
  expect(responseEditWords({ responseEdits })).toBe('2 edits of the response');
});

describe('the reason of an edit', () => {
  const edit = (parts: Partial<EditRecord> & Pick<EditRecord, 'rule'>): EditRecord => ({
    change: 'c',
    ...parts,
  });

  test.each<[EditRecord, string]>([
    [
      edit({ rule: 'unwrap', from: '', path: '', note: 'already-flat' }),
      'The body has no wrapper; nothing to remove.',
    ],
    [
      edit({ rule: 'unwrap', from: '', note: 'byte-order-mark' }),
      'The byte order mark is removed, because JSON does not allow one.',
    ],
    [
      edit({ rule: 'unwrap', from: '/source', note: 'sibling' }),
      'source is beside the wrapper, where V1 ignores it; the gateway removes it.',
    ],
    [
      edit({ rule: 'rename', from: '/data/a', note: 'duplicate' }),
      'a occurs more than once; the last one counts, this one is removed.',
    ],
    [
      edit({ rule: 'rename', from: '/data/b', note: 'conflict' }),
      'b is the V2 name of an attribute that is present under its V1 name; V1 ignores it, so it is removed.',
    ],
    [
      edit({ rule: 'nest', from: '/data/p/suburb', path: '/p/address/suburb', note: 'conflict' }),
      'suburb moves into address. The V2 name is there as well; the V1 value wins.',
    ],
    [edit({ rule: 'only', from: '/data/x' }), 'x is not an attribute that V2 accepts; it is removed.'],
    [edit({ rule: 'strip', from: '/data/x' }), 'x is removed: V2 does not take it.'],
    [
      edit({ rule: 'rename', from: '?b', note: 'conflict' }),
      'The query parameter b is the V2 name of one that is present under its V1 name; V1 ignores it, so it is removed.',
    ],
  ])('%j', (record, words) => {
    expect(editReason(record, undefined)).toBe(words);
  });

  test('rules are put into words as well', () => {
    expect(requestRuleWords({ rule: 'only', members: ['a', 'b'], in: [] })).toBe('keep only a, b');
    expect(anyResponseRuleWords({ rule: 'inverse', status: [] })).toBe('undo the request rules');
  });
});

test('a request that was refused without a response to its client does not read like one with status 0', () => {
  const entry = entryWith({ verdict: 'refused', failure: 'bad-request', status: 0 });
  expect(accountOf(entry)).toEqual([
    'The gateway refused it: bad-request. The client received no response. Nothing was sent to V1 or V2.',
  ]);
});
