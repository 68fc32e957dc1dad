import { tokenName } from '../json/pointer.ts';
import { OperationTable } from '../rules/rule-book.ts';
import { templateFault } from '../rules/rule.ts';

/** An OpenAPI description (3.0 or later) as data. */
export type Description = JsonObject;

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

const RANGES: ReadonlySet<string> = new Set(['application/*', '*/*']);

/** The prefix of the API behind the gateway, without its version. */
const OWN_PREFIX = '/api/';

/** The extension that lists the ids of the changes that a part of V1's description results from. */
export const CHANGE_MARK = 'x-change';

/** True for an OpenAPI description of version 3 with paths. */
export function isDescription(value: unknown): value is Description {
  const version = memberOf(value, 'openapi');
  return typeof version === 'string' && version.startsWith('3.') && isObject(memberOf(value, 'paths'));
}

/**
 * Lists the operations of a description, in its order. `prefix` is, for example, `/api/v2`; a path without it is taken as relative to it.
 */
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

/** The value at a local reference (RFC 6901, in a fragment); undefined if it is elsewhere or missing. */
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

/** Follows `$ref` from `value` within the description, for at most a hundred steps, so that a circle ends. */
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

/** A step of a pointer in a fragment, decoded. */
export function pointerStep(step: string): string {
  try {
    return tokenName(decodeURIComponent(step));
  } catch {
    return step;
  }
}

/**
 * True for a JSON media type (`application/json`, `application/*+json`), and for a range that includes one (`application/*`, or any type).
 */
export function isJsonMedia(mediaType: string): boolean {
  const [type = ''] = mediaType.split(';', 1);
  return isJsonType(type) || RANGES.has(type.trim());
}

/** True for a media type of several JSON texts: lines, a sequence, or the data of events. */
export function isOfTexts(mediaType: string): boolean {
  return /^(?:(?:application|text)\/(?:x-)?(?:ndjson|jsonl|jsonlines|json-lines|json-stream|json-seq)|text\/event-stream)(?:;|$)/i.test(
    mediaType,
  );
}

function isJsonType(type: string): boolean {
  return /^application\/(?:[\w.!#$&^-]+\+)?json$/i.test(type.trim());
}

/** The media types of JSON in `content`, the most specific ones first (OpenAPI 3.1.1 §4.8.14.1). */
export function jsonMediaIn(content: JsonObject): readonly string[] {
  const names = Object.keys(content).filter((name) => isJsonMedia(name));
  return names.toSorted((one, other) => vagueness(one) - vagueness(other));
}

function vagueness(mediaType: string): number {
  return mediaType.startsWith('*/*') ? 2 : mediaType.startsWith('application/*') ? 1 : 0;
}

/**
 * The operations of one version of an API below its prefix, without the one that returns the description. Paths of another version, and
 * those beside a versioned API (`/healthz`), are not included.
 */
export function describedOperations(
  description: Description,
  version: 'v1' | 'v2',
): readonly DescribedOperation[] {
  const { prefix, isServed } = prefixOf(description, version);
  return operationsOf(description, prefix).filter(({ path, rest }) => {
    const isBelow = below(path, prefix) !== undefined || (isServed && versionPrefix(path) === undefined);
    return isBelow && rest !== '/openapi.json';
  });
}

/**
 * The prefix of the version that is described, such as `/api/v2` or `/api/{version}`: in the paths, or in the servers (`isServed`), or
 * in both. Empty when the paths have none.
 */
function prefixOf(
  description: Description,
  version: 'v1' | 'v2',
): { readonly prefix: string; readonly isServed: boolean } {
  const counts = new Map<string, number>();
  let unversioned = 0;
  for (const path of Object.keys(objectIn(description, 'paths'))) {
    const prefix = versionPrefix(path);
    if (prefix === undefined) unversioned += 1;
    else counts.set(prefix, (counts.get(prefix) ?? 0) + 1);
  }
  const served = elementsOf(description['servers']).flatMap((server) => {
    const found = lastSegment(serverUrl(server)?.replace(/\/$/, '') ?? '');
    return isVersion(found) ? [found] : [];
  });
  const isServed = served.length > 0;
  const versioned = [...counts].filter(([prefix]) => !isServed || served.includes(lastSegment(prefix)));
  const own = versioned.find(([prefix]) => prefix === OWN_PREFIX + version);
  const named = versioned.filter(([prefix]) => lastSegment(prefix) === version);
  const [usual] = (named.length > 0 ? named : versioned).toSorted(([, one], [, other]) => other - one);
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const chosen = own ?? (isServed || total >= unversioned ? usual : undefined);
  return { prefix: chosen?.[0] ?? '', isServed };
}

/**
 * The prefix of the described version, of its servers and paths together: empty if the servers have none, undefined without servers, or
 * with one that has no plain path.
 */
export function describedPrefix(description: Description, version: 'v1' | 'v2'): string | undefined {
  const { prefix } = prefixOf(description, version);
  const served = servedPath(description);
  // Without servers, requests arrive at the root (OpenAPI 3.1 §4.8.1).
  if (served === undefined)
    return isPlainPrefix(prefix) || (prefix === '' && !('servers' in description)) ? prefix : undefined;
  if (prefix !== '' && (prefix.startsWith(served) || served.endsWith(prefix)))
    return prefix.startsWith(served) ? prefix : served;
  const whole = served + prefix;
  return whole === '' || isPlainPrefix(whole) ? whole : undefined;
}

/** The prefixes of both versions: the path that all operations of a version begin with. */
export interface Prefixes {
  readonly from: string;
  readonly to: string;
}

/** The operations of two descriptions below the prefixes that a rule book has as `from` and `to`. */
export interface DescribedVersions {
  readonly v1: readonly DescribedOperation[];
  readonly v2: readonly DescribedOperation[];
  /** Undefined if a description does not show its prefix, or not in a form that a rule book accepts. */
  readonly from: string | undefined;
  readonly to: string | undefined;
  /** Sentences about operations below other prefixes. */
  readonly notes: readonly string[];
}

/**
 * The operations to compare: below the given prefixes, or below those in the descriptions. If paths of both have several versioned
 * prefixes, those below the prefix with the most paths whose version differs in V2.
 */
export function describedVersions(
  v1: Description,
  v2: Description,
  given: Partial<Prefixes> = {},
): DescribedVersions {
  const isGiven = given.from !== undefined || given.to !== undefined;
  const group = isGiven ? undefined : changedGroup(v1, v2);
  const { from = group?.from, to = group?.to } = given;
  const found: DescribedVersions = {
    v1: from === undefined ? describedOperations(v1, 'v1') : operationsBelow(v1, from, 'v1'),
    v2: to === undefined ? describedOperations(v2, 'v2') : operationsBelow(v2, to, 'v2'),
    from: from ?? describedPrefix(v1, 'v1'),
    to: to ?? describedPrefix(v2, 'v2'),
    notes: group?.notes ?? [],
  };
  return isGiven || group !== undefined ? found : withLongerPrefix(found);
}

/** Minimum number of operations that must match below a longer prefix: a start that fewer have in common is more likely a resource. */
const MATCHING_BELOW = 4;

/**
 * Extends the prefix of one version by the segments that all its operations begin with, if far more operations match without them: the
 * contacts of `/crm/v3/objects` are those of `/crm/objects/2026-03` in V2.
 */
function withLongerPrefix(found: DescribedVersions): DescribedVersions {
  const { v1, v2, from, to } = found;
  if (from === undefined || to === undefined) return found;
  const longer: DescribedVersions[] = [
    ...commonStarts(v1).map((start) => ({ ...found, v1: withoutStart(v1, start), from: from + start })),
    ...commonStarts(v2).map((start) => ({ ...found, v2: withoutStart(v2, start), to: to + start })),
  ];
  const own = matchCount(found);
  const [best] = longer
    .filter((one) => isPlainPrefix(one.from ?? '') && isPlainPrefix(one.to ?? '') && !isNested(one))
    .map((one) => ({ one, count: matchCount(one) }))
    .toSorted((one, other) => other.count - one.count);
  const isBetter = best !== undefined && best.count >= MATCHING_BELOW && best.count > 2 * own;
  return isBetter && best.count * 2 >= Math.min(v1.length, v2.length) ? best.one : found;
}

function isNested({ from = '', to = '' }: DescribedVersions): boolean {
  return below(from, to) !== undefined || below(to, from) !== undefined;
}

/** The number of V1's operations that V2 has with the same method and path, apart from paths that consist of parameters. */
function matchCount({ v1, v2 }: DescribedVersions): number {
  const key = ({ method, rest }: DescribedOperation): string =>
    `${method} ${rest.replaceAll(/\{[^{}]*\}/g, '{}')}`;
  const young = new Set(v2.map(key));
  return v1.filter((operation) => /\/[^{}/]+(?:\/|$)/.test(operation.rest) && young.has(key(operation)))
    .length;
}

/** The paths that all operations begin with, without their last segments: `/a`, `/a/b`. */
function commonStarts(operations: readonly DescribedOperation[]): readonly string[] {
  const [first = [], ...others] = operations.map(({ rest }) => rest.split('/').slice(1, -1));
  const end = first.findIndex(
    (segment, at) => segment.includes('{') || others.some((other) => other[at] !== segment),
  );
  const common = end < 0 ? first : first.slice(0, end);
  return common.map((_, at) => `/${common.slice(0, at + 1).join('/')}`);
}

function withoutStart(
  operations: readonly DescribedOperation[],
  start: string,
): readonly DescribedOperation[] {
  return operations.map((operation) => ({ ...operation, rest: operation.rest.slice(start.length) }));
}

/** The operations of a description below a prefix of its servers or paths; without any, all operations of the version. */
export function operationsBelow(
  description: Description,
  prefix: string,
  version: 'v1' | 'v2',
): readonly DescribedOperation[] {
  const plain = prefix.replace(/\/$/, '');
  const served = servedPath(description) ?? '';
  const found = operationsOf(description, '').flatMap((operation) => {
    const rest = below(served + operation.path, plain) ?? below(operation.path, plain);
    return rest === undefined || rest === '/openapi.json' ? [] : [{ ...operation, rest }];
  });
  return found.length > 0 ? found : describedOperations(description, version);
}

function changedGroup(
  v1: Description,
  v2: Description,
): (Prefixes & { readonly notes: readonly string[] }) | undefined {
  const [old, young] = [groupsOf(v1), groupsOf(v2)];
  if (old.size < 2 && young.size < 2) return undefined;
  const stem = (prefix: string): string => prefix.slice(0, prefix.lastIndexOf('/'));
  const changed = [...old].flatMap(([from, rests]) => {
    if (young.has(from)) return [];
    const partners = [...young]
      .filter(([to]) => stem(to) === stem(from) && !old.has(to))
      .map(([to, others]) => ({ to, common: rests.filter((rest) => others.includes(rest)).length }))
      // A release is preferred to a preview of one, such as v1beta2.
      .toSorted((one, other) => other.common - one.common || one.to.length - other.to.length);
    const [partner] = partners;
    return partner === undefined ? [] : [{ from, to: partner.to, size: rests.length }];
  });
  const [chosen] = changed.toSorted((one, other) => other.size - one.size);
  if (chosen === undefined) return undefined;
  const { from, to } = chosen;
  const notes = [...old].flatMap(([prefix, rests]) => {
    if (prefix === from) return [];
    const other = changed.find((one) => one.from === prefix);
    const paths = `${rests.length} ${rests.length === 1 ? 'path' : 'paths'}`;
    if (other !== undefined)
      return [
        `${prefix} (${paths}) is ${other.to} in V2. A rule book leads from one prefix to one other: draft another one with --from ${prefix} --to ${other.to}.`,
      ];
    return young.has(prefix)
      ? [
          `${prefix} (${paths}) is the same prefix in V2, and was not compared: nothing but a header field could tell its versions apart.`,
        ]
      : [`V2 has nothing for ${prefix} (${paths}).`];
  });
  return { from, to, notes };
}

/** The paths below each prefix that ends with a version; none if the version is in the servers. */
function groupsOf(description: Description): ReadonlyMap<string, readonly string[]> {
  const served = servedPath(description) ?? '';
  const groups = new Map<string, string[]>();
  for (const path of Object.keys(objectIn(description, 'paths'))) {
    const prefix = versionPrefix(served + path);
    if (prefix === undefined || prefix.includes('{')) continue;
    const rests = groups.get(prefix) ?? [];
    groups.set(prefix, rests);
    rests.push(path.slice(prefix.length));
  }
  return groups;
}

/** The path of the first server; undefined without one that has a plain path. */
function servedPath(description: Description): string | undefined {
  const url = serverUrl(elementsOf(description['servers'])[0]);
  // The host is not read, and a variable in it need not have a value.
  const path = url?.replace(/^[a-z][\w+.-]*:\/\/[^/]*/i, '');
  return path === undefined
    ? undefined
    : URL.parse(path.startsWith('/') ? path : `/${path}`, 'http://localhost')?.pathname.replace(/\/$/, '');
}

/** The URL of a server with the defaults of its variables (OpenAPI 3.1 §4.8.6). */
function serverUrl(server: unknown): string | undefined {
  const url = memberOf(server, 'url');
  if (typeof url !== 'string') return undefined;
  const variables = objectIn(server, 'variables');
  return url.replaceAll(/\{([^{}]*)\}/g, (whole, name: string) => {
    const value = memberOf(variables[name], 'default');
    return typeof value === 'string' || typeof value === 'number' ? String(value) : whole;
  });
}

function isPlainPrefix(text: string): boolean {
  return /^(?:\/[\w.~-]+)+$/.test(text);
}

/** The path up to its version; undefined if another parameter comes before the version. */
function versionPrefix(path: string): string | undefined {
  const segments = path.split('/');
  const at = segments.findIndex((segment) => isVersion(segment) || segment.includes('{'));
  return at > 0 && isVersion(segments[at] ?? '') ? segments.slice(0, at + 1).join('/') : undefined;
}

/** True for a segment such as `v2`, `v2.1`, `v1beta1`, `2026-01-01`, `{version}` or `v{api-version}`. */
function isVersion(segment: string): boolean {
  if (/^v\d[\d.]*(?:(?:alpha|beta|rc|preview)\d*)?$/i.test(segment)) return true;
  if (/^\d{4}-\d{2}(?:-\d{2})?(?:-?(?:preview|beta))?$/.test(segment)) return true;
  return /^v?\{[^{}]*\}$/i.test(segment) && segment.toLowerCase().includes('version');
}

function lastSegment(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** The path of an operation as a rule book writes it; undefined if a rule book cannot write it. */
export function templateOf({ rest }: DescribedOperation): string | undefined {
  const template = rest === '/' ? rest : rest.replace(/\/$/, '').replace(/\.json$/, '');
  return templateFault(template) === undefined ? template : undefined;
}

/** Finds the operation of a request; its id is its position in the list. */
export function tableOf(operations: readonly DescribedOperation[]): OperationTable {
  return new OperationTable(
    operations.flatMap((operation, at) => {
      const template = templateOf(operation);
      const { method } = operation;
      return template === undefined ? [] : [{ id: String(at), method, template, assumed: false }];
    }),
  );
}

/** An object of a description, read as data. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** True for an object, but not for an array or a number that is kept as text. */
export function isObject(value: unknown): value is JsonObject {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    // Only `JSON.rawJSON` makes objects without a prototype.
    Object.getPrototypeOf(value) !== null
  );
}

/** The object in the member `name` of `value`; an empty one if there is none. */
export function objectIn(value: unknown, name: string): JsonObject {
  const found = memberOf(value, name);
  return isObject(found) ? found : {};
}

/** The own member `name` of `value`, if it is an object that has one. */
export function memberOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** The elements of an array; none for anything else. */
export function elementsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The elements of an array that are strings. */
export function stringsOf(value: unknown): readonly string[] {
  return elementsOf(value).filter((element) => typeof element === 'string');
}

/** A copy of `object` with each member as `edit` returns it: another pair, several, or none. */
export function editMembers(
  object: JsonObject,
  edit: (name: string, value: unknown) => readonly (readonly [string, unknown])[],
): JsonObject {
  // `fromEntries` defines members: assigning to `__proto__` would set the prototype.
  return Object.fromEntries(Object.entries(object).flatMap(([name, value]) => edit(name, value)));
}

/**
 * Reads a JSON text; undefined if it is invalid. A number that a double cannot hold, such as the limits of int64, keeps its text
 * and is printed unchanged.
 */
export function readJsonText(text: string): unknown {
  try {
    const json = text.replace(/^\uFEFF/, '');
    // A reviver takes five times as long, and only integers of 16 digits or more need it.
    const value: unknown = /\d{16}/.test(json) ? JSON.parse(json, exactNumber) : JSON.parse(json);
    return value;
  } catch {
    return undefined;
  }
}

/** Prints a value, on one line or with two spaces per level. */
export function printJsonText(value: unknown, indent: 0 | 2 = 0): string {
  return JSON.stringify(value, undefined, indent);
}

/** Keeps the text of an integer beyond the range of a double; any other value is returned as it is. */
export function exactInteger(text: string): unknown {
  const rawJson: unknown = Reflect.get(JSON, 'rawJSON');
  return typeof rawJson === 'function' ? Reflect.apply(rawJson, JSON, [text]) : Number(text);
}

/** A reviver (ECMA-262 §25.5.1); `source` is the text of a scalar, on runtimes that provide it. */
function exactNumber(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  const source = context?.source;
  if (typeof value !== 'number' || source === undefined || Number.isSafeInteger(value)) return value;
  return String(value) === source || !/^-?\d+$/.test(source) ? value : exactInteger(source);
}

/** Marks a schema or an operation with the id of a change; a schema that is `true` becomes an object. */
export function marked(part: unknown, change: string): JsonObject {
  const object = isObject(part) ? part : part === false ? { not: {} } : {};
  const ids = stringsOf(object[CHANGE_MARK]);
  return ids.includes(change) ? object : { ...object, [CHANGE_MARK]: [...ids, change] };
}

/** True for a description of Swagger 2.0, the version before OpenAPI 3.0. */
export function isSwagger(value: unknown): value is JsonObject {
  return memberOf(value, 'swagger') === '2.0' && isObject(memberOf(value, 'paths'));
}

/**
 * Converts a description of Swagger 2.0 to OpenAPI 3.0, as far as the gateway reads one: servers, parameters, bodies, responses and
 * schemas. Descriptions, examples of responses and security definitions are not kept.
 */
export function fromSwagger(swagger: JsonObject): Description {
  const media: MediaTypes = {
    consumes: textsIn(swagger, 'consumes'),
    produces: textsIn(swagger, 'produces'),
  };
  const bodies = new Map<string, JsonObject>();
  const parameters: [string, unknown][] = [];
  for (const [name, parameter] of entriesIn(swagger, 'parameters')) {
    if (isObject(parameter) && isBody(parameter)) bodies.set(name, parameter);
    else parameters.push([name, parameterOf(parameter)]);
  }
  return {
    openapi: '3.0.3',
    info: memberOf(swagger, 'info') ?? {},
    servers: serversOf(swagger),
    paths: mapped(swagger, 'paths', (item) => itemOf(item, media, bodies)),
    components: {
      schemas: mapped(swagger, 'definitions', schemaOf),
      parameters: Object.fromEntries(parameters),
      responses: mapped(swagger, 'responses', (response) => responseOf(response, media.produces)),
    },
  };
}

/** The media types of bodies for operations that name none. */
interface MediaTypes {
  readonly consumes: readonly string[];
  readonly produces: readonly string[];
}

const JSON_TYPES: readonly string[] = ['application/json'];

function entriesIn(value: unknown, name: string): readonly (readonly [string, unknown])[] {
  const found = memberOf(value, name);
  return isObject(found) ? Object.entries(found) : [];
}

function mapped(value: unknown, name: string, each: (value: unknown) => unknown): JsonObject {
  return Object.fromEntries(entriesIn(value, name).map(([key, inside]) => [key, each(inside)]));
}

function textsIn(value: unknown, name: string): readonly string[] {
  const found = memberOf(value, name);
  const texts = Array.isArray(found) ? found.filter((text): text is string => typeof text === 'string') : [];
  return texts.length === 0 ? JSON_TYPES : texts;
}

function serversOf(swagger: JsonObject): readonly JsonObject[] {
  const [host, base] = [memberOf(swagger, 'host'), memberOf(swagger, 'basePath')];
  const path = typeof base === 'string' ? base : '/';
  if (typeof host !== 'string') return [{ url: path }];
  const schemes = memberOf(swagger, 'schemes');
  const known = Array.isArray(schemes) && schemes.length > 0 ? schemes : ['https'];
  return known.map((scheme: unknown) => ({ url: `${String(scheme)}://${host}${path}` }));
}

function itemOf(item: unknown, media: MediaTypes, bodies: ReadonlyMap<string, JsonObject>): unknown {
  if (!isObject(item)) return item;
  const shared = parametersIn(item, bodies);
  const operations = METHODS.flatMap((method): [string, unknown][] => {
    const operation = memberOf(item, method);
    return isObject(operation) ? [[method, operationOf(operation, shared, media, bodies)]] : [];
  });
  const reference = memberOf(item, '$ref');
  return {
    ...(reference === undefined ? {} : { $ref: reference }),
    ...Object.fromEntries(operations),
    parameters: shared.filter((parameter) => !isBody(parameter)).map(parameterOf),
  };
}

/** The parameters of a path or an operation; a reference to a shared body is followed, as OpenAPI 3 has no parameter for it. */
function parametersIn(value: JsonObject, bodies: ReadonlyMap<string, JsonObject>): readonly JsonObject[] {
  const list = memberOf(value, 'parameters');
  return (Array.isArray(list) ? list : []).filter(isObject).map((parameter) => {
    const reference = memberOf(parameter, '$ref');
    const name = typeof reference === 'string' ? reference.replace('#/parameters/', '') : '';
    return bodies.get(name) ?? parameter;
  });
}

function isBody(parameter: JsonObject): boolean {
  const place = memberOf(parameter, 'in');
  return place === 'body' || place === 'formData';
}

function operationOf(
  operation: JsonObject,
  shared: readonly JsonObject[],
  media: MediaTypes,
  bodies: ReadonlyMap<string, JsonObject>,
): JsonObject {
  const own = parametersIn(operation, bodies);
  const consumes = 'consumes' in operation ? textsIn(operation, 'consumes') : media.consumes;
  const produces = 'produces' in operation ? textsIn(operation, 'produces') : media.produces;
  const body = requestBodyOf(own.some(isBody) ? own : shared, consumes);
  return {
    ...Object.fromEntries(Object.entries(operation).filter(([name]) => !MOVED.has(name))),
    parameters: own.filter((parameter) => !isBody(parameter)).map(parameterOf),
    ...(body === undefined ? {} : { requestBody: body }),
    responses: mapped(operation, 'responses', (response) => responseOf(response, produces)),
  };
}

/** Members of an operation that OpenAPI 3 has elsewhere. */
const MOVED: ReadonlySet<string> = new Set(['consumes', 'produces', 'schemes']);

function requestBodyOf(
  parameters: readonly JsonObject[],
  consumes: readonly string[],
): JsonObject | undefined {
  const body = parameters.find((parameter) => memberOf(parameter, 'in') === 'body');
  if (body !== undefined)
    return {
      required: memberOf(body, 'required') === true,
      content: contentOf(schemaOf(memberOf(body, 'schema') ?? {}), consumes),
    };
  const fields = parameters.filter((parameter) => memberOf(parameter, 'in') === 'formData');
  if (fields.length === 0) return undefined;
  const named = fields.map((field): [string, unknown] => [
    String(memberOf(field, 'name')),
    valueSchema(field),
  ]);
  const required = fields.filter((field) => memberOf(field, 'required') === true);
  const hasFile = fields.some((field) => memberOf(field, 'type') === 'file');
  const forms = consumes.filter((type) => /form/i.test(type));
  const schema = {
    type: 'object',
    properties: Object.fromEntries(named),
    ...(required.length === 0 ? {} : { required: required.map((field) => memberOf(field, 'name')) }),
  };
  const usual = hasFile ? 'multipart/form-data' : 'application/x-www-form-urlencoded';
  return { content: contentOf(schema, forms.length === 0 ? [usual] : forms) };
}

function contentOf(schema: unknown, types: readonly string[]): JsonObject {
  return Object.fromEntries(types.map((type) => [type, { schema }]));
}

function responseOf(response: unknown, produces: readonly string[]): unknown {
  if (!isObject(response)) return response;
  const reference = memberOf(response, '$ref');
  if (typeof reference === 'string') return { $ref: movedReference(reference) };
  const schema = memberOf(response, 'schema');
  return {
    description: memberOf(response, 'description') ?? '',
    ...(schema === undefined ? {} : { content: contentOf(schemaOf(schema), produces) }),
  };
}

/** The members of a parameter of Swagger 2.0 that are not keywords of its schema. */
const PARAMETER_MEMBERS: ReadonlySet<string> = new Set([
  'name',
  'in',
  'description',
  'required',
  'collectionFormat',
]);

function parameterOf(parameter: unknown): unknown {
  if (!isObject(parameter)) return parameter;
  const reference = memberOf(parameter, '$ref');
  if (typeof reference === 'string') return { $ref: movedReference(reference) };
  const format = memberOf(parameter, 'collectionFormat');
  const style = new Map<unknown, string>([
    ['ssv', 'spaceDelimited'],
    ['pipes', 'pipeDelimited'],
  ]).get(format);
  const kept = Object.entries(parameter).filter(
    ([name]) => ['name', 'in', 'description', 'required'].includes(name) || name.startsWith('x-'),
  );
  return {
    ...Object.fromEntries(kept),
    ...(memberOf(parameter, 'type') === 'array' && {
      explode: format === 'multi',
      ...(style !== undefined && { style }),
    }),
    schema: valueSchema(parameter),
  };
}

/** The schema of a parameter, whose keywords are members of the parameter in Swagger 2.0. */
function valueSchema(parameter: JsonObject): unknown {
  const members = Object.entries(parameter).filter(
    ([name]) => !PARAMETER_MEMBERS.has(name) && !name.startsWith('x-'),
  );
  return schemaOf(Object.fromEntries(members));
}

/** Members of a schema whose members are schemas. */
const SCHEMA_MAPS: ReadonlySet<string> = new Set(['properties', 'patternProperties', 'definitions']);

/** Members of a schema that are data, not schemas. */
const VALUES: ReadonlySet<string> = new Set(['default', 'enum', 'example', 'required']);

function schemaOf(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(schemaOf);
  if (!isObject(schema)) return schema;
  const members = Object.entries(schema).flatMap(([name, value]): [string, unknown][] => {
    if (name === '$ref' && typeof value === 'string') return [[name, movedReference(value)]];
    if (name === 'x-nullable') return [['nullable', value]];
    if (name === 'discriminator' && typeof value === 'string') return [[name, { propertyName: value }]];
    if (name === 'type' && value === 'file')
      return [
        ['type', 'string'],
        ['format', 'binary'],
      ];
    if (VALUES.has(name)) return [[name, value]];
    return [[name, SCHEMA_MAPS.has(name) ? mapped(schema, name, schemaOf) : schemaOf(value)]];
  });
  return Object.fromEntries(members);
}

const PLACES: readonly (readonly [string, string])[] = [
  ['#/definitions/', '#/components/schemas/'],
  ['#/parameters/', '#/components/parameters/'],
  ['#/responses/', '#/components/responses/'],
];

function movedReference(reference: string): string {
  const place = PLACES.find(([from]) => reference.startsWith(from));
  return place === undefined ? reference : place[1] + reference.slice(place[0].length);
}
