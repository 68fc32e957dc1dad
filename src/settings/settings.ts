import {
  address,
  addressRanges,
  bytes,
  choice,
  description,
  file,
  host,
  logTarget,
  milliseconds,
  names,
  onOff,
  origin,
  positive,
  processes,
  pseudonym,
  selfService,
  type SettingKind,
  store,
  text,
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
  listen: withDefault(
    'listen',
    address,
    '127.0.0.1:8080',
    'Address for clients; `*:8080` is every address, IPv6 and IPv4.',
  ),
  adminListen: withDefault(
    'admin-listen',
    address,
    '127.0.0.1:8081',
    'Address of the admin listener: health, inspector, metrics.',
  ),
  upstream: optional(
    'upstream',
    origin,
    'URL of the V2 service, or unix: and the path of a socket; ?close-notify=off behind the URL is for a service that ends TLS without that alert. Unset: the gateway starts the embedded reference V2.',
  ),
  v1Upstream: optional(
    'v1-upstream',
    origin,
    'URL of the V1 service, for the modes observe, shadow, canary and verify. Unset: the gateway migrates every V1 request.',
  ),
  v2Openapi: optional(
    'v2-openapi',
    description,
    "OpenAPI description of V2, in JSON or YAML: in the modes observe, shadow and canary the gateway checks each body that goes to V1 against it, as a migration would send it. Unset: the embedded reference's own, or no checks.",
  ),
  store: withDefault(
    'store',
    store,
    'memory',
    "Place of modes chosen at run time, and of the modes, canary windows and totals of the report that replicas share: memory (until the gateway stops), file: and a path (one machine), or a Redis or Valkey server, as redis://host:6379/0 or rediss://host:6379/0 (TLS). A server's address may end with a question mark and prefix=NAME for the keys of one fleet, ca=FILE for its authorities, and copy=FILE for a start without it, joined by &.",
  ),
  storePassword: secret('store-password', 'Password of the Redis store. Unset: none.'),
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
  logFile: optional('log-file', logTarget, 'File for the rewrite log, or off. Unset: stdout.'),
  clientSecret: secret(
    'client-secret',
    'Secret key of the client hashes. Unset: random, which renames all clients at each start.',
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
    'Maximum memory for bodies being rewritten, every copy counted; beyond it, 503. Unset: a quarter of the memory limit, from 32MiB to 256MiB.',
  ),
  responseCoding: withDefault(
    'response-coding',
    choice('keep', 'identity'),
    'keep',
    "Content coding of rewritten responses: keep uses V2's if the client accepts it, identity uses none.",
  ),
  headerBytes: withDefault(
    'header-bytes',
    bytes,
    '16KiB',
    'Maximum size of the header section of a request, with the target; beyond it, 431.',
  ),
  clientHeadersTimeout: withDefault(
    'client-headers-timeout',
    milliseconds,
    '10000',
    'Maximum time to receive request headers; and, from accept, a PROXY header and the TLS handshake.',
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
  minDataRate: withDefault(
    'min-data-rate',
    bytes,
    '240',
    'Minimum bytes per second at which a client must send a body or read a response; 0 is no limit.',
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
    "Maximum time for V2 to send a response's head.",
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
  forwarded: withDefault(
    'forwarded',
    choice('off', 'x-forwarded', 'rfc7239'),
    'off',
    "Header fields that tell V2 the client's address.",
  ),
  via: withDefault(
    'via',
    pseudonym,
    'capture-gateway',
    'Name of the gateway in the Via of requests and responses; a request that already has it is a loop (508). off adds none.',
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
  adminHosts: withDefault(
    'admin-hosts',
    names,
    '',
    'Host names under which operators reach the admin listener.',
  ),
  capture: withDefault(
    'capture',
    choice('off', 'bodies'),
    'off',
    'Content kept for the inspector: off keeps only names, bodies keeps values as well.',
  ),
  captureMask: withDefault(
    'capture-mask',
    names,
    '',
    'Members whose values are never kept: JSON pointers, or names that match anywhere.',
  ),
  captureMemory: optional(
    'capture-memory',
    bytes,
    'Maximum memory for exchanges kept for the inspector; a body may have a 256th of it. Unset: a sixteenth of the memory limit, at most 64MiB.',
  ),
  inspectorResend: withDefault(
    'inspector-resend',
    choice('off', 'v2'),
    'off',
    'Whether operators may send a kept request to V2 again, with a key that they enter.',
  ),
  selfService: withDefault(
    'self-service',
    selfService,
    'off',
    "Whether a V1 client may read its own report and guide, with its API key: off, on, or link, which also points to the report in a Link field of responses to V1 clients. A path below V1's prefix may follow in place of /migration, as in on:/help; the service no longer gets requests for that path.",
  ),
  clientNames: optional('client-names', file, 'YAML or JSON file of display names by client hash.'),
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

/** A setting with a default, which must be valid. */
export function withDefault<Value>(
  name: string,
  kind: SettingKind<Value>,
  initial: string,
  sentence: string,
): Setting<Value> {
  const outcome = kind.read(initial);
  if ('fault' in outcome) throw new Error(`The default of ${name} ${outcome.fault}.`);
  return { name, kind, initial, value: outcome.value, sentence, secret: false };
}

/** A setting that may be unset. */
export function optional<Value>(
  name: string,
  kind: SettingKind<Value>,
  sentence: string,
): Setting<Value | undefined> {
  return { name, kind, initial: undefined, value: undefined, sentence, secret: false };
}

function secret(name: string, sentence: string): Setting<string | undefined> {
  return { name, kind: text, initial: undefined, value: undefined, sentence, secret: true };
}

/**
 * Values that nobody who runs a gateway can choose better than we can. They are no settings; tests replace them, and the tour does.
 */
export const constants = {
  /** Header fields of a request: `header-bytes` bounds their size, and this the work for each. Apache has the same. */
  headerCount: 100,
  /** Header fields of a response: V2 is trusted with more than a stranger, and is bounded by `upstream-header-bytes`. */
  upstreamHeaderCount: 1000,
  /** Milliseconds for a whole request; 0 is no limit, because `min-data-rate` ends slow ones without ending long ones. */
  clientRequestTimeout: 0,
  /** Milliseconds for which a client may be slower than `min-data-rate`: a lost packet or a change of cells takes 1 to 3 s. */
  minDataRateGrace: 5000,
  /** Requests after which a connection to V2 is replaced; 0 is no limit, because `upstream-max-age` spreads connections by time. */
  upstreamMaxRequests: 0,
  /** Requests in a row that V2 fails before the circuit opens: more than one bad endpoint, less than a second of traffic. */
  breakerFailures: 20,
  /** Longest pause between probes of an open circuit, in milliseconds: what a recovered V2 costs at most. */
  breakerOpen: 200,
  /** Milliseconds in which a stopping gateway still accepts, so that connections on their way are not reset; at most a fifth of `drain`. */
  drainDelay: 500,
  /** Exchanges kept for the inspector: more than anybody looks through; `capture-memory` bounds their size. */
  captureEntries: 1000,
  /** Exchanges a second whose structure is recorded, beside all that fail: enough for samples of each kind, 1 % of a core. */
  structureRate: 50,
  /** Log entries that the inspector can search: about 10 MB. */
  inspectorEntries: 10_000,
  /** Days after which a client that no replica sees any more leaves the totals of a shared store: two quarterly jobs. */
  reportKeepDays: 180,
} as const;

/** See `constants`; a test may have others. */
export type Constants = Readonly<Record<keyof typeof constants, number>>;

/** The way out for each setting that there was once, by name. */
export const goneSettings: Readonly<Record<string, string>> = {
  'rollout-file':
    'set store to file: and its path; beside a Redis store, put ?copy= and its path at the end of the address of store',
  'store-name': 'put ?prefix= and the name at the end of the address of store',
  'store-ca': 'put ?ca= and its path at the end of the address of store',
  'report-keep': `clients are kept for ${constants.reportKeepDays} days`,
  'rewrite-log-level': 'set log-file to off for no rewrite log; a part of it would make the report wrong',
  'body-limit': 'set limits.body in the rule book',
  'header-count': `there may be ${constants.headerCount} header fields; header-bytes limits their size`,
  'client-request-timeout': 'min-data-rate, client-headers-timeout and client-body-timeout end slow requests',
  'min-data-rate-grace': `a client may be slower than min-data-rate for ${constants.minDataRateGrace} ms`,
  'upstream-header-count': `there may be ${constants.upstreamHeaderCount} header fields; upstream-header-bytes limits their size`,
  'upstream-max-requests': 'upstream-max-age replaces connections to V2',
  'breaker-failures': `${constants.breakerFailures} failures in a row open the circuit; set breaker to off for none`,
  'breaker-open': `an open circuit is probed every ${constants.breakerOpen} ms at least; set breaker to off for none`,
  'drain-delay': `the gateway accepts for ${constants.drainDelay} ms after SIGTERM; for a longer time, delay the signal, as preStop does`,
  'capture-entries': 'set capture-memory',
  'capture-bytes': 'set capture-memory',
  'capture-body-limit': 'set capture-memory to 256 times the size of a body',
  'inspector-entries': `the inspector can search ${constants.inspectorEntries} entries; report and tail read the whole log`,
  'structure-rate': `the structure of ${constants.structureRate} exchanges a second is recorded`,
  'self-service-path': 'put the path into self-service, such as on:/migration',
  'self-service-link': 'set self-service to link',
  ...Object.fromEntries(
    [
      'listen',
      'db',
      'unknown',
      'dialect',
      'rate',
      'release',
      'deprecated',
      'deprecations',
      'read-only',
      'failing',
    ].map((name) => [
      `reference-${name}`,
      `run capture-gateway reference with --${name}, and set upstream to its address`,
    ]),
  ),
};
