/**
 * The process in which `scale-day.ts` has a day of entries kept: `scale-day-run.ts <entries a second> <of how many minutes one is fed>`.
 * The view and the inspector are given a clock that is moved on; `createOperators`, which `serve` uses, gives them that of the machine.
 */
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { chooseApiVersion } from '../src/gateway/api-version.ts';
import { createInspector } from '../src/inspector/inspector.ts';
import { createAdminServer } from '../src/node/admin-server.ts';
import { listen } from '../src/node/listen.ts';
import { watchProcess } from '../src/node/process-figures.ts';
import { loadRuleBook } from '../src/node/rule-book-file.ts';
import type { LoadedRuleBook } from '../src/node/rule-books.ts';
import { OperatorView } from '../src/rewrite-log/operator-view.ts';
import type { Wanted } from '../src/rewrite-log/observer.ts';
import { heldBytes, tellBack } from './scale-apart.ts';
import { DayTraffic } from './scale-day-traffic.ts';

/** What was measured of one day. */
export interface DayFigures {
  readonly perSecond: number;
  readonly fed: number;
  /** Microseconds of processor time an entry, by hour. */
  readonly hours: readonly number[];
  /** Bytes that the view holds when its ring is full, and at the end. */
  readonly held: { readonly full: number; readonly end: number };
  /** Milliseconds of each question to a route, when the ring is full and at the end. */
  readonly routes: readonly { readonly name: string; readonly full: number[]; readonly end: number[] }[];
}

const perSecond = Number(process.argv[2]);
const every = Number(process.argv[3]);
const MINUTE = 60_000;
const midnight = Date.UTC(2026, 10, 21);
const ringSize = 10_000;
/** Entries that are made, then observed: only the observing is counted. */
const batch = 2000;
const questions = 15;

const book = await loadRuleBook(fileURLToPath(new URL('../config/rules.yaml', import.meta.url)));
if ('faults' in book) throw new Error(book.faults.join('\n'));
const traffic = new DayTraffic(book.inForce);

/** A view with the clock that moves it, and the inspector that reads it. */
class Inspected {
  readonly view: OperatorView;
  time = midnight;
  fed = 0;
  /** Microseconds and entries of each hour. */
  readonly hours = Array.from({ length: 24 }, () => ({ microseconds: 0, entries: 0 }));
  readonly #server: ReturnType<typeof createAdminServer>;
  #origin = '';

  constructor(loaded: LoadedRuleBook) {
    const { ruleBook } = loaded.inForce;
    this.view = new OperatorView({
      entries: ringSize,
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
      run: 'bench',
      startedAt: midnight,
      time: () => this.time,
      figures: () => ({
        version: 'bench',
        inFlight: 0,
        bufferedBytes: 0,
        droppedLogLines: 0,
        breaker: 'closed',
        ruleBook: { hash: ruleBook.hash, version: ruleBook.version, since: midnight },
        process: processFigures(),
      }),
      rules: () => ({ ...loaded.inForce, text: loaded.text, since: midnight }),
      rulesOf: () => loaded.inForce,
      versionOf: chooseApiVersion,
      gatewayOrigin: () => 'http://127.0.0.1:8080',
      origin: 'http://127.0.0.1:8090',
      names: () => new Map(),
      token: undefined,
      hosts: [],
      every: () => () => {},
      page: () => new Map(),
    });
    this.#server = createAdminServer({ ready: () => true, mounted: inspector });
  }

  async open(): Promise<void> {
    this.#origin = await listen(this.#server, { host: '127.0.0.1', port: 0 }, 'http');
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  /** Feeds the exchanges that begin at `times`, and counts what that costs the hour of each batch. */
  feed(times: readonly number[]): void {
    const wanted: Wanted[] = [];
    let before = process.cpuUsage();
    for (const time of times) {
      this.time = time;
      wanted.push(this.view.begin());
    }
    let used = process.cpuUsage(before);
    let microseconds = used.user + used.system;
    const told = times.map((time, k) => traffic.exchange(this.fed + k, time, wanted[k] ?? 'nothing'));
    before = process.cpuUsage();
    for (const [k, { entry, material }] of told.entries()) {
      this.time = times[k] ?? this.time;
      this.view.observe(entry, material);
    }
    used = process.cpuUsage(before);
    microseconds += used.user + used.system;
    const hour = this.hours[Math.floor(((times[0] ?? 0) - midnight) / (60 * MINUTE))];
    if (hour === undefined) throw new RangeError('the day is over');
    hour.microseconds += microseconds;
    hour.entries += told.length;
    this.fed += told.length;
  }

  /** The milliseconds of each question to a route. */
  async ask(path: string): Promise<number[]> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const took: number[] = [];
    for (let k = 0; k < questions; k += 1) {
      const began = performance.now();
      const asked = request(this.#origin + path, { agent }).end();
      const [answer] = (await once(asked, 'response')) as [
        AsyncIterable<Uint8Array> & { statusCode: number },
      ];
      let bytes = 0;
      for await (const chunk of answer) bytes += chunk.length;
      took.push(performance.now() - began);
      if (answer.statusCode !== 200 || bytes === 0) throw new Error(`${path}: ${answer.statusCode}`);
    }
    agent.destroy();
    return took;
  }
}

/** The API routes of the inspector that show what was kept. */
function routes({ view }: Inspected): readonly (readonly [name: string, path: string])[] {
  const client = view.ring.at(view.ring.latest)?.client ?? '';
  return [
    ['/entries', '/entries?limit=100'],
    ['/entries?limit=500', '/entries?limit=500'],
    ['/entries?filter=status:502', '/entries?limit=500&filter=status:502'],
    ['/entries/:seq', `/entries/${view.ring.latest}`],
    ['/state', '/state'],
    ['/history', '/history'],
    ['/metrics', '/metrics'],
    ['/report', '/report'],
    ['/report?format=md', '/report?format=md'],
    ['/report?client=', `/report?client=${client}`],
    ['/rules', '/rules'],
  ];
}

/** When the exchanges of a minute begin, in batches. */
function* batches(from: number, until: number): Generator<readonly number[]> {
  let times: number[] = [];
  for (let minute = from; minute < until; minute += every) {
    for (let k = 0; k < perSecond * 60; k += 1) {
      times.push(midnight + minute * MINUTE + (k * 1000) / perSecond);
      if (times.length < batch) continue;
      yield times;
      times = [];
    }
  }
  if (times.length > 0) yield times;
}

async function warmedUp(loaded: LoadedRuleBook): Promise<void> {
  const other = new Inspected(loaded);
  await other.open();
  for (let round = 0; round < 20; round += 1) {
    other.feed(Array.from({ length: batch }, (_, k) => midnight + (round * batch + k) * 10));
  }
  for (const [, path] of routes(other)) await other.ask(path);
  await other.close();
}

async function day(loaded: LoadedRuleBook): Promise<DayFigures> {
  const before = await heldBytes();
  const inspected = new Inspected(loaded);
  await inspected.open();
  let full = 0;
  const shown: { readonly name: string; readonly full: number[]; readonly end: number[] }[] = [];
  for (let hour = 0; hour < 24; hour += 1) {
    for (const times of batches(hour * 60, hour * 60 + 60)) {
      inspected.feed(times);
      if (full > 0 || inspected.fed < ringSize) continue;
      full = (await heldBytes()) - before;
      for (const [name, path] of routes(inspected)) {
        shown.push({ name, full: await inspected.ask(path), end: [] });
      }
    }
  }
  const end = (await heldBytes()) - before;
  for (const [at, [, path]] of routes(inspected).entries()) {
    shown[at]?.end.push(...(await inspected.ask(path)));
  }
  await inspected.close();
  const hours = inspected.hours.map(({ microseconds, entries }) => microseconds / entries);
  return { perSecond, fed: inspected.fed, hours, held: { full, end }, routes: shown };
}

await warmedUp(book);
tellBack(await day(book));
