import { onTestFinished } from 'vitest';
import { RedisServer } from './redis-server.ts';

/** Starts a Redis server that ends with the test. */
export async function playedRedis(flags: readonly string[] = []): Promise<RedisServer> {
  const server = await RedisServer.start(flags);
  onTestFinished(() => server.kill());
  return server;
}
