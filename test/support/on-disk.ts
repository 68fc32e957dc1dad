import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** True when a file below the folder holds the text: a store that is killed now will still have it. */
export function isOnDisk(folder: string, text: string): boolean {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name));
  return names.some((name) => statSync(name).isFile() && readFileSync(name).includes(text));
}
