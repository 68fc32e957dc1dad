import { expect, test } from 'vitest';
import { entryHead, entryRow } from '../../src/cli/entry-row.ts';
import { censusTerminal, reportTerminal } from '../../src/cli/report/report.ts';
import { rolloutText } from '../../src/cli/rollout.ts';
import { rowWriter } from '../../src/cli/serve/serving-files.ts';
import { explain } from '../../src/inspector/explain/explain.ts';
import { overviewOf } from '../../src/inspector/overview.ts';
import { rolloutEffect } from '../../src/inspector/rollout-effect.ts';
import { decodeBody } from '../../src/node/decode-body.ts';
import { metByBrownouts } from '../../src/report/endings.ts';
import { Guide } from '../../src/report/guide/guide.ts';
import { digestMarkdown, digests, guideMarkdown } from '../../src/report/guide/guide-text.ts';
import { PlanTally } from '../../src/report/plan/activity.ts';
import { makePlan } from '../../src/report/plan/plan.ts';
import { planMarkdown, rehearsalLines } from '../../src/report/plan/plan-text.ts';
import { Rehearsal } from '../../src/report/plan/rehearse.ts';
import { Zone } from '../../src/report/plan/zone.ts';
import { makeReport, type Report } from '../../src/report/report.ts';
import { censusMarkdown, reportCsv, reportMarkdown } from '../../src/report/report-text.ts';
import { OpenApiNames, proposalYaml } from '../../src/report/census.ts';
import { Tally } from '../../src/report/tally/tally.ts';
import { CompiledRuleBook } from '../../src/rewrite/compiled-rule-book.ts';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import { bookIn } from '../rules/reading.ts';
import { testRuleBook } from '../support/rule-book.ts';
import { sampleEntry } from '../support/sample-entries.ts';
import { sampleRollout } from '../support/sample-rollout.ts';
import { entryAt } from './plan/fleet.ts';

// People know their clients by name: a view may show the hash beside it, and never alone.

const HASH = 'a1b2c3d4e5f60718';
const NAME = 'Harcourts';
const names = new Map([[HASH, NAME]]);
const TERMINAL = { columns: undefined, hasColour: false };
const NOW = Date.UTC(2026, 10, 21, 12);
const DAY = 86_400_000;

const entry = (at: number, more: Partial<Entry> = {}): Entry => ({
  ...sampleEntry(1, NOW - at * DAY),
  client: HASH,
  operation: 'create_client',
  ...more,
});

/** A V2 that knows nothing of what the client sends. */
const SCHEMA = new OpenApiNames(
  {
    paths: {
      '/api/v2/clients': {
        post: {
          requestBody: {
            content: { 'application/json': { schema: { type: 'object', additionalProperties: false } } },
          },
        },
      },
    },
  },
  [{ id: 'create_client', method: 'POST', template: '/clients' }],
);

/** A report in which the client occurs in every statement about clients. */
function report(): Report {
  const tally = new Tally();
  const refused = { verdict: 'refused', failure: 'newcomer', status: 403, newcomer: 'refused' } as const;
  const brownout = { verdict: 'refused', failure: 'brownout', status: 410, note: 'reminder' } as const;
  const checked = { verdict: 'rewritten', v2: 'invalid', at: '/legacy' } as const;
  const legacy = { attributes: ['/legacy'], errorPointers: ['/legacy'], status: 422 };
  for (const day of [20, 12, 9, 3, 1]) {
    tally.add(entry(day));
    tally.add(entry(day, { ...legacy, verdict: 'unchanged', edits: [] }));
  }
  tally.add(entry(2, refused));
  tally.add(entry(2, brownout));
  tally.add(entry(1, { mode: 'observe', verdict: 'passed', status: 201, would: checked }));
  const operations = { create_client: { since: NOW - DAY, sunset: NOW + DAY, links: [] } };
  const ends = { operations, changes: {} };
  return makeReport(tally, { now: new Date(NOW).toISOString(), names, ends, schema: SCHEMA });
}

/** A plan for a client that comes at a usual time, and the rehearsal of a window in which it does. */
function planned(): string {
  const zone = new Zone('UTC');
  const tally = new PlanTally(zone, undefined);
  const brownout = {
    id: 'w',
    share: 100,
    status: 410,
    from: NOW - 8 * DAY,
    until: NOW - 6 * DAY,
    scope: {},
  } as const;
  const rehearsal = new Rehearsal([{ brownout }], { to: '/api/v2' }, zone);
  for (let day = 60; day > 0; day -= 7) {
    tally.add(entryAt(NOW - day * DAY, HASH, 'bill'));
    rehearsal.add(entryAt(NOW - (day % 7) * DAY - 7 * DAY, HASH, 'bill'));
  }
  const none = { rollout: undefined, gaps: [], avoid: () => false };
  const plan = makePlan(tally, { now: NOW, leadDays: 90, goneAfterDays: 14, names, ...none });
  if (plan === undefined) throw new Error('no plan');
  return [planMarkdown(plan), ...rehearsalLines(rehearsal.result(names), zone)].join('\n');
}

function guide(): string {
  const made = new Guide(HASH);
  made.add(entry(1));
  return guideMarkdown(made.document(testRuleBook(), NAME));
}

/** The overview of a gateway whose clients would fail, and have a mode of their own. */
function overview(): string {
  const would = { rewritten: 0, unchanged: 0, refused: 0, refusedByBoth: 0, ruleBook: 'b' };
  const none = { refusedByV2: 0, refusedByV1: 0, refusedByGateway: 0, onPurpose: 0, failed: 0 };
  const { items } = overviewOf({
    sums: { all: 1, migrated: 1, onV1: 0, passed: 0, outside: 0, ...none, would },
    lastHour: { asV2SentIt: 0 },
    startedAt: new Date(NOW - DAY).toISOString(),
    now: NOW,
    origin: 'http://127.0.0.1:8080',
    errors: { exchanges: 0, groups: [], omitted: 0 },
    report: report(),
    rules: { hash: 'b', loadedAt: new Date(NOW - DAY).toISOString(), operations: 1, changes: 1, gone: [] },
    rollout,
  });
  return items.map(({ sentence }) => sentence).join('\n');
}

const BOOK = `
version: 2025-01-01
clients: { ${NAME}: ${HASH} }
operations: { create_client: POST /clients }
deprecation: 2026-01-01
sunset: { at: 2026-02-01, after: gone, clients: [${HASH}] }
modes: { default: migrate, clients: { ${HASH}: observe } }
changes: []
`;

async function explained(): Promise<string> {
  const rules = new CompiledRuleBook(await bookIn(BOOK));
  const explanation = await explain(
    { operation: 'create_client', body: '{}' },
    {
      rules,
      limits: { count: 100, bytes: 10_000 },
      decode: decodeBody,
      gatewayOrigin: 'http://127.0.0.1:8080',
      origin: 'https://v2.example',
      names,
    },
  );
  return 'fault' in explanation ? explanation.fault : (explanation.live ?? []).join('\n');
}

const rollout = sampleRollout({ clients: { [HASH]: { mode: 'observe', from: 'operator', name: NAME } } });

function liveLog(): string {
  const lines: string[] = [];
  const write = rowWriter({ write: (line) => void lines.push(line) }, () => TERMINAL);
  write(entry(1), () => names);
  return lines.join('');
}

const seen = {
  omittedClients: 0,
  clients: [{ client: HASH, name: NAME, operations: [{ operation: 'create_client', count: 3 }] }],
};

test.each<[view: string, text: () => string | Promise<string>]>([
  ['report on a terminal', () => reportTerminal(report(), TERMINAL)],
  ['report in Markdown', () => reportMarkdown(report())],
  ['report in CSV', () => reportCsv(report())],
  ['census on a terminal', () => censusTerminal(report().census, TERMINAL)],
  ['census in Markdown', () => censusMarkdown(report().census)],
  ['rules that the census writes', () => proposalYaml(report().census.strips)],
  ['digests', () => digestMarkdown(digests(report(), []))],
  ['overview', overview],
  ['guide', guide],
  ['plan and rehearsal', planned],
  ['endings', () => (report().endings ?? []).map(({ sentence }) => sentence).join('\n')],
  [
    'brownouts',
    () =>
      metByBrownouts(report().clients)
        .map((one) => JSON.stringify(one))
        .join('\n'),
  ],
  ['newcomers', () => (report().newcomers ?? []).map(({ sentence }) => sentence).join('\n')],
  ['switching V1 off', () => JSON.stringify(report().switchOff)],
  ['tail', () => `${entryHead(TERMINAL, names)}\n${entryRow(entry(1), TERMINAL, names)}`],
  ['the live log', liveLog],
  ['explain', explained],
  ['rollout', () => rolloutText(rollout, TERMINAL)],
  [
    'the effect of a mode',
    () => JSON.stringify(rolloutEffect({ mode: 'canary', share: 100 }, rollout, seen)),
  ],
  [
    'the effect for one client',
    () => JSON.stringify(rolloutEffect({ mode: 'migrate', client: HASH }, rollout, seen)),
  ],
])('%s has the name of a client wherever it has its hash', async (_, text) => {
  const lines = (await text()).split('\n');
  expect(lines.filter((line) => line.includes(NAME))).not.toEqual([]);
  const alone = lines.filter((line) => line.includes(HASH.slice(0, 6)) && !line.includes(NAME));
  expect(alone).toEqual([]);
});
