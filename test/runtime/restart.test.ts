import { Agent, createServer, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { listening } from '../support/listening.ts';
import { spawnGateway } from '../support/spawn-gateway.ts';
import { until } from '../support/until.ts';
import { freePort } from '../support/free-port.ts';

const CLIENTS = 10;
/** Milliseconds between two requests of a client. */
const INTERVAL_MS = 40;

/** Sends one request, and resolves to its status or the code of its error. */
function sendRequest(agent: Agent, port: number, method: string): Promise<string> {
  return new Promise((resolve) => {
    const sent = request({ agent, port, host: '127.0.0.1', method, path: '/api/v2/x' }, (response) => {
      response.resume();
      response.on('end', () => resolve(String(response.statusCode)));
      response.on('error', (error) => resolve(error.message));
    });
    sent.on('error', (error) => resolve('code' in error ? String(error.code) : error.message));
    sent.end(method === 'POST' ? '{}' : undefined);
  });
}

test('restarted under load behind a client that retries refused connections only, no request fails', async () => {
  const v2 = createServer((incoming, outgoing) => {
    incoming.resume();
    incoming.on('end', () => setTimeout(() => outgoing.end('{}'), 5));
  });
  const upstream = `http://127.0.0.1:${await listening(v2)}`;
  const port = await freePort();
  const start = (): ReturnType<typeof spawnGateway> =>
    spawnGateway({ upstream, listen: `127.0.0.1:${port}` });
  let gateway = await start();
  const over = new AbortController();
  const outcomes = new Map<string, number>();
  const client = async (number: number): Promise<void> => {
    // Half of them keep their connections, the others make a new one for each request.
    const agent = new Agent({ keepAlive: number % 2 === 0 });
    for (let count = number; !over.signal.aborted; count += 1) {
      const method = count % 2 === 0 ? 'GET' : 'POST';
      let outcome = await sendRequest(agent, port, method);
      while (outcome === 'ECONNREFUSED') {
        await pause(20);
        outcome = await sendRequest(agent, port, method);
      }
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      await pause(INTERVAL_MS);
    }
    agent.destroy();
  };
  const clients = Array.from({ length: CLIENTS }, (_, number) => client(number));
  const served = (): number => outcomes.get('200') ?? 0;
  // However busy the machine is, requests come before, during and after each restart.
  const servedMore = async (): Promise<void> => {
    const before = served();
    await until(() => served() >= before + 60 || outcomes.size > 1);
  };
  for (let restart = 0; restart < 3; restart += 1) {
    await servedMore();
    gateway.child.kill('SIGTERM');
    expect((await gateway.exit()).code).toBe(0);
    gateway = await start();
  }
  await servedMore();
  over.abort();
  await Promise.all(clients);
  expect([...outcomes.keys()]).toEqual(['200']);
  expect(served()).toBeGreaterThanOrEqual(240);
}, 120_000);
