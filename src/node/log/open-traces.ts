import type { Entry } from '../../rewrite-log/entry.ts';

/** What takes entries and makes spans of them. */
export interface Traces {
  observe(entry: Entry): void;
  /** Posts what is left, within so many milliseconds. */
  close(milliseconds: number): Promise<void>;
}

/** Opens the exporter of traces when OpenTelemetry's variables name a collector; otherwise not even its code is loaded. */
export async function openTraces(
  environment: Readonly<Record<string, string | undefined>>,
  version: string,
  told: (trouble: string) => void,
): Promise<Traces | undefined> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: traces } = environment;
  if ((base ?? traces ?? '') === '') return undefined;
  const { OtlpExporter, otlpOptions } = await import('./otlp-exporter.ts');
  const options = otlpOptions(environment, version, told);
  return options === undefined ? undefined : new OtlpExporter(options);
}
