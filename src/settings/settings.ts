import {
  address,
  addressRanges,
  bytes,
  choice,
  count,
  file,
  milliseconds,
  names,
  onOff,
  origin,
  processes,
  type SettingKind,
  text,
} from './setting-kinds.ts';

/** One setting: `--name` on the command line, `GATEWAY_NAME` in the environment. */
export interface Setting<Value> {
  /** In kebab case, such as `max-in-flight`. */
  readonly name: string;
  readonly kind: SettingKind<Value>;
  /** As text; undefined when it is unset by default. */
  readonly initial: string | undefined;
  /** The default. */
  readonly value: Value;
  /** What it does, for people; names what an unset one means. */
  readonly sentence: string;
  /** True when its value may stand in a file named by `GATEWAY_NAME_FILE`, and is never printed. */
  readonly secret: boolean;
}

/** The settings of the gateway. The table drives the environment, the flags, their faults, `--help` and the README. */
export const settings = {
  listen: given('listen', address, '127.0.0.1:8080', 'Where clients connect.'),
  adminListen: given('admin-listen', address, '127.0.0.1:8081', 'Where health, inspector and metrics are.'),
  upstream: optional('upstream', origin, 'The V2 service; without one the embedded reference V2 is started.'),
  v1Upstream: optional(
    'v1-upstream',
    origin,
    'The V1 service, for modes that send requests there; without one, V1 requests are only migrated.',
  ),
  rolloutFile: optional(
    'rollout-file',
    file,
    'Where modes that are chosen while the gateway runs are kept, for replicas too; without one, in memory.',
  ),
  rules: given('rules', file, 'config/rules.yaml', 'The rule book.'),
  logLevel: given(
    'log-level',
    choice('info', 'warn', 'error', 'silent'),
    'info',
    'The lowest level that is logged.',
  ),
  logFile: optional('log-file', file, 'Where the rewrite log goes; without one, to stdout.'),
  clientSecret: secret(
    'client-secret',
    'Keys the hashes that name clients; without one, random at each start.',
  ),

  maxInFlight: given('max-in-flight', count, '1000', 'Requests under way at once; beyond it 503.'),
  bufferBytes: given(
    'buffer-bytes',
    bytes,
    '256MiB',
    'Bytes held for rewriting, all requests together; beyond it 503.',
  ),
  bodyLimit: optional(
    'body-limit',
    bytes,
    'Bytes of a body to rewrite; without one, the limit of the rule book.',
  ),
  headerBytes: given('header-bytes', bytes, '16KiB', 'Bytes of a header section; beyond it 431.'),
  headerCount: given('header-count', count, '100', 'Fields of a header section; beyond it 431.'),
  clientHeadersTimeout: given('client-headers-timeout', milliseconds, '10000', 'For the head of a request.'),
  clientBodyTimeout: given('client-body-timeout', milliseconds, '60000', 'Between two parts of a body.'),
  clientRequestTimeout: given(
    'client-request-timeout',
    milliseconds,
    '0',
    'For a whole request; 0 is no limit.',
  ),
  idleTimeout: given('idle-timeout', milliseconds, '65000', 'For a kept connection without a request.'),

  upstreamConnections: given(
    'upstream-connections',
    count,
    '128',
    'Connections to V2; beyond it requests wait.',
  ),
  upstreamConnectTimeout: given('upstream-connect-timeout', milliseconds, '5000', 'For connecting to V2.'),
  upstreamHeadersTimeout: given(
    'upstream-headers-timeout',
    milliseconds,
    '60000',
    'For the first byte of a response.',
  ),
  upstreamBodyTimeout: given(
    'upstream-body-timeout',
    milliseconds,
    '60000',
    'Between two parts of a response.',
  ),
  upstreamCa: optional(
    'upstream-ca',
    file,
    'PEM certificates that V2 is trusted by; without one, the public ones.',
  ),
  upstreamCert: optional('upstream-cert', file, 'PEM certificate to show to V2.'),
  upstreamKey: optional('upstream-key', file, 'PEM key of that certificate.'),
  breaker: given('breaker', onOff, 'on', 'Leaves V2 alone for a while when it fails again and again.'),
  breakerFailures: given(
    'breaker-failures',
    count,
    '20',
    'Upstream failures in a row that open the circuit.',
  ),
  breakerOpen: given('breaker-open', milliseconds, '5000', 'Until an open circuit is probed.'),

  workers: given(
    'workers',
    processes,
    '1',
    'Processes that share the port; auto is one for each core. Limits hold for each.',
  ),
  drain: given('drain', milliseconds, '25000', 'For what is in flight when the gateway stops.'),
  forwarded: given(
    'forwarded',
    choice('off', 'x-forwarded', 'rfc7239'),
    'off',
    'How V2 is told of the client.',
  ),
  trustedProxies: given('trusted-proxies', addressRanges, '', 'Peers whose forwarding headers are believed.'),
  tlsCert: optional(
    'tls-cert',
    file,
    'PEM certificate chain; clients then speak TLS, and HTTP/2 if they like.',
  ),
  tlsKey: optional('tls-key', file, 'PEM key of that certificate.'),

  adminToken: secret(
    'admin-token',
    'Opens the admin listener; needed when it is reached from other machines.',
  ),
  adminHosts: given('admin-hosts', names, '', 'Host names that the admin listener is reached by.'),
  capture: given(
    'capture',
    choice('off', 'bodies'),
    'off',
    'What the inspector keeps of exchanges: structure only, or bodies too.',
  ),
  captureMask: given(
    'capture-mask',
    names,
    '',
    'Fields whose values are not kept: pointers, or names that hold anywhere.',
  ),
  captureEntries: given('capture-entries', count, '1000', 'Exchanges kept for the inspector.'),
  captureBytes: given('capture-bytes', bytes, '64MiB', 'Bytes kept for the inspector.'),
  captureBodyLimit: given(
    'capture-body-limit',
    bytes,
    '256KiB',
    'Bytes of a body beyond which it is not kept.',
  ),
  inspectorEntries: given('inspector-entries', count, '10000', 'Entries that the inspector looks back on.'),
  structureRate: given(
    'structure-rate',
    count,
    '50',
    'Exchanges a second whose structure and attribute names are kept.',
  ),
  clientNames: optional('client-names', file, 'Names for people by client hash, as YAML or JSON.'),

  referenceListen: given('reference-listen', address, '127.0.0.1:8090', 'Where `reference` listens.'),
  referenceDb: optional('reference-db', file, 'The database of the reference V2; without one, memory.'),
  referenceUnknown: given(
    'reference-unknown',
    choice('refuse', 'strip'),
    'refuse',
    'What the reference V2 does with unknown attributes.',
  ),
  referenceDialect: given(
    'reference-dialect',
    choice('v2', 'v1', 'both'),
    'v2',
    'Which versions of the API `reference` speaks.',
  ),
  referenceRate: given('reference-rate', count, '0', 'Requests a minute and key; 0 is no limit.'),
} as const;

/** Every setting, in the order of the table. */
export const allSettings: readonly Setting<unknown>[] = Object.values(settings);

/** The environment's name of a setting. */
export function environmentName(setting: { readonly name: string }): string {
  return `GATEWAY_${setting.name.toUpperCase().replaceAll('-', '_')}`;
}

function given<Value>(
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
