import { createServer } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { gatewayFor } from '../../../support/gateway.ts';
import { listening } from '../../../support/listening.ts';
import { rawClient } from '../../../support/raw-client.ts';
import { HTTP11_CASES } from './http11-cases.ts';

/** Milliseconds after which a gateway that has neither responded nor closed waits for more bytes. */
const WAITS_MS = 400;

/** A V2 that does all that one has to do, and sends bodies back. */
async function echoingV2(): Promise<{ readonly origin: string; readonly seen: readonly string[] }> {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      if (request.method === 'DELETE') response.writeHead(405, { Allow: 'GET, HEAD, POST, OPTIONS' }).end();
      else if (request.method === 'OPTIONS') response.writeHead(204, { Allow: 'GET, HEAD, POST' }).end();
      else response.writeHead(200, { 'Content-Type': 'text/plain' }).end(Buffer.concat(parts));
    });
  });
  return { origin: `http://127.0.0.1:${await listening(server)}`, seen };
}

/** What the gateway did with the bytes of a case, in the words that cases allow. */
async function outcomeOf(port: number, bytes: string): Promise<readonly string[]> {
  const client = rawClient(port);
  onTestFinished(() => void client.socket.destroy());
  client.write(bytes);
  const { text, closed } = await client.until(/^HTTP\/1\.1 [2-5][^]*?\r\n\r\n/, WAITS_MS);
  const [, status = ''] = /^HTTP\/1\.1 (\d{3}) /.exec(text) ?? [];
  if (status === '') return [closed ? 'close' : 'waits'];
  const after = await client.end(WAITS_MS);
  client.socket.destroy();
  const head = after.text.slice(0, after.text.indexOf('\r\n\r\n'));
  const body = after.text.slice(head.length + 4);
  const fields = [...head.matchAll(/\r\n([^:]+):/g)].map(([, name = '']) => name);
  const first = /\r\ntransfer-encoding: chunked/i.test(head)
    ? (/^[\da-f]+\r\n([^]*?)\r\n0\r\n/i.exec(body)?.[1] ?? '')
    : body;
  const responses = after.text.match(/^HTTP\/1\.1 [2-5]/gm)?.length;
  const more = [after.closed ? 'closes' : 'stays', `"${first}"`, `${responses} responses`];
  return [status, `${status[0]}xx`, ...fields, ...more];
}

const STATUSES = /^(?:\d{3}|\dxx|close|waits)$/;

test('there are 161 cases, each under its own name', () => {
  expect(new Set(HTTP11_CASES.map(([name]) => name)).size).toBe(161);
});

describe.each(['/api/v2', '/api/v1'])('%s', (prefix) => {
  test.each(HTTP11_CASES)('%s (%s)', async (_name, _section, bytes, allowed) => {
    const v2 = await echoingV2();
    const gateway = await gatewayFor(v2.origin);
    const outcome = await outcomeOf(gateway.port, bytes.replaceAll('/api/v2', prefix));
    const words = allowed.match(/"[^"]*"|\S+/g) ?? [];
    const statuses = words.filter((word) => STATUSES.test(word));
    const isAllowed = statuses.some((word) => outcome.includes(word));
    expect(isAllowed ? allowed : outcome.join(' ')).toBe(allowed);
    const rest = words.filter((word) => !STATUSES.test(word));
    expect(outcome).toEqual(expect.arrayContaining(rest));
    expect(v2.seen.filter((line) => line.includes('smuggled'))).toEqual([]);
    if (outcome.includes('400')) expect(v2.seen).toEqual([]);
    expect(gateway.surprises).toEqual([]);
  });
});
