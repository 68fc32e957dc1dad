import type { LogSink } from '../node/log/log-sink.ts';
import { parseEntry } from './client-entries.ts';
import { ENTRY_HEAD, entryRow } from './entry-row.ts';

/** Formats the rewrite log as rows, as `tail` shows it, before a sink that is a terminal. */
export function rowSink(terminal: LogSink, colour: boolean): LogSink {
  let isBegun = false;
  return {
    get dropped() {
      return terminal.dropped;
    },
    write: (line) => {
      const entry = parseEntry(line);
      if (entry === undefined) return;
      if (!isBegun) terminal.write(`${ENTRY_HEAD}\n`);
      isBegun = true;
      terminal.write(`${entryRow(entry, colour)}\n`);
    },
    flush: (milliseconds) => terminal.flush(milliseconds),
    reopen: () => terminal.reopen(),
  };
}
