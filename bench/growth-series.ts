/** One size of one series: one run of the work, and the number of units in it. */
export interface Sample {
  readonly units: number;
  readonly run: () => void;
}

/** A work at several sizes. */
export interface Series {
  readonly name: string;
  readonly unit: string;
  readonly samples: readonly Sample[];
}

/** Makes a series of the result of `run` for each size. */
export function series(
  name: string,
  unit: string,
  sizes: readonly number[],
  run: (size: number) => () => void,
): Series {
  return { name, unit, samples: sizes.map((units) => ({ units, run: run(units) })) };
}
