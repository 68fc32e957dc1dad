import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { readScript } from '../../twin/read-script.ts';
import type { Script } from '../../twin/script.ts';

/** Scripts, or every fault of their files; `isMissing` when one of them could not be opened. */
export type ScriptFiles =
  | { readonly scripts: readonly Script[] }
  | { readonly faults: readonly string[]; readonly isMissing: boolean };

/** Folder of the scripts that ship with the program; `tables.txt` holds the tables that all scripts can use. */
const SHIPPED = new URL('../../../config/twin/', import.meta.url);
const TABLES = 'tables.txt';

/** Reads script files, or without any the shipped scripts; `any` chooses those that fit services of unknown data. */
export function loadScripts(files: readonly string[], fit: 'any' | 'reference'): ScriptFiles {
  const scripts: Script[] = [];
  const faults: string[] = [];
  let isMissing = false;
  const shared = readFileSync(new URL(TABLES, SHIPPED), 'utf8');
  const shipped = readdirSync(SHIPPED).filter((name) => name !== TABLES);
  for (const file of files.length > 0 ? files : shipped.map((name) => new URL(name, SHIPPED))) {
    try {
      const reading = readScript(basename(String(file)), readFileSync(file, 'utf8'), shared);
      if ('faults' in reading) faults.push(...reading.faults);
      else scripts.push(reading.script);
    } catch (error) {
      isMissing = true;
      faults.push(
        `${String(file)} cannot be read: ${error instanceof Error ? error.message : String(error)}.`,
      );
    }
  }
  if (faults.length > 0) return { faults, isMissing };
  const isChosen = ({ settings }: Script): boolean =>
    files.length > 0 || fit === 'reference' || settings['services'] === 'any';
  return { scripts: scripts.filter((script) => isChosen(script)) };
}
