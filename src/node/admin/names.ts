import { existsSync } from 'node:fs';
import { parse, parseDocument } from 'yaml';
import { terminalText } from '../../report/text.ts';
import { inFormOf, readText, replaceFileSync } from '../files.ts';
import { systemReason } from '../system-reason.ts';

/** Why the file of client names cannot be used, as a sentence. */
export interface NamesFault {
  readonly fault: string;
  /** True if the file is readable but does not contain names. */
  readonly isJunk?: boolean;
}

/** Reads display names from a YAML or JSON file that maps client hashes to names: `3fa9c1d2e4b50617: Harcourts Richmond`. */
export function readClientNames(path: string): ReadonlyMap<string, string> | NamesFault {
  let text: string;
  try {
    text = readText(path);
  } catch (error) {
    return { fault: `The file of client names cannot be read: ${path}: ${systemReason(error)}.` };
  }
  const names = parsed(text);
  if (names === null) return new Map();
  if (typeof names !== 'object' || Array.isArray(names)) {
    return {
      fault: `The file of client names, ${path}, must map hashes to names, such as 3fa9c1d2e4b50617: Harcourts.`,
      isJunk: true,
    };
  }
  const found = new Map<string, string>();
  for (const [hash, name] of Object.entries(names)) {
    if (!/^(?:[0-9a-f]{16}|-)$/i.test(hash) || typeof name !== 'string') {
      return {
        fault: `The file of client names, ${path}, has ${hash}: write 16 hex digits and a name, such as 3fa9c1d2e4b50617: Harcourts.`,
        isJunk: true,
      };
    }
    found.set(hash.toLowerCase(), name);
  }
  return found;
}

function parsed(text: string): unknown {
  try {
    // As text: a hash such as 1234567890123456 or 3e10 is not a number.
    const names: unknown = parse(text, { schema: 'failsafe' });
    return names;
  } catch {
    return undefined;
  }
}

/** The names in a file while the gateway runs: keeps the earlier names while it is faulty. */
export class ClientNames {
  private readonly path: string;
  private names: ReadonlyMap<string, string> = new Map();

  constructor(path: string) {
    this.path = path;
    this.reload();
  }

  /** The names when the file was read last. */
  get current(): ReadonlyMap<string, string> {
    return this.names;
  }

  /** Reads the file, and returns its faults; a missing file is created when the first client gets a name. */
  reload(): readonly string[] {
    if (!existsSync(this.path)) return [];
    const read = readClientNames(this.path);
    if ('fault' in read) return [read.fault];
    this.names = read;
    return [];
  }

  /** Names a client as {@link nameClient} does, and reads the file again. */
  name(client: string, name: string | undefined): NamesFault | undefined {
    const fault = nameClient(this.path, client, name);
    this.reload();
    return fault;
  }
}

/** Maximum characters of a name. */
const MAX_NAME = 100;

/**
 * Gives a client a name in the names file, or removes its name if none is given. A YAML file keeps its comments. Replaces the
 * file whole, and creates it if it does not exist. Returns a fault if nothing was changed.
 */
export function nameClient(path: string, client: string, name: string | undefined): NamesFault | undefined {
  const hash = client.toLowerCase();
  if (!/^[0-9a-f]{16}$/.test(hash)) return { fault: `${client} is not a client hash of 16 hex digits.` };
  const given = name?.trim();
  if (given !== undefined && (given === '' || given.length > MAX_NAME || terminalText(given) !== given))
    return { fault: `A name has 1 to ${MAX_NAME} characters, all of them visible.` };
  if (!existsSync(path)) return write(path, textWith('', path, hash, given));
  const read = readClientNames(path);
  return 'fault' in read ? read : write(path, textWith(readText(path), path, hash, given));
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
    replaceFileSync(path, inFormOf(path, text), { mode: 0o666 });
    return undefined;
  } catch (error) {
    return { fault: `The file of client names cannot be written: ${path}: ${systemReason(error)}.` };
  }
}
