import { readFileSync, statSync } from 'node:fs';
import { parse } from 'yaml';

/** The file of client names cannot be used; the message is a sentence. */
export interface NamesFault {
  readonly fault: string;
  /** True when the file could be read and holds something else than names. */
  readonly isJunk?: boolean;
}

/** Reads display names from a YAML or JSON file that maps client hashes to names: `3fa9c1d2e4b50617: Harcourts Richmond`. */
export function readClientNames(path: string): ReadonlyMap<string, string> | NamesFault {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const { message } = error instanceof Error ? error : { message: String(error) };
    return { fault: `The file of client names cannot be read: ${message}.` };
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
        fault: `The file of client names, ${path}, has ${hash}, which is not 16 hex digits with a name.`,
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

/** Returns the names in the file, read again when it has changed; while it is faulty, the names stay as they were. */
export function watchClientNames(path: string): () => ReadonlyMap<string, string> {
  let names: ReadonlyMap<string, string> = new Map();
  let readAt = -1;
  return () => {
    const changed = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
    if (changed === undefined || changed === readAt) return names;
    readAt = changed;
    const read = readClientNames(path);
    if (!('fault' in read)) names = read;
    return names;
  };
}
