/**
 * Returns the media type that an `Accept` field prefers (RFC 9110 §12.5.1): the first of `offers` with the highest weight. Without
 * a field, or where it accepts none of them, the first, as the RFC allows: the field is then disregarded.
 */
export function preferredType<const Type extends string>(
  accept: string | undefined,
  offers: readonly [Type, ...Type[]],
): Type {
  const ranges = rangesOf(accept ?? '');
  let [best] = offers;
  let bestWeight = 0;
  for (const offer of offers) {
    const weight = weightOf(offer, ranges);
    if (weight <= bestWeight) continue;
    best = offer;
    bestWeight = weight;
  }
  return best;
}

/** Maximum media ranges that are read. */
const MAX_RANGES = 50;

interface MediaRange {
  readonly range: string;
  readonly weight: number;
}

function rangesOf(accept: string): readonly MediaRange[] {
  return accept
    .split(',', MAX_RANGES)
    .map((part) => {
      const [range = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase());
      const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1';
      return { range, weight: /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(weight) ? Number(weight) : 0 };
    })
    .filter(({ range }) => range !== '');
}

/** The most specific range decides. */
function weightOf(type: string, ranges: readonly MediaRange[]): number {
  const group = `${type.slice(0, type.indexOf('/'))}/*`;
  for (const wanted of [type, group, '*/*']) {
    const found = ranges.find(({ range }) => range === wanted);
    if (found !== undefined) return found.weight;
  }
  return 0;
}
