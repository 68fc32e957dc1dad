import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type RestartingServer, RunningServer } from './restarting-server.ts';
import { freePort } from '../../test/support/free-port.ts';
import type { RestartProxy } from './restart-proxies.ts';

/** The outcomes at clients while a server was restarted behind a proxy. */
export interface RestartResult {
  readonly requests: number;
  /** Requests without a 200, by their outcome, such as `POST 502`. */
  readonly failed: ReadonlyMap<string, number>;
  /** Milliseconds of the slowest request that succeeded. */
  readonly slowest: number;
}

export interface RestartPlan {
  readonly server: RestartingServer;
  readonly proxy: RestartProxy;
  readonly restarts: number;
  /** Requests a second, every other one a POST. */
  readonly rate: number;
  readonly folder: string;
}

/** Restarts a server behind a proxy under a steady load. */
export async function playRestarts(plan: RestartPlan): Promise<RestartResult> {
  const { restarts, rate, folder } = plan;
  const port = await freePort();
  const server = await RunningServer.start(plan.server, port, join(folder, 'server'));
  const proxy = await plan.proxy.start(port, join(folder, 'proxy'));
  const agent = new Agent({ keepAlive: true });
  const outcomes: Promise<Outcome>[] = [];
  // Some servers take connections before they can respond.
  for (let count = 0; count < 50 && (await send(agent, proxy.port, 'GET')).failure !== ''; count += 1)
    await delay(100);
  const timer = setInterval(
    () => outcomes.push(send(agent, proxy.port, outcomes.length % 2 === 0 ? 'GET' : 'POST')),
    1000 / rate,
  );
  for (let count = 0; count < restarts; count += 1) {
    await delay(1000);
    await server.restart();
  }
  await delay(1500);
  clearInterval(timer);
  const all = await Promise.all(outcomes);
  agent.destroy();
  await proxy.stop();
  await server.stop();
  const failed = new Map<string, number>();
  for (const { failure } of all) if (failure !== '') failed.set(failure, (failed.get(failure) ?? 0) + 1);
  return {
    requests: all.length,
    failed,
    slowest: Math.max(0, ...all.filter(({ failure }) => failure === '').map(({ took }) => took)),
  };
}

interface Outcome {
  /** Empty for a 200. */
  readonly failure: string;
  readonly took: number;
}

function send(agent: Agent, port: number, method: string): Promise<Outcome> {
  const began = performance.now();
  const body = method === 'POST' ? '{"a":1}' : '';
  const headers = body === '' ? {} : { 'content-type': 'application/json', 'content-length': body.length };
  return new Promise((resolve) => {
    const done = (status: number): void =>
      resolve({
        failure: status === 200 ? '' : `${method} ${status || 'reset'}`,
        took: performance.now() - began,
      });
    const outgoing = request(
      { agent, host: '127.0.0.1', port, method, path: '/api/v2/x', headers, timeout: 30_000 },
      (response) => {
        response.on('error', () => done(0));
        response.resume().on('end', () => done(response.statusCode ?? 0));
      },
    );
    outgoing.on('timeout', () => outgoing.destroy());
    outgoing.on('error', () => done(0)).end(body);
  });
}
