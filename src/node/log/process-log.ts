import { styleText } from 'node:util';
import pino from 'pino';
import * as z from 'zod';
import type { LogSink } from './log-sink.ts';

/**
 * The subject of a process log line, in its member `event`.
 *
 * | event | level | when | members beside `msg` |
 * |---|---|---|---|
 * | `started` | info | clients are served | `version`, `node`, `clients`, `admin`, `upstream`, `ruleBook` |
 * | `shipped-rule-book` | warn, info with the embedded V2 | no setting names a rule book and none is here: the package's own is used | |
 * | `start-refused` | error | settings, rule book or addresses have a fault; one line each, then exit 2 | |
 * | `few-files` | warn | the process may not open enough files for the connection settings, which it lowers | `files`, `clients`, `upstream` |
 * | `not-rehearsed` | info | no exchanges were played before ready, so the first requests take longer | |
 * | `node-internals` | warn | this Node lacks private parts that the gateway uses; it continues without them | `missing` |
 * | `rule-book-in-force` | info | a rule book was read again and takes effect, or is in force again after a refused one | `ruleBook` |
 * | `rule-book-refused` | error | a rule book has a fault; the old one stays in force | `ruleBook` |
 * | `certificate-refused` | error | a certificate has a fault, or has ended; the old one stays | |
 * | `certificate-in-use` | info | a renewed certificate is used for new connections | |
 * | `certificate-ends` | warn, error | once a day: the certificate in use ends within two weeks, or has ended | `use`, `notAfter` |
 * | `secret-in-use` | info, warn | a renewed secret is in use; warn if every client gets a new hash | |
 * | `secret-refused` | error | a secret's file has a fault; the previous secret stays | |
 * | `client-names-refused` | error | the file of client names has a fault; the previous names stay | |
 * | `v2-openapi-unread` | warn | V2's OpenAPI description cannot be read; the previous one stays in force | |
 * | `v2-openapi-unchecked` | warn | V2's OpenAPI description has none of the rule book's operations, or a keyword that cannot be checked; one line each | |
 * | `v2-openapi-in-use` | info | a changed description of V2 is in use | |
 * | `rollout-changed` | info | an operator chose a mode, here or at another replica | |
 * | `rate-limit-divided` | info | each client's rate limit has another part in each process, as processes join or leave | |
 * | `rollout-rolled-back` | error | a canary was rolled back, or an operation that is migrated | |
 * | `rollout-overtaken` | warn | a mode that was set here without the store is dropped | |
 * | `rollout-damaged` | error | nobody can read the stored rollout; the last known one stays | |
 * | `rollout-file` | error | the copy of the rollout cannot be written | |
 * | `store-lost`, `store-found` | warn, info | the store is unreachable, or reachable again, for modes and canaries or for the report's counts | |
 * | `store-stranger` | warn | the store has something that no gateway of this version wrote; it is passed over. One line for each key | |
 * | `rollout-without-v1` | error | the stored modes need a V1 service, but none is configured here; the rule book's modes hold | |
 * | `client-secret-random` | warn | client hashes change at each start although the rollout needs stable ones | |
 * | `circuit-opened`, `circuit-closed` | error, info | an origin's circuit opened or closed | `origin` |
 * | `upstream-fault` | warn | an origin sent no response or only part of one; repetitions are counted | `origin`, `kind`, `cause`, `sent`, `repeated` |
 * | `worker-ended` | error | a worker process ended, or hung and was ended, and is started again | |
 * | `log-trouble` | warn | lines of the rewrite log are lost | `dropped` |
 * | `log-reopened` | info | SIGHUP reopened the file of the rewrite log | |
 * | `trace-trouble` | warn | spans are lost, or OpenTelemetry's packages warn | |
 * | `reference-error` | error | the embedded V2 met a bug | `stack` |
 * | `unexpected-error` | error | the gateway met a bug; repetitions are counted | `stack`, `repeated` |
 * | `runtime-warning` | warn | a warning from Node | |
 * | `draining` | info | after a signal, the gateway finishes requests in flight | |
 * | `drain-ended` | warn | the drain time is over; requests in flight ended with their connections | `inFlight` |
 * | `stopped` | info | the last line | |
 */
export type ProcessEvent =
  | 'started'
  | 'shipped-rule-book'
  | 'start-refused'
  | 'few-files'
  | 'not-rehearsed'
  | 'node-internals'
  | 'rule-book-in-force'
  | 'rule-book-refused'
  | 'certificate-refused'
  | 'certificate-in-use'
  | 'certificate-ends'
  | 'secret-in-use'
  | 'secret-refused'
  | 'client-names-refused'
  | 'v2-openapi-unread'
  | 'v2-openapi-unchecked'
  | 'v2-openapi-in-use'
  | 'rollout-changed'
  | 'rate-limit-divided'
  | 'rollout-rolled-back'
  | 'rollout-overtaken'
  | 'rollout-without-v1'
  | 'rollout-damaged'
  | 'rollout-file'
  | 'newcomers-served'
  | 'store-lost'
  | 'store-found'
  | 'store-stranger'
  | 'client-secret-random'
  | 'circuit-opened'
  | 'circuit-closed'
  | 'upstream-fault'
  | 'worker-ended'
  | 'log-trouble'
  | 'log-reopened'
  | 'trace-trouble'
  | 'reference-error'
  | 'unexpected-error'
  | 'runtime-warning'
  | 'draining'
  | 'drain-ended'
  | 'stopped';

/** A line's severity. */
export type ProcessLevel = 'info' | 'warn' | 'error';

/** One line of the process log: a sentence for people, members for machines. */
export interface ProcessLine {
  readonly level: ProcessLevel;
  readonly event: ProcessEvent;
  readonly message: string;
  /** Formatted for people: replaces the whole line if the log is text. */
  readonly text?: string | undefined;
  readonly fields?: Readonly<Record<string, unknown>> | undefined;
}

/** Takes a line of the process log; never waits, never throws. */
export type WriteProcessLine = (line: ProcessLine) => void;

/** Level and format of the process log. */
interface ProcessLogOptions {
  /** The lowest level to write. */
  readonly level: ProcessLevel | 'silent';
  /** `json` is one JSON object per line (pino's), `text` is for people. */
  readonly format: 'json' | 'text';
  readonly colour?: boolean | undefined;
}

/**
 * Opens the process log. pino writes its lines to the gateway's own sink, which drops and counts lines where a full disk or a stuck
 * reader would block the process or its exit.
 */
export function openProcessLog(sink: Pick<LogSink, 'write'>, options: ProcessLogOptions): WriteProcessLine {
  const isText = options.format === 'text';
  const write = (line: string): void =>
    sink.write(isText ? processLineText(line, options.colour ?? false) : line);
  const logger = pino(
    {
      level: options.level,
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write },
  );
  return ({ level, event, message, text, fields }) => {
    if (!isText || text === undefined) logger[level]({ event, ...fields }, message);
    else if (logger.isLevelEnabled(level)) sink.write(`${text}\n`);
  };
}

const processLine = z.object({
  time: z.string(),
  level: z.enum(['info', 'warn', 'error']),
  msg: z.string(),
  stack: z.optional(z.string()),
  repeated: z.optional(z.number()),
});

const STYLES = { info: 'green', warn: 'yellow', error: 'red' } as const;

/** Formats a JSON line of the process log for people: time, level, sentence, and an error's stack below it. */
function processLineText(json: string, colour: boolean): string {
  const { time, level, msg, stack, repeated } = processLine.parse(JSON.parse(json));
  const label = colour ? styleText(STYLES[level], level, { validateStream: false }) : level;
  const times = repeated === undefined ? '' : ` (${repeated} more like it)`;
  const below = stack === undefined ? '' : `${stack.split('\n').map(safe).join('\n')}\n`;
  return `${time.replace('T', ' ')} ${label} ${safe(msg)}${times}\n${below}`;
}

/** Replaces control characters: text from a client could control a terminal or forge a line. */
function safe(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}]/gu, '�');
}

/** Milliseconds in which repeated lines are counted instead of written. */
const INTERVAL_MS = 10_000;
/** Maximum number of kinds that are counted separately; all others count as one. */
const MAX_KINDS = 64;

interface Kind {
  line: ProcessLine;
  repeated: number;
}

/**
 * Writes the first line of a kind at once, and further ones within ten seconds as one line with a count, so that neither an outage nor
 * an attack fills the log.
 */
export class LimitedLines {
  private readonly write: WriteProcessLine;
  private readonly intervalMs: number;
  private readonly kinds = new Map<string, Kind>();

  constructor(write: WriteProcessLine, intervalMs: number = INTERVAL_MS) {
    this.write = write;
    this.intervalMs = intervalMs;
  }

  /** Takes a line; lines with equal keys are of one kind. */
  add(key: string, line: ProcessLine): void {
    const kindKey = this.kinds.has(key) || this.kinds.size < MAX_KINDS - 1 ? key : OTHERS;
    const kind = this.kinds.get(kindKey);
    if (kind !== undefined) {
      kind.line = line;
      kind.repeated += 1;
      return;
    }
    this.write(line);
    this.watch(kindKey, { line, repeated: 0 });
  }

  private watch(key: string, kind: Kind): void {
    this.kinds.set(key, kind);
    setTimeout(() => {
      this.kinds.delete(key);
      const { line, repeated } = kind;
      if (repeated === 0) return;
      this.write({ ...line, fields: { ...line.fields, repeated } });
      this.watch(key, { line, repeated: 0 });
    }, this.intervalMs).unref();
  }
}

const OTHERS = '';
