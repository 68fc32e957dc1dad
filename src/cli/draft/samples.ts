import { type HeaderList, headerValue } from '../../http/header-list.ts';
import { Components } from '../../openapi/components.ts';
import {
  type DescribedOperation,
  type Description,
  elementsOf,
  followed,
  isJsonMedia,
  memberOf,
  objectIn,
  templateOf,
} from '../../openapi/description.ts';
import { requestBody } from '../../openapi/draft/bodies.ts';
import { keywordIn } from '../../openapi/draft/conversions.ts';
import { parametersOf } from '../../openapi/draft/match-operations.ts';
import { compilePattern } from '../../openapi/linear-pattern.ts';
import { ANY_SHAPE, type Direction, type MemberShape, type Shape, shapeOf } from '../../openapi/shape.ts';
import type { RuleBook } from '../../rules/rule-book.ts';
import { contentOf, keysOf, sentParameters } from './described-differences.ts';

/** An operation's path with a value for each parameter. */
export function pathOf(described: DescribedOperation, description: Description, pick = 0): string {
  const parameters = parametersOf(described, description);
  return (templateOf(described) ?? described.rest).replaceAll(/\{[^{}]*\}/g, (own) => {
    const parameter = parameters.find((one) => memberOf(one, 'name') === own.slice(1, -1));
    const shape = shapeOf(memberOf(parameter, 'schema'), new Components(description));
    const example = pick === 0 ? plainExample(parameter, description) : undefined;
    const shown = example ?? (parameter === undefined ? 1 : sampleOf(shape, { pick }));
    return encodeURIComponent(String(shown));
  });
}

/** The example that a media type or a parameter declares beside its schema; undefined for none. */
export function declaredExample(holder: unknown, description: Description): unknown {
  const [first] = Object.values(objectIn(holder, 'examples'));
  return memberOf(holder, 'example') ?? memberOf(followed(description, first), 'value');
}

/** The example of a parameter with a single value, or the first value of a list. */
function plainExample(parameter: unknown, description: Description): string | undefined {
  const shown = declaredExample(parameter, description);
  const first: unknown = Array.isArray(shown) ? shown[0] : shown;
  return ['string', 'number', 'boolean'].includes(typeof first) ? String(first) : undefined;
}

/** A V1 request with the values that a description shows. */
export interface SampleRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderList;
  readonly body: string | undefined;
}

/** The shape of a parameter's values. */
export function parameterShapeOf(parameter: unknown, components: Components): Shape {
  const schema = memberOf(parameter, 'schema') ?? memberOf(contentOf(parameter)?.[1], 'schema');
  return schema === undefined ? ANY_SHAPE : shapeOf(schema, components);
}

/** The text of a parameter: in JSON if its media type says so. */
function parameterText(parameter: unknown, shape: Shape, pick: number): string {
  const [type] = contentOf(parameter) ?? [];
  if (type !== undefined && isJsonMedia(type)) return JSON.stringify(sampleOf(shape, { pick }));
  return String(sampleOf(shape.element ?? shape, { pick }));
}

/**
 * The query parameters of an object (`filter[state]=open`, or a parameter for each member), by its style; undefined for any other value.
 */
function fieldsOfObject(parameter: unknown, name: string, shape: Shape): readonly string[] | undefined {
  if (contentOf(parameter) !== undefined) return undefined;
  const value = sampleOf(shape);
  if (shape.element !== undefined || typeof value !== 'object' || value === null) return undefined;
  return formText(value, memberOf(parameter, 'style') === 'deepObject' ? name : '');
}

/**
 * A request with every header field, parameter and member that V1 describes, and with its key. `pick` chooses the values of enumerations;
 * a request that people read (`isShown`) has less of a large body.
 */
export function sampleRequest(
  described: DescribedOperation,
  rest: string,
  components: Components,
  { from }: Pick<RuleBook, 'from'>,
  options: Pick<SampleOptions, 'pick' | 'extent'> & { readonly isShown?: true } = {},
): SampleRequest {
  const { pick = 0, extent = 'all' } = options;
  const headers = ['Host', 'localhost'];
  const query: string[] = [];
  const cookies: string[] = [];
  const pair = (name: string, value: string): string =>
    `${encodeURIComponent(name)}=${encodeURIComponent(value)}`;
  const isShown = options.isShown === true;
  for (const parameter of (isShown ? parametersOf : sentParameters)(described, components.description)) {
    const [name, place] = [memberOf(parameter, 'name'), memberOf(parameter, 'in')];
    if (typeof name !== 'string') continue;
    if (extent !== 'all' && memberOf(parameter, 'required') !== true) continue;
    const shape = parameterShapeOf(parameter, components);
    const own = isShown ? plainExample(parameter, components.description) : undefined;
    const value = own ?? parameterText(parameter, shape, pick);
    if (place === 'header') headers.push(name, value);
    const fields = isShown ? fieldsOfObject(parameter, name, shape) : undefined;
    if (place === 'query') query.push(...(fields ?? [pair(name, value)]));
    if (place === 'cookie') cookies.push(`${name}=${encodeURIComponent(value)}`);
  }
  const [keys = []] = keysOf({ operation: described, components });
  for (const { in: place, name } of keys) {
    if (place === 'query' && !query.some((one) => one.startsWith(`${encodeURIComponent(name)}=`)))
      query.push(pair(name, 'key'));
    if (place === 'header' && headerValue(headers, name) === undefined)
      headers.push(name, name === 'authorization' ? 'Bearer key' : 'key');
    if (place === 'cookie' && !cookies.some((one) => one.startsWith(`${name}=`))) cookies.push(`${name}=key`);
  }
  if (cookies.length > 0) headers.push('Cookie', cookies.join('; '));
  const body = requestBody(described, components);
  const search = query.length === 0 ? '' : `?${query.join('&')}`;
  const target = `${from}${rest}${search}`;
  if (body === undefined) return { method: described.method, target, headers, body: undefined };
  const value = isShown
    ? shownSample(body.shape, 'response')
    : sampleOf(body.shape, { pick, extent, hidden: 'response' });
  const isJson = body.form === 'json';
  headers.push('Content-Type', isJson ? 'application/json' : 'application/x-www-form-urlencoded');
  const text = isJson ? JSON.stringify(value) : formText(value, '').join('&');
  return { method: described.method, target, headers, body: text };
}

/** The fields of a form that has a value. */
function formText(value: unknown, name: string): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((one, at) => formText(one, `${name}[${at}]`));
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([key, inner]) =>
      formText(inner, name === '' ? key : `${name}[${key}]`),
    );
  return [`${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`];
}

/** True if a value matches a pattern, or the pattern is invalid or takes backtracking to match. */
export function isMatch(pattern: string, value: unknown): boolean {
  const matches = compilePattern(pattern);
  return typeof matches !== 'function' || matches(String(value), { spend: () => {} });
}

const TEXTS: Readonly<Record<string, string>> = {
  date: '2026-01-31',
  'date-time': '2026-01-31T00:00:00Z',
  duration: 'PT1H30M',
  email: 'mail@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  time: '10:00:00Z',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
};

/** A text of which nothing is known. */
const TEXT = 'text';

/** Texts that match common patterns. */
const PATTERN_TEXTS = [
  '1',
  '10.50',
  '12345',
  'a1',
  'A',
  'AB',
  'AUD',
  'AB1',
  'AB-1',
  '#aabbcc',
  '+61255501234',
  '12:30',
  '1.0.0',
];

/** True for an object that contains objects or lists: any other adds only its own members to a sample. */
function hasContainers({ members }: Shape): boolean {
  return [...members.values()].some(({ shape }) => shape.members.size > 0 || shape.element !== undefined);
}

/** Maximum objects of one schema inside each other: a schema may contain itself. */
const MAX_REPEATED = 2;

/** Maximum parts of a sample that repeats schemas; a larger one has a single object of each schema that contains others. */
const MAX_PARTS = 400;

/**
 * The members that a sample has: all; the required ones; those and all objects and lists, each with its required members; or those and the
 * members that lead to an enumeration with a value not used before.
 */
export type Extent = 'all' | 'required' | 'objects' | 'enumerated';

const longest = new WeakMap<object, number>();
const longestWithin = new WeakMap<Shape, number>();

/** The identity of a shape: all shapes of one schema share its map of members. */
function keyOf(shape: Shape): object {
  return shape.members.size > 0 ? shape.members : shape;
}

/** The number of values in the longest enumeration in a shape, at any depth. The time is linear in the number of shapes. */
export function longestEnumeration(root: Shape): number {
  const before = longest.get(keyOf(root));
  if (before !== undefined) return before;
  const own = new Map<object, number>();
  const above = new Map<object, object[]>();
  const queue: Shape[] = [];
  const enter = (shape: Shape): void => {
    const key = keyOf(shape);
    if (own.has(key)) return;
    const known = longest.get(key);
    own.set(key, known ?? shape.values.length);
    if (known === undefined) queue.push(shape);
  };
  enter(root);
  for (const shape of queue) {
    const { members, element } = shape;
    const within = [...[...members.values()].map((member) => member.shape), ...(element ? [element] : [])];
    for (const inner of within) {
      enter(inner);
      const shapesAbove = above.get(keyOf(inner)) ?? [];
      shapesAbove.push(keyOf(shape));
      above.set(keyOf(inner), shapesAbove);
    }
  }
  const counted = new Set<object>();
  for (const [key, length] of [...own].toSorted(([, one], [, other]) => other - one)) {
    const rising = [key];
    for (const one of rising) {
      if (counted.has(one)) continue;
      counted.add(one);
      longest.set(one, length);
      rising.push(...(above.get(one) ?? []));
    }
  }
  return longest.get(keyOf(root)) ?? 0;
}

/** `longestEnumeration` with a cache, because a sample needs it for each member of each object. */
function knownLongest(shape: Shape): number {
  const known = longestWithin.get(shape) ?? longestEnumeration(shape);
  longestWithin.set(shape, known);
  return known;
}

/** The parts of a value that a sample shows. */
export interface SampleOptions {
  /** The position of the value to choose from each enumeration; 0 if absent. */
  readonly pick?: number;
  readonly extent?: Extent;
  /** Members of only this direction are left out. */
  readonly hidden?: Direction;
  /** Number of levels of objects and lists that have all their members; deeper ones have the required members. All levels if absent. */
  readonly levels?: number;
  /** True for digits as each text of which nothing is known. */
  readonly hasDigits?: boolean;
}

/** A part of a sample while it is made, with the parts inside. */
interface Part {
  readonly shape: Shape;
  readonly level: number;
  readonly around: Part | undefined;
  /** The members of an object; absent for another value. */
  members?: readonly (readonly [name: string, part: Part])[];
  element?: Part;
  /** True for an object or a list without its contents: null stands for it, because an empty object would lack required members. */
  isCut?: true;
}

/** True for a member that a sample has; unless its object `isWhole`, only a required one. */
function isIn({ required, shape, only }: MemberShape, isWhole: boolean, options: SampleOptions): boolean {
  const { pick = 0, extent = 'all', hidden } = options;
  if (only !== undefined && only === hidden) return false;
  if (!isWhole) return required;
  if (extent === 'enumerated') return required || knownLongest(shape) > pick;
  return required || extent === 'all' || (extent === 'objects' && hasMembers(shape));
}

/** True for the object around the parameters of a request: a body that can have nothing else has it, even if V1 does not say so. */
function isWrapper(
  { level, shape: { members } }: Part,
  { shape }: MemberShape,
  options: SampleOptions,
): boolean {
  return options.hidden === 'response' && level === 0 && members.size === 1 && shape.members.size > 0;
}

/**
 * A value that a shape describes. It has the nearest objects of schemas that contain each other, and null for further ones; in a value that
 * people read (`isShown`), these have their required members.
 */
export function sampleOf(shape: Shape, options: SampleOptions = {}, isShown = false): unknown {
  const { levels = Infinity } = options;
  const root: Part = { shape, level: 0, around: undefined };
  const parts = [root];
  const seen = new Map<object, number>();
  /** Counts an object or a list of a schema; false if the sample has enough of them. */
  const isNext = (key: object, part: Part, isRepeatable: boolean): boolean => {
    const times = (seen.get(key) ?? 0) + 1;
    seen.set(key, times);
    if (isRepeatable || times === 1) return true;
    return parts.length < MAX_PARTS && timesAround(key, part) < MAX_REPEATED;
  };
  // The nearest parts first.
  for (const part of parts) {
    const { members, element, values } = part.shape;
    if (values.length > 0) continue;
    if (members.size > 0) {
      const isEnough = !isNext(members, part, !hasContainers(part.shape));
      if (isEnough && (!isShown || timesAround(members, part) > MAX_REPEATED)) {
        part.isCut = true;
        continue;
      }
      const isWhole = part.level < levels && !isEnough;
      part.members = [...members]
        .filter(([, member]) => isWrapper(part, member, options) || isIn(member, isWhole, options))
        .map(([name, member]) => [name, { shape: member.shape, level: part.level + 1, around: part }]);
      parts.push(...part.members.map(([, member]) => member));
    } else if (element !== undefined) {
      const isPlain = element.members.size > 0 || element.element === undefined;
      if (!isNext(part.shape, part, isPlain)) {
        part.isCut = true;
        continue;
      }
      part.element = { shape: element, level: part.level + 1, around: part };
      parts.push(part.element);
    }
  }
  return valueOf(root, options, isShown);
}

/** The number of objects or lists of one schema around a part. */
function timesAround(key: object, { around }: Part): number {
  let times = 0;
  for (let part = around; part !== undefined; part = part.around) if (keyOf(part.shape) === key) times += 1;
  return times;
}

function valueOf(part: Part, options: SampleOptions, isShown: boolean): unknown {
  const { shape, members, element } = part;
  const { pick = 0 } = options;
  if (part.isCut === true) return !isShown ? null : shape.members.size > 0 ? {} : [];
  if (members !== undefined)
    return Object.fromEntries(members.map(([name, member]) => [name, valueOf(member, options, isShown)]));
  if (element !== undefined) return [valueOf(element, options, isShown)];
  if (shape.values.length > 0) return shape.values[pick % shape.values.length];
  if (!scalars.has(shape)) scalars.set(shape, scalarOf(shape));
  const value = scalars.get(shape);
  return value === TEXT && options.hasDigits === true ? '1' : value;
}

/** Maximum characters of a sample that people read. */
const MAX_SHOWN = 4000;

/** The numbers of levels that are tried for a sample that people read, until it is too long. */
const SHOWN_LEVELS = [0, 1, 2, 3, 4, 6, 9, Infinity];

/**
 * A value that people read: with all members that a shape describes, or, if that is too long, with only the required members of inner
 * objects. Where schemas refer to each other, each value would otherwise show all objects of the service.
 */
export function shownSample(shape: Shape, hidden?: Direction): unknown {
  let shown: unknown;
  for (const levels of SHOWN_LEVELS) {
    const value = sampleOf(shape, { levels, ...(hidden && { hidden }) }, true);
    if (shown !== undefined && JSON.stringify(value).length > MAX_SHOWN) break;
    shown = value;
  }
  return shown;
}

/** The samples of shapes without members, elements and enumerations: a large description has each in thousands of objects. */
const scalars = new WeakMap<Shape, unknown>();

function scalarOf(shape: Shape): unknown {
  const [type] = shape.types;
  const keyword = (name: string): unknown => keywordIn(shape.constraints, name);
  const declared = [keyword('example'), ...elementsOf(keyword('examples')), keyword('default')];
  const isOfType = (value: unknown): boolean =>
    type === 'integer' ? Number.isInteger(value) : type === undefined || type === typeof value;
  const shown = declared.find((value) => value !== undefined && isOfType(value));
  if (shown !== undefined) return shown;
  if (type === 'integer') return 1;
  if (type === 'number') return 10.5;
  if (type === 'boolean') return true;
  if (type === 'array') return [];
  if (type === 'object') return {};
  const required = keyword('pattern');
  const pattern = typeof required === 'string' ? required : '';
  const prefix = /^\^([A-Za-z]{1,40}[_-])/.exec(pattern)?.[1];
  const text = TEXTS[shape.format] ?? (prefix === undefined ? TEXT : `${prefix}1`);
  return isMatch(pattern, text) ? text : (PATTERN_TEXTS.find((one) => isMatch(pattern, one)) ?? text);
}

function hasMembers({ members, element }: Shape): boolean {
  return members.size > 0 || (element?.members.size ?? 0) > 0;
}
