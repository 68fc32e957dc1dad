import type { LogSink } from '../../node/log/log-sink.ts';
import type { Entry } from '../../rewrite-log/entry.ts';
import { entryHead, entryRow } from '../terminal/entry-row.ts';
import type { Terminal } from '../terminal/terminal.ts';

/** Returns a function that writes entries as rows, as `tail` shows them, to a sink that is a terminal; that may change its width. */
export function rowWriter(sink: LogSink, terminal: () => Terminal): (entry: Entry) => void {
  let isBegun = false;
  return (entry) => {
    if (!isBegun) sink.write(`${entryHead(terminal())}\n`);
    isBegun = true;
    sink.write(`${entryRow(entry, terminal())}\n`);
  };
}
