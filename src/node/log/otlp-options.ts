import { readSampler, type TraceSampler } from './trace-sampler.ts';

/** Destination of the spans and attributes of the gateway, from the variables that OpenTelemetry defines. */
export interface OtlpOptions {
  /** The address that spans are posted to. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly isCompressed: boolean;
  readonly timeoutMs: number;
  readonly isSampled: TraceSampler;
  /** Attributes of the resource: `service.name`, `service.version`, and the operator's own. */
  readonly resource: ReadonlyMap<string, string>;
  readonly version: string;
  /** Called once when spans begin to be lost, with the reason. */
  readonly onNotice: (trouble: string) => void;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads the variables that OpenTelemetry defines; those for traces take precedence over those for all signals. */
export function otlpOptions(
  environment: Environment,
  version: string,
  onNotice: (trouble: string) => void,
): OtlpOptions {
  const of = (name: string): string | undefined =>
    environment[`OTEL_EXPORTER_OTLP_TRACES_${name}`] ||
    environment[`OTEL_EXPORTER_OTLP_${name}`] ||
    undefined;
  const base = environment['OTEL_EXPORTER_OTLP_ENDPOINT'] ?? '';
  const protocol = of('PROTOCOL');
  if (protocol !== undefined && protocol !== 'http/json')
    onNotice(`OTEL_EXPORTER_OTLP_PROTOCOL is ${protocol}, and http/json is sent`);
  const timeout = Number(of('TIMEOUT'));
  return {
    url: environment['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] || `${base.replace(/(?<!\/)\/+$/, '')}/v1/traces`,
    headers: Object.fromEntries(pairs(of('HEADERS'))),
    isCompressed: of('COMPRESSION') === 'gzip',
    timeoutMs: timeout > 0 ? timeout : 10_000,
    isSampled: readSampler(environment),
    resource: resourceOf(environment, version),
    version,
    onNotice,
  };
}

function resourceOf(environment: Environment, version: string): ReadonlyMap<string, string> {
  const own = pairs(environment['OTEL_RESOURCE_ATTRIBUTES']);
  const name = environment['OTEL_SERVICE_NAME'];
  return new Map([
    ['service.name', 'capture-gateway'],
    ['service.version', version],
    ...own,
    ...(name === undefined || name === '' ? [] : [['service.name', name] as const]),
  ]);
}

/** Reads `key=value,key=value` with percent-encoded values (W3C Baggage); anything that is not a pair is ignored. */
function pairs(text = ''): readonly (readonly [string, string])[] {
  return text.split(',').flatMap((pair) => {
    const at = pair.indexOf('=');
    return at < 1 ? [] : [[pair.slice(0, at).trim(), decoded(pair.slice(at + 1).trim())] as const];
  });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
