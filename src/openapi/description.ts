import { isObject, type JsonObject, memberOf, objectIn } from './json-object.ts';

/** An OpenAPI description (3.0 or later) as data. */
export type Description = JsonObject;

/** An operation of a description. */
export interface DescribedOperation {
  /** In upper case. */
  readonly method: string;
  /** The key in `paths`. */
  readonly path: string;
  /** The path below the prefix of its version, such as `/clients`. */
  readonly rest: string;
  readonly operation: JsonObject;
  /** The path item, with a `$ref` followed. */
  readonly item: JsonObject;
}

/** The methods that a path item can describe. */
export const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'] as const;

/** True for an OpenAPI description of version 3 with paths. */
export function isDescription(value: unknown): value is Description {
  const version = memberOf(value, 'openapi');
  return typeof version === 'string' && version.startsWith('3.') && isObject(memberOf(value, 'paths'));
}

/** Lists the operations of a description, in its order. `prefix` is such as `/api/v2`; a path without it is below it already. */
export function operationsOf(description: Description, prefix: string): readonly DescribedOperation[] {
  return Object.entries(objectIn(description, 'paths')).flatMap(([path, declared]) => {
    const item = followed(description, declared);
    if (!isObject(item)) return [];
    return METHODS.flatMap((method) => {
      const operation = memberOf(item, method);
      if (!isObject(operation)) return [];
      return [{ method: method.toUpperCase(), path, rest: below(path, prefix) ?? path, operation, item }];
    });
  });
}

/** The part of `path` below `prefix`; undefined when it is not below it. */
export function below(path: string, prefix: string): string | undefined {
  if (!path.startsWith(prefix)) return undefined;
  const rest = path.slice(prefix.length);
  return rest === '' || rest.startsWith('/') ? rest || '/' : undefined;
}

/** The value that a local reference (RFC 6901, in a fragment) points to; undefined when it is elsewhere or leads nowhere. */
export function target(description: Description, reference: string): unknown {
  if (!reference.startsWith('#/')) return undefined;
  return reference
    .slice(2)
    .split('/')
    .reduce<unknown>((value, step) => {
      const name = pointerStep(step);
      if (Array.isArray(value)) return value[Number(name)];
      return memberOf(value, name);
    }, description);
}

/** Follows `$ref` from `value`, as long as it is local; a circle ends after a hundred steps. */
export function followed(description: Description, value: unknown): unknown {
  let current = value;
  for (let steps = 0; steps < 100; steps += 1) {
    const reference = memberOf(current, '$ref');
    if (typeof reference !== 'string') return current;
    const next = target(description, reference);
    if (next === undefined) return current;
    current = next;
  }
  return undefined;
}

function pointerStep(step: string): string {
  try {
    return decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return step;
  }
}

/** True for a media type of JSON: `application/json`, `application/*+json`, with or without parameters. */
export function isJsonMedia(mediaType: string): boolean {
  return /^application\/(?:[\w.!#$&^-]+\+)?json\s*(?:;|$)/i.test(mediaType.trim());
}
