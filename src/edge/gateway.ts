import type { OriginParts } from '../gateway/gateway-context.ts';
import { Gateway } from '../gateway/gateway.ts';
import { isOfTexts } from '../http/content.ts';
import { noticeLine } from '../gateway/resilience.ts';
import type { V2Schemas } from '../gateway/v1/checks.ts';
import { decodeWebBody, encodeWebBody, WEB_CODINGS } from '../migrate/decode-web-body.ts';
import { hashOnWeb } from '../migrate/judge-digests.ts';
import { gatewayFailure } from '../gateway/failures.ts';
import type { Decision } from '../migrate/decision.ts';
import { CaptureRate } from '../rewrite-log/capture.ts';
import { entryLine } from '../rewrite-log/entry-line.ts';
import type { Entry } from '../rewrite-log/entry.ts';
import { type Observer, rememberedHash } from '../rewrite-log/observer.ts';
import { LoadableRuleBook } from '../rewrite/loadable-rule-book.ts';
import { missingV1Fault, modesInForce } from '../rollout/modes-in-force.ts';
import { hexOf } from '../rules/hash.ts';
import { callWithin, TRANSFORM_BUDGET_MS, type TransformModule } from '../migrate/transform.ts';
import type { RuleBook } from '../rules/rule-book.ts';
import {
  CONFIG_VARIABLE,
  gatewayOptions,
  readSettings,
  type Settings,
  settingConflicts,
} from '../settings/read-settings.ts';
import type { OriginSetting } from '../settings/setting-kinds.ts';
import { allSettings, environmentName, settings as table } from '../settings/settings.ts';
import type { EdgeAdminParts } from './admin.ts';
import {
  BindingCalls,
  dataPoint,
  type EdgeBindings,
  edgeProcessLine,
  environmentOf,
  type Platform,
} from './bindings.ts';
import { EdgeExchange, failureResponse } from './exchange.ts';
import type { EdgeReplica } from './replica.ts';
import type { EdgeRollout } from './rollout.ts';
import { createFetchUpstream } from './upstream.ts';

interface EdgeGatewayParts extends Platform {
  readonly bindings: EdgeBindings;
  readonly ruleBook: RuleBook;
  /** The modules that its operations name as their `transform`, by path. */
  readonly transforms?: Readonly<Record<string, TransformModule>> | undefined;
  /** V2's request schemas, if the bundle has them. */
  readonly v2Schemas?: V2Schemas;
}

/** The gateway of an isolate, or all faults of its settings. */
type EdgeGateway =
  | {
      readonly gateway: Gateway;
      readonly rules: LoadableRuleBook;
      readonly bodyTimeout: number;
      /** This isolate among the others; undefined without an object that they share. */
      readonly replica: EdgeReplica | undefined;
      readonly admin: EdgeAdmin | undefined;
    }
  | { readonly faults: readonly string[] };

/** The operators' side of a worker. */
interface EdgeAdmin {
  /** In lower case. */
  readonly hosts: ReadonlySet<string>;
  readonly fetch: (request: Request) => Promise<Response>;
}

/** The code that only few isolates need: each part is undefined unless the rule book or the bindings of this one ask for it. */
type LoadedCode = Awaited<ReturnType<typeof loadCode>>;

/** Loads that code. Each request does so itself until the isolate has a gateway, because it must not wait for work of another request. */
async function loadCode({ bindings, ruleBook }: EdgeGatewayParts) {
  const isSteered = bindings.ROLLOUT !== undefined || ruleBook.rollout?.modes !== undefined;
  const [rollout, webhooks] = await Promise.all([
    isSteered ? import('./rollout.ts') : undefined,
    ruleBook.webhooks && import('../gateway/webhooks.ts'),
  ]);
  return { rollout, webhooks };
}

/** Creates the gateway of an isolate, which has its own counters and circuit breaker. */
export async function createEdgeGateway(parts: EdgeGatewayParts): Promise<EdgeGateway> {
  return edgeGatewayOf(parts, await loadCode(parts));
}

function edgeGatewayOf(parts: EdgeGatewayParts, code: LoadedCode): EdgeGateway {
  const environment = environmentOf(parts.bindings);
  const outcome = readSettings({ flags: {}, environment, readFile: noFile });
  if ('faults' in outcome) return outcome;
  const { settings } = outcome;
  const origin = settings.get(table.upstream);
  const faults = edgeFaults(parts, settings, code);
  if (origin === undefined)
    faults.push(`Set ${environmentName(table.upstream)}: there is no embedded V2 at the edge.`);
  if (origin === undefined || faults.length > 0) return { faults };
  const calls = new BindingCalls(parts);
  const rollout = code.rollout?.createEdgeRollout({
    ...parts,
    calls,
    name: `isolate ${randomHex(4)}`,
    hasV1: settings.get(table.v1Upstream) !== undefined,
  });
  const rules = new LoadableRuleBook(parts.ruleBook);
  const gateway = gatewayOf(parts, settings, origin, { rules, rollout, code, calls });
  const { replica, totals } = rollout ?? {};
  replica?.share({
    queue: gateway.rateLimitQueue,
    shieldOf: () => parts.ruleBook.rollout?.shield,
    counts: [gateway.knownClients, ...(totals === undefined ? [] : [totals])],
  });
  return {
    gateway,
    rules,
    bodyTimeout: settings.get(table.clientBodyTimeout),
    replica,
    admin: rollout && adminOf(parts, settings, rollout),
  };
}

/** Names of the settings that have no effect in an isolate. */
const NOT_AT_EDGE =
  /^(?:upstream-(?:host|sni|ca|cert|key)|tls-.*|proxy-protocol|rules|v2-openapi|capture.*)$/;

/** The reasons why these settings cannot be used at the edge, one sentence each. */
function edgeFaults(
  { bindings, ruleBook }: EdgeGatewayParts,
  settings: Settings,
  { webhooks }: LoadedCode,
): string[] {
  const faults = [...settingConflicts(settings)];
  const [origin, v1Origin] = [settings.get(table.upstream), settings.get(table.v1Upstream)];
  const idle = allSettings.filter(
    (setting) => NOT_AT_EDGE.test(setting.name) && !settings.isInitial(setting),
  );
  if (idle.length > 0)
    faults.push(`Unset ${idle.map(environmentName).join(', ')}: it has no effect at the edge.`);
  if (environmentOf(bindings)[CONFIG_VARIABLE] !== undefined)
    faults.push(`Unset ${CONFIG_VARIABLE}: there are no files at the edge; its variables are its settings.`);
  const logFile = settings.get(table.logFile);
  if (logFile !== undefined && logFile !== 'off')
    faults.push(`Unset ${environmentName(table.logFile)}, or set it to off: there are no files at the edge.`);
  if (settings.get(table.selfService).path !== undefined)
    faults.push(`Unset ${environmentName(table.selfService)}: an isolate at the edge keeps no report.`);
  if (settings.get(table.store).kind !== 'memory')
    faults.push(
      `Unset ${environmentName(table.store)}: at the edge the Durable Object ROLLOUT is the store.`,
    );
  if (origin?.socketPath !== undefined || v1Origin?.socketPath !== undefined)
    faults.push('There are no Unix sockets at the edge; set an http or https address.');
  const modes = modesInForce(ruleBook.rollout?.modes, undefined);
  const missing = v1Origin === undefined && missingV1Fault(modes, environmentName(table.v1Upstream));
  if (ruleBook.rollout?.newcomers !== undefined && bindings.ROLLOUT === undefined)
    faults.push(
      'The rule book has newcomers: bind the Durable Object ROLLOUT, because an isolate knows only the clients that it has seen itself.',
    );
  if (ruleBook.rollout?.newcomers !== undefined && settings.get(table.clientSecret) === undefined)
    faults.push(
      `The rule book has newcomers: set ${environmentName(table.clientSecret)}, or every isolate gives each client another name.`,
    );
  const secretFaults = webhooks?.SignedWebhooks.faultsOf(ruleBook, (name) => environmentOf(bindings)[name]);
  faults.push(...(secretFaults ?? []));
  const adminFault = adminFaultOf(bindings, settings);
  return [...faults, ...(missing ? [missing] : []), ...(adminFault === undefined ? [] : [adminFault])];
}

/** The address of a worker is public, so operators' routes require a token. */
function adminFaultOf({ ROLLOUT }: EdgeBindings, settings: Settings): string | undefined {
  if (settings.get(table.adminHosts).length === 0) return undefined;
  const name = environmentName(table.adminHosts);
  if (settings.get(table.adminToken) === undefined)
    return `${name} is set; set the secret ${environmentName(table.adminToken)} as well.`;
  return ROLLOUT === undefined
    ? `${name} is set, but the Durable Object ROLLOUT is not bound, so a choice would hold only in one isolate.`
    : undefined;
}

function adminOf(
  { ruleBook }: EdgeGatewayParts,
  settings: Settings,
  { control, replica, totals }: EdgeRollout,
): EdgeAdmin | undefined {
  const hosts = settings.get(table.adminHosts);
  const token = settings.get(table.adminToken);
  if (hosts.length === 0 || token === undefined || replica === undefined || totals === undefined)
    return undefined;
  const v1 = settings.get(table.v1Upstream);
  const parts: EdgeAdminParts = {
    hosts,
    token,
    control,
    replica,
    totals,
    ruleBook,
    v1Origin: v1 && v1.origin + v1.path,
    isSticky: settings.get(table.clientSecret) !== undefined,
  };
  let fetch: EdgeAdmin['fetch'] | undefined;
  return {
    hosts: new Set(hosts.map((host) => host.toLowerCase())),
    fetch: async (request) => {
      // Loaded on demand, because most isolates never serve an operator.
      const { createEdgeAdmin } = await import('./admin.ts');
      fetch ??= createEdgeAdmin(parts);
      return fetch(request);
    },
  };
}

/** The objects that the exchanges of an isolate share, besides the gateway. */
interface Shared {
  readonly rules: LoadableRuleBook;
  /** Undefined if only the migration of everything can be in force. */
  readonly rollout: EdgeRollout | undefined;
  readonly code: LoadedCode;
  readonly calls: BindingCalls;
}

function gatewayOf(
  { bindings, transforms = {}, v2Schemas, print, later }: EdgeGatewayParts,
  settings: Settings,
  origin: OriginSetting,
  { rules, rollout, code, calls }: Shared,
): Gateway {
  const options = gatewayOptions(settings, { bufferBytes: ISOLATE_BYTES });
  const secret = settings.get(table.clientSecret) ?? randomHex(32);
  const v1 = settings.get(table.v1Upstream);
  const nameClient = createClientHash(secret);
  const isLogged = settings.get(table.logFile) !== 'off';
  return new Gateway(
    {
      rules: () => rules,
      v2: originParts(settings, origin),
      v1: v1 && originParts(settings, v1),
      rollout: rollout?.control,
      v2Schemas: () => v2Schemas,
      // The platform limits the CPU time of a request, and so ends a transform that never returns, together with its exchange.
      transform: async ({ limits }, job) =>
        callWithin(transforms[job.module] ?? {}, job, limits.transform ?? TRANSFORM_BUDGET_MS),
      record: (entry) => {
        if (isLogged) print(entryLine(entry).trimEnd());
        rollout?.totals?.observe(entry);
        ship(entry, bindings, calls);
      },
      observer: structureObserver(settings.constants.structureRate, Date.now),
      now: () => performance.now(),
      time: () => Date.now(),
      newRequestId: () => crypto.randomUUID(),
      newTraceHex: () => randomHex(24),
      clientOf: (authorization) => {
        const name = nameClient(authorization);
        // A name that is already known causes no wait.
        if (name instanceof Promise) later(name);
        return name;
      },
      webhooks:
        code.webhooks &&
        new code.webhooks.SignedWebhooks(
          (name) => environmentOf(bindings)[name],
          (address) => ({ ...originParts(settings, { origin: address, path: '' }), hosts: [] }),
        ),
      decode: decodeWebBody,
      hash: hashOnWeb,
      encode: settings.get(table.responseCoding) === 'keep' ? encodeWebBody : undefined,
      codings: WEB_CODINGS,
      after: (milliseconds, run) => {
        setTimeout(run, milliseconds);
      },
      random: () => Math.random(),
      onNotice: (notice) => {
        // The exchange's entry already names the fault; a process log line would double the output per request.
        if (notice.event === 'upstream-fault') return;
        const { level, event, message, fields } = noticeLine(notice);
        print(edgeProcessLine(level, event, message, fields));
      },
      onUnexpectedError: (error) => {
        const { message, stack } =
          error instanceof Error ? error : { message: String(error), stack: undefined };
        print(edgeProcessLine('error', 'unexpected-error', `bug: ${message}`, { stack }));
      },
    },
    { ...options, bufferBytes: Math.min(options.bufferBytes, ISOLATE_BYTES) },
  );
}

function originParts(settings: Settings, { origin, path }: OriginSetting): OriginParts {
  const upstream = createFetchUpstream({
    origin,
    headersTimeout: settings.get(table.upstreamHeadersTimeout),
    bodyTimeout: settings.get(table.upstreamBodyTimeout),
  });
  return { upstream, path, hosts: [new URL(origin).host] };
}

/** Bytes for buffered bodies: an isolate has 128 MB for everything. */
const ISOLATE_BYTES = 48 * 1024 * 1024;

/** A failing destination loses its copy of the entry, never the response. */
function ship(entry: Entry, bindings: EdgeBindings, calls: BindingCalls): void {
  const { REWRITE_LOG_ANALYTICS: analytics, REWRITE_LOG_QUEUE: queue } = bindings;
  if (analytics !== undefined)
    void calls.result('REWRITE_LOG_ANALYTICS', async () => analytics.writeDataPoint(dataPoint(entry)));
  if (queue !== undefined)
    void calls.result('REWRITE_LOG_QUEUE', async () => queue.send(entry, { contentType: 'json' }));
}

function randomHex(bytes: number): string {
  return hexOf(crypto.getRandomValues(new Uint8Array(bytes)));
}

function noFile(): string {
  throw new Error('files are not available at the edge');
}

/** Serves a platform's requests with the gateway of an isolate. */
export class EdgeServer {
  private readonly parts: EdgeGatewayParts;
  private edge: EdgeGateway | undefined = undefined;

  constructor(parts: EdgeGatewayParts) {
    this.parts = parts;
  }

  async fetch(request: Request): Promise<Response> {
    const { parts } = this;
    let { edge } = this;
    if (edge === undefined) {
      const code = await loadCode(parts);
      // Another request may have created the gateway meanwhile.
      edge = this.edge ??= edgeGatewayOf(parts, code);
    }
    if ('faults' in edge) return this.unconfigured(edge.faults);
    const { gateway, replica, admin } = edge;
    if (admin?.hosts.has(hostOf(request)) === true) return admin.fetch(request);
    const exchange = new EdgeExchange(request, {
      bodyTimeout: edge.bodyTimeout,
      refusals: parts.ruleBook.refusals,
    });
    const received = gateway.receive(exchange);
    const isShared = replica !== undefined && received.decision.route === 'migrate';
    // A client that disconnects ends the worker, and the entry would be lost, unless some work is still pending.
    parts.later(isShared ? replica.accompany(exchange.finished) : exchange.finished);
    if (isShared) await replica.begin();
    try {
      if (lacksCode(edge.rules, received.decision)) await loadFormats(edge.rules);
      return await gateway.serve(received);
    } catch (error) {
      return gateway.failInternally(received.exchange, error);
    }
  }

  /** A worker cannot refuse to start over its settings; instead it refuses every request and logs the reason for the operator. */
  private unconfigured(faults: readonly string[]): Response {
    for (const fault of faults) this.parts.print(edgeProcessLine('error', 'start-refused', fault));
    const { refusals } = this.parts.ruleBook;
    return failureResponse(gatewayFailure('internal', 'The gateway is not configured.'), refusals);
  }
}

/** True for the first V1 request of an isolate with a form, a multipart body or a patch, whose code is not loaded yet. */
function lacksCode({ formats }: LoadableRuleBook, decision: Decision): boolean {
  if (formats !== undefined || decision.route !== 'migrate' || decision.body.action !== 'rewrite')
    return false;
  const { format } = decision.body;
  return format !== 'json' && !isOfTexts(format);
}

/** Loads the code for forms, multipart bodies and patches, which most isolates never get. */
async function loadFormats(rules: LoadableRuleBook): Promise<void> {
  const { formatPlans } = await import('../rewrite/compiled-rule-book.ts');
  rules.formats ??= formatPlans(rules.ruleBook);
}

/** The host name by which the worker was called, in lower case. */
function hostOf({ headers }: Request): string {
  return (headers.get('host') ?? '').toLowerCase().replace(/:\d*$/, '');
}

/** Identifies clients as on Node: the first 16 hex digits of HMAC-SHA-256(key, secret). */
export function createClientHash(secret: string): (authorization: string) => string | Promise<string> {
  const bytes = new TextEncoder();
  let imported: Promise<CryptoKey> | undefined;
  return rememberedHash(async (apiKey) => {
    // Imported on the first request: the platform forbids it while a worker starts.
    imported ??= crypto.subtle.importKey(
      'raw',
      bytes.encode(secret),
      { name: 'HMAC', hash: 'SHA-256' },
      false,
      ['sign'],
    );
    const latin1 = Uint8Array.from(apiKey, (unit) => unit.charCodeAt(0));
    try {
      const digest = await crypto.subtle.sign('HMAC', await imported, latin1);
      return hexOf(new Uint8Array(digest, 0, 8));
    } catch (error) {
      imported = undefined;
      throw error;
    }
  });
}

/**
 * Requests the attribute names of at most `perSecond` exchanges a second, so that entries carry them as on Node; stores nothing.
 */
export function structureObserver(perSecond: number, now: () => number): Observer {
  const rate = new CaptureRate(perSecond, now);
  return { bodyLimit: 0, begin: () => rate.next(), observe() {} };
}
