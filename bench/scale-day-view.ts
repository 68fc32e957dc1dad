import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { decodeBody } from '../src/node/decode-body.ts';
import { createInspector } from '../src/inspector/inspector.ts';
import { createAdminServer, watchProcess } from '../src/node/admin/admin-server.ts';
import { listen } from '../src/node/clients/listen.ts';
import type { LoadedRuleBook } from '../src/node/rule-books.ts';
import { GatewayTotals } from '../src/report/report-totals.ts';
import { OperatorView } from '../src/inspector/operator-view.ts';
import type { CaptureLevel } from '../src/rewrite-log/observer.ts';
import { DayTraffic } from './scale-day-traffic.ts';

/** When the day begins, in milliseconds since 1970, and those of a minute. */
export const midnight: number = Date.UTC(2026, 10, 21);
export const MINUTE = 60_000;
/** Entries of the ring, as in the settings that ship. */
export const RING_SIZE = 10_000;
const QUESTIONS = 15;

/** A view and the inspector that reads it, on a clock that the fed entries advance; `createOperators`, which `serve` uses, takes the machine's. */
export class DayView {
  readonly view: OperatorView;
  time = midnight;
  fed = 0;
  /** Microseconds and entries of each hour. */
  readonly hours = Array.from({ length: 24 }, () => ({ microseconds: 0, entries: 0 }));
  private readonly traffic: DayTraffic;
  private readonly server: ReturnType<typeof createAdminServer>;
  private origin = '';

  constructor(loaded: LoadedRuleBook) {
    const { ruleBook } = loaded.rules;
    this.traffic = new DayTraffic(loaded.rules);
    this.view = new OperatorView({
      entries: RING_SIZE,
      time: () => this.time,
      capture: {
        mode: 'off',
        masks: [],
        maxEntries: 1000,
        maxBytes: 64 * 2 ** 20,
        structurePerSecond: 50,
        bodyLimit: 256 * 1024,
        now: () => this.time,
      },
    });
    const processFigures = watchProcess();
    const inspector = createInspector({
      view: this.view,
      totals: new GatewayTotals(this.view.tally, midnight),
      run: 'bench',
      startedAt: midnight,
      time: () => this.time,
      stats: () => ({
        version: 'bench',
        inFlight: 0,
        bufferedBytes: 0,
        droppedLogLines: 0,
        breaker: 'closed',
        ruleBook: { hash: ruleBook.hash, version: ruleBook.version, since: midnight },
        process: processFigures(),
      }),
      rules: () => ({ current: loaded.rules, text: loaded.text, since: midnight }),
      rulesOf: () => loaded.rules,
      limits: { count: 100, bytes: 16_384, bodyLimit: undefined },
      decode: decodeBody,
      gatewayOrigin: () => 'http://127.0.0.1:8080',
      origin: 'http://127.0.0.1:8090',
      names: () => new Map(),
      token: undefined,
      hosts: [],
      every: () => () => {},
      page: () => new Map(),
    });
    this.server = createAdminServer({ ready: () => true, mounted: inspector });
  }

  async open(): Promise<void> {
    this.origin = await listen(this.server, { host: '127.0.0.1', port: 0 }, 'http');
  }

  async close(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  /** Feeds the exchanges that begin at `times`, and adds the cost to the hour of each batch. */
  feed(times: readonly number[]): void {
    const wanted: CaptureLevel[] = [];
    let before = process.cpuUsage();
    for (const time of times) {
      this.time = time;
      wanted.push(this.view.begin());
    }
    let used = process.cpuUsage(before);
    let microseconds = used.user + used.system;
    const exchanges = times.map((time, k) =>
      this.traffic.exchange(this.fed + k, time, wanted[k] ?? 'nothing'),
    );
    before = process.cpuUsage();
    for (const [k, { entry, material }] of exchanges.entries()) {
      this.time = times[k] ?? this.time;
      this.view.observe(entry, material);
    }
    used = process.cpuUsage(before);
    microseconds += used.user + used.system;
    const hour = this.hours[Math.floor(((times[0] ?? 0) - midnight) / (60 * MINUTE))];
    if (hour === undefined) throw new RangeError('the day is over');
    hour.microseconds += microseconds;
    hour.entries += exchanges.length;
    this.fed += exchanges.length;
  }

  /** The milliseconds of each request to a route. */
  async get(path: string): Promise<number[]> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const took: number[] = [];
    for (let k = 0; k < QUESTIONS; k += 1) {
      const began = performance.now();
      const sent = request(this.origin + path, { agent }).end();
      const [response] = (await once(sent, 'response')) as [
        AsyncIterable<Uint8Array> & { statusCode: number },
      ];
      let bytes = 0;
      for await (const chunk of response) bytes += chunk.length;
      took.push(performance.now() - began);
      if (response.statusCode !== 200 || bytes === 0) throw new Error(`${path}: ${response.statusCode}`);
    }
    agent.destroy();
    return took;
  }
}
