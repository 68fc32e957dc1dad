import type { Socket } from 'node:net';
import { expect } from 'vitest';
import { BufferBudget } from '../../src/gateway/limits.ts';
import type { Exchange, ExchangeHandler } from '../../src/gateway/exchange.ts';
import { ClientConnection } from '../../src/node/clients/connections.ts';
import { H1Connections } from '../../src/node/clients/http1/connection.ts';
import { BodyMemory } from '../../src/node/body-memory.ts';
import { TickBudget } from '../../src/node/fair-turns.ts';
import { socketPair } from './socket-pair.ts';

const NO_LIMITS = { bodyTimeout: 0, minDataRate: 0, minDataRateGrace: 0 };

/** A connection whose exchanges the test holds; `onTake` is called as one begins. */
export async function heldConnection(onTake: (exchange: Exchange) => void = () => {}): Promise<{
  client: Socket;
  served: Socket;
  taken: Exchange[];
  closed: () => boolean;
  /** The budget of bodies that are read ahead. */
  budget: BufferBudget;
  /** The memory of bodies on their way. */
  memory: BodyMemory;
}> {
  const taken: Exchange[] = [];
  const budget = new BufferBudget(1024 * 1024);
  const memory = new BodyMemory();
  const connections = new H1Connections(
    { ...NO_LIMITS, headerBytes: 16_384, headersTimeout: 0, idleTimeout: 0 },
    {
      ...NO_LIMITS,
      bodies: {
        readAhead: budget,
        turns: new TickBudget(),
        chunkTurns: new TickBudget(),
        memory,
      },
      draining: false,
      answersHalfClosed: false,
      serve: (exchange) => {
        taken.push(exchange);
        onTake(exchange);
      },
      refuse: () => {},
      linger: () => {},
      visit: () => {},
    },
  );
  const [served, client] = await socketPair({ allowHalfOpen: true, highWaterMark: 65_536 });
  expect(connections.begin(new ClientConnection(served)).isIdle).toBe(true);
  let isClosed = false;
  served.once('close', () => (isClosed = true));
  return { client, served, taken, closed: () => isClosed, budget, memory };
}

/** Records the calls of an exchange to its handler, in order. */
export class RecordingHandler implements ExchangeHandler {
  readonly events: string[] = [];
  acceptChunk(): boolean {
    return true;
  }
  onWholeBody(): void {
    this.events.push('collected');
  }
  onBody(): void {
    this.events.push('opened');
  }
  drained(): void {
    this.events.push('drained');
  }
  onClientFault(): void {
    this.events.push('faulted');
  }
  disconnected(): void {
    this.events.push('gone');
  }
  flushed(): void {
    this.events.push('flushed');
  }
}
