import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { gatewayFor } from '../../../support/gateway.ts';
import { listening } from '../../../support/listening.ts';
import { DATA, END_STREAM, rawH2 } from '../../../support/raw-h2.ts';
import { rawClient } from '../../../support/raw-client.ts';
import { ca, secureGateway } from '../../../support/secure-gateway.ts';
import { downgradeCases, nextRequest, smugglingCases } from './smuggling-cases.ts';

/** Cases at a time, and milliseconds in which each is answered, closed, or waited for more of. */
const AT_ONCE = 100;
const WAITS_MS = 250;

/** What V2 takes for a request, with all its fields. */
interface Seen {
  readonly line: string;
  readonly fields: readonly string[];
}

/** A V2 that reads what many do not: its parser lets pass what Node's strict one refuses. */
async function lenientV2(): Promise<{ readonly origin: string; readonly seen: readonly Seen[] }> {
  const seen: Seen[] = [];
  const server = createServer({ insecureHTTPParser: true }, (request, response) => {
    seen.push({ line: `${request.method} ${request.url}`, fields: request.rawHeaders });
    request.resume().on('end', () => response.end('fine'));
  });
  return { origin: `http://127.0.0.1:${await listening(server)}`, seen };
}

/** How V2 would see the end of a request: by one length, by chunks, or by none of both. */
function framingOf({ fields }: Seen): string {
  const names = fields
    .filter((_field, at) => at % 2 === 0)
    .map((name) => name.trim().toLowerCase().replaceAll('_', '-'));
  const framing = names.filter((name) => name === 'content-length' || name === 'transfer-encoding');
  const coding = fields[names.indexOf('transfer-encoding') * 2 + 1];
  return framing.length > 1 || (framing[0] === 'transfer-encoding' && coding !== 'chunked')
    ? framing.join(' and ')
    : '';
}

/** The statuses that the bytes got. */
async function sent(port: number, bytes: string): Promise<readonly string[]> {
  const client = rawClient(port);
  client.write(bytes);
  await client.end(WAITS_MS);
  client.socket.destroy();
  return [...client.text().matchAll(/HTTP\/1\.1 ([2-5]\d\d) /g)].map(([, status = '']) => status);
}

test('two valid requests reach V2 as two, so that the next tests would notice a smuggled one', async () => {
  const v2 = await lenientV2();
  const gateway = await gatewayFor(v2.origin);
  await sent(gateway.port, nextRequest('/api/v2').repeat(2));
  expect(v2.seen.map(({ line }) => line)).toEqual(['GET /api/v2/smuggled', 'GET /api/v2/smuggled']);
});

describe.each(['/api/v2', '/api/v1'])('%s', (prefix) => {
  test('none of the cases reaches V2 as two requests, and an invalid one gets an error', async () => {
    const v2 = await lenientV2();
    const gateway = await gatewayFor(v2.origin);
    const cases = smugglingCases(prefix);
    // More than the 326 of the public corpora, each under its own name.
    expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length);
    expect(cases.length).toBeGreaterThanOrEqual(400);
    const wrong: string[] = [];
    for (let at = 0; at < cases.length; at += AT_ONCE) {
      await Promise.all(
        cases.slice(at, at + AT_ONCE).map(async ({ name, bytes, isRefused }, index) => {
          // Each case has a number in its target, by which V2 finds the case of a request.
          const own = bytes.replace(`${prefix}/x`, `${prefix}/x${at + index}`);
          const statuses = await sent(gateway.port, own);
          const requests = v2.seen.filter(({ line }) => line.endsWith(`/x${at + index}`));
          if (requests.length > 1) wrong.push(`${name}: twice`);
          if (isRefused && (requests.length > 0 || statuses.some((status) => !/^[45]/.test(status))))
            wrong.push(`${name}: ${statuses.join(' ')}`);
        }),
      );
    }
    expect(wrong).toEqual([]);
    expect(v2.seen.filter(({ line }) => line.includes('smuggled'))).toEqual([]);
    expect(v2.seen.map((request) => framingOf(request)).filter((framing) => framing !== '')).toEqual([]);
    expect(v2.seen.length).toBeGreaterThan(20);
  });

  test('no request of HTTP/2 becomes two', async () => {
    const v2 = await lenientV2();
    const gateway = await secureGateway(v2.origin);
    const cases = downgradeCases(prefix);
    expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length);
    await Promise.all(
      cases.map(async ({ fields, body }) => {
        const raw = await rawH2(gateway.port, ca.cert);
        raw.head(1, fields, true);
        raw.frame(DATA, END_STREAM, 1, Buffer.from(body, 'latin1'));
        await pause(WAITS_MS);
        raw.socket.destroy();
      }),
    );
    expect(v2.seen.filter(({ line }) => line.includes('smuggled'))).toEqual([]);
    expect(v2.seen.map((request) => framingOf(request)).filter((framing) => framing !== '')).toEqual([]);
    expect(v2.seen.length).toBeLessThanOrEqual(cases.length);
  });
});
