import type { Entry } from '../rewrite-log/entry.ts';

/** What a deployment gives the worker: settings as variables and secrets, and where entries go beside the log. */
export interface EdgeBindings {
  /** Takes every entry, when bound. */
  readonly REWRITE_LOG_QUEUE?: {
    send(entry: Entry, options: { readonly contentType: 'json' }): Promise<unknown>;
  };
  /** Takes a data point for every entry, when bound. */
  readonly REWRITE_LOG_ANALYTICS?: { writeDataPoint(point: DataPoint): void };
}

/** A row of Analytics Engine. */
export interface DataPoint {
  readonly indexes: readonly string[];
  readonly blobs: readonly string[];
  readonly doubles: readonly number[];
}

/** The variables and secrets among the bindings: what the environment is elsewhere. */
export function environmentOf(bindings: object): Record<string, string> {
  const texts = Object.entries(bindings).filter(
    (pair): pair is [string, string] => typeof pair[1] === 'string',
  );
  return Object.fromEntries(texts);
}

/** An entry as a data point: sampled by client, with the columns that the retirement queries ask for. */
export function dataPoint(entry: Entry): DataPoint {
  const changes = [...new Set(entry.edits.map(({ change }) => change))].join(',');
  return {
    indexes: [entry.client ?? '-'],
    blobs: [
      entry.route,
      entry.verdict,
      entry.operation ?? '',
      entry.failure ?? '',
      changes,
      entry.apiVersion?.why ?? '',
      entry.ruleBook,
      entry.method,
    ],
    doubles: [
      entry.status,
      entry.totalMs,
      entry.upstreamMs ?? 0,
      entry.bytesIn,
      entry.bytesOut,
      entry.responseBytes,
    ],
  };
}
