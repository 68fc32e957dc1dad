import { type HeaderList, headerValue } from '../../http/header-list.ts';
import { Components } from '../../openapi/components.ts';
import {
  type DescribedOperation,
  type Description,
  isJsonMedia,
  memberOf,
  templateOf,
} from '../../openapi/description.ts';
import { requestBody } from '../../openapi/draft/bodies.ts';
import { keywordIn } from '../../openapi/draft/conversions.ts';
import { parametersOf } from '../../openapi/draft/match-operations.ts';
import { ANY_SHAPE, type Direction, type MemberShape, type Shape, shapeOf } from '../../openapi/shape.ts';
import type { RuleBook } from '../../rules/rule-book.ts';
import { contentOf, keysOf } from './described-differences.ts';

/** An operation's path with a value for each parameter. */
export function pathOf(described: DescribedOperation, description: Description): string {
  const parameters = parametersOf(described, description);
  return (templateOf(described) ?? described.rest).replaceAll(/\{[^{}]*\}/g, (own) => {
    const parameter = parameters.find((one) => memberOf(one, 'name') === own.slice(1, -1));
    const shape = shapeOf(memberOf(parameter, 'schema'), new Components(description));
    return encodeURIComponent(String(parameter === undefined ? 1 : sampleOf(shape)));
  });
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
  if (type !== undefined && isJsonMedia(type)) return JSON.stringify(sampleOf(shape, pick));
  return String(sampleOf(shape.element ?? shape, pick));
}

/**
 * A request with every header field, parameter and member that V1 describes, and with its key. `pick` chooses the values of enumerations.
 */
export function sampleRequest(
  described: DescribedOperation,
  rest: string,
  components: Components,
  { from }: Pick<RuleBook, 'from'>,
  pick: number,
  extent: Extent = 'all',
): SampleRequest {
  const headers = ['Host', 'localhost'];
  const query: string[] = [];
  const cookies: string[] = [];
  const pair = (name: string, value: string): string =>
    `${encodeURIComponent(name)}=${encodeURIComponent(value)}`;
  for (const parameter of parametersOf(described, components.description)) {
    const [name, place] = [memberOf(parameter, 'name'), memberOf(parameter, 'in')];
    if (typeof name !== 'string') continue;
    if (extent !== 'all' && memberOf(parameter, 'required') !== true) continue;
    const shape = parameterShapeOf(parameter, components);
    const value = parameterText(parameter, shape, pick);
    if (place === 'header') headers.push(name, value);
    if (place === 'query') query.push(pair(name, value));
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
  const value = sampleOf(body.shape, pick, new Map(), extent, 'response');
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

/** True if a value matches a pattern, or the pattern is not a valid regular expression. */
export function isMatch(pattern: string, value: unknown): boolean {
  try {
    // Not proven linear: a pattern from the user's own description, on a value from this file.
    return new RegExp(pattern, 'u').test(String(value));
  } catch {
    return true;
  }
}

const TEXTS: Readonly<Record<string, string>> = {
  date: '2026-01-31',
  'date-time': '2026-01-31T00:00:00Z',
  email: 'mail@example.com',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
};

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

/** Maximum objects of one schema within a sample, if they contain others: a schema may contain itself, and may be in many others. */
const MAX_REPEATED = 2;

/**
 * The members that a sample has: all; the required ones; those and all objects and lists, each with its required members; or only those
 * that lead to an enumeration with a value not used before.
 */
export type Extent = 'all' | 'required' | 'objects' | 'enumerated';

const longest = new WeakMap<object, number>();

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

/** True for a member that a sample of this extent has. */
function isIn({ required, shape }: MemberShape, extent: Extent, pick: number): boolean {
  if (extent === 'enumerated') return longestEnumeration(shape) > pick;
  return required || extent === 'all' || (extent === 'objects' && hasMembers(shape));
}

/**
 * A value that a shape describes, without members of the direction `hidden` only. A schema that contains itself is repeated a few times.
 */
export function sampleOf(
  shape: Shape,
  pick = 0,
  seen: Map<object, number> = new Map(),
  extent: Extent = 'all',
  hidden?: Direction,
): unknown {
  const first = shape.values[pick % Math.max(1, shape.values.length)];
  if (first !== undefined) return first;
  if (shape.members.size > 0) {
    const times = (seen.get(shape.members) ?? 0) + 1;
    seen.set(shape.members, times);
    const members = times > MAX_REPEATED && hasContainers(shape) ? [] : [...shape.members];
    return Object.fromEntries(
      members
        .filter(
          ([, member]) => isIn(member, extent, pick) && (member.only === undefined || member.only !== hidden),
        )
        .map(([name, member]) => [name, sampleOf(member.shape, pick, seen, extent, hidden)]),
    );
  }
  const { element } = shape;
  if (element !== undefined) {
    const times = (seen.get(shape) ?? 0) + 1;
    seen.set(shape, times);
    return times > MAX_REPEATED && element.members.size === 0 && element.element !== undefined
      ? []
      : [sampleOf(element, pick, seen, extent, hidden)];
  }
  if (!scalars.has(shape)) scalars.set(shape, scalarOf(shape));
  return scalars.get(shape);
}

/** The samples of shapes without members, elements and enumerations: a large description has each in thousands of objects. */
const scalars = new WeakMap<Shape, unknown>();

function scalarOf(shape: Shape): unknown {
  const [type] = shape.types;
  const shown = keywordIn(shape.constraints, 'example') ?? keywordIn(shape.constraints, 'default');
  const isOfType = type === 'integer' ? Number.isInteger(shown) : type === undefined || type === typeof shown;
  if (shown !== undefined && isOfType) return shown;
  if (type === 'integer') return 1;
  if (type === 'number') return 10.5;
  if (type === 'boolean') return true;
  if (type === 'array') return [];
  if (type === 'object') return {};
  const declared = keywordIn(shape.constraints, 'pattern');
  const pattern = typeof declared === 'string' ? declared : '';
  const prefix = /^\^([A-Za-z]{1,40}[_-])/.exec(pattern)?.[1];
  const text = TEXTS[shape.format] ?? (prefix === undefined ? 'text' : `${prefix}1`);
  return isMatch(pattern, text) ? text : (PATTERN_TEXTS.find((one) => isMatch(pattern, one)) ?? text);
}

function hasMembers({ members, element }: Shape): boolean {
  return members.size > 0 || (element?.members.size ?? 0) > 0;
}
