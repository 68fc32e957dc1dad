import { readFileSync } from 'node:fs';
import { type CommandFault, unreadable } from '../command-fault.ts';

/** Reads the API key in a file: one word of visible ASCII characters, with white space around it. */
export function readKeyFile(file: string): string | CommandFault {
  let key: string;
  try {
    key = readFileSync(file, 'utf8').trim();
  } catch (error) {
    return unreadable(file, error);
  }
  if (/^[!-~]+$/.test(key)) return key;
  return { fault: `${file} does not hold an API key: one word of ASCII characters.`, isJunk: true };
}
