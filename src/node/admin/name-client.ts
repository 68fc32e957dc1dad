import { readFileSync } from 'node:fs';
import { parseDocument } from 'yaml';
import { terminalText } from '../../report/text/untrusted-text.ts';
import { replaceFileSync } from '../replace-file.ts';
import { type NamesFault, readClientNames } from './client-names.ts';

/** Maximum characters of a name. */
const MAX_NAME = 100;

/**
 * Gives a client a name in the names file, or takes it away without one. A YAML file keeps its comments, and the file is replaced
 * whole; one that does not exist is made. Returns a fault when nothing was changed.
 */
export function nameClient(path: string, client: string, name: string | undefined): NamesFault | undefined {
  const hash = client.toLowerCase();
  if (!/^[0-9a-f]{16}$/.test(hash)) return { fault: `${client} is not a client hash of 16 hex digits.` };
  const given = name?.trim();
  if (given !== undefined && (given === '' || given.length > MAX_NAME || terminalText(given) !== given))
    return { fault: `A name has 1 to ${MAX_NAME} characters, all of them visible.` };
  const known = contentOf(path);
  if (known === undefined) return write(path, textWith('', path, hash, given));
  const read = readClientNames(path);
  return 'fault' in read ? read : write(path, textWith(known, path, hash, given));
}

function contentOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function textWith(text: string, path: string, hash: string, name: string | undefined): string {
  const document = parseDocument(text, { schema: 'failsafe' });
  const names: Readonly<Record<string, string>> = document.toJS() ?? {};
  if (path.endsWith('.json')) {
    const others = Object.entries(names).filter(([known]) => known.toLowerCase() !== hash);
    const all = name === undefined ? others : [...others, [hash, name]];
    return `${JSON.stringify(Object.fromEntries(all), undefined, 2)}\n`;
  }
  const key = Object.keys(names).find((known) => known.toLowerCase() === hash) ?? hash;
  if (name === undefined) document.delete(key);
  else document.set(key, name);
  return document.toString({ lineWidth: 0 });
}

function write(path: string, text: string): NamesFault | undefined {
  try {
    replaceFileSync(path, text, { mode: 0o666 });
    return undefined;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    return { fault: `The file of client names cannot be written: ${path} (${code}).` };
  }
}
