import type { Traces } from './traces.ts';

/** True when OpenTelemetry's variables name a collector, and do not disable tracing. */
export function isTraced(environment: Readonly<Record<string, string | undefined>>): boolean {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: traces } = environment;
  if (environment['OTEL_SDK_DISABLED'] === 'true' || environment['OTEL_TRACES_EXPORTER'] === 'none')
    return false;
  return (traces || base || '') !== '';
}

/** Opens the exporter of traces when a collector is named; otherwise even its code is not loaded. */
export async function openTraces(
  environment: Readonly<Record<string, string | undefined>>,
  version: string,
  onTrouble: (trouble: string) => void,
): Promise<Traces | undefined> {
  if (!isTraced(environment)) return undefined;
  const [{ OtlpExporter }, { otlpOptions }] = await Promise.all([
    import('./otlp-exporter.ts'),
    import('./otlp-options.ts'),
  ]);
  return new OtlpExporter(otlpOptions(environment, version, onTrouble));
}
