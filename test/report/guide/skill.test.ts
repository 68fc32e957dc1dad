import { expect, test } from 'vitest';
import type { GuideBody, GuideDocument } from '../../../src/report/guide/guide-document.ts';
import { guideSkill, skillCases } from '../../../src/report/guide/skill.ts';

function body(parts: Partial<GuideBody> = {}): GuideBody {
  return {
    count: 3,
    last: '2026-11-20T12:00:00.000Z',
    before:
      'POST /api/v1/orders/7\n\n{\n  "data": {\n    "a/b": "…",\n    "rows": [{\n      "x": "…"\n    }]\n  }\n}',
    after: 'POST /api/v2/orders/7?dry\n\n{\n  "c": "…",\n  "rows": [{\n    "x": "…"\n  }],\n  "…": "…"\n}',
    moves: [
      { from: '/data/a~1b', to: '/c', remark: '' },
      { from: '/data/old', remark: 'V2 refuses it' },
    ],
    isVerified: true,
    evidence: 'Verified: V2 accepted a body with these members.',
    ...parts,
  };
}

function guideOf(bodies: readonly GuideBody[], parts: Partial<GuideDocument> = {}): GuideDocument {
  return {
    client: '0123456789abcdef',
    requests: 3,
    from: '/api/v1',
    to: '/api/v2',
    version: { field: 'x-api-version', value: '2025-01-01' },
    first: '2026-11-20T12:00:00.000Z',
    latest: '2026-11-20T12:00:00.000Z',
    changes: [{ id: 'wrapper', summary: 'No wrapper.', prose: 'No wrapper.' }],
    end: [],
    key: { v1: 'Authorization', v2: 'Authorization' },
    calls: [
      {
        name: 'order',
        count: 3,
        last: '2026-11-20T12:00:00.000Z',
        bodies,
        changes: ['wrapper'],
        examples: [],
        responses: [],
        responsesUnknown: true,
        outcomes: [],
        unread: 0,
        omitted: 2,
      },
    ],
    mistakes: [],
    dryRuns: { failing: 0, judged: 0, both: 0 },
    omitted: 0,
    ...parts,
  };
}

const textOf = (guide: GuideDocument, path: string): string =>
  guideSkill(guide).find((file) => file.path === path)?.text ?? '';

test('a case is the whole request at V2, with every member, and names the members that must be gone', () => {
  expect(skillCases(guideOf([body()]))).toEqual([
    {
      call: 'order',
      method: 'POST',
      path: '/api/v2/orders/{…}',
      query: ['dry'],
      headers: { 'x-api-version': '2025-01-01' },
      members: ['/c', '/rows', '/rows/*', '/rows/*/x'],
      gone: ['/data', '/data/a~1b', '/data/rows', '/data/rows/*', '/data/rows/*/x'],
      isVerified: true,
      evidence: 'Verified: V2 accepted a body with these members.',
      requests: 3,
    },
  ]);
});

test.each<[after: string, v2: string, path: string, query: readonly string[] | undefined, shown: string]>([
  [
    'PUT /api/v2/invoices/inv_7',
    '/api/v2/invoices/inv_{id}',
    '/api/v2/invoices/inv_{…}',
    undefined,
    'PUT /api/v2/invoices/inv_{id}',
  ],
  [
    'GET /api/v2/lines?invoice=…&page=…',
    '/api/v2/lines?invoice=inv_{id}',
    '/api/v2/lines',
    ['invoice', 'page'],
    'GET /api/v2/lines?invoice=inv_{id}&page=…',
  ],
  [
    'GET /api/v2/shops/the-one/a.b',
    '/api/v2/shops/{name}/a.b',
    '/api/v2/shops/{…}/a.b',
    undefined,
    'GET /api/v2/shops/{name}/a.b',
  ],
  // Elsewhere than the rule book says: a program led there.
  ['GET /api/v2/search/7', '/api/v2/shops/{name}', '/api/v2/search/{…}', undefined, 'GET /api/v2/search/…'],
])('the path of %s is that of the rule book, and has no id of the log', (after, v2, path, query, shown) => {
  const fields = 'X-Tenant-Id: …\nX-Both: …';
  const one = body({
    before: `PUT /api/v1/bills/7\nX-Account: …\nX-Both: …\n\n{\n  "a": "…"\n}`,
    after: `${after}\n${fields}\n\n{\n  "b": "…"\n}`,
    moves: [
      { from: 'X-Account:', to: 'X-Tenant-Id:', remark: '' },
      { from: 'not sent', to: '/b', remark: '' },
    ],
  });
  const guide = guideOf([one]);
  const calls = guide.calls.map((call) => ({ ...call, paths: { v1: '/api/v1/bills/{id}', v2 } }));
  const [made] = skillCases({ ...guide, calls });
  expect(made).toMatchObject({
    path,
    headers: { 'X-Tenant-Id': '…', 'X-Both': '…', 'x-api-version': '2025-01-01' },
    members: ['/b'],
    gone: ['X-Account:', '/a'],
  });
  expect(made?.query).toEqual(query);
  const text = textOf({ ...guide, calls }, 'calls.md');
  for (const line of [shown, 'PUT /api/v1/bills/{id}']) expect(text).toContain(`\n${line}\n`);
  expect(text).toContain('| not sent | `/b` |');
  const search = textOf({ ...guide, calls }, 'search.md');
  expect(search).toContain('| `X-Account` |');
  expect(search).not.toContain('not sent');
});

test('a request that V2 is known to refuse is no case, but a question', () => {
  const guide = guideOf([
    body({ isVerified: false, isKnownToFail: true, evidence: 'V2 refused /c.' }),
    body({ before: 'PUT /api/v1/x\n\nnot read', after: 'PUT /api/v2/x\n\nnot read', moves: [] }),
  ]);
  expect(skillCases(guide)).toHaveLength(1);
  expect(skillCases(guide)[0]).not.toHaveProperty('members');
  const questions = textOf(guide, 'questions.md');
  expect(questions).toContain('order: V2 refused /c. Does V2 accept it?');
  expect(questions).toContain('order: V2 has no /data/old \\(V2 refuses it\\). Is it still needed?');
  expect(questions).toContain('order: what does the client read of the response');
  expect(questions).toContain('order: what do the 2 requests look like that are not shown?');
  expect(textOf(guide, 'calls.md')).toContain('**V2 does not accept this: ask a person**');
});

test('names of members and clients are text, with any characters', () => {
  const guide = guideOf([body()], { name: 'A "client": `x`\n---\n# <b>' });
  const skill = textOf(guide, 'SKILL.md');
  expect(skill.split('\n').slice(0, 5)).toEqual([
    '---',
    'name: v1-to-v2-a-client-x-b',
    expect.stringMatching(/^description: ".*"$/),
    '---',
    '',
  ]);
  expect(skill).not.toContain('<b>\n');
  const search = textOf(guide, 'search.md');
  for (const text of ['/api/v1', '/orders', 'a/b', 'old']) expect(search).toContain(`| \`${text}\` |`);
});
