import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { EntriesPage, Report, RulesView } from '../../inspector/api.ts';
import { createClientHash } from '../../node/runtime.ts';
import type { Entry } from '../../rewrite-log/entry.ts';
import type { RolloutRequest, RolloutView } from '../../rollout/rollout-tally.ts';
import { AdminClient, refusalIn } from '../admin-client.ts';
import type { ProcessLog } from '../life-cycle.ts';
import { type Serving, startServing } from '../serve/serving.ts';
import { DEPRECATED_ATTRIBUTE } from './demo.ts';

/** Selects the same clients for a share in every tour. No real secret: the keys of the fleet are made up. */
const SECRET = 'the secret of the tour';

/** The shipped rule book, independent of the working directory. */
const SHIPPED_RULES = new URL('../../../config/rules.yaml', import.meta.url);

export interface StageOptions {
  /** Path of the program that starts reference services: the launcher or the main module. */
  readonly program: string;
  readonly listen: string;
  readonly adminListen: string;
}

/** The services of the tour: V1, V2, a gateway before both, the fleet, and a temporary folder for all files. */
export interface Stage {
  readonly folder: string;
  readonly rulesPath: string;
  readonly v1: ReferenceProcess;
  readonly v2: ReferenceProcess;
  readonly serving: Serving;
  readonly admin: TourAdmin;
  readonly fleet: Fleet;
  /** Names of clients by hash. */
  readonly names: ReadonlyMap<string, string>;
  /** Stops everything and removes the folder. */
  readonly close: () => Promise<void>;
  /** Does the same synchronously, before the process exits. */
  readonly abandon: () => void;
}

/** Starts the stage; if the gateway cannot start, cleans up and returns the faults. */
export async function openStage(
  options: StageOptions,
): Promise<Stage | { readonly faults: readonly string[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'capture-gateway-demo-'));
  const services: ReferenceProcess[] = [];
  let serving: Serving | undefined;
  const abandon = (): void => {
    for (const service of services) service.kill();
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  };
  process.once('exit', abandon);
  const close = async (): Promise<void> => {
    await serving?.life.stop();
    await serving?.life.flush();
    await Promise.all(services.map((service) => service.stop()));
    abandon();
    process.removeListener('exit', abandon);
  };
  try {
    const rulesPath = join(folder, 'rules.yaml');
    writeFileSync(rulesPath, firstRuleBook(readFileSync(SHIPPED_RULES, 'utf8')));
    const hash = createClientHash(SECRET);
    const names = new Map(FLEET.map(({ name, key }) => [hash(key), name]));
    writeFileSync(join(folder, 'names.json'), JSON.stringify(Object.fromEntries(names)));
    const common = ['--db', join(folder, 'data.db'), '--deprecated', DEPRECATED_ATTRIBUTE];
    // One after the other, because the first creates the tables.
    const v1 = await ReferenceProcess.start(options.program, ['--dialect', 'v1', ...common]);
    services.push(v1);
    const v2 = await ReferenceProcess.start(options.program, ['--dialect', 'v2', ...common]);
    services.push(v2);
    // A file is read before the first request arrives; a URL might not be.
    const descriptionPath = join(folder, 'v2.json');
    writeFileSync(descriptionPath, await (await fetch(`${v2.origin}/api/v2/openapi.json`)).text());
    const started = await startServing(
      {
        flags: {
          listen: options.listen,
          'admin-listen': options.adminListen,
          upstream: v2.origin,
          'v1-upstream': v1.origin,
          'v2-openapi': descriptionPath,
          rules: rulesPath,
          'log-file': join(folder, 'rewrite.log'),
          'client-names': join(folder, 'names.json'),
          'client-secret': SECRET,
          capture: 'bodies',
          // All clients belong to the tour, so none sends on a connection that is about to close.
          drain: '2000',
        },
        environment: {},
        constants: { structureRate: 1000, drainDelay: 0 },
      },
      QUIET,
    );
    if ('faults' in started) {
      await close();
      return started;
    }
    serving = started;
    const admin = new TourAdmin(started.running.adminOrigin);
    return {
      folder,
      rulesPath,
      v1,
      v2,
      serving,
      admin,
      fleet: new Fleet(started.running.origin),
      names,
      close,
      abandon,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Discards the gateway's messages: the tour reports them itself. */
const QUIET: ProcessLog = { write: () => {}, flush: () => Promise.resolve() };

/** Milliseconds between two readings of the gateway, and until the tour gives up. */
const POLL_MS = 20;
const NEVER_MS = 20_000;

/** Reads a gateway's state and changes its rollout through the admin listener. */
class TourAdmin {
  readonly origin: string;
  private readonly client: AdminClient;

  constructor(origin: string) {
    this.origin = origin;
    this.client = new AdminClient({ url: origin, token: undefined });
  }

  /** The state of the rollout. */
  rollout(): Promise<RolloutView> {
    return this.read<RolloutView>('/rollout');
  }

  /** Number of V1 requests since the start, by the service that they were sent to. */
  async sentTo(): Promise<NonNullable<RolloutView['requests']>> {
    const { requests } = await this.rollout();
    if (requests === undefined) throw new Error('The gateway does not count its requests.');
    return requests;
  }

  /** Chooses a mode; throws the gateway's reason if it refuses. */
  async choose(request: RolloutRequest): Promise<RolloutView> {
    const refusal = await this.refusalOf(request);
    if (refusal !== undefined) throw new Error(refusal);
    return this.rollout();
  }

  /** Chooses a mode; returns the gateway's reason if it refuses. */
  async refusalOf(request: RolloutRequest): Promise<string | undefined> {
    const { statusCode, body } = await this.client.ask('/rollout', {}, JSON.stringify(request));
    const text = await body.text();
    return statusCode === 200 ? undefined : (refusalIn(text).detail ?? text);
  }

  /** The report on the clients. */
  report(): Promise<Report> {
    return this.read<Report>('/report?format=json');
  }

  /** The rule book in force. */
  rules(): Promise<RulesView> {
    return this.read<RulesView>('/rules');
  }

  /** Number of the latest entry, from 1. */
  async latest(): Promise<number> {
    return (await this.read<EntriesPage>('/entries?limit=1')).latest;
  }

  /** Entries after number `after` that the filter accepts. */
  async entriesAfter(after: number, filter = ''): Promise<readonly Entry[]> {
    const entries: Entry[] = [];
    let before: number | undefined;
    do {
      const from = before === undefined ? '' : `&before=${before}`;
      const page: EntriesPage = await this.read(
        `/entries?limit=500&filter=${encodeURIComponent(filter)}${from}`,
      );
      entries.push(...page.entries.filter(({ seq }) => seq > after));
      before = page.entries.some(({ seq }) => seq <= after) ? undefined : page.next;
    } while (before !== undefined);
    return entries;
  }

  /** Waits for a reading that fulfils a condition, and returns it; throws if none does in time. */
  async until<Reading>(read: () => Promise<Reading>, holds: (reading: Reading) => boolean): Promise<Reading> {
    const end = performance.now() + NEVER_MS;
    for (;;) {
      const reading = await read();
      if (holds(reading)) return reading;
      if (performance.now() > end) throw new Error('The gateway did not do what the tour waits for.');
      await new Promise((resolve) => {
        setTimeout(resolve, POLL_MS);
      });
    }
  }

  private async read<Reading>(path: string): Promise<Reading> {
    const { statusCode, body } = await this.client.ask(path);
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`${path} responded with ${statusCode}: ${text}`);
    const reading: Reading = JSON.parse(text);
    return reading;
  }
}

/** A client in the tour: an integration written for V1. */
interface FleetClient {
  readonly name: string;
  readonly key: string;
  /** Path of its resource, below `/api/v1`. */
  readonly path: string;
  /** Body of a write; `{n}` is replaced by a unique number. */
  readonly body: string;
}

const ADDRESS = '"street_address": "1 Main St", "suburb": "Enmore", "state": "NSW", "postcode": "2042"';
const FLOOR_PLAN = `{"data": {"external_id": "FP-{n}", "property": {"display_name": "Loft {n}", ${ADDRESS}, "latitude": -33.90}}}`;
const POST_PRODUCTION = `{"data": {"external_id": "PP-{n}", "transition_type": "slide", "property": {"display_name": "House {n}", ${ADDRESS}}}}`;
const OLD_CLIENT = `{"data": {"name": "Vendor {n}", "${DEPRECATED_ATTRIBUTE}": "V-{n}"}}`;

/** The clients of the tour. Each writes and lists one resource; two of them send an attribute that V2 has dropped. */
export const FLEET: readonly FleetClient[] = [
  client('Acacia Estates', '/orders/floor_plans', FLOOR_PLAN),
  client('Blue Gum Living', '/orders/floor_plans', FLOOR_PLAN),
  client('Coastline Agents', '/orders/post_productions', POST_PRODUCTION),
  client('Dockside Lettings', '/orders/post_productions', POST_PRODUCTION),
  client('Eastgate Property', '/clients', OLD_CLIENT),
  client('Fernhill Realty', '/clients', OLD_CLIENT),
  client('Grand Parade', '/clients', '{"data": {"name": "Vendor {n}"}}'),
  client('Harbour Realty', '/contacts', '{"data": {"first_name": "Zo\\u00eb", "last_name": "Park {n}"}}'),
  client('Ironbark Homes', '/contacts', '{"data": {"first_name": "Ed", "last_name": "Moss {n}"}}'),
  client('Jetty Road', '/bookings', '{"data": {"external_id": "BK-{n}", "services": ["floor_plan"]}}'),
  client('Kings Wharf', '/virtual_tours', '{"data": {"name": "Tour {n}"}}'),
  client('Lighthouse Lane', '/virtual_tours', '{"name": "Tour {n}"}'),
];

function client(name: string, path: string, body: string): FleetClient {
  return { name, key: name.toLowerCase().replaceAll(' ', '-'), path, body };
}

/** The response to a client. */
export interface FleetResponse {
  readonly client: FleetClient;
  readonly isWrite: boolean;
  readonly status: number;
  readonly headers: Headers;
}

/** Sends the requests of the fleet. */
class Fleet {
  /** Number of requests so far. */
  sent = 0;
  private readonly origin: string;

  constructor(origin: string) {
    this.origin = origin;
  }

  /** Makes every client write, then read, `rounds` times; clients run concurrently. */
  async send(rounds: number): Promise<readonly FleetResponse[]> {
    const all = FLEET.map(async (client) => {
      const responses: FleetResponse[] = [];
      for (let round = 0; round < rounds; round += 1)
        for (const isWrite of [true, false]) responses.push(await this.sendOne(client, isWrite));
      return responses;
    });
    return (await Promise.all(all)).flat();
  }

  /** Makes every client read once, one after the other; awaits `after` between them. */
  async readInTurn(
    after: () => Promise<unknown> = () => Promise.resolve(),
  ): Promise<readonly FleetResponse[]> {
    const responses: FleetResponse[] = [];
    for (const client of FLEET) {
      responses.push(await this.sendOne(client, false));
      await after();
    }
    return responses;
  }

  private async sendOne(client: FleetClient, isWrite: boolean): Promise<FleetResponse> {
    this.sent += 1;
    const response = await fetch(`${this.origin}/api/v1${client.path}`, {
      method: isWrite ? 'POST' : 'GET',
      headers: {
        authorization: `Bearer ${client.key}`,
        'user-agent': `${client.key}/1.0`,
        ...(isWrite ? { 'content-type': 'application/json' } : {}),
      },
      ...(isWrite ? { body: client.body.replaceAll('{n}', String(this.sent)) } : {}),
    });
    await response.arrayBuffer();
    return { client, isWrite, status: response.status, headers: response.headers };
  }
}

/** The operation that the tour's rule book lacks at first, as an operator's first one may. */
export const UNDECLARED_OPERATION = 'list_floor_plan_orders';

const DECLARATION = new RegExp(`^  ${UNDECLARED_OPERATION}:.*\\n`, 'm');
const OPERATIONS = /^operations:\n/m;

/** Returns the shipped rule book without one operation. */
function firstRuleBook(shipped: string): string {
  if (!DECLARATION.test(shipped) || !OPERATIONS.test(shipped))
    throw new Error(`The rule book does not declare ${UNDECLARED_OPERATION}.`);
  return shipped.replace(DECLARATION, '');
}

/** Declares the operation in a rule book. */
export function declareOperation(rulesPath: string): void {
  const text = readFileSync(rulesPath, 'utf8');
  const line = `  ${UNDECLARED_OPERATION}: { match: GET /orders/floor_plans, assumed: true }\n`;
  writeFileSync(
    rulesPath,
    text.replace(OPERATIONS, (start) => `${start}${line}`),
  );
}

/** Adds lines at the end of a rule book. */
export function addToRuleBook(rulesPath: string, lines: string): void {
  writeFileSync(rulesPath, `${readFileSync(rulesPath, 'utf8').trimEnd()}\n\n${lines}\n`);
}

/** Makes a gateway reload its rule book at once instead of within a second; returns the hash in force. */
export async function reloadRules(serving: Serving): Promise<string> {
  const before = serving.ruleBooks.current.ruleBook.hash;
  await serving.life.reloadFile('rule-book');
  const { hash } = serving.ruleBooks.current.ruleBook;
  if (hash === before) throw new Error('The gateway did not take the changed rule book.');
  return hash;
}

/** Milliseconds for a reference service to start. */
const START_TIMEOUT_MS = 20_000;
const REFERENCE_POLL_MS = 10;

/** A reference service in its own process, which can restart at the same address with other flags. */
class ReferenceProcess {
  readonly origin: string;
  private readonly program: string;
  private readonly flags: readonly string[];
  private child: ChildProcess;

  private constructor(program: string, flags: readonly string[], started: StartedProcess) {
    this.program = program;
    this.flags = flags;
    this.child = started.child;
    this.origin = started.origin;
  }

  /** Starts `program reference` with these flags on a free port; rejects with its stderr if it does not start. */
  static async start(program: string, flags: readonly string[]): Promise<ReferenceProcess> {
    return new ReferenceProcess(
      program,
      flags,
      await spawnReference(program, [...flags, '--listen', '127.0.0.1:0']),
    );
  }

  /** Stops the service and starts it again, with `more` flags. */
  async restart(more: readonly string[] = []): Promise<void> {
    await this.stop();
    const listen = ['--listen', this.origin.replace('http://', '')];
    const { child } = await spawnReference(this.program, [...this.flags, ...listen, ...more]);
    this.child = child;
  }

  /** Stops the service and waits for its end. */
  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    await ended;
  }

  /** Ends the service at once, without waiting. */
  kill(): void {
    this.child.kill('SIGKILL');
  }
}

interface StartedProcess {
  readonly child: ChildProcess;
  readonly origin: string;
}

async function spawnReference(program: string, flags: readonly string[]): Promise<StartedProcess> {
  // The environment may contain settings for a gateway that are not for the tour's services.
  const environment = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('GATEWAY_')),
  );
  const child = spawn(process.execPath, [program, 'reference', ...flags], {
    env: environment,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  // Read to the end, because the service would end if its stderr were closed.
  child.stderr.on('data', (chunk: Buffer) => (said += said.length < MAX_SAID ? String(chunk) : ''));
  const origin = await originOf(child, () => /reference service on (http:\S+)/.exec(said)?.[1]);
  if (origin !== undefined) return { child, origin };
  child.kill('SIGKILL');
  throw new Error(`A reference service did not start: ${said.trim()}`);
}

/** Number of characters kept from the start of stderr. */
const MAX_SAID = 10_000;

/** Waits for the address that a service prints; undefined if it ends first or takes too long. */
async function originOf(child: ChildProcess, read: () => string | undefined): Promise<string | undefined> {
  const end = performance.now() + START_TIMEOUT_MS;
  while (child.exitCode === null && child.signalCode === null && performance.now() < end) {
    const origin = read();
    if (origin !== undefined) return origin;
    await delay(REFERENCE_POLL_MS);
  }
  return undefined;
}
