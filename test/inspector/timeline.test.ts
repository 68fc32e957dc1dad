import { describe, expect, test } from 'vitest';
import { timelineOf, type TimelineFacts } from '../../src/inspector/timeline.ts';
import { makeReport } from '../../src/report/report.ts';
import { Tally } from '../../src/report/tally/tally.ts';
import type { TallyEntry } from '../../src/report/tally/tally-entry.ts';
import { v1TallyEntry } from '../support/v1-tally-entry.ts';

const NOW = Date.UTC(2026, 10, 29, 12);
const ACME = 'a'.repeat(16);

function clientsOf(...entries: readonly TallyEntry[]): TimelineFacts['clients'] {
  const tally = new Tally();
  for (const entry of entries) tally.add(entry);
  return makeReport(tally, { now: new Date(NOW).toISOString(), names: new Map([[ACME, 'acme']]) }).clients;
}

const factsOf = (facts: Partial<TimelineFacts>): TimelineFacts => ({
  now: NOW,
  rollout: { brownouts: [] },
  clients: [],
  proposal: undefined,
  noProposal: undefined,
  ...facts,
});

const PROPOSAL = {
  deprecation: '2026-12-01T00:00:00.000Z',
  sunset: '2027-03-02T00:00:00.000Z',
  sunsetBecause: 'at least 90 days after the deprecation',
  brownouts: [
    { id: 'first', from: '2027-01-12T09:00:00.000Z', until: '2027-01-12T09:15:00.000Z', reaches: 3 },
  ],
  declared: [{ id: 'mine', reaches: 2 }],
};

describe('the timeline', () => {
  test('has declared dates in order, with the clients that met them', () => {
    const refused = { status: 503, failure: 'brownout', verdict: 'refused', note: 'early' } as const;
    const gone = { status: 410, failure: 'sunset', verdict: 'refused' } as const;
    const { marks, differences } = timelineOf(
      factsOf({
        rollout: {
          deprecation: '2026-10-01T00:00:00.000Z',
          sunset: '2026-11-28T00:00:00.000Z',
          ends: [{ kind: 'operation', id: 'create_client', sunset: '2026-12-24T00:00:00.000Z' }],
          brownouts: [
            { id: 'late', state: 'on', from: '2026-11-29T11:00:00.000Z', share: 50, status: 503 },
            {
              id: 'early',
              state: 'over',
              from: '2026-11-10T09:00:00.000Z',
              until: '2026-11-10T09:15:00.000Z',
              share: 100,
              status: 503,
            },
          ],
        },
        clients: clientsOf(
          v1TallyEntry(ACME, '2026-11-10T09:01:00.000Z', refused),
          v1TallyEntry(ACME, '2026-11-10T09:02:00.000Z', refused),
          v1TallyEntry('b'.repeat(16), '2026-11-10T10:00:00.000Z'),
          v1TallyEntry(ACME, '2026-11-28T10:00:00.000Z', gone),
        ),
      }),
    );
    expect(marks.map(({ kind, of, id, state }) => [kind, of ?? id ?? 'V1', state].join(' '))).toEqual([
      'deprecation V1 past',
      'brownout early past',
      'sunset V1 past',
      'brownout late now',
      'sunset create_client to-come',
    ]);
    expect(marks[1]?.clients).toEqual([
      { client: ACME, name: 'acme', count: 2, lastSeen: '2026-11-10T09:02:00.000Z' },
    ]);
    expect(marks[2]?.clients).toMatchObject([{ name: 'acme', count: 1 }]);
    expect(differences).toEqual([]);
  });

  test('an end that excepts a client was met by the others, and one that refuses none by each later caller', () => {
    const refused = { status: 410, failure: 'sunset', verdict: 'refused' } as const;
    const sunset = '2026-11-28T00:00:00.000Z';
    const clients = clientsOf(
      v1TallyEntry(ACME, '2026-11-28T10:00:00.000Z'),
      v1TallyEntry('b'.repeat(16), '2026-11-28T10:00:00.000Z', refused),
    );
    for (const [gone, met] of [
      [{ except: [ACME] }, ['b'.repeat(16)]],
      [undefined, [ACME, 'b'.repeat(16)]],
    ] as const) {
      const rollout = { sunset, brownouts: [], ...(gone === undefined ? {} : { gone }) };
      const [mark] = timelineOf(factsOf({ rollout, clients })).marks;
      expect(mark?.clients.map(({ client }) => client).toSorted()).toEqual(met);
    }
  });

  test('has what the plan proposes where nothing is declared', () => {
    const { marks, differences } = timelineOf(factsOf({ proposal: PROPOSAL }));
    expect(marks.map(({ kind, source, state, reaches }) => [kind, source, state, reaches])).toEqual([
      ['deprecation', 'proposed', 'to-come', undefined],
      ['brownout', 'proposed', 'to-come', 3],
      ['sunset', 'proposed', 'to-come', undefined],
    ]);
    expect(differences).toEqual([]);
  });

  test('says a date that the rule book declares once, and that its sunset comes soon', () => {
    const rollout = {
      deprecation: PROPOSAL.deprecation,
      sunset: PROPOSAL.sunset,
      brownouts: [
        {
          id: 'mine',
          state: 'to-come' as const,
          from: '2027-01-12T09:00:00.000Z',
          until: '2027-01-12T09:15:00.000Z',
          share: 100,
          status: 503,
        },
      ],
    };
    const shortfall = 'The sunset leaves less than the lead time.';
    const proposal = { ...PROPOSAL, shortfall };
    const { marks, differences } = timelineOf(factsOf({ rollout, proposal }));
    expect(marks.map(({ kind, source, reaches }) => [kind, source, reaches])).toEqual([
      ['deprecation', 'declared', undefined],
      // As the plan counts it.
      ['brownout', 'declared', 2],
      ['sunset', 'declared', undefined],
    ]);
    expect(differences).toEqual([shortfall]);
    // Past dates happened as declared.
    const past = { ...rollout, sunset: '2026-11-01T00:00:00Z' };
    expect(timelineOf(factsOf({ rollout: past, proposal })).differences).toEqual([]);
  });

  test('proposes nothing once V1 has ended as declared', () => {
    const rollout = { sunset: '2026-11-28T00:00:00.000Z', brownouts: [] };
    const { marks, differences } = timelineOf(factsOf({ rollout, proposal: PROPOSAL }));
    expect(marks.map(({ kind, source }) => `${source} ${kind}`)).toEqual(['declared sunset']);
    expect(differences).toEqual([]);
  });

  test('says why nothing is proposed', () => {
    expect(timelineOf(factsOf({ noProposal: 'No plan: there is no log.' })).noProposal).toBe(
      'No plan: there is no log.',
    );
  });
});
