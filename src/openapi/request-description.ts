import type { Description } from './description.ts';
import { METHODS } from './description.ts';
import { isObject, type JsonObject, objectIn } from './json-object.ts';

/** The part of a description that says which bodies are accepted, for bundles where each byte counts. */
export function requestDescription(description: Description): Description {
  const { openapi, servers, components } = description;
  const { schemas = {}, requestBodies = {} } = isObject(components) ? components : {};
  const paths = Object.entries(objectIn(description, 'paths')).map(([path, item]) => [path, bodiesOf(item)]);
  return {
    openapi,
    ...(servers === undefined ? {} : { servers }),
    paths: Object.fromEntries(paths),
    components: { schemas, requestBodies },
  };
}

/** A path item with the request bodies of its operations; a reference to another item is kept. */
function bodiesOf(item: unknown): unknown {
  if (!isObject(item) || item['$ref'] !== undefined) return item;
  const operations = METHODS.flatMap((method): readonly (readonly [string, JsonObject])[] => {
    const { requestBody } = objectIn(item, method);
    return requestBody === undefined ? [] : [[method, { requestBody }]];
  });
  return Object.fromEntries(operations);
}
