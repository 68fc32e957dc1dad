import type { MemoryShares } from './memory-shares.ts';
import type { Settings } from './read-settings.ts';
import { settings as table } from './settings.ts';

/** How much the inspector keeps of exchanges, as the operator set it. */
export interface CaptureSettings {
  readonly mode: 'off' | 'bodies';
  readonly masks: readonly string[];
  readonly maxEntries: number;
  readonly maxBytes: number;
  readonly structurePerSecond: number;
  readonly bodyLimit: number;
}

/** Reads what the inspector keeps from the settings; `shares` are what holds where they say nothing. */
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
