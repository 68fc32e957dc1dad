/** @module-tag chromium */
import { expect, test } from 'vitest';
import { explainText } from '../../../src/cli/explain/explain.ts';
import { offlineExplainer } from '../../../src/cli/explain/requests.ts';
import { PLAIN } from '../../../src/cli/terminal.ts';
import type { Explanation } from '../../../src/inspector/api.ts';
import type { Modes, Rollout } from '../../../src/rules/rollout.ts';
import { browserOfFile } from '../../support/page-tests.ts';
import { exchange } from '../../support/raw-client.ts';
import { compiledTestRuleBook } from '../../support/rule-book.ts';
import { rolloutOf } from '../../support/two-services.ts';
import { watchedServices } from '../../support/watched-services.ts';

const browser = browserOfFile();
const ORDER = '{"data":{"property":{"suburb":"Enmore"}}}';
const CLIENT = 'fedcba9876543210';
const YESTERDAY = Date.now() - 86_400_000;
const SIGNALS = { sunset: YESTERDAY, links: [], attributes: false };
const OBSERVE = 'The mode is observe: V1 gets the request as it came, and V2 gets nothing.';

test.each<[string, Partial<Modes>, Partial<Rollout>, readonly string[] | undefined]>([
  ['migrate', {}, {}, undefined],
  ['observe', { default: { mode: 'observe' } }, {}, [OBSERVE]],
  [
    'an operation with its own mode',
    { default: { mode: 'observe' }, operations: { order_floor_plan: { mode: 'migrate' } } },
    {},
    undefined,
  ],
  [
    'shadow, with other clients',
    { default: { mode: 'shadow' }, clients: { [CLIENT]: { mode: 'migrate' } } },
    {},
    [
      'The mode is shadow: V1 gets the request as it came; V2 gets a migrated copy of reads, whose response no client sees.',
      '1 client has another mode.',
    ],
  ],
  [
    'a canary',
    { default: { mode: 'canary', share: 25 } },
    {},
    [
      'The mode is a canary: 25 % of the clients are migrated; for the others, V1 gets the request as it came.',
    ],
  ],
  ['a whole canary', { default: { mode: 'canary', share: 100 } }, {}, undefined],
  [
    'a brownout',
    {},
    {
      brownouts: [
        { id: 'first', share: 50, status: 503 },
        { id: 'named', share: 100, status: 410, clients: [CLIENT] },
        { id: 'other', share: 100, status: 503, operations: ['create_client'] },
        { id: 'over', share: 100, status: 503, until: YESTERDAY },
      ],
    },
    [
      'Brownout first is on: 50 % of such requests get 503, and nothing is sent.',
      'Brownout named is on: 100 % of such requests of the clients that it names get 410, and nothing is sent.',
    ],
  ],
  [
    'the end of V1',
    {},
    { signals: SIGNALS, gone: { except: [CLIENT] } },
    [`V1 has ended: V1 requests get 410, on purpose, except those of ${CLIENT}.`],
  ],
  [
    'the end of V1 for clients with a name',
    {},
    { signals: SIGNALS, gone: { clients: [CLIENT, 'e'.repeat(16)] }, clients: { [CLIENT]: 'Acme' } },
    [`V1 has ended: V1 requests of Acme, ${'e'.repeat(16)} get 410, on purpose.`],
  ],
  ['an announced end', {}, { signals: SIGNALS }, undefined],
])('an explanation mentions %s', async (_, modes, rollout, live) => {
  const explain = offlineExplainer(compiledTestRuleBook({ rollout: rolloutOf(modes, rollout) }));
  const explanation = await explain({ operation: 'order_floor_plan', body: ORDER });
  if ('fault' in explanation) throw new Error(explanation.fault);
  expect(explanation.live).toEqual(live);
  const text = explainText('order', explanation, PLAIN);
  for (const sentence of live ?? []) expect(text).toContain(`\n  ${sentence}\n`);
  expect(text.includes('Live traffic, by the rule book alone')).toBe(live !== undefined);
  expect(text.includes('This command does not know modes that operators chose at run time.')).toBe(
    live !== undefined,
  );
});

test('the page explains a request by the mode that an operator chose, as the gateway really handles it', async () => {
  const { gateway, v1, v2 } = await watchedServices({});
  const request = { operation: 'order_floor_plan', body: ORDER };
  expect((await (await gateway.postJson('/explain', request)).json()) as Explanation).not.toHaveProperty(
    'live',
  );
  expect((await gateway.postJson('/rollout', { mode: 'observe' })).status).toBe(200);
  await exchange(
    gateway.port,
    `POST /api/v1/orders/floor_plans HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nContent-Length: ${ORDER.length}\r\n\r\n${ORDER}`,
  );
  expect([v1.received.length > 0, v2.received.length]).toEqual([true, 0]);
  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/?view=rules`);
  await page.getByRole('button', { name: 'Explain', exact: true }).click();
  const told = page.getByRole('region', { name: 'Live traffic' });
  await told.waitFor();
  expect(await told.innerText()).toContain(
    'At the moment, live traffic is not, or not always, handled like this:',
  );
  expect(await told.locator('li').allInnerTexts()).toEqual([OBSERVE]);
  expect(complaints).toEqual([]);
});

test('the page explains by the first operation of a rule book that lacks that of its example', async () => {
  const operation = { id: 'close_bill', method: 'POST', template: '/bills/{id}/close', assumed: false };
  const { gateway } = await watchedServices({}, {}, { ruleBook: { operations: [operation], changes: [] } });
  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/?view=rules`);
  await page.locator('#explain-operation option', { hasText: 'close_bill' }).waitFor({ state: 'attached' });
  await page.getByRole('button', { name: 'Explain', exact: true }).click();
  await page.getByRole('region', { name: 'Explanation' }).waitFor();
  expect(await page.getByLabel('Operation', { exact: true }).inputValue()).toBe('close_bill');
  expect(complaints).toEqual([]);
});

test('the page reads what browsers copy, names what it cannot read, and explains the request that is chosen', async () => {
  const { gateway } = await watchedServices({});
  const { page, complaints } = await browser.open(`${gateway.adminOrigin}/?view=rules`);
  const paste = async (text: string, told: string): Promise<void> => {
    await page.getByLabel('Pasted command').fill(text);
    await page.getByRole('button', { name: 'Read the command' }).click();
    // The result of the earlier command stays until the gateway has read this one.
    await page.locator('.read', { hasText: told }).waitFor();
  };
  const order = `-H 'content-type: application/json' --data-raw '${ORDER}'`;
  await paste(`curl 'https://x/api/v1/orders/floor_plans' ${order}`, 'Read: POST /api/v1/orders/floor_plans');
  expect(await page.getByLabel('V1 body').inputValue()).toBe(ORDER);
  await page.getByRole('button', { name: 'Explain', exact: true }).click();
  const explained = page.getByRole('region', { name: 'Explanation' });
  await explained.getByText('rewritten').first().waitFor();
  await paste('wget https://x', 'The command is not curl: it begins with wget.');
  // An explanation does not stay beside another request.
  expect(await explained.count()).toBe(0);
  await paste(
    'curl https://x/api/v1/a -d @f --next https://x/api/v1/b https://x/api/v1/c',
    'The curl command sends the file f, which cannot be read.',
  );
  await page.getByLabel('Request that was read').selectOption('GET /api/v1/c');
  await page.getByRole('button', { name: 'Explain', exact: true }).click();
  await explained.getByText('/api/v2/c').first().waitFor();
  expect(complaints).toEqual([]);
});
