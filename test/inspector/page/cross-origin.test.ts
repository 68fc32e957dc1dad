/** @module-tag chromium */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { DEFAULT_ROLLBACK } from '../../../src/rules/declared-rollout.ts';
import type { Rollout } from '../../../src/rules/rollout.ts';
import { gatewayFor } from '../../support/gateway.ts';
import { browserOfFile } from '../../support/page-tests.ts';

const browser = browserOfFile();

/** Listens on another port, which makes another origin. */
async function listening(server: ReturnType<typeof createServer>): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The part of a response that the browser shows to the script of a page. */
interface Read {
  readonly status?: number;
  readonly code?: string | null;
  readonly detail?: string;
  readonly error?: string;
}

test('a page of another origin reads refusals, brownouts and outages of a V2 with credentials', async () => {
  const v2 = createServer((request, response) => {
    const { origin = '' } = request.headers;
    response.setHeader('Access-Control-Allow-Origin', origin);
    response.setHeader('Access-Control-Allow-Credentials', 'true');
    if (request.method === 'OPTIONS') {
      response.setHeader('Access-Control-Allow-Methods', 'POST');
      response.setHeader('Access-Control-Allow-Headers', 'authorization, content-type');
      // The browser asks again each time.
      response.setHeader('Access-Control-Max-Age', '0');
      response.writeHead(204).end();
      return;
    }
    response.setHeader('Content-Type', 'application/json');
    response.end('{"data":{}}');
  });
  const v2Origin = await listening(v2);
  const rollout: Rollout = {
    clients: {},
    brownouts: [{ id: 'reminder', share: 100, status: 410, operations: ['order_floor_plan'] }],
    pins: [],
    modes: { default: { mode: 'migrate' }, operations: {}, clients: {}, rollback: DEFAULT_ROLLBACK },
  };
  const gateway = await gatewayFor(v2Origin, {
    flags: { 'upstream-connect-timeout': '200' },
    ruleBook: { rollout },
  });
  const site = await listening(createServer((_request, response) => response.end('<!doctype html>')));
  const { page } = await browser.open(site);
  const read = async (path: string, method = 'POST', body = '{}'): Promise<Read> =>
    page.evaluate(
      async ([address, way, text]) => {
        try {
          const headers = { authorization: 'Bearer k', 'content-type': 'application/json' };
          const options: RequestInit = { method: way, credentials: 'include', headers, body: text };
          const response = await fetch(address, options);
          const code = response.headers.get('x-gateway-error');
          const parsed = (await response.json()) as { errors?: { detail: string }[] };
          return { status: response.status, code, detail: parsed.errors?.[0]?.detail ?? '' };
        } catch (error) {
          return { error: String(error) };
        }
      },
      [gateway.origin + path, method, body] as const,
    );
  expect(await read('/api/v1/clients')).toEqual({ status: 200, code: null, detail: '' });
  expect(await read('/api/v1/clients', 'POST', '{')).toMatchObject({ status: 400, code: 'malformed-json' });
  expect(await read('/api/v1/orders/floor_plans')).toMatchObject({ status: 410, code: 'brownout' });
  v2.close();
  v2.closeAllConnections();
  const isAway = { code: expect.stringMatching(/^(?:circuit-open|upstream-unreachable)$/) as string };
  expect(await read('/api/v1/clients')).toMatchObject(isAway);
  expect(await read('/api/v2/clients')).toMatchObject(isAway);
  // The gateway permits nothing that V2 has not permitted.
  expect(await read('/api/v1/clients', 'PUT')).toEqual({ error: expect.stringContaining('Failed to fetch') });
});
