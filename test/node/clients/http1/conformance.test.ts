import { createServer } from 'node:http';
import { describe, expect, test } from 'vitest';
import { gatewayFor } from '../../../support/gateway.ts';
import { listening } from '../../../support/listening.ts';
import { rawClient } from '../../../support/raw-client.ts';
import { NEVER_MS, until } from '../../../support/until.ts';
import { whole } from '../../../support/whole-responses.ts';
import { HTTP11_CASES, REFUSED } from './http11-cases.ts';

/** Milliseconds after which a gateway that may wait for more bytes, and has neither responded nor closed, waits for them. */
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
async function outcomeOf(
  port: number,
  bytes: string,
  allowed: readonly string[],
): Promise<readonly string[]> {
  const client = rawClient(port);
  client.write(bytes);
  const isHead = bytes.startsWith('HEAD ');
  const first = await client.until(
    /^HTTP\/1\.1 [2-5][^]*?\r\n\r\n/,
    allowed.includes('waits') ? WAITS_MS : NEVER_MS,
  );
  const [, status = ''] = /^HTTP\/1\.1 (\d{3}) /.exec(first.text) ?? [];
  if (status === '') {
    client.socket.destroy();
    return [first.closed ? 'close' : 'waits'];
  }
  const isLast = /\r\nConnection: close\r\n/.test(first.text);
  const { text } = isHead ? first : await (isLast ? client.end() : client.until(whole(1)));
  client.socket.destroy();
  const head = text.slice(0, text.indexOf('\r\n\r\n'));
  const rest = text.slice(head.length + 4);
  const body = /\r\ntransfer-encoding: chunked/i.test(head)
    ? (/^[\da-f]+\r\n([^]*?)\r\n0\r\n/i.exec(rest)?.[1] ?? '')
    : rest;
  const fields = [...head.matchAll(/\r\n([^:]+):/g)].map(([, name = '']) => name);
  return [status, `${status[0]}xx`, ...fields, isLast ? 'closes' : 'stays', `"${body}"`];
}

const STATUSES = /^(?:\d{3}|\dxx|close|waits)$/;
/** Cases that run at a time, each on its own connection. */
const AT_ONCE = 40;

test('there are 161 cases, each under its own name', () => {
  expect(new Set(HTTP11_CASES.map(([name]) => name)).size).toBe(161);
});

describe.each(['/api/v2', '/api/v1'])('%s', (prefix) => {
  const outcomes = new Map<string, readonly string[]>();

  test('plays the cases: a refused one reaches no service, and nothing hidden in a case is a request', async () => {
    const v2 = await echoingV2();
    const gateway = await gatewayFor(v2.origin);
    const cases = [...HTTP11_CASES.entries()];
    const passed: string[] = [];
    for (let at = 0; at < cases.length; at += AT_ONCE)
      await Promise.all(
        cases.slice(at, at + AT_ONCE).map(async ([number, [name, , bytes, allowed = REFUSED]]) => {
          // Each case has a number in its target, by which V2 finds the case of a request.
          const own = bytes
            .replaceAll('/api/v2/', `${prefix}/`)
            .replace(`${prefix}/x `, `${prefix}/x${number} `);
          const outcome = await outcomeOf(gateway.port, own, wordsOf(allowed));
          outcomes.set(name, outcome);
          if (outcome.includes('400') && v2.seen.some((line) => line.endsWith(`/x${number}`)))
            passed.push(name);
        }),
      );
    await until(() => gateway.gateway.inFlight === 0);
    expect(v2.seen.filter((line) => line.includes('smuggled'))).toEqual([]);
    expect(passed).toEqual([]);
  });

  const cases = HTTP11_CASES.map(([name, section, , allowed = REFUSED]) => [name, section, allowed] as const);
  test.each(cases)('%s (RFC %s): %s', (name, _section, allowed) => {
    const outcome = outcomes.get(name) ?? [];
    const words = wordsOf(allowed);
    const isAllowed = words.some((word) => STATUSES.test(word) && outcome.includes(word));
    expect(isAllowed ? words : outcome).toEqual(words);
    expect(outcome).toEqual(expect.arrayContaining(words.filter((word) => !STATUSES.test(word))));
  });
});

function wordsOf(allowed: string): readonly string[] {
  return allowed.match(/"[^"]*"|\S+/g) ?? [];
}
