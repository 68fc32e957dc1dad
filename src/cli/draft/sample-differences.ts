import type { Migration } from '../../library/migration.ts';
import type { MigratedRequest } from '../../library/verdicts.ts';
import { keywordIn } from '../../openapi/draft/conversions.ts';
import type { Direction, Shape } from '../../openapi/shape.ts';
import { withArticle } from '../../rules/rule-book-fault.ts';
import { meaningDifferences } from './meaning-differences.ts';
import { isMatch, type SampleOptions, sampleOf } from './samples.ts';

/** A response that both versions describe; `status` is V2's. */
export interface SharedResponse {
  readonly status: number;
  /** The body that V1's clients expect, and V2's. */
  readonly expected: Shape;
  readonly given: Shape;
}

/** A member that a value lacks, or that has a value of another kind. */
export interface Difference {
  readonly path: string;
  /** Absent for a missing member. */
  readonly kind?: WrongKind;
}

/** The compared parts of a sample: missing members and values, values only, or missing required members only. */
type Compared = 'all' | 'values' | 'required';

/** Maximum bytes of samples that are kept for other operations with the same response. */
const MAX_KEPT = 64 * 2 ** 20;

/**
 * Compares the bodies that V1's clients get for sample responses of V2 with those that they expect. Operations of a large description share
 * bodies, and rules change few of them, so each sample is made once, and a sample that no rule changes is compared once.
 */
export class SampleResponses {
  private readonly migration: Migration;
  private readonly bodies = new Map<Shape, Map<string, Uint8Array>>();
  private readonly unchanged = new WeakMap<Shape, WeakMap<Shape, Map<string, readonly Difference[]>>>();
  private kept = 0;

  constructor(migration: Migration) {
    this.migration = migration;
  }

  /**
   * The differences between what clients get for a sample response to a request, and what they expect. A text that rules make a number of, if
   * it is one, is no difference.
   */
  differences(
    sent: MigratedRequest,
    shared: SharedResponse,
    compared: Compared,
    options: SampleOptions,
  ): readonly Difference[] {
    const found = this.differencesOf(sent, shared, compared, options);
    const isUnread = ({ kind }: Difference): boolean =>
      kind?.is === 'a string' && /integer|number/.test(kind.wanted);
    if (!found.some(isUnread)) return found;
    const left = this.differencesOf(sent, shared, compared, { ...options, hasDigits: true });
    const unread = new Set(left.filter(isUnread).map(({ path }) => path));
    return found.filter((one) => !isUnread(one) || unread.has(one.path));
  }

  private differencesOf(
    sent: MigratedRequest,
    { status, expected, given }: SharedResponse,
    compared: Compared,
    options: SampleOptions,
  ): readonly Difference[] {
    const body = this.bodyOf(given, options);
    const outcome = this.migration.response(sent, status, ['Content-Type', 'application/json'], body);
    const received = outcome.body ?? NULL;
    const nulls = nullsIn(body);
    const compare = (): readonly Difference[] => differencesIn(expected, jsonOf(received), compared, nulls);
    if (Buffer.compare(received, body) !== 0) return compare();
    const byGiven = this.unchanged.get(expected) ?? new WeakMap<Shape, Map<string, readonly Difference[]>>();
    this.unchanged.set(expected, byGiven);
    const known = byGiven.get(given) ?? new Map<string, readonly Difference[]>();
    byGiven.set(given, known);
    const key = `${compared} ${sampleKey(options)}`;
    const found = known.get(key) ?? compare();
    known.set(key, found);
    return found;
  }

  /** Sentences about values that clients get under a name that means another value. */
  meanings(sent: MigratedRequest, { status, expected, given }: SharedResponse): readonly string[] {
    const body = this.bodyOf(given, { hidden: 'request' });
    const outcome = this.migration.response(sent, status, ['Content-Type', 'application/json'], body);
    const sides = [
      { body: textOf(body), shape: given },
      { body: textOf(outcome.body ?? NULL), shape: expected },
    ] as const;
    return meaningDifferences('edits' in outcome ? outcome.edits : [], ...sides, true);
  }

  private bodyOf(shape: Shape, options: SampleOptions): Uint8Array {
    const key = sampleKey(options);
    const known = this.bodies.get(shape)?.get(key);
    if (known !== undefined) return known;
    const body = new TextEncoder().encode(JSON.stringify(sampleOf(shape, options)));
    this.kept += body.length;
    if (this.kept > MAX_KEPT) {
      this.bodies.clear();
      this.kept = body.length;
    }
    const all = this.bodies.get(shape) ?? new Map<string, Uint8Array>();
    this.bodies.set(shape, all);
    all.set(key, body);
    return body;
  }
}

const NULL = new TextEncoder().encode('null');

function textOf(body: Uint8Array): string {
  return new TextDecoder().decode(body);
}

function jsonOf(body: Uint8Array): unknown {
  return JSON.parse(textOf(body));
}

function sampleKey(options: SampleOptions): string {
  const { pick = 0, extent = 'all', hidden, levels = Infinity, hasDigits = false } = options;
  return `${pick} ${extent} ${hidden ?? ''} ${levels} ${hasDigits}`;
}

function differencesIn(
  expected: Shape,
  value: unknown,
  compared: Compared,
  nulls: Nulls,
): readonly Difference[] {
  const missing =
    compared === 'values' ? [] : missingMembers(expected, value, '', compared === 'required', 'request');
  const further = compared === 'all' ? unknownMembers(expected, value, '', isStrict) : [];
  return [
    ...missing.map((path) => ({ path })),
    ...wrongTypes(expected, value, '', nulls),
    ...further.map((path) => {
      const end = path.lastIndexOf('/');
      return {
        path: path.slice(0, end) || '/',
        kind: { wanted: 'no further members', is: path.slice(end + 1) },
      };
    }),
  ];
}

/** The nulls of a migrated sample: all written by rules, or some that stand for objects and lists that the sample leaves out. */
type Nulls = 'written' | 'mixed';

/** The origin of the nulls that a migrated sample has. */
export function nullsIn(sample: string | Uint8Array): Nulls {
  const bytes = Buffer.from(sample);
  return bytes.includes(':null') || bytes.includes('[null') ? 'mixed' : 'written';
}

/** True if the value is a day and the format needs a time, or the other way round. */
export function isOtherDay({ format }: Shape, value: string): boolean {
  const isDay = /^\d{4}-\d\d-\d\d(?<time>T)?/.exec(value);
  if (isDay === null || !/^date(?:-time)?$/.test(format)) return false;
  return (isDay.groups?.['time'] !== undefined) !== (format === 'date-time');
}

/** The paths of the members that a value lacks, all or only required ones, without those of the direction `hidden` only. */
export function missingMembers(
  shape: Shape,
  value: unknown,
  path: string,
  isRequired: boolean,
  hidden: Direction,
): readonly string[] {
  if (Array.isArray(value)) {
    const { element } = shape;
    return element === undefined
      ? []
      : value.slice(0, 1).flatMap((one) => missingMembers(element, one, `${path}/*`, isRequired, hidden));
  }
  if (typeof value !== 'object' || value === null) return [];
  const members = new Map<string, unknown>(Object.entries(value));
  return [...shape.members].flatMap(([name, { shape: inner, required, only }]) => {
    const at = `${path}/${name}`;
    if (only === hidden) return [];
    // A sample leaves members out of a schema that contains itself.
    if (!members.has(name)) return required || (!isRequired && members.size > 0) ? [at] : [];
    return missingMembers(inner, members.get(name), at, isRequired, hidden);
  });
}

/** True for an object that may have no other members than those described: a client may rely on it. */
function isStrict(shape: Shape): boolean {
  return shape.isClosed && isDescribed(shape);
}

/** True for an object whose members are described: a service may refuse any other. */
function isDescribed({ members, further, unread }: Shape): boolean {
  return members.size > 0 && further === '' && unread.length === 0;
}

/** The paths of members that a shape does not name, in the objects that have no others. */
export function unknownMembers(
  shape: Shape,
  value: unknown,
  path: string,
  hasNoOthers = isDescribed,
): readonly string[] {
  if (Array.isArray(value)) {
    const { element } = shape;
    return element === undefined
      ? []
      : value.slice(0, 1).flatMap((one) => unknownMembers(element, one, `${path}/*`, hasNoOthers));
  }
  if (typeof value !== 'object' || value === null) return [];
  const isOpen = !hasNoOthers(shape);
  return Object.entries(value).flatMap(([name, inner]) => {
    const member = shape.members.get(name);
    if (member !== undefined) return unknownMembers(member.shape, inner, `${path}/${name}`, hasNoOthers);
    return isOpen ? [] : [`${path}/${name}`];
  });
}

/** The kind of a value, and the one that its shape allows. */
export interface WrongKind {
  readonly is: string;
  readonly wanted: string;
}

/** A value that its shape does not allow. */
interface WrongType {
  readonly path: string;
  readonly kind: WrongKind;
}

function wrong(path: string, is: string, wanted: string): readonly WrongType[] {
  return [{ path, kind: { is, wanted } }];
}

/** The scalars whose type, pattern or values differ from the shape's. */
export function wrongTypes(shape: Shape, value: unknown, path: string, nulls: Nulls): readonly WrongType[] {
  if (value === null)
    return path === '' || mayBeNull(shape, nulls) ? [] : wrong(path, 'null', [...shape.types].join(' or '));
  const is = Array.isArray(value) ? 'array' : typeof value;
  if (shape.types.size > 0) {
    const isTaken = [...shape.types].some(
      (type) =>
        type === is ||
        (is === 'number' && (type === 'integer' ? Number.isInteger(value) : type === 'number')),
    );
    if (!isTaken) return wrong(path || 'the body', withArticle(is), [...shape.types].join(' or '));
  }
  const pattern = typeof value === 'string' ? keywordIn(shape.constraints, 'pattern') : undefined;
  if (typeof pattern === 'string' && !isMatch(pattern, value))
    return wrong(path, JSON.stringify(value), `the pattern ${pattern}`);
  if (typeof value === 'string' && isOtherDay(shape, value))
    return wrong(path, JSON.stringify(value), `the format ${shape.format}`);
  // Where alternatives have values of another type, those of this type are not limited.
  if (
    isScalar(value) &&
    !shape.values.includes(value) &&
    shape.values.some((one) => typeof one === typeof value)
  )
    return wrong(path, JSON.stringify(value), shape.values.map((one) => JSON.stringify(one)).join(', '));
  if (Array.isArray(value)) {
    const { element } = shape;
    return element === undefined
      ? []
      : value.slice(0, 1).flatMap((one) => wrongTypes(element, one, `${path}/*`, nulls));
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    const member = shape.members.get(name);
    return member === undefined ? [] : wrongTypes(member.shape, inner, `${path}/${name}`, nulls);
  });
}

function mayBeNull({ types, isNullable }: Shape, nulls: Nulls): boolean {
  if (isNullable || types.size === 0) return true;
  return nulls === 'mixed' && (types.has('object') || types.has('array'));
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}
