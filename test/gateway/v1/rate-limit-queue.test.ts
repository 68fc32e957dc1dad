import { expect, test } from 'vitest';
import type { Rollout } from '../../../src/rules/rollout.ts';
import { gatewayFor } from '../../support/gateway.ts';
import { exchange, rawClient, statusOf } from '../../support/raw-client.ts';
import { ok } from '../../support/raw-server.ts';
import { service } from '../../reference/service.ts';
import { until } from '../../support/until.ts';
import { rolloutOf } from '../../support/two-services.ts';
import { served } from '../../support/served.ts';

const rollout = (shield: Rollout['shield']): Rollout => rolloutOf({}, shield && { shield });
const get = (key = 'k', prefix = '/api/v1'): string =>
  `GET ${prefix}/clients HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer ${key}\r\n\r\n`;
const SHIELD = { requests: 3, per: 1500, wait: 20_000, queue: 10 };

test('requests beyond the limit wait instead of failing, and the log says for how long', async () => {
  const { gateway, send } = await served(ok(), { ruleBook: { rollout: rollout(SHIELD) } });
  const responses = await Promise.all(Array.from({ length: 5 }, () => send(get())));
  expect(responses.map(statusOf)).toEqual(Array.from({ length: 5 }, () => 200));
  await gateway.entry(5);
  const held = gateway.entries().map(({ heldMs }) => heldMs ?? 0);
  expect(held.filter((ms) => ms === 0)).toHaveLength(3);
  expect(held.filter((ms) => ms > 0)).toHaveLength(2);
});

test('the reference service never responds with 429 to a client that is held back', async () => {
  const { origin } = await service({ rate: 60 });
  const gateway = await gatewayFor(origin, {
    ruleBook: { rollout: rollout({ requests: 60, per: 60_000, wait: 100, queue: 100 }) },
  });
  const responses = await Promise.all(Array.from({ length: 60 }, () => exchange(gateway.port, get())));
  expect(new Set(responses.map(statusOf))).toEqual(new Set([200]));
  expect(statusOf(await exchange(gateway.port, get()))).toBe(429);
});

test.each([
  ['Retry-After', 'Retry-After: 2\r\n', '{}'],
  ['meta.reset', '', '{"errors":[],"meta":{"reset":2}}'],
])('a 429 with %s passes, and holds the client’s next requests back', async (_, header, body) => {
  const { gateway, send } = await served(
    (socket, __, number) =>
      socket.write(number === 1 ? ok(body, header).replace('200 OK', '429 Too Many') : ok()),
    {
      ruleBook: { rollout: rollout({ requests: 100, per: 1000, wait: 30_000, queue: 10 }) },
    },
  );
  expect(statusOf(await send(get()))).toBe(429);
  const [own, other] = await Promise.all([send(get()), send(get('other'))]);
  expect([statusOf(own), statusOf(other)]).toEqual([200, 200]);
  await gateway.entry(3);
  const held = gateway.entries().map(({ heldMs }) => heldMs ?? 0);
  expect(held.filter((ms) => ms > 0)).toHaveLength(1);
  expect(held.filter((ms) => ms === 0)).toHaveLength(2);
});

test('a client that goes away while it is held sends nothing, and V2 traffic is not held', async () => {
  const { v2, gateway, send } = await served(ok(), {
    ruleBook: { rollout: rollout({ requests: 1, per: 1500, wait: 20_000, queue: 10 }) },
  });
  await send(get());
  const leaving = rawClient(gateway.port);
  leaving.write(get());
  await until(() => gateway.gateway.rateLimitQueue.held === 1);
  leaving.socket.resetAndDestroy();
  expect(statusOf(await send(get('k', '/api/v2')))).toBe(200);
  expect(statusOf(await send(get()))).toBe(200);
  expect(v2.received.join('').match(/GET \/api\/v2\/clients/g)).toHaveLength(3);
  expect(gateway.gateway.inFlight).toBe(0);
});

test('it is off by default', async () => {
  const { gateway, send } = await served();
  for (let n = 0; n < 100; n += 1) await send(get());
  expect(gateway.entries().every((entry) => entry.heldMs === undefined)).toBe(true);
});
