import { Refusal } from './envelope.ts';
import type { Deprecation, Dialect } from './dialect.ts';
import { isObject } from './is-object.ts';
import { ADDRESS_ATTRIBUTES, createSchemas } from './schemas.ts';
import type { Attributes, ResourceKind } from './store.ts';
import { acceptAttributes } from './validation.ts';

/**
 * V1: parameters inside `data`, the address on the property itself, `transition_type`; unknown attributes are ignored.
 * `deprecated` names further attributes that it still accepts, with any value, at the top level of any resource. Where V1 put its
 * deprecation messages is not known: they are sent as `deprecations` beside `data`.
 */
export function createV1(deprecated: readonly string[]): Dialect {
  const schemas = createSchemas('strip', {
    address: 'flat',
    highlight: 'transition_type',
    further: deprecated,
  });
  return {
    name: 'v1',
    prefix: '/api/v1',
    wrapper: 'data',
    dated: false,
    schemas,
    accept: (kind, body) => {
      const given = acceptAttributes(schemas[kind], unwrap(body), ['data']);
      return { attributes: toV2(kind, given), deprecations: deprecationsOf(kind, given, deprecated) };
    },
    present: toV1,
  };
}

function unwrap(body: unknown): Attributes {
  if (isObject(body) && isObject(body['data'])) return body['data'];
  const detail = 'The parameters must be inside a data object.';
  throw new Refusal(422, [{ detail, source: { pointer: '/data' } }]);
}

function toV2(kind: ResourceKind, given: Attributes): Attributes {
  const { transition_type: highlight, ...rest } = onProperty(kind, given, nestAddress);
  return highlight === undefined ? rest : { ...rest, highlight_type: highlight };
}

function toV1(kind: ResourceKind, stored: Attributes): Attributes {
  const { highlight_type: transition, ...rest } = onProperty(kind, stored, flattenAddress);
  return transition === undefined ? rest : { ...rest, transition_type: transition };
}

/** Applies `change` to the object that holds a property's attributes: the resource itself, or its `property`. */
function onProperty(
  kind: ResourceKind,
  all: Attributes,
  change: (property: Attributes) => Attributes,
): Attributes {
  if (kind === 'property') return change(all);
  const { property } = all;
  return isObject(property) ? { ...all, property: change(property) } : all;
}

function nestAddress(property: Attributes): Attributes {
  const entries = Object.entries(property);
  const address = entries.filter(([name]) => isOfAddress(name));
  if (address.length === 0) return property;
  const own = entries.filter(([name]) => !isOfAddress(name));
  return { ...Object.fromEntries(own), address: Object.fromEntries(address) };
}

function flattenAddress({ address, ...own }: Attributes): Attributes {
  return isObject(address) ? { ...own, ...address } : own;
}

function isOfAddress(name: string): boolean {
  return ADDRESS_ATTRIBUTES.some((attribute) => attribute === name);
}

function deprecationsOf(kind: ResourceKind, given: Attributes, deprecated: readonly string[]): Deprecation[] {
  const property = kind === 'property' ? given : given['property'];
  const prefix = kind === 'property' ? '' : 'property.';
  const flat = isObject(property) ? Object.keys(property).filter(isOfAddress) : [];
  return [
    ...flat.map((name) => deprecation(`${prefix}${name}`, 'belongs in the address object in V2')),
    ...('transition_type' in given ? [deprecation('transition_type', 'is called highlight_type in V2')] : []),
    ...deprecated.filter((name) => name in given).map((name) => deprecation(name, 'is gone in V2')),
  ];
}

function deprecation(attribute: string, change: string): Deprecation {
  return { attribute, message: `${attribute} is deprecated: it ${change}.` };
}
