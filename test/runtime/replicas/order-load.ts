import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

/** The outcome of one order. */
export interface OrderOutcome {
  readonly id: string;
  /** Undefined when the connection broke. */
  readonly status: number | undefined;
  readonly at: number;
}

/** Clients that place orders, one after the other each, through replicas in turn. */
export class OrderLoad {
  readonly outcomes: OrderOutcome[] = [];
  /** Addresses of replicas that a load balancer would send to. */
  targets: readonly string[];
  private readonly agent = new Agent({ keepAlive: true });
  private readonly loops: Promise<void>[];
  private hasEnded = false;
  private placed = 0;

  constructor(targets: readonly string[], clients: number) {
    this.targets = targets;
    this.loops = Array.from({ length: clients }, (_, client) => this.run(client));
  }

  /** Resolves when the orders under way are finished. */
  async stop(): Promise<void> {
    this.hasEnded = true;
    await Promise.all(this.loops);
    this.agent.destroy();
  }

  /** Outcomes from a time on that are not 201. */
  failuresSince(time: number): readonly OrderOutcome[] {
    return this.outcomes.filter(({ at, status }) => at >= time && status !== 201);
  }

  private async run(client: number): Promise<void> {
    for (let turn = client; !this.hasEnded; turn += 1) {
      this.placed += 1;
      const id = `order-${this.placed}`;
      const target = this.targets[turn % this.targets.length] ?? '';
      const at = Date.now();
      this.outcomes.push({ id, status: await this.place(target, `key-${client}`, id), at });
      await pause(10);
    }
  }

  private place(target: string, key: string, id: string): Promise<number | undefined> {
    const body = `{"data":{"name":"${id}"}}`;
    return new Promise((resolve) => {
      const sent = request(
        `${target}/api/v1/clients`,
        {
          method: 'POST',
          agent: this.agent,
          headers: {
            authorization: `Bearer ${key}`,
            'content-type': 'application/json',
            'content-length': body.length,
          },
        },
        (response) => {
          response.resume();
          response.on('end', () => resolve(response.statusCode));
          response.on('error', () => resolve(undefined));
        },
      );
      sent.on('error', () => resolve(undefined));
      sent.end(body);
    });
  }
}
