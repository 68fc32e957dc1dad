import { generalPointer, leafPointers, pointerSteps } from '../../json/pointer.ts';
import type { EditRecord } from '../../rewrite/records.ts';
import { elementsOf, memberOf, readJsonText } from '../../openapi/description.ts';
import { areContraries, type NamedShape, otherUnits } from '../../openapi/draft/conversions.ts';
import { ANY_SHAPE, type Shape, shapeAt } from '../../openapi/shape.ts';

/** One side of a sample: its body and query, and the shape of its body. */
export interface SampleSide {
  readonly body: string;
  readonly query?: string;
  readonly shape: Shape | undefined;
}

/**
 * Sentences about values that reach the other side as they are under a name that means another value: in another unit, or the contrary. A
 * rule that converts a value leaves another one.
 */
export function meaningDifferences(
  edits: readonly Pick<EditRecord, 'from' | 'path'>[],
  given: SampleSide,
  taken: SampleSide,
  isResponse = false,
): readonly string[] {
  const moved = edits.flatMap(({ from, path }) => (from && path ? [[from, path] as const] : []));
  // What no rule names has the same place on both sides.
  const edited = new Set(edits.flatMap(({ from, path }) => [from, path]));
  const [valueGiven, valueTaken] = [valuesOf(given), valuesOf(taken)];
  const kept = leafPointers(readJsonText(given.body))
    .filter((place) => !edited.has(place))
    .map((place) => [place, place] as const);
  const places = new Map([...kept, ...moved]);
  const found = [...places].flatMap(([from, path]) => {
    const [one, other] = [valueGiven(from), valueTaken(path)];
    // No factor changes a zero.
    if (one === undefined || one === 0 || one !== other) return [];
    const sides = [namedAt(given, from, one), namedAt(taken, path, one)] as const;
    const [old, young] = isResponse ? [sides[1], sides[0]] : sides;
    const [before, now] = isResponse ? [path, from] : [from, path];
    if (typeof one === 'boolean' && areContraries(old, young))
      return [`V1's ${before} says the contrary of V2's ${now}, and no rule turns true and false`];
    const units = typeof one === 'number' ? otherUnits(old, young) : undefined;
    return units === undefined
      ? []
      : [`V1's ${before} is in ${units[0]}, and V2's ${now} in ${units[1]}: no rule converts the value`];
  });
  return [...new Set(found)];
}

/** The number or boolean at each place of a sample, which is read once: it may have thousands of places. */
function valuesOf({ body, query = '' }: SampleSide): (place: string) => number | boolean | undefined {
  const [whole, parameters] = [readJsonText(body), new URLSearchParams(query)];
  return (place) => {
    const value = place.startsWith('?')
      ? readJsonText(parameters.get(place.slice(1)) ?? '')
      : pointerSteps(place).reduce<unknown>(
          (inner, step) => (Array.isArray(inner) ? elementsOf(inner)[Number(step)] : memberOf(inner, step)),
          whole,
        );
    return typeof value === 'number' || typeof value === 'boolean' ? value : undefined;
  };
}

function namedAt({ shape = ANY_SHAPE }: SampleSide, place: string, value: number | boolean): NamedShape {
  const path = place.startsWith('?') ? [place.slice(1)] : pointerSteps(generalPointer(place));
  const { text = '' } = shapeAt(shape, path) ?? {};
  const name = path.findLast((step) => step !== '*') ?? '';
  return { name, shape: { ...ANY_SHAPE, text, types: new Set([typeof value]) } };
}
