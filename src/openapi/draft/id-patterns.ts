import {
  type Description,
  isObject,
  type JsonObject,
  memberOf,
  objectIn,
  stringsOf,
} from '../description.ts';
import { patternPrefix } from './conversions.ts';
import { plainName, singular, wordsOf } from './names.ts';

/**
 * The description with the pattern of each id, such as `^rt_[0-9]+$`, at all its places. Descriptions often have it only where the resource
 * itself is described, and not in parameters and in the members of other resources that refer to it.
 */
export function withIdPatterns(description: Description): Description {
  const known = completed.get(description) ?? complete(description);
  completed.set(description, known);
  return known;
}

/** By description: a draft is made anew for each answer, and what is known of operations is kept by their objects. */
const completed = new WeakMap<Description, Description>();

function complete(description: Description): Description {
  const patterns = patternsIn(description);
  if (patterns.size === 0) return description;
  const made = new Map<unknown, unknown>();
  /** `behind` is the word before a parameter of the path. */
  const copy = (value: unknown, behind: string): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    const known = made.get(value);
    if (known !== undefined) return known;
    made.set(value, value);
    const copied = copyOf(value, (inner, name) => {
      const below = name.startsWith('/') ? resourceOf(name) : behind;
      if (name !== 'properties' || !isObject(inner)) return copy(inner, below);
      return copyOf(inner, (member, own) => withPattern(copy(member, below), patterns.get(plainName(own))));
    });
    const parameter = memberOf(copied, 'name');
    const pattern =
      typeof parameter === 'string' && memberOf(copied, 'in') !== undefined
        ? patterns.get(plainName(`${parameter === 'id' ? behind : ''}${parameter}`))
        : undefined;
    const result = pattern === undefined ? copied : withSchema(copied, pattern);
    made.set(value, result);
    return result;
  };
  const result = copy(description, '');
  return isObject(result) ? result : description;
}

/** The object or array with other contents; itself if they are the same. */
function copyOf(value: object, copy: (inner: unknown, name: string) => unknown): unknown {
  if (Array.isArray(value)) {
    const all = value.map((inner: unknown) => copy(inner, ''));
    return all.every((inner, at) => inner === value[at]) ? value : all;
  }
  const entries = Object.entries(value);
  const all = entries.map(([name, inner]) => [name, copy(inner, name)] as const);
  return all.every(([, inner], at) => inner === entries[at]?.[1]) ? value : Object.fromEntries(all);
}

function withSchema(parameter: unknown, pattern: string): unknown {
  return isObject(parameter)
    ? { ...parameter, schema: withPattern(parameter['schema'], pattern) }
    : parameter;
}

/** A schema of any text has the pattern; others stay as they are. */
function withPattern(schema: unknown, pattern: string | undefined): unknown {
  if (pattern === undefined || !isObject(schema) || !isText(schema)) return schema;
  return ['pattern', 'format', 'enum', 'const'].some((word) => word in schema)
    ? schema
    : { ...schema, pattern };
}

function isText({ type }: JsonObject): boolean {
  return type === 'string' || stringsOf(type).includes('string');
}

/** The resource of a path's last parameter: `route` of `/routes/{id}`. */
function resourceOf(path: string): string {
  const segments = path.split('/');
  const at = segments.findLastIndex((segment) => segment.startsWith('{'));
  return wordsOf(segments[at - 1] ?? '')
    .map(singular)
    .join('');
}

/** The patterns with a prefix, by the plain names of ids such as `routeId`, also for `id` in `Route`; none for a name with several. */
function patternsIn(description: Description): ReadonlyMap<string, string> {
  const found = new Map<string, Set<string>>();
  for (const [title, schema] of Object.entries(objectIn(objectIn(description, 'components'), 'schemas'))) {
    for (const [name, member] of Object.entries(objectIn(schema, 'properties'))) {
      const pattern = memberOf(member, 'pattern');
      if (typeof pattern !== 'string' || patternPrefix(pattern) === undefined) continue;
      const words = wordsOf(name);
      if (words.at(-1) !== 'id') continue;
      const key = plainName(words.length === 1 ? `${title}Id` : name);
      found.set(key, (found.get(key) ?? new Set()).add(pattern));
    }
  }
  return new Map(
    [...found].flatMap(([name, [pattern, ...others]]) =>
      pattern !== undefined && others.length === 0 ? [[name, pattern] as const] : [],
    ),
  );
}
