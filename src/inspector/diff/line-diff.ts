/** A line of a diff: in both texts, or only in the old or the new one. */
export interface DiffLine {
  readonly sign: ' ' | '-' | '+';
  readonly text: string;
}

/** Compares two lines. */
export type SameLine = (one: string | undefined, other: string | undefined) => boolean;

/** Lines of JSON: a comma at the end comes with the member that follows. */
export function isSameJsonLine(one: string | undefined, other: string | undefined): boolean {
  return one === other || one?.replace(/,$/, '') === other?.replace(/,$/, '');
}

/** Maximum lines of a text to compare: the table of lengths grows with the product of both. */
const MAX_LINES = 2000;

/** Compares two texts line by line (longest common subsequence); lines are the same if `isSame` says so. */
export function lineDiff(
  before: string,
  after: string,
  isSame: SameLine = (one, other) => one === other,
): readonly DiffLine[] {
  const old = before.split('\n');
  const now = after.split('\n');
  if (old.length > MAX_LINES || now.length > MAX_LINES) {
    return [
      ...old.map((text) => ({ sign: '-' as const, text })),
      ...now.map((text) => ({ sign: '+' as const, text })),
    ];
  }
  const lengths = table(old, now, isSame);
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && isSame(old[i], now[j])) {
      lines.push({ sign: ' ', text: now[j] ?? '' });
      i += 1;
      j += 1;
    } else if (
      j >= now.length ||
      (i < old.length && (lengths[i + 1]?.[j] ?? 0) >= (lengths[i]?.[j + 1] ?? 0))
    ) {
      lines.push({ sign: '-', text: old[i] ?? '' });
      i += 1;
    } else {
      lines.push({ sign: '+', text: now[j] ?? '' });
      j += 1;
    }
  }
  return lines;
}

function table(old: readonly string[], now: readonly string[], isSame: SameLine): Uint16Array[] {
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint16Array(now.length + 1));
  for (let i = old.length - 1; i >= 0; i -= 1) {
    const row = lengths[i] ?? new Uint16Array();
    const below = lengths[i + 1];
    for (let j = now.length - 1; j >= 0; j -= 1) {
      row[j] = isSame(old[i], now[j])
        ? (below?.[j + 1] ?? 0) + 1
        : Math.max(below?.[j] ?? 0, row[j + 1] ?? 0);
    }
  }
  return lengths;
}
