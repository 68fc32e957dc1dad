import { accessSync, constants, existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { openReferenceStore } from '../../node/reference/reference-store.ts';
import { storedRolloutFault } from '../../node/rollout/open-rollout.ts';
import type { RuleBook } from '../../rules/rule-book.ts';
import type { Settings } from '../../settings/read-settings.ts';
import { settings as table } from '../../settings/settings.ts';
import { isAddress, V2Description } from './v2-description.ts';

/** Returns the faults that `serve` finds only while it starts its parts: rollout file, V2's description, reference database. */
export async function startFaults(
  settings: Settings,
  book: RuleBook | undefined,
): Promise<readonly string[]> {
  const faults = [
    book && storedRolloutFault(settings, book),
    await descriptionFault(settings),
    storeFault(settings),
  ];
  return faults.filter((fault) => fault !== undefined);
}

/** Settings that the checks of a start read. */
const READ = [
  table.store,
  table.rolloutFile,
  table.v1Upstream,
  table.v2Openapi,
  table.upstream,
  table.referenceDb,
];

/** Tells whether `startFaults` would be misled by one of the settings that are invalid. */
export function misleads(invalid: ReadonlySet<string>): boolean {
  return READ.some(({ name }) => invalid.has(name));
}

/** An address may be down, which does not stop a start. */
async function descriptionFault(settings: Settings): Promise<string | undefined> {
  const source = settings.get(table.v2Openapi);
  if (source === undefined || settings.get(table.v1Upstream) === undefined || isAddress(source))
    return undefined;
  const opened = await V2Description.open(
    source,
    () => [],
    () => {},
  );
  return 'fault' in opened ? opened.fault : undefined;
}

/** Opens the database only if there is one: a check makes no file. */
function storeFault(settings: Settings): string | undefined {
  const path = settings.get(table.referenceDb);
  if (path === undefined || settings.get(table.upstream) !== undefined) return undefined;
  try {
    if (existsSync(path)) openReferenceStore(path).close();
    else accessSync(dirname(path), constants.W_OK);
    return undefined;
  } catch (error) {
    return `${settings.nameOf(table.referenceDb)} ${path}: ${error instanceof Error ? error.message : String(error)}. Choose a new file, or one that a reference service made.`;
  }
}
