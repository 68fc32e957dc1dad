import { describe, expect, test } from 'vitest';
import { type Answer, AnswerJudge } from '../../src/rewrite-log/answers.ts';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import { randomFrom } from '../report/fleet/random.ts';
import { sampleEntry } from '../support/sample-entries.ts';

const [ACME, OTHER] = ['a'.repeat(16), 'b'.repeat(16)];

const entryOf = (facts: Partial<Entry>): Entry => ({
  ...sampleEntry(1, 0),
  operation: 'read_bill',
  route: 'migrate',
  path: '/api/v1/bills/1',
  verdict: 'unchanged',
  client: ACME,
  status: 200,
  ...facts,
});

const onV1 = (status: number, client = ACME): Partial<Entry> => ({
  origin: 'v1',
  mode: 'observe',
  status,
  client,
});
const times = (count: number, facts: Partial<Entry>): readonly Partial<Entry>[] =>
  Array.from({ length: count }, () => facts);

describe('what an exchange was to its client', () => {
  test.each<[exchange: string, facts: Partial<Entry>, before: readonly Partial<Entry>[], answer: Answer]>([
    ['a response', {}, [], 'well'],
    ['a 304', { status: 304 }, [], 'well'],
    ['a 500 of V2', { status: 500 }, [], 'failed'],
    ['a 500 of V1', onV1(500), [], 'failed'],
    ['a 500 that V1 gave too', { status: 500 }, times(9, onV1(500)), 'failed'],
    ['no V2', { status: 502, failure: 'upstream-unreachable', verdict: 'refused' }, [], 'failed'],
    [
      'V1 does not respond in observe',
      { ...onV1(502), failure: 'upstream-unreachable', verdict: 'refused' },
      times(9, onV1(200)),
      'failed',
    ],
    ['an open circuit', { status: 503, failure: 'circuit-open', verdict: 'refused' }, [], 'failed'],
    ['a gateway without room', { status: 503, failure: 'overloaded', verdict: 'refused' }, [], 'failed'],
    ['a response that V2 broke off', { failure: 'upstream-broken', incomplete: true }, [], 'failed'],
    ['a client that left before the response', { status: 0 }, [], 'left'],
    ['a client that left in the middle', { incomplete: true }, [], 'left'],
    ['a client that was too slow', { status: 408, failure: 'client-timeout' }, [], 'refused'],
    ['bad framing', { status: 400, failure: 'bad-framing', route: 'none' }, [], 'refused'],
    ['a brownout', { status: 503, failure: 'brownout', verdict: 'refused' }, [], 'on-purpose'],
    ['the end of V1', { status: 410, failure: 'sunset', verdict: 'refused' }, [], 'on-purpose'],
    [
      'the end of an operation',
      { status: 410, failure: 'operation-gone', verdict: 'refused' },
      [],
      'on-purpose',
    ],
    ['a new client of V1', { status: 403, failure: 'newcomer', verdict: 'refused' }, [], 'on-purpose'],
    ['a 422 of V2', { status: 422 }, [], 'failed'],
    ['a 422 that V1 also gave the client', { status: 422 }, times(5, onV1(422)), 'refused'],
    ['a 400 where V1 gave 422', { status: 400 }, times(5, onV1(422)), 'refused'],
    ['a 422 that V1 never gave', { status: 422 }, times(5, onV1(201)), 'failed'],
    ['a 422 that V1 gave to others only', { status: 422 }, times(5, onV1(422, OTHER)), 'refused'],
    [
      'a 422 that V1 gave to others, and not to this client',
      { status: 422 },
      [...times(20, onV1(422, OTHER)), ...times(20, onV1(200))],
      'failed',
    ],
    [
      'a 422 that V1 gave to others, and could not yet give to this client',
      { status: 422 },
      [...times(20, onV1(422, OTHER)), ...times(3, onV1(200))],
      'refused',
    ],
    [
      'a 422 that V1 gave to this client, and seldom to others',
      { status: 422 },
      [...times(200, onV1(200, OTHER)), ...times(5, onV1(422))],
      'refused',
    ],
    ['a 422 in an operation that V1 never refused', { status: 422 }, times(5, onV1(200, OTHER)), 'failed'],
    [
      'a refusal by the gateway',
      { status: 400, failure: 'malformed-json', verdict: 'refused' },
      [],
      'failed',
    ],
    [
      'a refusal by the gateway of a request that V1 refused',
      { status: 400, failure: 'malformed-json', verdict: 'refused' },
      times(5, onV1(400)),
      'refused',
    ],
    ['a 404, which may be the client’s own mistake', { status: 404 }, [], 'refused'],
    ['a 409, which is about the state of a resource', { status: 409 }, [], 'refused'],
    ['a 409 that V1 never gave', { status: 409 }, times(5, onV1(200)), 'failed'],
    ['a 422 that V1 gave, too', { status: 422 }, [onV1(422)], 'refused'],
    ['a 422 after one success of V1', { status: 422 }, [onV1(200)], 'failed'],
    ['a 404 that V1 never gave', { status: 404 }, times(5, onV1(200)), 'failed'],
    ['a 404 of V1', onV1(404), [], 'refused'],
    ['a 404 of a request without a key', { status: 404, client: undefined }, [], 'refused'],
    [
      'a 422 of a request without a key, as from V1',
      { status: 422, client: undefined },
      times(5, onV1(422, OTHER)),
      'refused',
    ],
    [
      'a 401 of a request without a key, as V1 gave it to these alone',
      { status: 401, client: undefined },
      [
        ...times(95, onV1(200)),
        ...times(10, { ...onV1(401), client: undefined }),
        ...times(10, { status: 401, client: undefined }),
      ],
      'refused',
    ],
    [
      'a 404 of a request without a key, which V1 gave to others alone',
      { status: 404, client: undefined },
      [
        ...times(20, { ...onV1(200), client: undefined }),
        ...times(20, onV1(404)),
        ...times(10, { status: 404, client: undefined }),
      ],
      'failed',
    ],
    ['a redirection that V1 never gave', { status: 302 }, times(5, onV1(200)), 'failed'],
    ["a 422 to V2's own client", { status: 422, route: 'pass', verdict: 'passed' }, [], 'refused'],
    ["a 500 to V2's own client", { status: 500, route: 'pass', verdict: 'passed' }, [], 'failed'],
    ['a 404 under neither prefix', { status: 404, route: 'other', verdict: 'passed' }, [], 'refused'],
    ['a client that read its own report', { verdict: 'served', route: 'none' }, [], 'well'],
  ])('%s', (_, facts, before, answer) => {
    const judge = new AnswerJudge();
    for (const earlier of before) judge.judge(entryOf(earlier));
    expect(judge.judge(entryOf(facts))).toBe(answer);
  });

  test("refusals up to V1's share are not failures, and those beyond it are", () => {
    const judge = new AnswerJudge();
    for (let at = 0; at < 50; at += 1) for (const status of [404, 200]) judge.judge(entryOf(onV1(status)));
    const answers = Array.from({ length: 40 }, (_, at) =>
      judge.judge(entryOf({ status: at % 2 === 0 ? 404 : 200 })),
    );
    expect(new Set(answers)).toEqual(new Set<Answer>(['refused', 'well']));
    const further = times(100, { status: 404 }).map((facts) => judge.judge(entryOf(facts)));
    expect(further.filter((answer) => answer === 'failed').length).toBeGreaterThan(30);
  });
});

describe('of twenty clients, V1 refused each as seldom as V2 does', () => {
  const clients = Array.from({ length: 20 }, (_, at) => String(at).padStart(16, '0'));

  /** What V1 did, and the judge that saw it: from 2 to 200 requests of each client. */
  const seenOnV1 = (random: () => number, refused: number): AnswerJudge => {
    const judge = new AnswerJudge();
    for (const client of clients)
      for (let left = 2 + Math.floor(random() * 199); left > 0; left -= 1)
        judge.judge(entryOf(onV1(statusOf(random, refused), client)));
    return judge;
  };
  const statusOf = (random: () => number, refused: number): number =>
    random() >= refused ? 200 : random() < 0.5 ? 404 : 422;

  test.each([0.03, 0.1, 0.3])('nothing is new after the migration: %f', (refused) => {
    const random = randomFrom(41);
    const answers = Array.from({ length: 5 }, () => {
      const judge = seenOnV1(random, refused);
      return Array.from({ length: 1000 }, (_, at) =>
        judge.judge(entryOf({ client: clients[at % clients.length], status: statusOf(random, refused) })),
      );
    });
    // The test of a canary is wrong about one in a hundred.
    expect(answers.flat().filter((answer) => answer === 'failed').length).toBeLessThan(5);
  });

  test.each([0.03, 0.1, 0.3])('a client that V2 always refuses is soon found: %f', (refused) => {
    const random = randomFrom(42);
    for (const client of clients) {
      const judge = seenOnV1(random, refused);
      const answers = times(12, { client, status: 422 }).map((facts) => judge.judge(entryOf(facts)));
      expect(answers.at(-1)).toBe('failed');
    }
  });

  test('a V2 that refuses more requests of every client is found as well', () => {
    const random = randomFrom(43);
    const judge = seenOnV1(random, 0.03);
    const answers = Array.from({ length: 400 }, (_, at) =>
      judge.judge(entryOf({ client: clients[at % clients.length], status: statusOf(random, 0.2) })),
    );
    expect(answers.filter((answer) => answer === 'failed').length).toBeGreaterThan(20);
  });
});
