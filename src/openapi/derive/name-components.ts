import { componentName, componentReference, type Components } from '../components.ts';
import {
  type Description,
  editMembers,
  elementsOf,
  isObject,
  type JsonObject,
  memberOf,
  objectIn,
} from '../description.ts';
import { stringText } from '../../json/names.ts';
import { typeIn } from '../../rules/kinds/conversion.ts';
import { type Conversion, CONVERSION_SCHEMAS } from '../../rules/kinds/conversions.ts';
import { converterOf } from '../../rules/kinds/convert.ts';

const REFERENCES: ReadonlySet<string> = new Set(['$ref', 'operationRef']);

const DATA: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'example', 'value']);

const MAPS: ReadonlySet<string> = new Set(
  'properties patternProperties dependentSchemas $defs schemas responses parameters requestBodies headers examples links callbacks pathItems paths webhooks content'.split(
    ' ',
  ),
);

/**
 * Adds the components that `derived` refers to. A component that all operations use in one form keeps its name; where they use several
 * forms, the further ones get new names. Components that only V2's description refers to are left out.
 */
export function nameComponents(v2: Description, derived: Description, components: Components): Description {
  const before = referencesFrom(v2, (name) => objectIn(objectIn(v2, 'components'), 'schemas')[name]);
  const sections = prunedSections(v2, derived, before.others);
  const root: JsonObject = { ...derived, components: sections };
  const needed = schemasNeeded(root, components);
  const kept = components.names.filter((name) => !before.schemas.has(name));
  for (const name of kept) addNeeded(components.schema(componentReference(name)), components, needed);
  for (const name of kept) needed.add(componentReference(name));

  const names = chosenNames(needed, components);
  const rename = (reference: string): string => {
    const name = names.get(components.origin(reference));
    return name === undefined ? v1Pointer(reference) : componentReference(name);
  };
  // Values may choose a renamed component by its former name, so a discriminator maps that name to it.
  const choose = (schema: JsonObject): JsonObject =>
    withChoices(schema, (reference) => {
      const name = components.baseOf(components.origin(reference));
      return name === undefined || rename(reference) === componentReference(name) ? undefined : name;
    });
  const renamed = (value: unknown): unknown => withReferences(value, rename, choose);
  const entries = [...names].map(([reference, name]) => [name, renamed(components.schema(reference))]);
  const { schemas: _all, ...others } = sections;
  const schemas = entries.length === 0 ? {} : { schemas: Object.fromEntries(entries) };
  const all = renamed({ ...others });
  const { components: _before, ...rest } = derived;
  const document = renamed(rest);
  if (!isObject(document) || !isObject(all) || v2['components'] === undefined) return derived;
  return { ...document, components: { ...all, ...schemas } };
}

/** The names of the needed components and variants, by reference, in the order of the components. */
function chosenNames(needed: ReadonlySet<string>, components: Components): ReadonlyMap<string, string> {
  const taken = new Set(components.names);
  const names = new Map<string, string>();
  const forms = new Map<string, string>();
  const byBase = Map.groupBy(needed, (reference) => components.baseOf(reference));
  for (const base of components.names) {
    const references = byBase.get(base) ?? [];
    const own = references.includes(componentReference(base)) ? componentReference(base) : references[0];
    for (const reference of [own, ...references]) {
      if (reference === undefined || names.has(reference)) continue;
      const form = `${base} ${JSON.stringify(components.schema(reference))}`;
      const name = forms.get(form) ?? (reference === own ? base : freeName(`${base}V1`, taken));
      forms.set(form, name);
      taken.add(name);
      names.set(reference, name);
    }
  }
  return names;
}

function freeName(wanted: string, taken: ReadonlySet<string>): string {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? wanted : `${wanted}_${number}`;
    if (!taken.has(name)) return name;
  }
}

/** The other sections of `components`, without the entries that only V2's description refers to. */
function prunedSections(v2: Description, derived: Description, before: ReadonlySet<string>): JsonObject {
  const { components: _before, ...document } = derived;
  const after = new Set<string>();
  const sections = objectIn(v2, 'components');
  eachReferenceFrom([document], (reference, pending) => {
    if (after.has(reference) || componentName(reference) !== undefined) return;
    const [, , section = '', name = ''] = reference.split('/');
    after.add(reference);
    if (reference.startsWith('#/components/')) pending.push(objectIn(sections, section)[name]);
  });
  return editMembers(sections, (section, entries) => {
    if (section === 'schemas' || !isObject(entries)) return [[section, entries]];
    const left = editMembers(entries, (name, entry) => {
      const reference = `#/components/${section}/${name}`;
      return before.has(reference) && !after.has(reference) ? [] : [[name, entry]];
    });
    return Object.keys(left).length === 0 && Object.keys(entries).length > 0 ? [] : [[section, left]];
  });
}

/** The references that a description contains outside of its schema components, and the schemas they lead to. */
function referencesFrom(
  description: Description,
  schemaNamed: (name: string) => unknown,
): { readonly others: ReadonlySet<string>; readonly schemas: ReadonlySet<string> } {
  const others = new Set<string>();
  const schemas = new Set<string>();
  const { components, ...document } = description;
  const { schemas: _all, ...sections } = isObject(components) ? components : {};
  eachReferenceFrom([document, sections], (reference, pending) => {
    const name = componentName(reference.split('/').slice(0, 4).join('/'));
    if (name === undefined) others.add(reference);
    else if (!schemas.has(name)) {
      schemas.add(name);
      pending.push(schemaNamed(name));
    }
  });
  return { others, schemas };
}

function schemasNeeded(root: JsonObject, components: Components): Set<string> {
  const needed = new Set<string>();
  const { schemas: _all, ...sections } = objectIn(root, 'components');
  addNeeded({ ...root, components: sections }, components, needed);
  return needed;
}

function addNeeded(value: unknown, components: Components, needed: Set<string>): void {
  eachReferenceFrom([value], (reference, pending) => {
    const origin = components.origin(reference);
    const whole = origin.split('/').slice(0, 4).join('/');
    if (components.baseOf(whole) === undefined || needed.has(whole)) return;
    needed.add(whole);
    pending.push(components.schema(whole));
  });
}

/**
 * Calls `visit` with every reference in the values, and in those that it adds; works without recursion, because chains of references may
 * be long.
 */
function eachReferenceFrom(
  values: readonly unknown[],
  visit: (reference: string, pending: unknown[]) => void,
): void {
  const pending = [...values];
  for (let at = 0; at < pending.length; at += 1)
    eachReference(pending[at], (reference) => visit(reference, pending));
}

/** Calls `visit` with every `$ref`, and with the schemas that a `mapping` of a discriminator names. */
function eachReference(value: unknown, visit: (reference: string) => void): void {
  withReferences(value, (reference) => {
    visit(reference);
    return reference;
  });
}

/**
 * A copy of `value` with other references. Data, such as examples, is not searched; in a map, such as `properties`, every key is
 * a name. `choose` is applied to each object before.
 */
function withReferences(
  value: unknown,
  rename: (reference: string) => string,
  choose: (object: JsonObject) => JsonObject = (object) => object,
  isMap = false,
): unknown {
  if (Array.isArray(value)) return value.map((element: unknown) => withReferences(element, rename, choose));
  if (!isObject(value)) return value;
  return editMembers(isMap ? value : choose(value), (name, inside) => {
    if (isMap) return [[name, withReferences(inside, rename, choose)]];
    if (typeof inside === 'string') return [[name, REFERENCES.has(name) ? rename(inside) : inside]];
    if (name === 'mapping' && isObject(inside)) return [[name, withMapping(inside, rename)]];
    return [[name, DATA.has(name) ? inside : withReferences(inside, rename, choose, MAPS.has(name))]];
  });
}

/**
 * The schema with a mapping for each alternative that a discriminator chose by the name of its component (OpenAPI 3.1.1 §4.8.25), if the
 * component has a new name. `oldName` returns the former name of a renamed component.
 */
function withChoices(schema: JsonObject, oldName: (reference: string) => string | undefined): JsonObject {
  const { discriminator } = schema;
  if (!isObject(discriminator) || typeof discriminator['propertyName'] !== 'string') return schema;
  const mapping = objectIn(discriminator, 'mapping');
  const mapped = new Set(Object.values(mapping));
  const added = ['oneOf', 'anyOf'].flatMap((word) =>
    elementsOf(schema[word]).flatMap((part): [string, string][] => {
      const reference = memberOf(part, '$ref');
      if (typeof reference !== 'string' || mapped.has(reference)) return [];
      const name = oldName(reference);
      return name === undefined || Object.hasOwn(mapping, name) ? [] : [[name, reference]];
    }),
  );
  if (added.length === 0) return schema;
  return {
    ...schema,
    discriminator: { ...discriminator, mapping: { ...mapping, ...Object.fromEntries(added) } },
  };
}

function withMapping(mapping: JsonObject, rename: (reference: string) => string): JsonObject {
  return editMembers(mapping, (name, to) => [
    [name, typeof to === 'string' && to.startsWith('#/') ? rename(to) : to],
  ]);
}

/** A reference into `paths`, with V1's prefix. */
function v1Pointer(reference: string): string {
  return reference.replace(/^#\/paths\/~1api~1v2(?=~1|\/|$)/, '#/paths/~1api~1v1');
}

/** Maximum depth of parts of a schema that are read: it may refer to itself. */
const MAX_DEPTH = 8;

/** Keywords that a conversion does not affect. */
const KEPT = ['title', 'description', 'deprecated', 'readOnly', 'writeOnly', 'nullable'] as const;

const BOUNDS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'] as const;

/**
 * Returns the schema of the converted values of a schema: their kind, bounds, lengths, pattern, listed values and examples. A keyword that
 * cannot be converted (a bound of a text that becomes a number) is left out, because a looser schema refuses no request. `follow` returns
 * the schema that a reference leads to.
 */
export function convertedSchema(
  schema: unknown,
  conversion: Conversion,
  follow: (schema: unknown) => unknown,
): JsonObject {
  const { keywords, isNullable } = readSchema(schema, follow, MAX_DEPTH);
  const kind = CONVERSION_SCHEMAS[conversion.rule].made(conversion, keywords);
  const made: JsonObject = { ...ofKind(kind, keywords, isNullable), ...boundsOf(conversion, keywords) };
  const convert = (value: unknown): unknown => convertedValue(value, conversion);
  for (const word of ['const', 'default', 'example'])
    if (Object.hasOwn(keywords, word)) Object.assign(made, { [word]: convert(keywords[word]) });
  for (const word of ['enum', 'examples']) {
    const values = keywords[word];
    if (Array.isArray(values)) Object.assign(made, { [word]: values.map(convert) });
  }
  return made;
}

/** The schema of the values that V1's clients send to a conversion without an inverse, made from that of V2's values. */
export function takenSchema(
  schema: unknown,
  conversion: Conversion,
  follow: (schema: unknown) => unknown,
): JsonObject {
  const { keywords, isNullable } = readSchema(schema, follow, MAX_DEPTH);
  return ofKind(CONVERSION_SCHEMAS[conversion.rule].taken ?? {}, keywords, isNullable);
}

/** The parts of a schema that do not depend on its values, with another type. */
function ofKind(kind: JsonObject, keywords: JsonObject, isNullable: boolean): JsonObject {
  const { type } = kind;
  const hasNull = isNullable && keywords['nullable'] !== true && type !== undefined;
  return { ...picked(keywords, KEPT), ...kind, ...(hasNull && { type: [type, 'null'] }) };
}

/** A value of a description, converted; a value that cannot be converted stays unchanged, as in traffic. */
export function convertedValue(value: unknown, conversion: Conversion): unknown {
  if (typeof value !== 'string' && typeof value !== 'number') return value;
  const converted = converterOf(conversion)(JSON.stringify(value));
  if (converted === undefined) return value;
  return converted.startsWith('"') ? stringText(converted.slice(1, -1)) : Number(converted);
}

interface ReadSchema {
  readonly keywords: JsonObject;
  readonly isNullable: boolean;
}

/** The keywords of a schema with those of the parts that all apply, and of the only alternative to null. */
function readSchema(schema: unknown, follow: (schema: unknown) => unknown, depth: number): ReadSchema {
  const described = follow(schema);
  if (!isObject(described) || depth === 0) return { keywords: {}, isNullable: false };
  const { allOf, anyOf, oneOf, type, nullable, enum: listed } = described;
  const parts: unknown[] = Array.isArray(allOf) ? [...allOf] : [];
  let isNullable = nullable === true || (Array.isArray(type) && type.includes('null'));
  if (Array.isArray(listed) && listed.includes(null)) isNullable = true;
  for (const alternatives of [anyOf, oneOf]) {
    if (!Array.isArray(alternatives)) continue;
    const others = alternatives.filter((part) => !isNull(follow(part)));
    if (others.length === alternatives.length) continue;
    isNullable = true;
    if (others.length === 1) parts.push(others[0]);
  }
  const keywords: JsonObject = {};
  for (const part of parts) Object.assign(keywords, readSchema(part, follow, depth - 1).keywords);
  return { keywords: { ...keywords, ...described }, isNullable };
}

function isNull(schema: unknown): boolean {
  return isObject(schema) && (schema['type'] === 'null' || schema['const'] === null);
}

/** The converted bounds, if the conversion keeps numbers in their order. */
function boundsOf(conversion: Conversion, keywords: JsonObject): JsonObject {
  const { keepsOrder, keepsSteps } = CONVERSION_SCHEMAS[conversion.rule];
  if (keepsOrder?.(conversion) !== true || typeIn(keywords) === 'string') return {};
  const bounds: JsonObject = {};
  for (const word of BOUNDS) {
    const bound = keywords[word];
    // In OpenAPI 3.0 (draft 5 of JSON Schema) `exclusiveMinimum` is a boolean about `minimum`.
    if (typeof bound === 'boolean') Object.assign(bounds, { [word]: bound });
    if (typeof bound === 'number') Object.assign(bounds, { [word]: convertedValue(bound, conversion) });
  }
  const step = convertedValue(keywords['multipleOf'], conversion);
  // Many validators divide floats, and find that 0.15 is not a multiple of 0.05.
  const isStep = keepsSteps === true && typeof step === 'number' && Number.isInteger(step);
  return isStep ? { ...bounds, multipleOf: step } : bounds;
}

function picked(from: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(from).filter(([name]) => names.includes(name)));
}
