import { type MemoryShares, memoryShares, REWRITING_COPIES } from './memory-shares.ts';
import type { Settings } from './read-settings.ts';
import { type Setting, settings as table } from './settings.ts';

/** Minimum characters of a secret. */
const MIN_SECRET_CHARACTERS = 16;

/** Finds what is wrong with settings that are valid alone; each fault is a sentence with their names and the remedy. */
export type ConflictCheck = (
  settings: Settings,
  /** Defaults of memory settings that are unset. */
  shares: MemoryShares,
  /** Gives all paths of a file the same text. */
  resolve: (path: string) => string,
) => readonly string[];

/** Finds conflicts of the settings that have an effect on every runtime. */
export function settingConflicts(
  settings: Settings,
  shares: MemoryShares = memoryShares(),
): readonly string[] {
  return CONFLICTS.flatMap((check) => check(settings, shares, (path) => path));
}

/** The checks of `settingConflicts`, each of one matter. */
export const CONFLICTS: readonly ConflictCheck[] = [shortSecrets, bodyLimit, breakerThatNeverOpens];

function shortSecrets(settings: Settings): readonly string[] {
  return GUESSABLE.flatMap(
    (setting) => shortSecretOf(setting, settings.get(setting), settings.nameOf(setting)) ?? [],
  );
}

/** Secrets that someone could guess; the password of a store is what its server wants. */
const GUESSABLE: readonly Setting<string | undefined>[] = [table.clientSecret, table.adminToken];

/** Returns the fault of a secret that is too short for its setting, as a sentence; `name` is how it was set. */
export function shortSecretOf(
  setting: Setting<string | undefined>,
  secret: string | undefined,
  name: string,
): string | undefined {
  return GUESSABLE.includes(setting) ? shortSecret(secret, name) : undefined;
}

/** Returns the fault of a secret that is too short, as a sentence; `name` is how it was set. */
export function shortSecret(secret: string | undefined, name: string): string | undefined {
  if (secret === undefined || secret.length >= MIN_SECRET_CHARACTERS) return undefined;
  return `${name} must have at least ${MIN_SECRET_CHARACTERS} characters.`;
}

function bodyLimit(settings: Settings, shares: MemoryShares): readonly string[] {
  const body = settings.get(table.bodyLimit);
  const buffer = settings.get(table.bufferBytes) ?? shares.bufferBytes;
  if (body === undefined || body * REWRITING_COPIES <= buffer) return [];
  return [
    `${named(settings, table.bodyLimit, body, ' bytes')} is more than ${named(settings, table.bufferBytes, buffer, ' bytes')} can hold as received and as rewritten: such a body would always get 503. Lower the first, or raise the second to at least ${body * REWRITING_COPIES}.`,
  ];
}

function breakerThatNeverOpens(settings: Settings): readonly string[] {
  if (!settings.get(table.breaker) || settings.get(table.breakerFailures) > 0) return [];
  return [
    `${settings.nameOf(table.breaker)} is on, and ${settings.nameOf(table.breakerFailures)} is 0, which no number of failures reaches; set the first to off, or the second to at least 1.`,
  ];
}

/** Formats a setting with its value. */
export function named(settings: Settings, setting: Setting<unknown>, value: number, unit: string): string {
  return `${settings.nameOf(setting)} (${value}${unit})`;
}
