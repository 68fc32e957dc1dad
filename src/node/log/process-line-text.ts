import { styleText } from 'node:util';
import * as z from 'zod';

const processLine = z.object({
  time: z.string(),
  level: z.enum(['info', 'warn', 'error']),
  msg: z.string(),
  stack: z.optional(z.string()),
  repeated: z.optional(z.number()),
});

const STYLES = { info: 'green', warn: 'yellow', error: 'red' } as const;

/** Formats a JSON line of the process log for people: time, level, sentence, and the stack of an error below it. */
export function processLineText(json: string, colour: boolean): string {
  const { time, level, msg, stack, repeated } = processLine.parse(JSON.parse(json));
  const label = colour ? styleText(STYLES[level], level, { validateStream: false }) : level;
  const times = repeated === undefined ? '' : ` (${repeated} more like it)`;
  const below = stack === undefined ? '' : `${stack.split('\n').map(safe).join('\n')}\n`;
  return `${time.replace('T', ' ')} ${label} ${safe(msg)}${times}\n${below}`;
}

/** Text from the system or a client could control a terminal, or forge a line. */
function safe(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}]/gu, '�');
}
