import { constants, type Setting, settings } from './settings.ts';

/**
 * Each setting in one sentence, with the meaning of an unset value: for `--help` and the docs; a worker at the edge does not contain it.
 */
const SENTENCES = {
  listen: 'Address for clients; `*:8080` is every address, IPv6 and IPv4.',
  adminListen: 'Address for health, page and metrics.',
  upstream:
    'URL of V2, or unix: and the path of a socket. Append ?close-notify=off for a service that ends TLS without its close_notify alert. Unset: the embedded reference V2.',
  v1Upstream: 'URL of V1, for all modes but migrate. Unset: the gateway migrates every V1 request.',
  v2Openapi:
    'OpenAPI description of V2. While V1 serves, the gateway checks the bodies that a migration would send; *Try* checks those of another rule book. Unset: no checks, except with the embedded reference.',
  store:
    'Store for modes chosen at run time, and for the state that replicas share: memory (until the gateway stops), file: and a path (one machine), or redis:// for Redis or Valkey (rediss:// for TLS). After ? and joined by &: prefix=NAME for the keys of one fleet, ca=FILE for authorities, copy=FILE for a start without the server.',
  storePassword: 'Password of the Redis store.',
  rules: 'Path of the rule book.',
  logLevel: 'Minimum level of the process log, on stderr.',
  logFormat: 'Format of the process log; auto is text on a terminal and JSON elsewhere.',
  logFile: 'File for the rewrite log, or off. Unset: stdout.',
  clientSecret: 'Secret key of the client hashes. Unset: random, so each start renames all clients.',
  maxInFlight: 'Maximum number of requests in flight; beyond it, 503.',
  bufferBytes:
    'Maximum memory for bodies being rewritten, counting every copy; beyond it, 503. Unset: a quarter of the memory limit, from 32MiB to 256MiB.',
  responseCoding:
    "Content coding of rewritten responses: keep is V2's if the client accepts it, identity none.",
  headerBytes: 'Maximum size of a request head; beyond it, 431.',
  clientHeadersTimeout:
    'Maximum time for a request head, and, from accept, for a PROXY header and the TLS handshake.',
  clientBodyTimeout: 'Maximum time between two parts of a request body.',
  clientConnections: 'Maximum number of client connections; beyond it, idle ones are closed first.',
  minDataRate: 'Minimum bytes per second at which a client sends a body or reads a response; 0 is no limit.',
  idleTimeout: 'Time after which an idle client connection is closed.',
  upstreamConnections: 'Maximum number of connections to V2; beyond it, requests wait.',
  upstreamConnectTimeout:
    'Maximum time to connect to V2, all attempts together; requests wait this long while V2 restarts.',
  upstreamHeadersTimeout: 'Maximum time for V2 to send a response head.',
  upstreamBodyTimeout: 'Maximum time between two parts of a response from V2.',
  upstreamHeaderBytes:
    'Maximum size of a response head from V2, with those of interim responses; beyond it, 502.',
  upstreamIdleTimeout: 'Maximum time to keep an idle connection to V2; less if V2 says so.',
  upstreamMaxAge: 'Age at which a connection to V2 is replaced, with a new DNS lookup; 0 is no limit.',
  upstreamHost: 'Host header for V2. Unset: the host of its URL.',
  upstreamSni: 'Name in the certificate of V2. Unset: the host of its URL.',
  upstreamCa: 'PEM file of authorities to trust for V2. Unset: the public ones.',
  upstreamCert: 'PEM file of the client certificate for V2.',
  upstreamKey: 'PEM file of its key.',
  breaker: 'Circuit breaker: stop sending to V2 for a while when it keeps failing.',
  workers: 'Processes that share the port; auto starts one per core. Limits apply to each.',
  drain: 'Maximum time to finish requests in flight when the gateway stops.',
  forwarded: "Header fields that tell V2 the client's address.",
  via: 'Name of the gateway in Via; a request that already has it is a loop (508). off adds none.',
  trustedProxies: 'Addresses of proxies whose forwarding headers are trusted.',
  proxyProtocol: 'Whether connections of trusted proxies begin with a PROXY header, version 1 or 2.',
  tlsCert: 'PEM file of the certificate chain for clients; turns on TLS and HTTP/2.',
  tlsKey: 'PEM file of its key.',
  adminToken: 'Token of the admin listener; required unless it listens on loopback.',
  adminHosts: 'Host names of the admin listener.',
  capture: 'Content of kept exchanges: names (off), or values as well (bodies).',
  captureMask: 'Members whose values are never kept: JSON pointers, or names that match anywhere.',
  captureMemory:
    'Maximum memory for kept exchanges; a body may have a 256th of it. Unset: a sixteenth of the memory limit, at most 64MiB.',
  inspectorResend: 'Whether operators may send a kept request to V2 again, with a key that they enter.',
  selfService:
    "Whether a V1 client may read its own report and guide with its API key; link also points to the report in responses to V1 clients. A path below V1's prefix may replace /migration, as in on:/help; V1 and V2 no longer get requests for it.",
  clientNames: 'YAML or JSON file of display names by client hash.',
} as const satisfies Readonly<Record<keyof typeof settings, string>>;

const sentences: Readonly<Record<string, string>> = SENTENCES;

const bySetting: ReadonlyMap<Setting<unknown>, string> = new Map(
  Object.entries(settings).map(([key, setting]) => [setting, sentences[key] ?? '']),
);

/** The sentence that describes a setting. */
export function sentenceOf(setting: Setting<unknown>): string {
  return bySetting.get(setting) ?? '';
}

/** The remedy for each removed setting, by name. */
export const removedSettings: Readonly<Record<string, string>> = {
  'rollout-file':
    'set store to file: and its path; for a Redis store, append ?copy= and the path to its address',
  'store-name': 'append ?prefix= and the name to the address in store',
  'store-ca': 'append ?ca= and its path to the address in store',
  'report-keep': `clients are kept for ${constants.reportKeepDays} days`,
  'rewrite-log-level': 'set log-file to off for no rewrite log; a partial log would make the report wrong',
  'body-limit': 'set limits.body in the rule book',
  'header-count': `there may be ${constants.headerCount} header fields; header-bytes limits their size`,
  'client-request-timeout': 'min-data-rate, client-headers-timeout and client-body-timeout end slow requests',
  'min-data-rate-grace': `a client may be slower than min-data-rate for ${constants.minDataRateGrace} ms`,
  'upstream-header-count': `there may be ${constants.upstreamHeaderCount} header fields; upstream-header-bytes limits their size`,
  'upstream-max-requests': 'upstream-max-age replaces connections to V2',
  'breaker-failures': `${constants.breakerFailures} failures in a row open the circuit; set breaker to off for none`,
  'breaker-open': `an open circuit is probed at least every ${constants.breakerOpen} ms; set breaker to off for none`,
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
