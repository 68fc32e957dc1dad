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
  /** True if its value may be in a file named by `GATEWAY_NAME_FILE`, and is never printed. */
  readonly secret: boolean;
}

/**
 * The settings of the gateway. The table defines the environment variables, the flags, their validation, `--help` and the docs.
 */
export const settings = {
  listen: withDefault('listen', address, '127.0.0.1:8080'),
  adminListen: withDefault('admin-listen', address, '127.0.0.1:8081'),
  upstream: optional('upstream', origin),
  v1Upstream: optional('v1-upstream', origin),
  v2Openapi: optional('v2-openapi', description),
  store: withDefault('store', store, 'memory'),
  storePassword: secret('store-password'),
  rules: withDefault('rules', file, 'config/rules.yaml'),
  logLevel: withDefault('log-level', choice('info', 'warn', 'error', 'silent'), 'info'),
  logFormat: withDefault('log-format', choice('auto', 'json', 'text'), 'auto'),
  logFile: optional('log-file', logTarget),
  clientSecret: secret('client-secret'),

  maxInFlight: withDefault('max-in-flight', positive, '1000'),
  bufferBytes: optional('buffer-bytes', bytes),
  responseCoding: withDefault('response-coding', choice('keep', 'identity'), 'keep'),
  headerBytes: withDefault('header-bytes', bytes, '16KiB'),
  clientHeadersTimeout: withDefault('client-headers-timeout', milliseconds, '10000'),
  clientBodyTimeout: withDefault('client-body-timeout', milliseconds, '60000'),
  clientConnections: withDefault('client-connections', positive, '10000'),
  minDataRate: withDefault('min-data-rate', bytes, '240'),
  idleTimeout: withDefault('idle-timeout', milliseconds, '65000'),

  upstreamConnections: withDefault('upstream-connections', positive, '128'),
  upstreamConnectTimeout: withDefault('upstream-connect-timeout', milliseconds, '5000'),
  upstreamHeadersTimeout: withDefault('upstream-headers-timeout', milliseconds, '60000'),
  upstreamBodyTimeout: withDefault('upstream-body-timeout', milliseconds, '60000'),
  upstreamHeaderBytes: withDefault('upstream-header-bytes', bytes, '64KiB'),
  upstreamIdleTimeout: withDefault('upstream-idle-timeout', milliseconds, '55000'),
  upstreamMaxAge: withDefault('upstream-max-age', milliseconds, '300000'),
  upstreamHost: optional('upstream-host', host),
  upstreamSni: optional('upstream-sni', host),
  upstreamCa: optional('upstream-ca', file),
  upstreamCert: optional('upstream-cert', file),
  upstreamKey: optional('upstream-key', file),
  breaker: withDefault('breaker', onOff, 'on'),

  workers: withDefault('workers', processes, '1'),
  drain: withDefault('drain', milliseconds, '25000'),
  forwarded: withDefault('forwarded', choice('off', 'x-forwarded', 'rfc7239'), 'off'),
  via: withDefault('via', pseudonym, 'capture-gateway'),
  trustedProxies: withDefault('trusted-proxies', addressRanges, ''),
  proxyProtocol: withDefault('proxy-protocol', onOff, 'off'),
  tlsCert: optional('tls-cert', file),
  tlsKey: optional('tls-key', file),

  adminToken: secret('admin-token'),
  adminHosts: withDefault('admin-hosts', names, ''),
  capture: withDefault('capture', choice('off', 'bodies'), 'off'),
  captureMask: withDefault('capture-mask', names, ''),
  captureMemory: optional('capture-memory', bytes),
  inspectorResend: withDefault('inspector-resend', choice('off', 'v2'), 'off'),
  selfService: withDefault('self-service', selfService, 'off'),
  clientNames: optional('client-names', file),
} as const;

/** All settings, in the order of the table. */
export const allSettings: readonly Setting<unknown>[] = Object.values(settings);

/** Settings whose values may be in files. */
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
export function withDefault<Value>(name: string, kind: SettingKind<Value>, initial: string): Setting<Value> {
  const outcome = kind.read(initial);
  if ('fault' in outcome) throw new Error(`The default of ${name} ${outcome.fault}.`);
  return { name, kind, initial, value: outcome.value, secret: false };
}

/** A setting that may be unset. */
export function optional<Value>(name: string, kind: SettingKind<Value>): Setting<Value | undefined> {
  return { name, kind, initial: undefined, value: undefined, secret: false };
}

function secret(name: string): Setting<string | undefined> {
  return { name, kind: text, initial: undefined, value: undefined, secret: true };
}

/** Values that no operator can choose better than the defaults, so they are not settings; tests and the tour replace them. */
export const constants = {
  /** Header fields of a request: `header-bytes` limits their size, this their number. Apache has the same limit. */
  headerCount: 100,
  /** Header fields of a response: more than of a request, because V2 is trusted; `upstream-header-bytes` limits their size. */
  upstreamHeaderCount: 1000,
  /** Milliseconds for which a client may be slower than `min-data-rate`: a lost packet or a change of cells takes 1 to 3 s. */
  minDataRateGrace: 5000,
  /** Failed requests to V2 in a row until the circuit opens: more than one bad endpoint causes, less than a second of traffic. */
  breakerFailures: 20,
  /** Maximum milliseconds between probes of an open circuit: how long a recovered V2 may stay unused. */
  breakerOpen: 200,
  /** Milliseconds in which a stopping gateway still accepts, so that new connections are not reset; at most a fifth of `drain`. */
  drainDelay: 500,
  /** Exchanges kept for the inspector: more than an operator looks at; `capture-memory` limits their size. */
  captureEntries: 1000,
  /** Exchanges per second whose structure is recorded, in addition to all failures: enough for samples of each kind, 1 % of a core. */
  structureRate: 50,
  /** Log entries that the inspector can search: about 10 MB. */
  inspectorEntries: 10_000,
  /** Days after which a client that no replica has seen is removed from the totals of a shared store: enough for two quarterly jobs. */
  reportKeepDays: 180,
} as const;

/** See `constants`; a test may have others. */
export type Constants = Readonly<Record<keyof typeof constants, number>>;
