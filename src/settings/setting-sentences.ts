import { constants, type Setting, settings } from './settings.ts';

/** What each setting is, in one sentence, and the meaning of an unset value: `--help` and the docs have them, a worker at the edge has not. */
const SENTENCES = {
  listen: 'Address for clients; `*:8080` is every address, IPv6 and IPv4.',
  adminListen: 'Address of the admin listener: health, inspector, metrics.',
  upstream:
    'URL of the V2 service, or unix: and the path of a socket; ?close-notify=off behind the URL is for a service that ends TLS without that alert. Unset: the gateway starts the embedded reference V2.',
  v1Upstream:
    'URL of the V1 service, for the modes observe, shadow, canary and verify. Unset: the gateway migrates every V1 request.',
  v2Openapi:
    "OpenAPI description of V2, in JSON or YAML: in the modes observe, shadow and canary the gateway checks each body that goes to V1 against it, as a migration would send it. Unset: the embedded reference's own, or no checks.",
  store:
    "Place of modes chosen at run time, and of the modes, canary windows and totals of the report that replicas share: memory (until the gateway stops), file: and a path (one machine), or a Redis or Valkey server, as redis://host:6379/0 or rediss://host:6379/0 (TLS). A server's address may end with a question mark and prefix=NAME for the keys of one fleet, ca=FILE for its authorities, and copy=FILE for a start without it, joined by &.",
  storePassword: 'Password of the Redis store. Unset: none.',
  rules: 'Path of the rule book.',
  logLevel: 'Minimum level of the process log, on stderr.',
  logFormat: 'Format of the process log; auto is text on a terminal and JSON elsewhere.',
  logFile: 'File for the rewrite log, or off. Unset: stdout.',
  clientSecret: 'Secret key of the client hashes. Unset: random, which renames all clients at each start.',
  maxInFlight: 'Maximum number of requests in flight; beyond it, 503.',
  bufferBytes:
    'Maximum memory for bodies being rewritten, every copy counted; beyond it, 503. Unset: a quarter of the memory limit, from 32MiB to 256MiB.',
  responseCoding:
    "Content coding of rewritten responses: keep uses V2's if the client accepts it, identity uses none.",
  headerBytes: 'Maximum size of the header section of a request, with the target; beyond it, 431.',
  clientHeadersTimeout:
    'Maximum time to receive request headers; and, from accept, a PROXY header and the TLS handshake.',
  clientBodyTimeout: 'Maximum time between two parts of a request body.',
  clientConnections:
    'Maximum number of client connections; beyond it, idle ones and half-read heads are closed first.',
  minDataRate:
    'Minimum bytes per second at which a client must send a body or read a response; 0 is no limit.',
  idleTimeout: 'Time after which an idle client connection is closed.',
  upstreamConnections: 'Maximum number of connections to V2; beyond it, requests wait.',
  upstreamConnectTimeout:
    'Maximum time to connect to V2, all attempts together; requests wait this long while V2 restarts.',
  upstreamHeadersTimeout: "Maximum time for V2 to send a response's head.",
  upstreamBodyTimeout: 'Maximum time between two parts of a response from V2.',
  upstreamHeaderBytes:
    'Maximum size of the header section of a response from V2, with those of interim responses; beyond it, 502.',
  upstreamIdleTimeout:
    'Maximum time to keep an idle connection to V2; less if V2 announces a shorter time or closes sooner.',
  upstreamMaxAge: 'Age at which a connection to V2 is replaced and its name resolved again; 0 is no limit.',
  upstreamHost: 'Host header for V2. Unset: the host of its URL.',
  upstreamSni: 'Name that the certificate of V2 must have. Unset: the host of its URL.',
  upstreamCa: 'File of PEM certificate authorities to trust for V2. Unset: the public ones.',
  upstreamCert: 'File of the PEM client certificate for V2.',
  upstreamKey: 'File of the PEM key of the client certificate for V2.',
  breaker: 'Circuit breaker: stop sending to V2 for a while when it keeps failing.',
  workers: 'Number of processes sharing the port; auto starts one per core. Limits apply to each process.',
  drain: 'Maximum time to finish requests in flight when the gateway stops.',
  forwarded: "Header fields that tell V2 the client's address.",
  via: 'Name of the gateway in the Via of requests and responses; a request that already has it is a loop (508). off adds none.',
  trustedProxies: 'Address ranges of proxies whose forwarding headers are trusted.',
  proxyProtocol: 'Whether connections of trusted proxies begin with a PROXY protocol header, version 1 or 2.',
  tlsCert: 'File of the PEM certificate chain for clients; turns on TLS and HTTP/2.',
  tlsKey: 'File of the PEM key of the certificate for clients.',
  adminToken: 'Token of the admin listener; required unless it listens on loopback.',
  adminHosts: 'Host names under which operators reach the admin listener.',
  capture: 'Content kept for the inspector: off keeps only names, bodies keeps values as well.',
  captureMask: 'Members whose values are never kept: JSON pointers, or names that match anywhere.',
  captureMemory:
    'Maximum memory for exchanges kept for the inspector; a body may have a 256th of it. Unset: a sixteenth of the memory limit, at most 64MiB.',
  inspectorResend: 'Whether operators may send a kept request to V2 again, with a key that they enter.',
  selfService:
    "Whether a V1 client may read its own report and guide, with its API key: off, on, or link, which also points to the report in a Link field of responses to V1 clients. A path below V1's prefix may follow in place of /migration, as in on:/help; the service no longer gets requests for that path.",
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
