/** @module-tag chromium */
import type { EntryDetail } from '../../src/inspector/api.ts';
import { describe, expect, test } from 'vitest';
import { exchange } from '../support/raw-client.ts';
import { ok } from '../support/raw-server.ts';
import { compiledTestRuleBook } from '../support/rule-book.ts';
import { type WatchedServices, watchedServices } from '../support/watched-services.ts';
import { browserOfFile } from '../support/page-tests.ts';

const ORDER = '{"data": {"property": {"suburb": "Enmore"}}}';
const ALLOWED = { 'inspector-resend': 'v2', capture: 'bodies' };

const browser = browserOfFile();

async function played(flags: Readonly<Record<string, string>>, body = ORDER): Promise<WatchedServices> {
  const services = await watchedServices({ default: { mode: 'observe' } }, {}, { flags });
  await exchange(
    services.gateway.port,
    `POST /api/v1/orders/floor_plans?a=b HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer key-of-the-client\r\nX-Own: 1\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  await services.gateway.entry();
  return services;
}

async function resend({ gateway }: WatchedServices): Promise<readonly [status: number, body: string]> {
  const response = await gateway.postJson('/entries/1/resend', { key: 'key-of-the-operator' });
  return [response.status, await response.text()];
}

describe('a kept request', () => {
  test('is not sent again unless the setting allows it', async () => {
    const services = await played({ capture: 'bodies' });
    expect(await resend(services)).toEqual([403, expect.stringContaining('GATEWAY_INSPECTOR_RESEND')]);
    expect(services.v2.received).toEqual([]);
    const { page } = await browser.open(`${services.gateway.adminOrigin}/?view=traffic`);
    await page.locator('.entry').first().click();
    await page.locator('.account li').first().waitFor();
    expect(await page.getByRole('button', { name: 'Send to V2 again' }).count()).toBe(0);
    await browser.closePages();
  });

  test.each([
    [
      'whose values are not kept',
      { 'inspector-resend': 'v2' },
      ORDER,
      'The values of this request are not kept: only GATEWAY_CAPTURE=bodies keeps them.',
    ],
    [
      'with masked values',
      { ...ALLOWED, 'capture-mask': 'suburb' },
      ORDER,
      'Values are masked (GATEWAY_CAPTURE_MASK), so this is not the request that was sent.',
    ],
    ['that would be refused', ALLOWED, '{"data":1}', 'would be refused'],
  ])('%s is not sent', async (_, flags, body, fault) => {
    const services = await played(flags, body);
    expect(await resend(services)).toEqual([422, expect.stringContaining(fault)]);
    expect(services.v2.received).toEqual([]);
  });

  test('under neither prefix is not sent', async () => {
    const services = await watchedServices({}, {}, { flags: ALLOWED });
    await exchange(services.gateway.port, 'GET /elsewhere HTTP/1.1\r\nHost: g\r\n\r\n');
    await services.gateway.entry();
    expect(await resend(services)).toEqual([
      422,
      expect.stringContaining('"The request is for neither version."'),
    ]);
  });

  test('is not sent by another rule book when its own is forgotten, nor is a V2 body shown', async () => {
    let loaded = 0;
    const services = await watchedServices(
      {},
      {},
      {
        flags: ALLOWED,
        load: () => ({ rules: compiledTestRuleBook({ hash: `book ${(loaded += 1)}` }), text: '' }),
      },
    );
    const { gateway, ruleBooks, v2 } = services;
    const detail = async (): Promise<EntryDetail> => await gateway.readJson<EntryDetail>('/entries/1');
    const order = `POST /api/v1/orders/floor_plans HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nContent-Length: ${ORDER.length}\r\n\r\n${ORDER}`;
    await exchange(gateway.port, order);
    await gateway.entry();
    expect(await detail()).not.toHaveProperty('note');
    expect((await detail()).diff?.after).toContain('"address"');
    for (let seq = 2; (await detail()).note === undefined && seq < 20; seq += 1) {
      await ruleBooks.reload();
      await exchange(gateway.port, order);
      await gateway.entry(seq);
    }
    const { note, diff } = await detail();
    expect([note, diff]).toEqual([
      'The rule book of this exchange is no longer in memory, so its V2 body cannot be shown.',
      undefined,
    ]);
    const before = v2.received.join('').length;
    expect(await resend(services)).toEqual([
      422,
      expect.stringContaining('"The rule book of this exchange is no longer in memory."'),
    ]);
    expect(v2.received.join('')).toHaveLength(before);
  });

  test('whose response breaks off is said to have no complete one', async () => {
    let isGone = false;
    const services = await watchedServices(
      {},
      { v2: (socket) => (isGone ? socket.end(ok('{}').slice(0, -1)) : socket.write(ok('{}'))) },
      { flags: ALLOWED },
    );
    const { gateway } = services;
    await exchange(
      gateway.port,
      `POST /api/v1/clients HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nContent-Length: ${ORDER.length}\r\n\r\n${ORDER}`,
    );
    await gateway.entry();
    const { page } = await browser.open(`${gateway.adminOrigin}/?view=traffic`);
    await page.locator('.entry').first().click();
    await page.getByRole('button', { name: 'Send to V2 again' }).click();
    isGone = true;
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByText('Sent again, without a complete response.').waitFor();
    expect(await gateway.entry(2)).toMatchObject({ route: 'pass', failure: 'upstream-broken' });
    await browser.closePages();
  });

  test('is sent to V2 as the dry run made it, once, with the key that the operator enters', async () => {
    const services = await played(ALLOWED);
    const { page, complaints } = await browser.open(`${services.gateway.adminOrigin}/?view=traffic`);
    await page.locator('.entry').first().click();
    await page.getByRole('button', { name: 'Send to V2 again' }).click();
    await page.getByText('V2 will carry out the request again.').waitFor();
    await page.getByLabel('API key').fill('key-of-the-operator');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByText('Sent again: the gateway responded with 200.').waitFor();
    await page.locator('.account li').filter({ hasText: 'Sent to V2 unread.' }).waitFor();
    const received = services.v2.received.join('');
    expect(received.match(/POST \/api\/v2\/orders\/floor_plans\?a=b HTTP/g)).toHaveLength(1);
    expect(received).toContain('{"property": {"address":{"suburb": "Enmore"}}}');
    expect(received).toMatch(/authorization: Bearer key-of-the-operator/i);
    expect(received).toMatch(/x-api-version: 2025-01-01/i);
    expect(received).toMatch(/x-own: 1/i);
    expect(received).not.toContain('key-of-the-client');
    expect(await page.evaluate<string>('document.documentElement.outerHTML')).not.toContain(
      'key-of-the-operator',
    );
    expect(complaints).toEqual([]);
    await browser.closePages();
  });
});
