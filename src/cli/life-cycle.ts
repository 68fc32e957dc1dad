import { closeSync, constants, openSync } from 'node:fs';
import { isatty } from 'node:tty';
import type { ReloadedFile } from '../node/clients/listen.ts';
import type { WatchedFiles } from '../node/files.ts';
import { openLogSink } from '../node/log/log-sink.ts';
import { openProcessLog, type WriteProcessLine } from '../node/log/process-log.ts';
import { readSetting, type SettingSources } from '../settings/read-settings.ts';
import { settings as table } from '../settings/settings.ts';
import { hasColour } from './terminal.ts';

/** Reactions to signals and to changed files. */
export interface LifeCycle {
  /** Drains exchanges in flight; called once. */
  readonly stop: () => Promise<void>;
  /** Closes all client connections at once; called at a second signal. */
  readonly destroyAll: () => void;
  /** Reopens the log file, and reads all files again, even unchanged ones. */
  readonly onHangup: () => Promise<void>;
  /** Reads one file again, in a worker process, which watches none itself. */
  readonly reloadFile: (what: ReloadedFile) => Promise<void>;
  /** Flushes the log; called last. */
  readonly flush: () => Promise<void>;
  /** Logs and counts an uncaught error; the process keeps serving. */
  readonly onUnexpectedError: (error: unknown) => void;
  /** Files to read again when they change. */
  readonly watched: WatchedFiles;
  /** Maximum time from the signal to the exit, in milliseconds. */
  readonly drain: number;
}

/** Runs until SIGTERM, SIGINT or the end of its terminal, and resolves to the exit code; a second signal exits at once. */
export function liveUntilSignal(life: LifeCycle): Promise<number> {
  // By default SIGUSR1 opens a debugger on a port: any user of the machine could run code in the gateway.
  process.on('SIGUSR1', () => {});
  process.on('uncaughtException', life.onUnexpectedError);
  const isTerminalGone = watchTerminal();
  life.watched.start();
  return new Promise((resolve, reject) => {
    let stopping = false;
    const end = (): void => {
      if (stopping) {
        life.destroyAll();
        process.exit(1);
      }
      stopping = true;
      life.watched.stop();
      setExitDeadline(life.drain);
      life
        .stop()
        .then(() => life.flush())
        .then(() => resolve(0), reject);
    };
    process.on('SIGTERM', end);
    process.on('SIGINT', end);
    process.on('SIGHUP', () => {
      if (isTerminalGone()) {
        if (!stopping) end();
        return;
      }
      void life.onHangup();
      // The kernel may send the signal a moment before the terminal refuses to be opened.
      setTimeout(() => {
        if (isTerminalGone() && !stopping) end();
      }, TERMINAL_MS).unref();
    });
  });
}

/** Milliseconds after which a terminal that closes surely refuses to be opened. */
const TERMINAL_MS = 500;

/**
 * Returns whether the terminal that started the process has closed since. Its SIGHUP ends the process, which would otherwise keep its
 * ports unnoticed; any other SIGHUP means reload. False for a process without a terminal (a service), or with all streams redirected
 * (nohup).
 */
function watchTerminal(): () => boolean {
  const isStartedByTerminal = [0, 1, 2].some((stream) => isatty(stream)) && hasTerminal();
  return () => isStartedByTerminal && !hasTerminal();
}

/** True while the process has a controlling terminal. */
function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', constants.O_RDWR | constants.O_NOCTTY));
    return true;
  } catch {
    return false;
  }
}

/** Milliseconds by which the timer may be late before the process counts as stalled. */
const LATE_MS = 50;
/** Milliseconds that a stalled process gets to write its log. */
const EXTRA_MS = 500;

/**
 * Ends the process by SIGKILL after `milliseconds`: a write to a paused terminal or a dead disk can block even the exit. After a stall, all
 * earlier timers are due in the same turn of the event loop; the process then gets half a second more to end requests and write its log.
 */
export function setExitDeadline(milliseconds: number): void {
  const due = performance.now() + milliseconds;
  const kill = (): void => void process.kill(process.pid, 'SIGKILL');
  setTimeout(() => {
    if (performance.now() - due < LATE_MS) kill();
    else setTimeout(kill, EXTRA_MS).unref();
  }, milliseconds).unref();
}

/** The process log of a serving command. */
export interface ProcessLog {
  readonly write: WriteProcessLine;
  /** Waits until everything is written, at most for some milliseconds. */
  readonly flush: (milliseconds: number) => Promise<void>;
}

/** Maximum bytes of lines queued for a slow reader of stderr. */
const QUEUE_BYTES = 256 * 1024;

/** Opens the process log on stderr, before the settings are validated: invalid settings count as their defaults. */
export function stderrLog(sources: Pick<SettingSources, 'flags' | 'environment' | 'file'>): ProcessLog {
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

/** Maximum milliseconds to write the last lines of a refused start. */
const FLUSH_TIMEOUT_MS = 1000;

/** Logs why the start is refused, one line per fault, and sets the exit code to 2. */
export async function refuseStart(log: ProcessLog, faults: readonly string[]): Promise<void> {
  process.exitCode = 2;
  for (const message of faults.flatMap((fault) => fault.split('\n')))
    log.write({ level: 'error', event: 'start-refused', message });
  await log.flush(FLUSH_TIMEOUT_MS);
}
