import type { Change } from '../../rules/rule-book.ts';
import type { StatusPattern } from '../../rules/rule.ts';
import { marked } from '../draft/change-mark.ts';
import type { Components } from '../components.ts';
import { type Description, followed, isJsonMedia } from '../description.ts';
import type { InverseEdit } from './inverse-edits.ts';
import { editMembers, isObject, type JsonObject, memberOf, objectIn } from '../json-object.ts';
import { withQueryOfV1 } from '../query-parameters.ts';
import { editSchema, editValue, replaced } from './schema-edit.ts';

/** The parts that an operation is derived with. */
export interface OperationDerivation {
  readonly description: Description;
  readonly components: Components;
  readonly request: readonly InverseEdit[];
  readonly response: readonly InverseEdit[];
  /** The changes with query rules, in order. */
  readonly changes: readonly Change[];
  /** Called with each step that changed something. */
  readonly onApplied: (edit: InverseEdit) => void;
}

/** V1's operation from V2's: the body of the request, the bodies of responses, and no version header. */
export function deriveOperation(operation: JsonObject, derivation: OperationDerivation): JsonObject {
  const { description } = derivation;
  const applied = new Set<string>();
  const onApplied = (edit: InverseEdit): void => {
    applied.add(edit.change);
    derivation.onApplied(edit);
  };
  const inside = { ...derivation, onApplied };
  let derived = withQueryOfV1(withoutVersionParameter(operation, description), {
    description,
    changes: derivation.changes,
    onChanged: (change) => applied.add(change),
  });
  if (operation['requestBody'] !== undefined && derivation.request.length > 0) {
    const body = followed(description, operation['requestBody']);
    const edited = withContent(body, derivation.request, inside);
    if (edited !== body) derived = replaced(derived, 'requestBody', edited);
  }
  derived = replaced(derived, 'responses', deriveResponses(objectIn(operation, 'responses'), inside));
  return [...applied].reduce<JsonObject>((part, change) => marked(part, change), derived);
}

/** The operation or path item without the parameter `x-api-version`: V1 has no dated releases. */
export function withoutVersionParameter(holder: JsonObject, description: Description): JsonObject {
  const { parameters } = holder;
  if (!Array.isArray(parameters)) return holder;
  const left: readonly unknown[] = parameters.filter(
    (parameter) => !isVersionHeader(followed(description, parameter)),
  );
  return left.length === parameters.length ? holder : { ...holder, parameters: left };
}

function isVersionHeader(parameter: unknown): boolean {
  const name = memberOf(parameter, 'name');
  return memberOf(parameter, 'in') === 'header' && typeof name === 'string' && isVersionName(name);
}

function isVersionName(name: string): boolean {
  return name.toLowerCase() === 'x-api-version';
}

function deriveResponses(responses: JsonObject, derivation: OperationDerivation): JsonObject {
  const keys = Object.keys(responses);
  return editMembers(responses, (status, declared) => {
    const response = followed(derivation.description, declared);
    if (!isObject(response)) return [[status, declared]];
    const edits = derivation.response.filter((edit) => concerns(edit.status ?? [], status, keys));
    const edited = withContent(withoutVersionHeader(response), edits, derivation);
    return [[status, edited === response ? declared : edited]];
  });
}

function withoutVersionHeader(response: JsonObject): JsonObject {
  const { headers } = response;
  if (!isObject(headers) || !Object.keys(headers).some(isVersionName)) return response;
  return {
    ...response,
    headers: editMembers(headers, (name, value) => (isVersionName(name) ? [] : [[name, value]])),
  };
}

/**
 * True when a rule for these statuses applies to a response under this key: a status, a class such as `2XX`, or `default`, which has
 * what no other of the keys names.
 */
function concerns(patterns: readonly StatusPattern[], key: string, keys: readonly string[]): boolean {
  return patterns.some((pattern) => {
    const text = String(pattern);
    if (key === 'default') return !keys.some((other) => isNamed(text, other));
    return isNamed(text, key);
  });
}

function isNamed(pattern: string, key: string): boolean {
  return (
    pattern === key ||
    `${pattern.slice(0, 1)}xx` === key.toLowerCase() ||
    (pattern.endsWith('xx') && key.startsWith(pattern.slice(0, 1)))
  );
}

/** The request body or response with its JSON schemas and examples edited. */
function withContent(
  holder: unknown,
  edits: readonly InverseEdit[],
  derivation: OperationDerivation,
): unknown {
  if (!isObject(holder) || !isObject(holder['content']) || edits.length === 0) return holder;
  let isChanged = false;
  const content = editMembers(holder['content'], (name, media) => {
    if (!isJsonMedia(name) || !isObject(media)) return [[name, media]];
    const edited = edits.reduce<JsonObject>((before, edit) => withEdit(before, edit, derivation), media);
    isChanged ||= edited !== media;
    return [[name, edited]];
  });
  return isChanged ? { ...holder, content } : holder;
}

function withEdit(media: JsonObject, placed: InverseEdit, derivation: OperationDerivation): JsonObject {
  const { change, path, edit } = placed;
  const schema = (before: unknown): unknown =>
    'wrapper' in edit
      ? wrapped(before, edit.wrapper, change)
      : editSchema(before, path, edit, derivation.components);
  const value = (before: unknown): unknown => {
    if ('wrapper' in edit) return isObject(before) ? { [edit.wrapper]: before } : before;
    return editValue(before, path, edit);
  };
  let edited = media;
  if (media['schema'] !== undefined) edited = replaced(edited, 'schema', schema(media['schema']));
  if (media['example'] !== undefined) edited = replaced(edited, 'example', value(media['example']));
  if (isObject(media['examples'])) {
    edited = replaced(edited, 'examples', withExamples(media['examples'], value, derivation.description));
  }
  if (edited !== media) derivation.onApplied(placed);
  return edited;
}

function withExamples(
  examples: JsonObject,
  edit: (value: unknown) => unknown,
  description: Description,
): JsonObject {
  let isChanged = false;
  const edited = editMembers(examples, (name, declared) => {
    const example = followed(description, declared);
    if (!isObject(example) || example['value'] === undefined) return [[name, declared]];
    const outcome = replaced(example, 'value', edit(example['value']));
    isChanged ||= outcome !== example;
    return [[name, outcome === example ? declared : outcome]];
  });
  return isChanged ? edited : examples;
}

function wrapped(schema: unknown, wrapper: string, change: string): JsonObject {
  return marked({ type: 'object', required: [wrapper], properties: { [wrapper]: schema } }, change);
}
