import type { ReloadedFile } from '../node/clients/client-listener.ts';
import type { WatchedFiles } from '../node/watched-files.ts';
import { setExitDeadline } from './exit-deadline.ts';

/** Reactions to signals and to changed files. */
export interface LifeCycle {
  /** Drains the exchanges in flight; called once. */
  readonly stop: () => Promise<void>;
  /** Closes the connections of clients, even ones with an exchange in flight; at a second signal. */
  readonly cut: () => void;
  /** Reopens the log file, and reads all files again, whether they have changed or not. */
  readonly onHangup: () => Promise<void>;
  /** Reads one file again, in a process that watches none itself. */
  readonly reloadFile: (what: ReloadedFile) => Promise<void>;
  /** Flushes the log; called last. */
  readonly flush: () => Promise<void>;
  /** Handles an uncaught error: it is logged and counted, and the process goes on serving. */
  readonly onUnexpectedError: (error: unknown) => void;
  /** Files that are read again when they change. */
  readonly watched: WatchedFiles;
  /** Maximum time from the signal to the exit, in milliseconds. */
  readonly drain: number;
}

/** Runs until SIGTERM or SIGINT, and resolves to the exit code; a second signal exits at once. */
export function liveUntilSignal(life: LifeCycle): Promise<number> {
  // By default SIGUSR1 opens a debugger on a port: any user of the machine could run code in the gateway.
  process.on('SIGUSR1', () => {});
  process.on('uncaughtException', life.onUnexpectedError);
  process.on('SIGHUP', () => void life.onHangup());
  life.watched.start();
  return new Promise((resolve, reject) => {
    let stopping = false;
    const end = (): void => {
      if (stopping) {
        life.cut();
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
  });
}
