import { type LogCoverage, noEntry, withoutEntry } from '../../report/log-gaps.ts';
import type { CommandFault } from '../command-fault.ts';

// Apart from the other faults, so that a command that reads no log does not load what judges one.

/** Makes the fault for files without any entry of the rewrite log; `-` is stdin, `lines` are those that could not be read. */
export function noRewriteLog(file: string, lines: number): CommandFault {
  return { fault: noEntry(file === '-' ? 'stdin' : file, lines), isJunk: true };
}

/** Returns the fault of logs that have no entry at all, or of the first with lines of which none is the gateway's. */
export function faultOfLogs(logs: readonly LogCoverage[]): CommandFault | undefined {
  const log = withoutEntry(logs);
  return log && noRewriteLog(log.file, log.unreadable + log.others);
}
