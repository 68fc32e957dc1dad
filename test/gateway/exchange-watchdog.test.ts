import { describe, expect, test } from 'vitest';
import { ExchangeWatchdog, type WatchedExchange } from '../../src/gateway/limits.ts';
import { gatewayFor } from '../support/gateway.ts';
import { rawClient } from '../support/raw-client.ts';
import { rawServer } from '../support/raw-server.ts';
import { until } from '../support/until.ts';

class Watched implements WatchedExchange {
  progress = 0;
  readingMs = 0;
  isGivenUp = false;
  abandon(): void {
    this.isGivenUp = true;
  }
}

describe('the watchdog', () => {
  test('ends exchanges without progress for the limit, and nothing else', () => {
    const watchdog = new ExchangeWatchdog();
    const [stuck, moving, reading, over] = [new Watched(), new Watched(), new Watched(), new Watched()];
    reading.readingMs = 5000;
    const [slot = -1] = [stuck, moving, reading].map((exchange) => watchdog.begin(exchange));
    watchdog.end(watchdog.begin(over));
    let ended = 0;
    for (let now = 0; now <= 1500; now += 100) {
      moving.progress += 1;
      ended += watchdog.check(now, 1000);
      if (stuck.isGivenUp) watchdog.end(slot);
    }
    expect([stuck, moving, reading, over].map(({ isGivenUp }) => isGivenUp)).toEqual([
      true,
      false,
      false,
      false,
    ]);
    expect(ended).toBe(1);
  });

  test('watches each exchange from its own beginning, whatever had its slot before', () => {
    const watchdog = new ExchangeWatchdog();
    const [before, after] = [new Watched(), new Watched()];
    const slot = watchdog.begin(before);
    watchdog.check(0, 1000);
    watchdog.end(slot);
    expect(watchdog.begin(after)).toBe(slot);
    expect(watchdog.check(1500, 1000)).toBe(0);
    expect(watchdog.check(2500, 1000)).toBe(0);
    expect(watchdog.check(2501, 1000)).toBe(1);
    expect([before.isGivenUp, after.isGivenUp]).toEqual([false, true]);
  });

  test('gives the place of a stuck exchange back, and tells the operator of it', async () => {
    const v2 = await rawServer(() => {});
    const gateway = await gatewayFor(v2.origin);
    const client = rawClient(gateway.port);
    client.write('GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n');
    await until(() => v2.received.length === 1);
    const { watchdog } = gateway.gateway;
    watchdog.check(0, 1000);
    expect(watchdog.check(1000, 1000)).toBe(0);
    expect(watchdog.check(1001, 1000)).toBe(1);
    expect(gateway.gateway.inFlight).toBe(0);
    expect(await gateway.entry()).toMatchObject({ status: 0, failure: 'internal', cause: 'no progress' });
    expect(String(gateway.surprises[0])).toMatch(/no progress in exchange/);
    expect((await client.end()).closed).toBe(true);
    expect(gateway.lines).toHaveLength(1);
  });
});
