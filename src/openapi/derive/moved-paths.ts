import { parametersIn, shapeAtV2 } from '../../rules/move.ts';
import type { Operation } from '../../rules/rule-book.ts';
import { templateFault, templateShape } from '../../rules/rule.ts';
import {
  type Description,
  editMembers,
  elementsOf,
  followed,
  isObject,
  type JsonObject,
  memberOf,
  METHODS,
  objectIn,
} from '../description.ts';

/** The moved operations of a rule book, by where a description of V2 has them. */
export class MovedOperations {
  private readonly byPlace: ReadonlyMap<string, readonly Operation[]>;

  constructor(operations: readonly Operation[]) {
    this.byPlace = Map.groupBy(
      operations.filter(({ to }) => to !== undefined),
      (operation) => `${operation.to?.method} ${shapeAtV2(operation)}`,
    );
  }

  /** The operations of V1 that this one of V2 is; `path` is a template below V2's prefix. */
  at(method: string, path: string): readonly Operation[] {
    if (this.byPlace.size === 0 || templateFault(path) !== undefined) return [];
    return this.byPlace.get(`${method} ${templateShape(path)}`) ?? [];
  }
}

/**
 * Returns an operation of V2 as V1 had it at another path: with the parameters of `match` in the path, those that `to` takes from
 * there gone from the query, and V1's statuses. `shared` are the parameters of V2's path item, and `path` is its template.
 */
export function movedOperation(
  operation: JsonObject,
  { template, to, status = [] }: Operation,
  place: { readonly path: string; readonly shared: unknown; readonly description: Description },
): JsonObject {
  const { path, shared, description } = place;
  const names = pathNames(path, to);
  const own = new Map((to?.query ?? []).map(({ name, value }) => [decoded(name), value.parameter]));
  const parameters = [...elementsOf(shared), ...elementsOf(operation['parameters'])].flatMap((declared) => {
    const parameter = followed(description, declared);
    if (!isObject(parameter)) return [declared];
    const [name, where] = [String(memberOf(parameter, 'name')), memberOf(parameter, 'in')];
    const known = where === 'path' ? names : where === 'query' ? own : undefined;
    if (known === undefined || (where === 'query' && !known.has(name))) return [declared];
    const inV1 = known.get(name);
    return inV1 === undefined ? [] : [{ ...parameter, name: inV1, in: 'path', required: true }];
  });
  const there = new Set(
    parameters.map((parameter) =>
      memberOf(followed(description, parameter), 'in') === 'path' ? memberOf(parameter, 'name') : undefined,
    ),
  );
  const missing = parametersIn(template)
    .filter((name) => !there.has(name))
    .map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }));
  const all = [...parameters, ...missing];
  const statuses = new Map(status.map((mapping) => [String(mapping.from), String(mapping.to)]));
  const responses = editMembers(objectIn(operation, 'responses'), (code, response) => [
    [statuses.get(code) ?? code, response],
  ]);
  const { parameters: _, ...rest } = operation;
  return { ...rest, ...(all.length === 0 ? {} : { parameters: all }), responses };
}

/** V1's names of the parameters of a path template of V2; undefined for one that `to` fills itself. */
function pathNames(path: string, to: Operation['to']): ReadonlyMap<string, string | undefined> {
  const segments = path === '/' ? [] : path.slice(1).split('/');
  return new Map(
    segments.flatMap((segment, at): [string, string | undefined][] =>
      segment.startsWith('{') ? [[segment.slice(1, -1), to?.path[at]?.parameter]] : [],
    ),
  );
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** Adds operations to the paths of a description, beside those that a path has already. */
export function withOperations(
  paths: JsonObject,
  added: readonly { readonly path: string; readonly method: string; readonly operation: JsonObject }[],
): JsonObject {
  const merged = new Map(Object.entries(paths));
  for (const { path, method, operation } of added) {
    const item = merged.get(path);
    merged.set(path, { ...(isObject(item) ? item : {}), [method.toLowerCase()]: operation });
  }
  return Object.fromEntries(merged);
}

/** True for a path item without any operation. */
export function isWithoutOperations(item: JsonObject): boolean {
  return !METHODS.some((method) => isObject(memberOf(item, method)));
}
