import type { LogSink } from '../node/log/log-sink.ts';
import { parseEntry } from './client-entries.ts';
import { entryHead, entryRow } from './entry-row.ts';
import type { Terminal } from './terminal.ts';

/** Formats the rewrite log as rows, as `tail` shows it, before a sink that is a terminal. */
export function rowSink(sink: LogSink, look: () => Terminal): LogSink {
  let isBegun = false;
  return {
    get dropped() {
      return sink.dropped;
    },
    write: (line) => {
      const entry = parseEntry(line);
      if (entry === undefined) return;
      if (!isBegun) sink.write(`${entryHead(look())}\n`);
      isBegun = true;
      sink.write(`${entryRow(entry, look())}\n`);
    },
    flush: (milliseconds) => sink.flush(milliseconds),
    reopen: () => sink.reopen(),
  };
}
