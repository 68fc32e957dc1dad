import { unwatchFile, watchFile } from 'node:fs';
import { setExitDeadline } from './exit-deadline.ts';

/** Reactions to signals and to changed files. */
export interface LifeCycle {
  /** Drains the exchanges in flight; called once. */
  readonly stop: () => Promise<void>;
  /** Closes the connections of clients, even ones with an exchange in flight; at a second signal. */
  readonly cut: () => void;
  /** Reloads rule book and certificates; SIGHUP also reopens the log file. */
  readonly reload: (why: 'SIGHUP' | 'changed') => Promise<void>;
  /** Reloads the certificates alone. */
  readonly reloadCertificates: () => void;
  /** Flushes the log; called last. */
  readonly flush: () => Promise<void>;
  /** Handles an uncaught error: it is logged and counted, and the process goes on serving. */
  readonly onUnexpectedError: (error: unknown) => void;
  /** Files that trigger a reload when they change. */
  readonly watched: readonly string[];
  /** Maximum time from the signal to the exit, in milliseconds. */
  readonly drain: number;
}

/**
 * Milliseconds between two checks of a watched file. Polling finds changes that a watch misses: a ConfigMap swaps symbolic links.
 */
const POLL_MS = 1000;

/** Runs until SIGTERM or SIGINT, and resolves to the exit code; a second signal exits at once. */
export function liveUntilSignal(life: LifeCycle): Promise<number> {
  // By default SIGUSR1 opens a debugger on a port: any user of the machine could run code in the gateway.
  process.on('SIGUSR1', () => {});
  process.on('uncaughtException', life.onUnexpectedError);
  process.on('SIGHUP', () => void life.reload('SIGHUP'));
  for (const file of life.watched) {
    watchFile(file, { interval: POLL_MS, persistent: false }, (now, before) => {
      if (now.mtimeMs !== before.mtimeMs || now.ino !== before.ino || now.size !== before.size)
        void life.reload('changed');
    });
  }
  return new Promise((resolve, reject) => {
    let stopping = false;
    const end = (): void => {
      if (stopping) {
        life.cut();
        process.exit(1);
      }
      stopping = true;
      for (const file of life.watched) unwatchFile(file);
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
