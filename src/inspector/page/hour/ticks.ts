const STEPS = [1, 2, 5, 10];

/** Round values from 0 to at least `max`, about `count` of them: 0, 20, 40, 60. */
export function linearTicks(max: number, count: number): readonly number[] {
  if (max <= 0) return [0, 1];
  const rough = max / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, power * (STEPS.find((factor) => factor * power >= rough) ?? 10));
  const ticks: number[] = [];
  for (let tick = 0; tick < max + step; tick += step) ticks.push(tick);
  return ticks;
}

/** Powers of ten that span `min` to `max`; for a narrow range also 2 and 5 times each. */
export function logTicks(min: number, max: number): readonly number[] {
  const first = Math.floor(Math.log10(Math.max(min, 0.1)));
  const last = Math.max(first + 1, Math.ceil(Math.log10(Math.max(max, 0.1))));
  const powers = Array.from({ length: last - first + 1 }, (_, index) => 10 ** (first + index));
  if (powers.length > 3) return powers;
  return powers.flatMap((power, index) =>
    index === powers.length - 1 ? power : [power, power * 2, power * 5],
  );
}

/** The position of `value` between the first and the last of `ticks` on a logarithmic scale, from 0 to 1. */
export function logShare(value: number, ticks: readonly number[]): number {
  const low = Math.log10(ticks[0] ?? 1);
  const high = Math.log10(ticks.at(-1) ?? 10);
  return Math.min(1, Math.max(0, (Math.log10(Math.max(value, 1e-3)) - low) / (high - low)));
}
