import type { HistoryMinute } from '../../api.ts';
import type { ChartFrameProps } from './chart-frame.ts';
import { counted, minuteTime } from '../parts/format.ts';

/** Number of slots of a chart of the last hour, one a minute. */
export const HOUR_SLOTS = 60;

const MINUTE_MS = 60_000;

/** The slots of a chart of the last hour; those before the first of `minutes` are not known. */
export function hourSlots(
  minutes: readonly HistoryMinute[],
): Required<Pick<ChartFrameProps, 'slots' | 'labelEvery' | 'unknown'>> {
  const last = Date.parse(minutes.at(-1)?.time ?? '');
  const slots = Array.from({ length: HOUR_SLOTS }, (_, slot) =>
    Number.isNaN(last) ? '' : minuteTime(new Date(last - (HOUR_SLOTS - 1 - slot) * MINUTE_MS).toISOString()),
  );
  return { slots, labelEvery: 10, unknown: HOUR_SLOTS - minutes.length };
}

/** The time that is known, in words: `the last hour`, or `the last 5 minutes`. */
export function hourWords({ length }: readonly HistoryMinute[]): string {
  if (length >= HOUR_SLOTS) return 'the last hour';
  return length === 1 ? 'the last minute' : `the last ${counted(length, 'minute')}`;
}
