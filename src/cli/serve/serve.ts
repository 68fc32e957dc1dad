import { liveUntilSignal } from '../life-cycle.ts';
import { refuseStart, stderrLog } from '../process-log.ts';
import { startServing } from './serving.ts';

/** Runs the gateway until SIGTERM or SIGINT, then exits. A refused start sets exit code 2. */
export async function serveUntilSignal(flags: Readonly<Record<string, string | undefined>>): Promise<void> {
  const log = stderrLog({ flags, environment: process.env });
  const started = await startServing(flags, process.env, log);
  if ('faults' in started) {
    await refuseStart(log, started.faults);
    return;
  }
  process.exit(await liveUntilSignal(started.life));
}
