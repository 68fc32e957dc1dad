import {
  address,
  addressRanges,
  bytes,
  choice,
  count,
  description,
  file,
  host,
  milliseconds,
  names,
  onOff,
  origin,
  plainName,
  positive,
  processes,
  pseudonym,
  releases,
  type SettingKind,
  store,
  text,
  v1Path,
} from './setting-kinds.ts';

/** One setting: `--name` on the command line, `GATEWAY_NAME` in the environment. */
export interface Setting<Value> {
  /** In kebab case, such as `max-in-flight`. */
  readonly name: string;
  readonly kind: SettingKind<Value>;
  /** Default as text; undefined when it is unset. */
  readonly initial: string | undefined;
  /** Default value. */
  readonly value: Value;
  /** Description in one sentence, and the meaning of an unset value. */
  readonly sentence: string;
  /** True when its value may be in a file named by `GATEWAY_NAME_FILE`, and is never printed. */
  readonly secret: boolean;
}

/**
 * The settings of the gateway. The table defines the environment variables, the flags, their validation, `--help` and the docs.
 */
export const settings = {
  listen: withDefault('listen', address, '127.0.0.1:8080', 'Address for clients.'),
  adminListen: withDefault(
    'admin-listen',
    address,
    '127.0.0.1:8081',
    'Address of the admin listener: health, inspector, metrics.',
  ),
  upstream: optional(
    'upstream',
    origin,
    'URL of the V2 service, or unix: and the path of a socket. Unset: the embedded reference V2 is started.',
  ),
  v1Upstream: optional(
    'v1-upstream',
    origin,
    'URL of the V1 service, for the modes observe, shadow and canary. Unset: every V1 request is migrated.',
  ),
  v2Openapi: optional(
    'v2-openapi',
    description,
    "OpenAPI description of V2, in JSON or YAML: each body that goes to V1, in the modes observe, shadow and canary, is checked against it as a migration would send it. Unset: the embedded reference's own, or no checks.",
  ),
  rolloutFile: optional(
    'rollout-file',
    file,
    'File that keeps modes chosen at run time; replicas on one machine can share it. With a Redis store it is a copy, for a start without the store. Unset: kept in memory.',
  ),
  store: withDefault(
    'store',
    store,
    'memory',
    'Where replicas share modes, canary windows, rate limits and the totals of the report: memory (one gateway), file: and a path (one machine), or a Redis or Valkey server, as redis://host:6379/0 or rediss://host:6379/0 (TLS).',
  ),
  storeName: withDefault(
    'store-name',
    plainName,
    'capture-gateway',
    'Prefix of the keys in a Redis store: gateways with the same name are replicas of each other.',
  ),
  storePassword: secret('store-password', 'Password of the Redis store. Unset: none.'),
  storeCa: optional(
    'store-ca',
    file,
    "PEM file of the authorities for the certificate of a rediss store. Unset: the system's.",
  ),
  reportKeep: withDefault(
    'report-keep',
    positive,
    '180',
    'Days after which a client that no replica sees any more is forgotten in the totals that replicas share by a file or Redis store.',
  ),
  rules: withDefault('rules', file, 'config/rules.yaml', 'Path of the rule book.'),
  logLevel: withDefault(
    'log-level',
    choice('info', 'warn', 'error', 'silent'),
    'info',
    'Minimum level of the process log, on stderr.',
  ),
  logFormat: withDefault(
    'log-format',
    choice('auto', 'json', 'text'),
    'auto',
    'Format of the process log; auto is text on a terminal and JSON elsewhere.',
  ),
  rewriteLogLevel: withDefault(
    'rewrite-log-level',
    choice('info', 'warn', 'error', 'silent'),
    'info',
    'Minimum level of the rewrite log.',
  ),
  logFile: optional('log-file', file, 'File for the rewrite log. Unset: stdout.'),
  clientSecret: secret(
    'client-secret',
    'Secret key of the client hashes. Unset: random at each start, so clients get new names.',
  ),

  maxInFlight: withDefault(
    'max-in-flight',
    positive,
    '1000',
    'Maximum number of requests in flight; beyond it, 503.',
  ),
  bufferBytes: optional(
    'buffer-bytes',
    bytes,
    'Maximum memory for bodies being rewritten, every copy counted; beyond it, 503. Unset: a quarter of the memory limit, at most 256MiB.',
  ),
  bodyLimit: optional(
    'body-limit',
    bytes,
    'Maximum size of a body to rewrite; beyond it, 413. Unset: limits.body of the rule book.',
  ),
  headerBytes: withDefault(
    'header-bytes',
    bytes,
    '16KiB',
    'Maximum size of the header section of a request, with the target; beyond it, 431.',
  ),
  headerCount: withDefault(
    'header-count',
    positive,
    '100',
    'Maximum number of header fields of a request; beyond it, 431.',
  ),
  clientHeadersTimeout: withDefault(
    'client-headers-timeout',
    milliseconds,
    '10000',
    'Maximum time to receive request headers.',
  ),
  clientBodyTimeout: withDefault(
    'client-body-timeout',
    milliseconds,
    '60000',
    'Maximum time between two parts of a request body.',
  ),
  clientConnections: withDefault(
    'client-connections',
    positive,
    '10000',
    'Maximum number of client connections; beyond it, idle ones and half-read heads are closed first.',
  ),
  clientRequestTimeout: withDefault(
    'client-request-timeout',
    milliseconds,
    '0',
    'Maximum time to receive a whole request; 0 is no limit.',
  ),
  minDataRate: withDefault(
    'min-data-rate',
    bytes,
    '240',
    'Minimum bytes per second at which a client must send a body or read a response; 0 is no limit.',
  ),
  minDataRateGrace: withDefault(
    'min-data-rate-grace',
    milliseconds,
    '5000',
    'Time for which a client may be slower than the minimum data rate.',
  ),
  idleTimeout: withDefault(
    'idle-timeout',
    milliseconds,
    '65000',
    'Time after which an idle client connection is closed.',
  ),

  upstreamConnections: withDefault(
    'upstream-connections',
    positive,
    '128',
    'Maximum number of connections to V2; beyond it, requests wait.',
  ),
  upstreamConnectTimeout: withDefault(
    'upstream-connect-timeout',
    milliseconds,
    '5000',
    'Maximum time to connect to V2, all attempts together; requests wait this long while V2 restarts.',
  ),
  upstreamHeadersTimeout: withDefault(
    'upstream-headers-timeout',
    milliseconds,
    '60000',
    'Maximum time until the head of a response from V2 is complete.',
  ),
  upstreamBodyTimeout: withDefault(
    'upstream-body-timeout',
    milliseconds,
    '60000',
    'Maximum time between two parts of a response from V2.',
  ),
  upstreamHeaderBytes: withDefault(
    'upstream-header-bytes',
    bytes,
    '64KiB',
    'Maximum size of the header section of a response from V2, with those of interim responses; beyond it, 502.',
  ),
  upstreamHeaderCount: withDefault(
    'upstream-header-count',
    positive,
    '1000',
    'Maximum number of header fields of a response from V2; beyond it, 502.',
  ),
  upstreamIdleTimeout: withDefault(
    'upstream-idle-timeout',
    milliseconds,
    '55000',
    'Maximum time to keep an idle connection to V2; less if V2 announces a shorter time or closes sooner.',
  ),
  upstreamMaxAge: withDefault(
    'upstream-max-age',
    milliseconds,
    '300000',
    'Age at which a connection to V2 is replaced and its name resolved again; 0 is no limit.',
  ),
  upstreamMaxRequests: withDefault(
    'upstream-max-requests',
    count,
    '0',
    'Number of requests after which a connection to V2 is replaced; 0 is no limit.',
  ),
  upstreamHost: optional('upstream-host', host, 'Host header for V2. Unset: the host of its URL.'),
  upstreamSni: optional(
    'upstream-sni',
    host,
    'Name that the certificate of V2 must have. Unset: the host of its URL.',
  ),
  upstreamCa: optional(
    'upstream-ca',
    file,
    'File of PEM certificate authorities to trust for V2. Unset: the public ones.',
  ),
  upstreamCert: optional('upstream-cert', file, 'File of the PEM client certificate for V2.'),
  upstreamKey: optional('upstream-key', file, 'File of the PEM key of the client certificate for V2.'),
  breaker: withDefault(
    'breaker',
    onOff,
    'on',
    'Circuit breaker: stop sending to V2 for a while when it keeps failing.',
  ),
  breakerFailures: withDefault(
    'breaker-failures',
    count,
    '20',
    'Number of consecutive requests failed by V2 that open the circuit.',
  ),
  breakerOpen: withDefault(
    'breaker-open',
    milliseconds,
    '200',
    'Maximum time between two probes of an open circuit: the first is sent at once, the second after 100 ms, each later one after twice the time. While five have no response, the next is sent after 5 s.',
  ),

  workers: withDefault(
    'workers',
    processes,
    '1',
    'Number of processes sharing the port; auto starts one per core. Limits apply to each process.',
  ),
  drain: withDefault(
    'drain',
    milliseconds,
    '25000',
    'Maximum time to finish requests in flight when the gateway stops.',
  ),
  drainDelay: withDefault(
    'drain-delay',
    milliseconds,
    '500',
    'Time to keep accepting connections when the gateway stops, with responses that close them.',
  ),
  forwarded: withDefault(
    'forwarded',
    choice('off', 'x-forwarded', 'rfc7239'),
    'off',
    'Header fields that tell V2 the address of the client.',
  ),
  via: withDefault(
    'via',
    pseudonym,
    'capture-gateway',
    'Name of the gateway in the Via of requests and responses; a request that bears it already is a loop (508). off adds none.',
  ),
  trustedProxies: withDefault(
    'trusted-proxies',
    addressRanges,
    '',
    'Address ranges of proxies whose forwarding headers are trusted.',
  ),
  proxyProtocol: withDefault(
    'proxy-protocol',
    onOff,
    'off',
    'Whether connections of trusted proxies begin with a PROXY protocol header, version 1 or 2.',
  ),
  tlsCert: optional(
    'tls-cert',
    file,
    'File of the PEM certificate chain for clients; turns on TLS and HTTP/2.',
  ),
  tlsKey: optional('tls-key', file, 'File of the PEM key of the certificate for clients.'),

  adminToken: secret('admin-token', 'Token of the admin listener; required unless it listens on loopback.'),
  adminHosts: withDefault('admin-hosts', names, '', 'Host names under which the admin listener is reached.'),
  capture: withDefault(
    'capture',
    choice('off', 'bodies'),
    'off',
    'Content kept for the inspector: off keeps structure only, bodies keeps values too.',
  ),
  captureMask: withDefault(
    'capture-mask',
    names,
    '',
    'Members whose values are never kept: JSON pointers, or names that match anywhere.',
  ),
  captureEntries: withDefault(
    'capture-entries',
    count,
    '1000',
    'Maximum number of exchanges kept for the inspector.',
  ),
  captureBytes: optional(
    'capture-bytes',
    bytes,
    'Maximum memory for exchanges kept for the inspector. Unset: a sixteenth of the memory limit, at most 64MiB.',
  ),
  captureBodyLimit: withDefault(
    'capture-body-limit',
    bytes,
    '256KiB',
    'Maximum size of a body kept for the inspector.',
  ),
  inspectorEntries: withDefault(
    'inspector-entries',
    positive,
    '10000',
    'Number of log entries that the inspector can search.',
  ),
  structureRate: withDefault(
    'structure-rate',
    count,
    '50',
    'Maximum number of exchanges per second whose structure is recorded; further ones only if they fail.',
  ),
  inspectorResend: withDefault(
    'inspector-resend',
    choice('off', 'v2'),
    'off',
    'Whether operators may send a kept request to V2 again, with a key that they enter.',
  ),
  selfService: withDefault(
    'self-service',
    onOff,
    'off',
    'Whether a V1 client may read its own report and guide, with its API key.',
  ),
  selfServicePath: withDefault(
    'self-service-path',
    v1Path,
    '/api/v1/migration',
    'Path of the report that a V1 client reads; the service itself no longer gets requests for it.',
  ),
  selfServiceLink: withDefault(
    'self-service-link',
    onOff,
    'off',
    'Whether responses to V1 clients point to their report, in a Link of the relation help.',
  ),
  clientNames: optional('client-names', file, 'YAML or JSON file of display names by client hash.'),

  referenceListen: withDefault(
    'reference-listen',
    address,
    '127.0.0.1:8090',
    'Address of the reference service.',
  ),
  referenceDb: optional('reference-db', file, 'SQLite file of the reference service. Unset: kept in memory.'),
  referenceUnknown: withDefault(
    'reference-unknown',
    choice('refuse', 'strip'),
    'refuse',
    'Treatment by the reference service of attributes that the version of a request does not have.',
  ),
  referenceDialect: withDefault(
    'reference-dialect',
    choice('v2', 'v1', 'both'),
    'v2',
    'API versions that the reference service speaks.',
  ),
  referenceRate: withDefault(
    'reference-rate',
    count,
    '0',
    'Requests per minute and API key that the reference service allows; 0 is no limit.',
  ),
  referenceRelease: withDefault(
    'reference-release',
    releases,
    '2025-01-01',
    'Dated releases of the reference V2. Those after 2025-01-01 are invented: they call the name of a client display_name.',
  ),
  referenceDeprecated: withDefault(
    'reference-deprecated',
    names,
    '',
    'Attributes that the reference V1 still takes, with a message, and the reference V2 has dropped.',
  ),
  referenceDeprecations: withDefault(
    'reference-deprecations',
    choice('data', 'body'),
    'data',
    'Where the reference V1 lists the deprecated attributes that a request used: in data, or beside it in the body.',
  ),
  referenceReadOnly: withDefault(
    'reference-read-only',
    names,
    '',
    'API keys that the reference service lets read only: their writes get 403.',
  ),
  referenceFailing: withDefault(
    'reference-failing',
    names,
    '',
    'API keys for which the store of the reference service fails: their requests get 500.',
  ),
} as const;

/** All settings, in the order of the table. */
export const allSettings: readonly Setting<unknown>[] = Object.values(settings);

/** Those whose values may be in files. */
export const secretSettings: readonly Setting<string | undefined>[] = [
  settings.storePassword,
  settings.clientSecret,
  settings.adminToken,
];

/** Returns the environment variable of a setting. */
export function environmentName(setting: { readonly name: string }): string {
  return `GATEWAY_${setting.name.toUpperCase().replaceAll('-', '_')}`;
}

function withDefault<Value>(
  name: string,
  kind: SettingKind<Value>,
  initial: string,
  sentence: string,
): Setting<Value> {
  const outcome = kind.read(initial);
  if ('fault' in outcome) throw new Error(`The default of ${name} ${outcome.fault}.`);
  return { name, kind, initial, value: outcome.value, sentence, secret: false };
}

function optional<Value>(
  name: string,
  kind: SettingKind<Value>,
  sentence: string,
): Setting<Value | undefined> {
  return { name, kind, initial: undefined, value: undefined, sentence, secret: false };
}

function secret(name: string, sentence: string): Setting<string | undefined> {
  return { name, kind: text, initial: undefined, value: undefined, sentence, secret: true };
}
