import { unwatchFile, watchFile } from 'node:fs';

/** What signals and a changed file lead to. */
export interface LifeCycle {
  /** Finishes what is in flight; called once. */
  readonly stop: () => Promise<void>;
  /** Reads rule book and certificates again; SIGHUP opens the log file anew, too. */
  readonly reload: (why: 'SIGHUP' | 'changed') => Promise<void>;
  /** Writes what is left of the log; called last. */
  readonly flush: () => Promise<void>;
  /** Takes an error that nothing caught: it is told and counted, and the process goes on serving. */
  readonly surprised: (error: unknown) => void;
  /** Files whose change reloads. */
  readonly watched: readonly string[];
  /** Milliseconds from the signal to the exit, at the most. */
  readonly drain: number;
}

/** Milliseconds between two looks at a watched file. Looking finds what a watch misses: a ConfigMap swaps links. */
const POLL_MS = 1000;

/** Lives until SIGTERM or SIGINT, and resolves to the exit code; a second signal exits at once. */
export function liveUntilSignal(life: LifeCycle): Promise<number> {
  // By default SIGUSR1 opens a debugger on a port: anybody on the machine could run code in the gateway.
  process.on('SIGUSR1', () => {});
  process.on('uncaughtException', life.surprised);
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
      if (stopping) process.exit(1);
      stopping = true;
      for (const file of life.watched) unwatchFile(file);
      // A write to a terminal that is held, or to a dead disk, holds even the exit: nothing but this ends it in time.
      setTimeout(() => process.kill(process.pid, 'SIGKILL'), life.drain).unref();
      life
        .stop()
        .then(() => life.flush())
        .then(() => resolve(0), reject);
    };
    process.on('SIGTERM', end);
    process.on('SIGINT', end);
  });
}
