import fc from 'fast-check';
import { expect, test } from 'vitest';
import { rolloutEffect, type SeenClients } from '../../src/inspector/rollout-effect.ts';
import { chooseMode } from '../../src/rollout/modes.ts';
import type { ModeView, RolloutRequest, RolloutView } from '../../src/rollout/rollout-view.ts';

const OBSERVE: ModeView = { mode: 'observe', from: 'operator' };

function rolloutOf(parts: Partial<RolloutView> = {}): RolloutView {
  return {
    v1Origin: 'http://v1.test',
    revision: 1,
    isSticky: true,
    default: OBSERVE,
    operations: {},
    clients: {},
    rollback: { window: 60_000, margin: 5, requests: 20 },
    canaries: [],
    rollbacks: [],
    shadows: [],
    requests: { v1: 0, v2: 0 },
    brownouts: [],
    ...parts,
  };
}

function seen(clients: SeenClients['clients'], omittedClients = 0): SeenClients {
  return { clients, omittedClients };
}

const [LOW, HIGH] = ['0000000100000000', 'ffffffff00000000'];

test('a canary names the clients in its share, with their part of the traffic', () => {
  const clients = [
    { client: LOW, name: 'acme', v1: 30 },
    { client: HIGH, v1: 60 },
    { client: '-', v1: 10 },
  ];
  expect(rolloutEffect({ mode: 'canary', share: 10 }, rolloutOf(), seen(clients, 4))).toEqual({
    title: 'Migrate 10 % of the clients for everything else',
    sentences: [
      'From V1 to V2: acme (1 of 3 clients seen in this run, with 30 % of its V1 requests).',
      'No change for 2 clients on V1 and 0 on V2.',
      '4 requests of further clients were not counted by client.',
      'Of clients that were not seen yet, 10 % of all possible hashes are in the share.',
      "The gateway goes back to observe by itself when migrated requests fail 5 points more often than V1's, of at least 20 in 60 s.",
    ],
  });
});

test('modes of their own are kept, and a way back is told as one', () => {
  const rollout = rolloutOf({
    default: { mode: 'migrate', from: 'default' },
    operations: { create_client: OBSERVE },
    clients: { [HIGH]: { mode: 'migrate', from: 'operator', name: 'globex' } },
  });
  const clients = [
    { client: LOW, v1: 1 },
    { client: HIGH, name: 'globex', v1: 1 },
  ];
  expect(rolloutEffect({ mode: 'observe' }, rollout, seen(clients)).sentences).toEqual([
    'These keep a mode of their own: create_client, globex.',
    `From V2 to V1: ${LOW} (1 of 2 clients seen in this run, with 50 % of its V1 requests).`,
    'No change for 0 clients on V1 and 1 on V2.',
  ]);
  expect(rolloutEffect({ mode: 'observe', client: 'globex' }, rollout, seen(clients)).sentences).toEqual([
    'From V2 to V1: globex (1 of 2 clients seen in this run, with 50 % of its V1 requests).',
    'No change for 0 clients on V1 and 0 on V2.',
  ]);
});

test.each<[RolloutRequest, SeenClients, string]>([
  [{ mode: 'shadow' }, seen([]), 'No V1 client was seen in this run, so none can be named.'],
  [{ mode: 'migrate', client: 'x' }, seen([]), 'This client sent no V1 request in this run.'],
  [
    { operation: 'create_client' },
    seen([{ client: LOW, v1: 1 }]),
    'The mode of the rule book applies again. Which clients that moves is not computed here.',
  ],
])('%j: what is not known is said', (request, clients, sentence) => {
  expect(rolloutEffect(request, rolloutOf(), clients).sentences).toEqual([sentence]);
});

test('hashes that change at each start are told', () => {
  const { sentences } = rolloutEffect({ mode: 'canary', share: 1 }, rolloutOf({ isSticky: false }), seen([]));
  expect(sentences.at(-1)).toBe(
    'Client hashes change at each start, and with them the clients in the share: set GATEWAY_CLIENT_SECRET.',
  );
});

test('the clients named are those that the choice of live requests moves', () => {
  const hash = fc.stringMatching(/^[0-9a-f]{16}$/);
  fc.assert(
    fc.property(
      fc.uniqueArray(hash, { minLength: 1, maxLength: 15 }),
      fc.double({ min: 0.1, max: 100, noNaN: true }),
      fc.double({ min: 0.1, max: 100, noNaN: true }),
      (hashes, before, share) => {
        const rollout = rolloutOf({ default: { mode: 'canary', share: before, from: 'operator' } });
        const clients = hashes.map((client) => ({ client, v1: 1 }));
        const { sentences } = rolloutEffect({ mode: 'canary', share }, rollout, seen(clients));
        const modes = { default: rollout.default, operations: {}, clients: {}, rollback: rollout.rollback };
        const origin = (client: string, percent: number): string =>
          chooseMode(
            { ...modes, default: { mode: 'canary', share: percent } },
            { client, operation: undefined },
          ).origin;
        for (const to of ['v1', 'v2']) {
          const wanted = hashes.filter((one) => origin(one, share) === to && origin(one, before) !== to);
          const named = sentences.find((sentence) => sentence.includes(` to ${to.toUpperCase()}: `));
          expect(named?.match(/[0-9a-f]{16}/g) ?? []).toEqual(wanted);
        }
      },
    ),
  );
});
