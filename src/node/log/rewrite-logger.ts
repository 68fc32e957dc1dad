import pino from 'pino';
import { entryLine } from '../../rewrite-log/entry-line.ts';
import type { Entry } from '../../rewrite-log/entry.ts';
import type { LogSink } from './log-sink.ts';

/** A stream that pino tells which object a line is for (`pino.metadata`). */
interface EntryStream extends pino.DestinationStream {
  lastObj: Entry | undefined;
}

const nothing = {};

/**
 * Logs entries through pino, which knows the levels; the line is not pino's but the template's (`entryLine`), at a third
 * of the cost, and the sink is one that neither a full disk nor a stuck reader can hold up.
 */
export function createRewriteLogger(level: pino.LevelWithSilent, sink: LogSink): (entry: Entry) => void {
  const stream: EntryStream = {
    lastObj: undefined,
    write() {
      if (this.lastObj !== undefined) sink.write(entryLine(this.lastObj));
    },
  };
  Object.assign(stream, { [Symbol.for('pino.metadata')]: true });
  const logger = pino({ level, base: null, timestamp: false, formatters: { log: () => nothing } }, stream);
  return (entry) => logger[entry.level](entry);
}
