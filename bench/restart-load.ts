import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

/** What the clients of one proxy felt. */
export interface RestartsFelt {
  readonly requests: number;
  readonly failed: number;
  /** Milliseconds. */
  readonly slowest: number;
  /** How many of each kind, such as `POST 502 upstream-closed`. */
  readonly failures: ReadonlyMap<string, number>;
}

const BODY = '{"name":"Harbour Loft"}';
const GRACE_MS = 8000;

/** GETs and POSTs in turn at a steady rate, whether responses come or not, through one proxy. */
export class RestartLoad {
  private readonly port: number;
  private readonly agent = new Agent({ keepAlive: true });
  private readonly timer: NodeJS.Timeout;
  private readonly failures = new Map<string, number>();
  private readonly began = performance.now();
  private requests = 0;
  private underWay = 0;
  private slowest = 0;

  constructor(port: number, rate: number) {
    this.port = port;
    this.timer = setInterval(() => {
      while (this.requests < ((performance.now() - this.began) * rate) / 1000) this.send();
    }, 5);
  }

  /** Sends no more, waits for what is under way, and tells how it went. */
  async stop(): Promise<RestartsFelt> {
    clearInterval(this.timer);
    const end = performance.now() + GRACE_MS;
    while (this.underWay > 0 && performance.now() < end) await delay(10);
    if (this.underWay > 0) this.failures.set('no response', this.underWay);
    this.agent.destroy();
    const failed = [...this.failures.values()].reduce((sum, count) => sum + count, 0);
    return { requests: this.requests, failed, slowest: this.slowest, failures: new Map(this.failures) };
  }

  private send(): void {
    this.requests += 1;
    this.underWay += 1;
    const id = String(this.requests);
    const method = this.requests % 2 === 0 ? 'POST' : 'GET';
    const began = performance.now();
    let isOver = false;
    const over = (failure?: string): void => {
      if (isOver) return;
      isOver = true;
      this.underWay -= 1;
      this.slowest = Math.max(this.slowest, performance.now() - began);
      const kind = `${method} ${failure}`;
      if (failure !== undefined) this.failures.set(kind, (this.failures.get(kind) ?? 0) + 1);
    };
    const outgoing = request({
      agent: this.agent,
      host: '127.0.0.1',
      port: this.port,
      method,
      path: '/api/v2/things',
      headers: { 'x-id': id, ...(method === 'POST' ? WITH_BODY : {}) },
    });
    outgoing.on('error', (error) => over('code' in error ? String(error.code) : error.message));
    outgoing.on('response', (response) => {
      let text = '';
      response.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
      response.on('error', () => over('broken response'));
      response.on('end', () => {
        const own = response.headers['x-gateway-error'];
        if (response.statusCode !== 200)
          over(`${response.statusCode}${own === undefined ? '' : ` ${String(own)}`}`);
        else over(text.includes(`"${id}"`) ? undefined : 'response of another request');
      });
    });
    outgoing.end(method === 'POST' ? BODY : undefined);
  }
}

const WITH_BODY = { 'content-type': 'application/json', 'content-length': BODY.length };
