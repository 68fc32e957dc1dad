/** @module-tag chromium */
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { browserOfFile } from '../../support/page-tests.ts';
import { inspectGateway, type InspectedGateway } from '../../support/inspected-gateway.ts';

const browser = browserOfFile();
let gateway: InspectedGateway;

beforeAll(async () => {
  gateway = await inspectGateway();
  return () => gateway.stop();
});

test('the page takes at most 12 requests and 126 kB, and only its data the next time', async () => {
  const { page } = await browser.open('about:blank');
  // On a slow machine the page asks again before it has all: each address counts once.
  const asked = new Set<string>();
  let bytes = 0;
  const settled: Promise<void>[] = [];
  page.on('requestfinished', (one) => {
    const { pathname } = new URL(one.url());
    if (asked.has(pathname)) return;
    asked.add(pathname);
    settled.push(
      one.sizes().then(({ responseBodySize, responseHeadersSize }) => {
        bytes += responseBodySize + responseHeadersSize;
      }),
    );
  });
  await page.goto(`${gateway.adminOrigin}/`);
  await page.getByText('Connected', { exact: true }).waitFor();
  await page.getByText('Send a request to').waitFor();
  await Promise.all(settled);
  expect(asked.size).toBeLessThanOrEqual(12);
  expect(bytes).toBeGreaterThan(20_000);
  expect(bytes).toBeLessThanOrEqual(126_000);
  const first = bytes;
  await page.goto(`${gateway.adminOrigin}/?view=rules`);
  await page.getByRole('heading', { name: 'Rules', exact: true }).waitFor();
  await Promise.all(settled);
  // Script and style come from the browser's cache; what is new is the rule book and its view, 22.2 kB.
  expect(bytes - first).toBeLessThan(23_000);
});

test('the page works in a browser that blocks storage', async () => {
  const { page } = await browser.open('about:blank');
  await page.addInitScript(() => {
    Object.defineProperty(window, 'localStorage', {
      get: () => {
        throw new DOMException('The document is sandboxed.', 'SecurityError');
      },
    });
  });
  await page.goto(`${gateway.adminOrigin}/`);
  await page.getByText('Connected', { exact: true }).waitFor();
  await page.keyboard.press('2');
  await expect.poll(() => page.url()).toContain('view=traffic');
});

/** A proxy that sends its own idea of the `Host`, as nginx does by default. */
async function proxyWith(host: (origin: string) => string): Promise<string> {
  const server = createServer((received, response) => {
    const { host: origin } = new URL(gateway.adminOrigin);
    const sent = request(
      `${gateway.adminOrigin}${received.url}`,
      {
        method: received.method ?? 'GET',
        headers: { ...received.headers, host: host(origin) },
      },
      (passed) => {
        response.writeHead(passed.statusCode ?? 502, passed.headers);
        passed.on('error', () => response.destroy());
        passed.pipe(response);
      },
    );
    // The gateway may end before the stream of entries does.
    sent.on('error', () => response.destroy());
    response.on('close', () => sent.destroy());
    received.pipe(sent);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('behind a proxy with its own Host, the page says what to set', async () => {
  const front = await proxyWith((origin) => origin);
  const { page } = await browser.open(`${front}/?view=rules`);
  await page.getByRole('button', { name: 'Explain' }).click();
  // The alert is there, and empty, before there is anything to tell.
  const fault = await page.getByRole('alert').filter({ hasText: 'from a page at' }).innerText();
  expect(fault).toContain(`from a page at ${new URL(front).host}`);
  expect(fault).toContain('proxy_set_header Host $host');
  expect(fault).toContain('GATEWAY_ADMIN_HOSTS=127.0.0.1');

  const named = await proxyWith(() => 'inspector.internal:8081');
  const { page: other } = await browser.open(named);
  const text = await other.locator('body').innerText();
  expect(text).toContain('does not know the name inspector.internal:8081');
  expect(text).toContain('GATEWAY_ADMIN_HOSTS=inspector.internal.');
});
