import type { Path } from '../../rules/rule.ts';
import { ANY_SHAPE, isCompatible, type Shape, shapeAt } from '../shape.ts';
import { addFinding, type Objects, type Work } from './comparison.ts';
import { type FoundValue, keywordIn, namedValues } from './conversions.ts';
import {
  type Finding,
  type FoundRule,
  isSamePath,
  pathText,
  type Question,
  targetsOf,
} from './found-rules.ts';
import { mentionsName } from './member-links.ts';
import { wordsOf } from './names.ts';
import { MAX_LEVELS, placesByLetters } from './places.ts';

/** True if the likeliest answers fill all members that the new object requires: then the object needs no question. */
export function isFilled(path: Path, v2: Shape, findings: readonly Finding[]): boolean {
  const required = requiredIn(shapeAt(v2, path) ?? ANY_SHAPE, path);
  const isInside = (at: Path, around: Path): boolean => around.every((name, level) => at[level] === name);
  const isWritten = (place: Path): boolean =>
    findings.some(({ found }) => targetsOf(found).some((at) => isInside(at, place)));
  return required.length > 0 && required.every(isWritten);
}

/** The values that an object requires, by their paths. */
function requiredIn(shape: Shape, path: Path, level = 0): readonly Path[] {
  const needed = [...shape.members].filter(([, { required }]) => required);
  return level > MAX_LEVELS
    ? []
    : needed.flatMap(([name, { shape: inner }]) => {
        const below = requiredIn(inner, [...path, name], level + 1);
        return below.length > 0 ? below : [[...path, name]];
      });
}

/** The question about a member that V2 requires. */
export function requiredQuestion(path: Path, shape: Shape, text: string): Question {
  const inside = requiredIn(shape, path);
  return { path, text, required: inside.length === 0 ? [path] : inside };
}

/** The reason to ask about a value that V1's requests never have. */
export function newRequired(name: string): string {
  return `${name} is required in V2 and not in V1: V2 refuses requests without it`;
}

export function askNewRequired(
  v1: Shape,
  v2: Shape,
  arrived: ReadonlySet<string>,
  path: Path,
  work: Work,
): void {
  for (const [name, { required, shape }] of v2.members) {
    if (!required || v1.members.has(name) || arrived.has(name)) continue;
    const doubt = newRequired(pathText(path, name));
    const copies = work.isRecorded ? [] : copiesInto(name, shape, { v1, v2, path });
    if (copies.length > 0) {
      const others = shape.members.size > 0 ? [] : [defaultOf(name, shape, path)];
      for (const found of copies) {
        const evidence = `V1 has it as ${pathText([...path, ...found.from])}, and so has V2`;
        addFinding({ found, confidence: 0.55, evidence, doubt, others }, work);
      }
      continue;
    }
    if (work.isRecorded || shape.members.size > 0 || shape.types.has('array')) {
      const asked = requiredQuestion([...path, name], shape, `${newRequired('it')}.`);
      work.questions.push({ ...asked, isNew: true });
      continue;
    }
    const found = defaultOf(name, shape, path);
    const evidence = `V1 does not have it${acceptedWords(shape)}`;
    addFinding({ found, confidence: 0.5, evidence, doubt }, work);
  }
}

/**
 * Asks about what V2 requires beside the values that the likeliest answers put into objects that V1 does not have: an amount's currency.
 * `isCompared` tells the objects that V1 has.
 */
export function askBeside(v1: Shape, v2: Shape, isCompared: (place: Path) => boolean, work: Work): void {
  const written = work.findings.flatMap(({ found, old = [] }) => {
    const around = found.rule === 'unwrap' || found.rule === 'default' ? undefined : found.in.length;
    return around === undefined ? [] : targetsOf(found).map((at) => ({ at, around, old }));
  });
  const created = new Map(
    written.flatMap(({ at, around, old }) =>
      at.slice(around, -1).flatMap((_, level): readonly (readonly [string, Path])[] => {
        const place = at.slice(0, around + level + 1);
        const before = shapeAt(v1, [...old.slice(0, -1), ...place.slice(around)]);
        const mayHave = before?.types.has('object') === true;
        return isCompared(place) || mayHave ? [] : [[pathText(place), place]];
      }),
    ),
  );
  for (const place of created.values()) {
    const inside = written.filter(({ at }) => isSamePath(at.slice(0, place.length), place));
    const arrived = new Set(inside.flatMap(({ at }) => at[place.length] ?? []));
    askNewRequired(ANY_SHAPE, shapeAt(v2, place) ?? ANY_SHAPE, arrived, place, work);
  }
}

/** Adds the members that V2's responses may have, and V1's never had. */
export function addNew({ v1, v2, path }: Objects, arrived: ReadonlySet<string>, work: Work): void {
  for (const [name, { shape }] of v2.members) {
    if (v1.members.has(name) || arrived.has(name)) continue;
    const found = defaultOf(name, shape, path);
    addFinding({ found, confidence: 0.5, evidence: 'V1 does not have it' }, work);
  }
}

/** The findings without those about a new member of which V1 may have all that is in it; one of which it may have a part has a rest. */
export function withoutFilled(findings: readonly Finding[], v2: Shape): readonly Finding[] {
  const targets = findings.flatMap(({ found, others = [] }) =>
    [...(found.rule === 'default' ? [] : [found]), ...others].flatMap(targetsOf),
  );
  const filled = new Set(targets.map((at) => pathText(at)));
  const around = new Set(targets.flatMap((at) => at.map((_, end) => pathText(at.slice(0, end)))));
  const isNew = (place: Path): boolean => {
    if (filled.has(pathText(place))) return false;
    const inside = around.has(pathText(place)) ? [...(shapeAt(v2, place)?.members.keys() ?? [])] : [];
    return inside.length === 0 || inside.some((name) => isNew([...place, name]));
  };
  return findings.flatMap((finding): readonly Finding[] => {
    const { found } = finding;
    if (found.rule !== 'default') return [finding];
    const place = [...found.in, found.member];
    if (!isNew(place)) return [];
    return around.has(pathText(place)) ? [{ ...finding, found: { ...found, isRest: true } }] : [finding];
  });
}

/** The values that V2 accepts, or their type unless it is a plain text, for the end of a sentence. */
export function acceptedWords({ values, types, format }: Shape): string {
  if (values.length > 0) return `, and V2 accepts ${namedValues(values)}`;
  const type = format || [...types].join(' or ');
  return type === '' || type === 'string' ? '' : `, and V2 accepts ${type}`;
}

export function defaultOf(member: string, shape: Shape, path: Path): FoundRule {
  return { rule: 'default', in: path, member, value: firstValue(shape) };
}

/**
 * The copies that give V2 a member that it requires, or the required members inside, from a place where both versions have the same value.
 */
function copiesInto(
  name: string,
  shape: Shape,
  { v1, v2, path }: Objects,
): readonly (FoundRule & { readonly rule: 'copy' })[] {
  const inner = [...shape.members].filter(([, { required }]) => required);
  const needed: readonly (readonly [Path, Shape])[] =
    shape.members.size === 0
      ? [[[name], shape]]
      : inner.map(([part, member]) => [[name, part], member.shape] as const);
  const copies = needed.flatMap(([to, wanted]) => {
    const named = [...v1.members.keys()].filter((one) => mentionsName(wanted.text, one)).map((one) => [one]);
    const places = [...(placesByLetters(v1).get(wordsOf(to.join('_')).join('')) ?? []), ...named];
    const from = places.find((place) => {
      const [old, young] = [shapeAt(v1, place), shapeAt(v2, place)];
      return old !== undefined && young !== undefined && isCompatible(old, wanted) && place[0] !== to[0];
    });
    return from === undefined ? [] : [{ rule: 'copy', in: path, from, to } as const];
  });
  return copies.length === needed.length ? copies : [];
}

/** The value that V2's description shows: its default, its only value or its example. */
export function firstValue({ values, constraints }: Shape): FoundValue | undefined {
  if (values.length === 1) return values[0];
  const initial = keywordIn(constraints, 'default') ?? keywordIn(constraints, 'example');
  // Some descriptions have a text in quotes of its own.
  if (typeof initial === 'string')
    return /^"(?<inside>[^"\\]*)"$/.exec(initial)?.groups?.['inside'] ?? initial;
  return typeof initial === 'number' || typeof initial === 'boolean' ? initial : undefined;
}
