import type { Entry } from './entry.ts';

/**
 * An entry as its line of the log, with the line feed. Control characters are escaped, also those beyond ASCII that JSON
 * lets through: a path can neither forge a line nor steer a terminal.
 */
export function entryLine(entry: Entry): string {
  const line = JSON.stringify(entry);
  return `${steering.test(line) ? line.replaceAll(allSteering, escaped) : line}\n`;
}

const steering = /[\u007f-\u009f\u2028\u2029]/;
const allSteering = /[\u007f-\u009f\u2028\u2029]/g;

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
