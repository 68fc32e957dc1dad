import { createServer, type Server } from 'node:http';
import { connect } from 'node:net';
import { Gateway } from '../gateway/gateway.ts';
import { OTHER_MODES } from '../gateway/v1/other-modes.ts';
import type { CompiledRuleBook } from '../rewrite/compiled-rule-book.ts';
import type { Entry } from '../rewrite-log/entry.ts';
import { entryLine } from '../rewrite-log/entry-line.ts';
import { kindOf } from '../rules/kinds/kinds.ts';
import { type Operation, type RuleBook, versionHeader } from '../rules/rule-book.ts';
import { type Path, readTemplate, type RequestRule } from '../rules/rule.ts';
import { gatewayOptions, memoryShares, type Settings } from '../settings/read-settings.ts';
import { settings as table } from '../settings/settings.ts';
import { BodyMemory } from './body-memory.ts';
import { listen } from './clients/listen.ts';
import { GatewayServer } from './clients/server.ts';
import { encodeBody } from './decode-body.ts';
import { createClientHash, memoryLimit } from './runtime.ts';
import { NODE_PARTS } from './start-gateway.ts';
import { createSocketUpstream } from './upstream/pool.ts';

// The first requests of a process are slow: V8 compiles each function on its first run, and a rule book compiles each plan on an
// operation's first use. So the gateway rehearses such requests before it is ready, with a second gateway and the same rule book: they
// reach neither V1 nor V2, and leave no trace in logs, metrics, reports or the rollout. The sockets are real, because most of the code
// that V8 compiles reads and writes them. A second round hardly helps: it delays the start by as much as it saves later.

/** Maximum operations rehearsed for each method: in a book of thousands, the others compile little more than their own plans. */
const MAX_OPERATIONS = 8;
/** Maximum operations for each method that V2 also answers with an error. */
const MAX_ERRORS = 2;
/** Milliseconds after which the start continues without the rest. */
const LIMIT_MS = 3000;
/** Milliseconds that each part of an exchange may take: more than the limit for all of them. */
const TIMEOUT_MS = 2 * LIMIT_MS;
const CONNECTIONS = 4;
const HERE = { host: '127.0.0.1', port: 0 };
/** The value of every invented name. In a target, it makes the played service return an error. */
const NAME = 'rehearsed';

/**
 * Plays one exchange of each kind with this rule book, and resolves to their entries; rejects if it cannot listen on 127.0.0.1 or
 * takes too long.
 */
export async function rehearse(rules: CompiledRuleBook, settings: Settings): Promise<readonly Entry[]> {
  const v2 = playedService(rules.ruleBook);
  const origin = await listen(v2, HERE, 'http');
  const rehearsal = new Rehearsal(rules, settings, origin);
  let isLate = false;
  const limit = setTimeout(() => {
    isLate = true;
    rehearsal.end();
  }, LIMIT_MS);
  try {
    await rehearsal.play();
  } finally {
    clearTimeout(limit);
    await rehearsal.close();
    v2.closeAllConnections();
    v2.close();
  }
  if (isLate) throw new Error(`they took longer than ${LIMIT_MS} ms`);
  return rehearsal.entries;
}

/** A gateway on a short-lived port, and its clients. */
class Rehearsal {
  private readonly rules: CompiledRuleBook;
  private readonly upstream: ReturnType<typeof createSocketUpstream>;
  private readonly server: GatewayServer;
  readonly entries: Entry[] = [];

  constructor(rules: CompiledRuleBook, settings: Settings, origin: string) {
    this.rules = rules;
    const memory = new BodyMemory();
    this.upstream = createSocketUpstream({
      origin,
      connections: CONNECTIONS,
      connectTimeout: TIMEOUT_MS,
      headersTimeout: TIMEOUT_MS,
      bodyTimeout: TIMEOUT_MS,
      headerBytes: settings.get(table.upstreamHeaderBytes),
      headerCount: settings.constants.upstreamHeaderCount,
      idleTimeout: TIMEOUT_MS,
      maxAge: 0,
      waiting: { count: 1000, bytes: 1024 * 1024 },
      tls: undefined,
    });
    const path = settings.get(table.upstream)?.path ?? '';
    const service = { upstream: this.upstream, path, hosts: [new URL(origin).host] };
    const gateway = new Gateway(
      {
        rules: () => rules,
        v2: service,
        // The played service is also V1, if the settings have one.
        v1: settings.get(table.v1Upstream) === undefined ? undefined : service,
        record: (entry) => {
          // Writes it as the log would, to compile that code.
          entryLine(entry);
          this.entries.push(entry);
        },
        ...NODE_PARTS,
        encode: settings.get(table.responseCoding) === 'keep' ? encodeBody : undefined,
        clientOf: createClientHash(NAME),
        bodyMemory: memory,
        after: (milliseconds, run) => {
          setTimeout(run, milliseconds).unref();
        },
        random: () => 1,
        // A real request that hits the same bug reports it.
        onUnexpectedError: () => {},
      },
      gatewayOptions(settings, memoryShares(memoryLimit())),
      OTHER_MODES,
    );
    this.server = new GatewayServer(gateway, {
      memory,
      headerBytes: settings.get(table.headerBytes),
      headerCount: settings.constants.headerCount,
      headersTimeout: TIMEOUT_MS,
      bodyTimeout: TIMEOUT_MS,
      idleTimeout: TIMEOUT_MS,
      minDataRate: 0,
      minDataRateGrace: TIMEOUT_MS,
      drainDelay: 0,
      connections: CONNECTIONS * 2,
      proxyProtocol: false,
      trustedProxies: [],
      tls: undefined,
    });
  }

  async play(): Promise<void> {
    const port = Number(new URL(await this.server.listen(HERE)).port);
    const requests = requestsFor(this.rules.ruleBook);
    const shares = Array.from({ length: CONNECTIONS }, (_, share) =>
      requests.filter((_request, at) => at % CONNECTIONS === share),
    );
    await Promise.all(shares.map((share) => played(port, share)));
  }

  end(): void {
    this.server.destroyAll();
  }

  async close(): Promise<void> {
    this.server.destroyAll();
    await Promise.all([this.server.drain(0), this.upstream.close()]);
  }
}

/** Sends requests one after the other; resolves once all responses have arrived and the connection is closed. */
async function played(port: number, requests: readonly string[]): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1' }).on('error', () => {});
  socket.resume();
  const closed = new Promise((resolve) => {
    socket.on('close', resolve);
  });
  socket.write(`${requests.join('')}GET / HTTP/1.1\r\nHost: ${NAME}\r\nConnection: close\r\n\r\n`);
  await closed;
}

/** Refusals, each operation, errors of the first ones, and passes with and without a body. */
function requestsFor(book: RuleBook): readonly string[] {
  const counts = new Map<string, number>();
  const of = (operation: Operation, query = ''): string =>
    requestOf(book, {
      method: operation.method,
      target: `${book.from}${pathOf(operation)}${queryOf(operation, query)}`,
      body: hasNoBody(operation.method) ? '' : JSON.stringify(bodyFor(book, operation)),
    });
  const operations: string[] = [];
  const failing: string[] = [];
  for (const operation of book.operations) {
    const count = counts.get(operation.method) ?? 0;
    counts.set(operation.method, count + 1);
    // A transform is the operator's program: it runs only for clients.
    if (count >= MAX_OPERATIONS || operation.transform !== undefined) continue;
    operations.push(of(operation));
    if (count < MAX_ERRORS) failing.push(of(operation, NAME));
  }
  const unknown = `${book.from}/${NAME}`;
  const passed = { target: `${book.to}/1`, release: book.version };
  return [
    requestOf(book, { method: 'POST', target: unknown, body: '[' }),
    requestOf(book, { method: 'POST', target: unknown, body: '{"data":1}' }),
    ...operations,
    ...failing,
    requestOf(book, { method: 'GET', target: `${unknown}?page=1`, body: '' }),
    requestOf(book, { ...passed, method: 'GET', body: '' }),
    requestOf(book, { ...passed, method: 'POST', body: '{"name":1}' }),
  ];
}

function hasNoBody(method: string): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'DELETE';
}

interface PlayedRequest {
  readonly method: string;
  readonly target: string;
  readonly body: string;
  /** The release of V2 that it asks for, which marks it as a V2 request if no prefix does. */
  readonly release?: string | undefined;
}

function requestOf(book: RuleBook, { method, target, body, release }: PlayedRequest): string {
  const { client } = book;
  const header = versionHeader(book);
  const fields = [
    `Host: ${NAME}`,
    'Accept: */*',
    `User-Agent: ${NAME}`,
    `${client !== undefined && 'header' in client ? client.header : 'Authorization'}: Bearer ${NAME}`,
    ...(release === undefined || header === undefined ? [] : [`${header}: ${release}`]),
    ...(body === '' ? [] : ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`]),
  ];
  return `${method} ${target} HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n${body}`;
}

function queryOf({ query = [] }: Operation, more: string): string {
  const own = query.map(({ name, value }) => `${name}=${value.before === '' ? '1' : value.before}`);
  const parts = more === '' ? own : [...own, more];
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}

function pathOf({ template }: Operation): string {
  return readTemplate(template)
    .map((segment) => `/${segment ?? '1'}`)
    .join('');
}

/** Makes a V1 body with a string wherever one of the operation's rules reads one. */
function bodyFor({ changes }: RuleBook, { id }: Operation): unknown {
  const rules = changes
    .filter(({ on }) => on === 'every' || on.includes(id))
    .flatMap(({ request }) => request);
  const body: Record<string, unknown> = { id: 1, name: 'a "b" é', list: [1.5, true, null] };
  for (const path of rules.flatMap((rule) => placesOf(rule))) place(body, path);
  const wrapper = rules.map((rule) => kindOf(rule).unwraps?.(rule)).find((member) => member !== undefined);
  return wrapper === undefined ? body : { [wrapper]: body };
}

/** Returns the members that a rule reads, except for conversions, which need strings of a certain form. */
function placesOf(rule: RequestRule): readonly Path[] {
  if (!('in' in rule) || 'conversion' in rule) return [];
  const objects = rule.in.filter((name) => name !== '**');
  if ('from' in rule) return [[...objects, ...rule.from]];
  const members = 'members' in rule ? rule.members : [rule.member];
  return members.map((member) => [...objects, member]);
}

/** Puts a string at a path, and creates the objects and lists on it. */
function place(body: Record<string, unknown>, path: Path): void {
  let inside: Record<string, unknown> = body;
  for (const [at, name] of path.entries()) {
    const key = name === '*' ? '0' : name;
    const below = path[at + 1];
    if (below === undefined) {
      inside[key] ??= 'text';
      return;
    }
    const next = inside[key] ?? (below === '*' ? [] : {});
    // Another rule has put a string there.
    if (!isMade(next)) return;
    inside[key] = next;
    inside = next;
  }
}

function isMade(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** A service that returns the last body that it received, in the shape of V2's resources, or an error if the target asks for one. */
function playedService({ resource = ['data'] }: RuleBook): Server {
  let latest = '{}';
  return createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const isRead = parts.length === 0;
      if (!isRead) latest = Buffer.concat(parts).toString();
      const isError = request.url?.includes(NAME) === true;
      const body = isError
        ? '{"errors":[{"status":"422","title":"t","detail":"name is invalid","source":{"pointer":"/data/name"}}]}'
        : resource.reduceRight((inside, name) => `{${JSON.stringify(name)}:${inside}}`, latest);
      response.writeHead(isError ? 422 : isRead ? 200 : 201, {
        'Content-Type': 'application/json',
        'Content-Length': Buffer.byteLength(body),
      });
      response.end(body);
    });
  });
}
