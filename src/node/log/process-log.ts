import { styleText } from 'node:util';
import pino from 'pino';
import * as z from 'zod';
import type { LogSink } from './log-sink.ts';

/**
 * The subject of a process log line, in its member `event`; docs/api/process-log.md is made from this table.
 *
 * | event | level | meaning | members beside `msg` |
 * |---|---|---|---|
 * | `started` | info | the gateway serves clients | `version`, `node`, `clients`, `admin`, `upstream`, `ruleBook` |
 * | `shipped-rule-book` | warn; info with the embedded V2 | no rule book is set, and none is here: the shipped one is in force | |
 * | `start-refused` | error | settings, rule book or addresses are invalid: a line for each error, then exit code 2 | |
 * | `few-files` | warn | the limit of open files is below `GATEWAY_CLIENT_CONNECTIONS` or `GATEWAY_UPSTREAM_CONNECTIONS`, which the
 * gateway lowers (Linux) | `files`, `clients`, `upstream` |
 * | `not-rehearsed` | info | the gateway did not rehearse requests before it was ready, so the first ones take longer; the line says why | |
 * | `node-internals` | warn | this Node lacks private parts that the gateway uses, so the gateway is slower. Not logged on Bun and Deno,
 * which have none | `missing` |
 * | `rule-book-in-force` | info | a rule book was read again: it takes effect, or is in force again after a refused one | `ruleBook` |
 * | `rule-book-refused` | error | a rule book is invalid; the old one stays in force | `ruleBook` |
 * | `certificate-in-use` | info | new connections use a renewed certificate | |
 * | `certificate-refused` | error | a certificate is invalid, or has ended while the one in use has not; the old one stays | |
 * | `certificate-ends` | warn, error | once a day: the certificate in use ends within 14 days, or has ended | `use`, `notAfter` |
 * | `secret-in-use` | info, warn | a renewed secret is in use; a warning if every client gets another hash | |
 * | `secret-refused` | error | a secret's file is invalid; the earlier secret stays | |
 * | `client-names-refused` | error | the file of client names is invalid; the earlier names stay | |
 * | `v2-openapi-in-use` | info | a changed description of V2 is in use | |
 * | `v2-openapi-unread` | warn | V2's description cannot be read; the earlier one stays, and an address is tried again each minute | |
 * | `v2-openapi-unchecked` | warn | V2's description has no JSON body for the rule book's operations, so each check is `unknown`; or has
 * a keyword that is skipped. One line each | |
 * | `rollout-changed` | info | an operator changed a mode, here or at another replica, and the line has name and reason; or a rule book did | |
 * | `rollout-rolled-back` | error | a canary was rolled back, or a migrated operation where the rule book allows it | |
 * | `rollout-overtaken` | warn | a mode that was set here without the store was replaced by one set at another replica | |
 * | `rollout-damaged` | error | the stored rollout is damaged; the last known one stays in force | |
 * | `rollout-file` | error | the copy of the rollout cannot be written | |
 * | `rollout-without-v1` | error | the stored modes need V1, but none is configured here; the rule book's modes hold | |
 * | `rate-limit-divided` | info | processes joined or left, so each has another part of each client's rate limit | |
 * | `newcomers-served` | warn | the rule book refuses newcomers, but the gateway had learned clients for less than 14 days before, so it
 * serves them | `since`, `from` |
 * | `store-lost`, `store-found` | warn, info | the store is unreachable, or in reach again, for modes and canaries or for the report's
 * counts | |
 * | `store-stranger` | warn | a key in the store has content that no gateway of this version wrote; the gateway ignores it. One line for
 * each key | |
 * | `binding-failed` | warn | at the edge, a binding that no response depends on fails; once a minute at most | `binding` |
 * | `client-secret-random` | warn | the rollout needs `GATEWAY_CLIENT_SECRET`, because client names must outlive the process | |
 * | `circuit-opened`, `circuit-closed` | error, info | the circuit of an origin opened or closed | `origin`; `host` of a subscriber of
 * webhooks |
 * | `upstream-fault` | warn | an origin sent no response, or only part of one; `repeated` counts repetitions | `origin`, `host`, `kind`,
 * `cause`, `sent`, `repeated` |
 * | `worker-ended` | error | a worker process ended, or hung and was ended, and is started again | |
 * | `log-trouble` | warn | lines of the rewrite log are lost | `dropped` |
 * | `log-reopened` | info | SIGHUP reopened the file of the rewrite log | |
 * | `trace-trouble` | warn | spans are lost, or OpenTelemetry's packages warn | |
 * | `reference-error` | error | a bug in the embedded V2 | `stack` |
 * | `unexpected-error` | error | a bug in the gateway; `repeated` counts repetitions | `stack`, `repeated` |
 * | `runtime-warning` | warn | a warning from Node | `name` |
 * | `draining` | info | a signal arrived; the gateway finishes requests in flight | `inFlight` |
 * | `drain-ended` | warn | `GATEWAY_DRAIN` is over, and requests in flight ended with their connections; not known for `GATEWAY_WORKERS`
 * | `inFlight` |
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
