/** Milliseconds by which a timer may be late before the process counts as one that stood still. */
const LATE_MS = 50;
/** Milliseconds that such a process has left to write its log. */
const EXTRA_MS = 500;

/**
 * Ends the process by SIGKILL after `milliseconds`, whatever it is doing by then: a write to a paused terminal or a dead disk blocks
 * even the exit. If the process stood still when the time was over, all that is due before it is due in the same turn of the event
 * loop: it gets half a second more, so that the end of requests and the last log lines are not lost to it.
 */
export function setExitDeadline(milliseconds: number): void {
  const due = performance.now() + milliseconds;
  const kill = (): void => void process.kill(process.pid, 'SIGKILL');
  setTimeout(() => {
    if (performance.now() - due < LATE_MS) kill();
    else setTimeout(kill, EXTRA_MS).unref();
  }, milliseconds).unref();
}
