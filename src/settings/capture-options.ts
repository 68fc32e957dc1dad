import type { MemoryShares } from './memory-shares.ts';
import type { Settings } from './read-settings.ts';
import { settings as table } from './settings.ts';

/** The operator's settings for the content that the inspector keeps. */
export interface CaptureSettings {
  readonly mode: 'off' | 'bodies';
  readonly masks: readonly string[];
  readonly maxEntries: number;
  readonly maxBytes: number;
  readonly structurePerSecond: number;
  readonly bodyLimit: number;
}

/** Reads the capture settings; `shares` are the defaults of unset ones. */
export function captureOptions(
  settings: Settings,
  shares: Pick<MemoryShares, 'captureBytes'>,
): CaptureSettings {
  return {
    mode: settings.get(table.capture),
    masks: settings.get(table.captureMask),
    maxEntries: settings.get(table.captureEntries),
    maxBytes: settings.get(table.captureBytes) ?? shares.captureBytes,
    structurePerSecond: settings.get(table.structureRate),
    bodyLimit: settings.get(table.captureBodyLimit),
  };
}
