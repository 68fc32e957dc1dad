/** Two names that may belong together, and the weight of the evidence. */
export interface ScoredPair {
  readonly from: string;
  readonly to: string;
  /** More than 0. */
  readonly score: number;
}

/**
 * Chooses the pairs with the highest sum of scores, with each name in one pair at most. The best single pair may not be among them, if
 * other names then have only bad partners. The time grows with the cube of the number of names.
 */
export function bestPairs<Pair extends ScoredPair>(pairs: readonly Pair[]): readonly Pair[] {
  const froms = [...new Set(pairs.map(({ from }) => from))];
  const tos = [...new Set(pairs.map(({ to }) => to))];
  const size = Math.max(froms.length, tos.length);
  const byEnds = new Map(pairs.map((pair) => [JSON.stringify([pair.from, pair.to]), pair]));
  const pairAt = (row: number, column: number): Pair | undefined =>
    byEnds.get(JSON.stringify([froms[row], tos[column]]));
  const costs = Array.from({ length: size }, (_, row) =>
    Float64Array.from({ length: size }, (_one, column) => -(pairAt(row, column)?.score ?? 0)),
  );
  return cheapestColumns(costs).flatMap((column, row) => pairAt(row, column) ?? []);
}

/** The column of each row of a square matrix for which the sum is lowest: the Hungarian algorithm, by shortest augmenting paths. */
function cheapestColumns(costs: readonly Float64Array[]): readonly number[] {
  const size = costs.length;
  // Row and column `size` mean no partner: each path begins there.
  const [ofRow, ofColumn] = [new Float64Array(size + 1), new Float64Array(size + 1)];
  const rowOf = new Int32Array(size + 1).fill(size);
  for (let row = 0; row < size; row += 1) {
    const least = new Float64Array(size + 1).fill(Infinity);
    const before = new Int32Array(size + 1).fill(size);
    const isSeen = new Uint8Array(size + 1);
    let column = size;
    rowOf[size] = row;
    do {
      isSeen[column] = 1;
      const current = rowOf[column] ?? size;
      let [step, next] = [Infinity, size];
      for (let at = 0; at < size; at += 1) {
        if (isSeen[at] === 1) continue;
        const left = (costs[current]?.[at] ?? 0) - (ofRow[current] ?? 0) - (ofColumn[at] ?? 0);
        if (left < (least[at] ?? Infinity)) {
          least[at] = left;
          before[at] = column;
        }
        if ((least[at] ?? Infinity) < step) [step, next] = [least[at] ?? Infinity, at];
      }
      for (let at = 0; at <= size; at += 1) {
        if (isSeen[at] === 1) {
          const seen = rowOf[at] ?? size;
          ofRow[seen] = (ofRow[seen] ?? 0) + step;
          ofColumn[at] = (ofColumn[at] ?? 0) - step;
        } else least[at] = (least[at] ?? Infinity) - step;
      }
      column = next;
    } while (rowOf[column] !== size);
    while (column !== size) {
      const from = before[column] ?? size;
      rowOf[column] = rowOf[from] ?? size;
      column = from;
    }
  }
  const columns = Array.from({ length: size }, () => size);
  for (let at = 0; at < size; at += 1) columns[rowOf[at] ?? size] = at;
  return columns;
}
