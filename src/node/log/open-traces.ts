import type { Entry } from '../../rewrite-log/entry.ts';
import type { TraceSampler } from './trace-sampler.ts';

/** Turns entries into spans. */
export interface Traces {
  readonly isSampled: TraceSampler;
  observe(entry: Entry): void;
  /** Posts the remaining spans, within so many milliseconds. */
  close(milliseconds: number): Promise<void>;
}

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
