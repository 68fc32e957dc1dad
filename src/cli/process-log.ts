import type { SettingSources } from '../settings/read-settings.ts';
import { readSetting } from '../settings/read-settings.ts';
import { settings as table } from '../settings/settings.ts';
import { hasColour } from './terminal/terminal.ts';
import { openLogSink } from '../node/log/log-sink.ts';
import { openProcessLog, type WriteProcessLine } from '../node/log/process-log.ts';

/** The process log of a serving command. */
export interface ProcessLog {
  readonly write: WriteProcessLine;
  /** Waits until everything is written, or until the given number of milliseconds has passed. */
  readonly flush: (milliseconds: number) => Promise<void>;
}

/** Maximum bytes of lines that are queued for a slow reader of stderr. */
const QUEUE_BYTES = 256 * 1024;

/** Opens the process log on stderr, before the settings are validated: invalid settings count as their defaults. */
export function stderrLog(sources: Pick<SettingSources, 'flags' | 'environment'>): ProcessLog {
  const sink = openLogSink(2, { limit: QUEUE_BYTES, onNotice: () => {} });
  const format = readSetting(table.logFormat, sources);
  const write = openProcessLog(sink, {
    level: readSetting(table.logLevel, sources),
    format: format === 'auto' ? (process.stderr.isTTY ? 'text' : 'json') : format,
    colour: hasColour(process.stderr),
  });
  // Node would otherwise print its warnings as plain text among the JSON lines.
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message }) =>
    write({ level: 'warn', event: 'runtime-warning', message: `${name}: ${message}`, fields: { name } }),
  );
  return { write, flush: (milliseconds) => sink.flush(milliseconds) };
}

/** Maximum time to write the last lines of a refused start, in milliseconds. */
const FLUSH_TIMEOUT_MS = 1000;

/** Logs why the start is refused, one line per fault, and sets the exit code to 2. */
export async function refuseStart(log: ProcessLog, faults: readonly string[]): Promise<void> {
  process.exitCode = 2;
  for (const message of faults.flatMap((fault) => fault.split('\n')))
    log.write({ level: 'error', event: 'start-refused', message });
  await log.flush(FLUSH_TIMEOUT_MS);
}
