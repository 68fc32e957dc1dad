/** One size of one series: what is done once, and how often the unit is in it. */
export interface Sample {
  readonly units: number;
  readonly run: () => void;
}

/** Something that is done at several sizes. */
export interface Series {
  readonly name: string;
  readonly unit: string;
  readonly samples: readonly Sample[];
}

/** Makes a series of what `run` gives for each size. */
export function series(
  name: string,
  unit: string,
  sizes: readonly number[],
  run: (size: number) => () => void,
): Series {
  return { name, unit, samples: sizes.map((units) => ({ units, run: run(units) })) };
}
