import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Browser, startBrowser } from '../support/browser.ts';
import { exchange } from '../support/raw-client.ts';
import { type WatchedServices, watchedServices } from '../support/watched-services.ts';

const ORDER = '{"data": {"property": {"suburb": "Enmore"}}}';
const ALLOWED = { 'inspector-resend': 'v2', capture: 'bodies' };

let browser: Browser;

beforeAll(async () => {
  browser = await startBrowser();
});

afterAll(() => browser.close());

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
  const response = await fetch(`${gateway.adminOrigin}/entries/1/resend`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"key":"key-of-the-operator"}',
  });
  return [response.status, await response.text()];
}

describe('a kept request', () => {
  test('is not sent again unless the setting allows it', async () => {
    const services = await played({ capture: 'bodies' });
    expect(await resend(services)).toEqual([403, expect.stringContaining('GATEWAY_INSPECTOR_RESEND')]);
    expect(services.v2.received).toEqual([]);
    const { page } = await browser.open(services.gateway.adminOrigin);
    await page.locator('.entry').first().click();
    await page.locator('.account li').first().waitFor();
    expect(await page.getByRole('button', { name: 'Send to V2 again' }).count()).toBe(0);
    await browser.closePages();
  });

  test.each([
    ['whose values are not kept', { 'inspector-resend': 'v2' }, ORDER, 'are not kept'],
    ['with masked values', { ...ALLOWED, 'capture-mask': 'suburb' }, ORDER, 'are masked'],
    ['that would be refused', ALLOWED, '{"data":1}', 'would be refused'],
  ])('%s is not sent', async (_, flags, body, fault) => {
    const services = await played(flags, body);
    expect(await resend(services)).toEqual([422, expect.stringContaining(fault)]);
    expect(services.v2.received).toEqual([]);
  });

  test('is sent to V2 as it was worked out, once, with the key that the operator enters', async () => {
    const services = await played(ALLOWED);
    const { page, complaints } = await browser.open(services.gateway.adminOrigin);
    await page.locator('.entry').first().click();
    await page.getByRole('button', { name: 'Send to V2 again' }).click();
    await page.getByLabel('API key').fill('key-of-the-operator');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
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
