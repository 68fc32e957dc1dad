/** One sample of a family: labels in order, and the value. `suffix` is for the samples of a histogram. */
export interface MetricSample {
  readonly suffix?: '_bucket' | '_sum' | '_count';
  readonly labels: readonly (readonly [name: string, value: string])[];
  readonly value: number;
}

/** A metric with all its series. */
export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly samples: readonly MetricSample[];
}

/** Media type of `printMetrics`. */
export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Prints families in the Prometheus text format, version 0.0.4; families without samples are omitted. */
export function printMetrics(families: readonly MetricFamily[]): string {
  let text = '';
  for (const { name, help, type, samples } of families) {
    if (samples.length === 0) continue;
    text += `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n# TYPE ${name} ${type}\n`;
    for (const { suffix, labels, value } of samples) {
      const pairs = labels.map(([label, given]) => `${label}="${escapeLabel(given)}"`).join(',');
      text += `${name}${suffix ?? ''}${pairs === '' ? '' : `{${pairs}}`} ${printValue(value)}\n`;
    }
  }
  return text;
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function printValue(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  if (value === Number.NEGATIVE_INFINITY) return '-Inf';
  return String(value);
}
