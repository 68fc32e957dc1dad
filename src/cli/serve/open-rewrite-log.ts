import { type LogQueue, type LogSink, openLogSink } from '../../node/log/log-sink.ts';
import type { WriteProcessLine } from '../../node/log/process-log.ts';
import { encodedLine } from '../../rewrite-log/entry-line.ts';
import type { Entry } from '../../rewrite-log/entry.ts';
import type { Settings } from '../../settings/read-settings.ts';
import { settings as table } from '../../settings/settings.ts';
import { entryHead, entryRow } from '../entry-row.ts';
import { type Terminal, terminalOf } from '../terminal.ts';

/** Maximum bytes of rewrite log lines that are queued for a slow reader. */
const LOG_QUEUE_BYTES = 8 * 1024 * 1024;

/** Where entries are logged: in this process, or by way of the first one. */
export interface RewriteLog extends LogQueue {
  record(entry: Entry): void;
}

/** What `log-file` off means. */
const NO_LOG: RewriteLog = {
  record: () => {},
  dropped: 0,
  flush: () => Promise.resolve(),
  reopen: () => false,
};

/** Opens the rewrite log: the file that the settings name, or stdout, with rows instead of JSON on a terminal. */
export function openRewriteLog(
  settings: Settings,
  log: WriteProcessLine,
): RewriteLog | { readonly fault: string } {
  const path = settings.get(table.logFile);
  if (path === 'off') return NO_LOG;
  try {
    const sink = openLogSink(path ?? 1, {
      limit: LOG_QUEUE_BYTES,
      onNotice: (trouble) => log({ level: 'warn', event: 'log-trouble', message: `log: ${trouble}.` }),
    });
    const isTerminal = path === undefined && process.stdout.isTTY;
    const writeRow = rowWriter(sink, () => terminalOf(process.stdout));
    return {
      record: isTerminal ? writeRow : (entry) => sink.writeEncoded(encodedLine(entry)),
      get dropped() {
        return sink.dropped;
      },
      flush: (milliseconds) => sink.flush(milliseconds),
      reopen: () => sink.reopen(),
    };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    const name = path === undefined ? 'stdout' : settings.nameOf(table.logFile);
    return {
      fault: `${name} cannot be opened for appending${path === undefined ? '' : `: ${path}`} (${code}).`,
    };
  }
}

/** Reopens the log file, because it may have been renamed. */
export function reopenLog(rewriteLog: RewriteLog, log: WriteProcessLine): void {
  try {
    if (rewriteLog.reopen())
      log({ level: 'info', event: 'log-reopened', message: 'log: the log file was reopened.' });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    const message = `log: the log file cannot be reopened (${code}); lines go to the old one.`;
    log({ level: 'error', event: 'log-trouble', message });
  }
}

/** Returns a function that writes entries as rows, as `tail` shows them, to a sink that is a terminal; that may change its width. */
function rowWriter(sink: LogSink, terminal: () => Terminal): (entry: Entry) => void {
  let isBegun = false;
  return (entry) => {
    if (!isBegun) sink.write(`${entryHead(terminal())}\n`);
    isBegun = true;
    sink.write(`${entryRow(entry, terminal())}\n`);
  };
}
