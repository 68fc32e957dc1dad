import { scalarValue } from '../../json/names.ts';
import { inverseConversion } from '../../rules/kinds/convert.ts';
import { InverseIndex } from '../../rules/inverse.ts';
import { ReleaseMedia } from '../../rules/release-place.ts';
import { type Change, type Operation, type RuleBook, versionPlace } from '../../rules/rule-book.ts';
import {
  type HeaderRule,
  type QueryRule,
  type StatusPattern,
  templateFault,
  templateShape,
} from '../../rules/rule.ts';
import { Components } from '../components.ts';
import {
  below,
  type Description,
  editMembers,
  elementsOf,
  followed,
  isJsonMedia,
  isObject,
  type JsonObject,
  marked,
  memberOf,
  METHODS,
  objectIn,
  operationsOf,
} from '../description.ts';
import { convertedSchema, nameComponents, takenSchema } from './name-components.ts';
import {
  changesOf,
  editSchema,
  editValue,
  type InverseEdit,
  replaced,
  requestEdits,
  responseEdits,
} from './schema-edits.ts';
import { makesList } from '../../rules/kinds/elements.ts';
import { headerKindOf, queryKindOf } from '../../rules/kinds/kinds.ts';
import { parametersIn, shapeAtV2 } from '../../rules/move.ts';

/** V1's description, as derived from V2's. */
interface DerivedDescription {
  readonly description: Description;
  /** False if schemas refer to each other so deeply that some were not read; `notes` name them. */
  readonly isComplete: boolean;
  /** What the derivation could not express or did not find, one sentence each. */
  readonly notes: readonly string[];
}

/** The rule book, as far as a description depends on it. */
export type DerivationRules = Pick<
  RuleBook,
  'from' | 'to' | 'version' | 'versionField' | 'hash' | 'resource' | 'operations' | 'changes'
>;

/**
 * Derives V1's description from V2's: each request rule is undone in the schemas of its operations, and each response rule is applied.
 * Every part that differs because of a change has its id in `x-change`; the prefix and the version header, which differ everywhere, have no
 * mark. `serverOf` returns V1's address for a server of V2's description.
 */
export function deriveV1(
  v2: Description,
  rules: DerivationRules,
  serverOf: (url: string) => string = (url) => v1Url(url, rules),
): DerivedDescription {
  const components = new Components(v2);
  const finder = new OperationFinder(rules.operations);
  const inverse = new InverseIndex(rules.operations, rules.changes, rules.resource);
  const header = rules.version === undefined ? undefined : versionPlace(rules);
  const found = new Map<string, boolean>();
  const moved = new MovedOperations(rules.operations);
  const derive = (method: string, named: Operation | undefined, operation: JsonObject): JsonObject => {
    const changes = changesOf(rules.changes, method, named);
    const request = requestEdits(changes);
    const response = responseEdits(changes, inverse.of(named));
    for (const edit of [...request, ...response]) {
      if (edit.words !== undefined) found.set(keyOf(edit), found.get(keyOf(edit)) ?? false);
    }
    const onApplied = (edit: InverseEdit): void => {
      if (edit.words !== undefined) found.set(keyOf(edit), true);
    };
    const ruled = rules.changes.filter(
      ({ on, headers }) =>
        headers !== undefined && (on === 'every' || (named !== undefined && on.includes(named.id))),
    );
    return deriveOperation(operation, {
      ruled,
      description: v2,
      components,
      header,
      request,
      response,
      changes,
      onApplied,
    });
  };
  const elsewhere: { path: string; method: string; operation: JsonObject; isPart?: boolean }[] = [];
  const paths = editMembers(objectIn(v2, 'paths'), (path, declared) => {
    const item = followed(v2, declared);
    if (!isObject(item)) return [[path, declared]];
    const rest = below(path, rules.to);
    const at = rest ?? path;
    const shared = withoutVersionParameter(item, v2, header);
    const derived = editMembers(shared, (name, value) => {
      if (!METHODS.some((method) => method === name) || !isObject(value)) return [[name, value]];
      const method = name.toUpperCase();
      const movers = moved.at(method, at);
      for (const mover of movers) {
        const operation = derive(mover.method, mover, value);
        const place = { path: at, shared: shared['parameters'], description: v2 };
        elsewhere.push({
          isPart: mover.query !== undefined,
          path: `${rest === undefined ? '' : rules.from}${mover.template}`,
          method: mover.method,
          operation: movedOperation(operation, mover, place),
        });
      }
      const named = finder.find(method, at);
      if (movers.length > 0 || named?.gone !== undefined) return [];
      return [[name, derive(method, named, value)]];
    });
    if (isWithoutOperations(derived) && !isWithoutOperations(shared)) return [];
    const own = rest === undefined ? path : `${rules.from}${rest === '/' ? '' : rest}`;
    return [[own === '' ? '/' : own, derived]];
  });
  const isBelow = Object.keys(objectIn(v2, 'paths')).some((path) => below(path, rules.to) !== undefined);
  for (const operation of rules.operations) {
    if (operation.gone === undefined) continue;
    const path = `${isBelow ? rules.from : ''}${operation.template}`;
    elsewhere.push({ path, method: operation.method, operation: goneOperation(operation, operation.gone) });
  }
  const named = nameComponents(v2, { ...v2, paths: withOperations(paths, elsewhere) }, components);
  const description = withHead(withMediaOfV1(named, rules), rules, serverOf);
  const isComplete = components.skipped.size === 0;
  return { description, isComplete, notes: [...notes(v2, components, rules), ...missingNotes(found)] };
}

/** An operation of V1 that V2 does not have: its only response tells clients so. */
function goneOperation({ id, template }: Operation, gone: string): JsonObject {
  const parameters = parametersIn(template).map((name) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  return {
    operationId: id,
    deprecated: true,
    ...(parameters.length === 0 ? {} : { parameters }),
    responses: { 410: { description: gone } },
  };
}

/** Finds the operation of the rule book for a path template of a description; the names of parameters do not matter. */
class OperationFinder {
  private readonly byShape: ReadonlyMap<string, Operation>;

  constructor(operations: readonly Operation[]) {
    this.byShape = new Map(
      operations.flatMap((operation) =>
        operation.to === undefined && operation.query === undefined
          ? [[`${operation.method} ${templateShape(operation.template)}`, operation]]
          : [],
      ),
    );
  }

  find(method: string, path: string): Operation | undefined {
    const template = path.replace(/(?:\.json|\/)$/, '') || '/';
    return templateFault(template) === undefined
      ? this.byShape.get(`${method} ${templateShape(template)}`)
      : undefined;
  }
}

function withHead(
  description: Description,
  rules: DerivationRules,
  serverOf: (url: string) => string,
): Description {
  const { openapi, info, servers, ...rest } = description;
  const title = memberOf(info, 'title');
  return {
    openapi,
    info: {
      ...(isObject(info) ? info : {}),
      ...(typeof title === 'string' ? { title: title.replace(/\bV2\b/i, 'V1') } : {}),
      'x-derived-from': { release: rules.version, 'rule-book': rules.hash },
    },
    ...(servers === undefined
      ? {}
      : { servers: elementsOf(servers).map((server) => v1Server(server, serverOf)) }),
    ...rest,
  };
}

function v1Server(server: unknown, serverOf: (url: string) => string): unknown {
  const url = memberOf(server, 'url');
  return isObject(server) && typeof url === 'string' ? { ...server, url: serverOf(url) } : server;
}

/** The address with V1's prefix in place of V2's; unchanged if it does not have V2's. */
export function v1Url(url: string, { from, to }: Pick<RuleBook, 'from' | 'to'>): string {
  const start = url.indexOf('/', url.includes('://') ? url.indexOf('://') + 3 : 0);
  // Where V2 has the root, V1's prefix is in the paths.
  if (start === -1 || to === '') return url;
  for (let at = url.indexOf(to, start); at !== -1; at = url.indexOf(to, at + 1)) {
    const rest = url.slice(at + to.length);
    if (rest === '' || rest.startsWith('/')) return url.slice(0, at) + from + rest || '/';
  }
  return url;
}

function keyOf({ change, path, words }: InverseEdit): string {
  return JSON.stringify([change, path, words]);
}

/** The description with V1's media types in place of V2's, if media types name the release and the rule book lists one of V1. */
function withMediaOfV1(description: Description, { version, versionField }: DerivationRules): Description {
  const { accept, v1: [release] = [] } = versionField ?? {};
  if (accept === undefined || version === undefined || release === undefined) return description;
  const media = new ReleaseMedia(accept);
  const turned = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(turned);
    if (!isObject(value)) return value;
    return editMembers(value, (name, member) => {
      if (name !== 'content' || !isObject(member)) return [[name, turned(member)]];
      const content = editMembers(member, (type, one) => [
        [media.releasesIn(type)[0] === version ? media.replaced(type, release) : type, turned(one)],
      ]);
      return [[name, content]];
    });
  };
  return editMembers(description, (name, member) => [[name, turned(member)]]);
}

function missingNotes(found: ReadonlyMap<string, boolean>): readonly string[] {
  return [...found].flatMap(([key, isFound]) => {
    if (isFound) return [];
    const [change, , words]: [string, unknown, string] = JSON.parse(key);
    return [`change "${change}": V2's description does not show ${words}`];
  });
}

function notes(v2: Description, components: Components, rules: DerivationRules): readonly string[] {
  const isBelow = operationsOf(v2, rules.to).some(({ path, rest }) => path !== rest);
  const servers = elementsOf(v2['servers']).map((server) => memberOf(server, 'url'));
  const isServed = servers.some((url) => typeof url === 'string' && v1Url(url, rules) !== url);
  const foreign = [...components.foreign].map(
    (reference) => `${reference} is in another document and was not read`,
  );
  const skipped = [...components.skipped].map(
    (reference) => `too many references lead to ${reference}, which was not read there`,
  );
  return isBelow || isServed || rules.to === ''
    ? [...foreign, ...skipped]
    : [
        `neither a path nor a server of the description is below ${rules.to}; its paths are taken as relative to it`,
        ...foreign,
        ...skipped,
      ];
}

/** The inputs of `deriveOperation`, apart from the operation. */
interface OperationDerivation {
  readonly description: Description;
  readonly components: Components;
  readonly request: readonly InverseEdit[];
  readonly response: readonly InverseEdit[];
  /** The changes with query rules, in order. */
  readonly changes: readonly Change[];
  /** Changes with rules for the header fields of the operation. */
  readonly ruled: readonly Change[];
  /** The parameter with V2's release: a header field in lower case, or a query parameter after a question mark. */
  readonly header: string | undefined;
  /** Called with each step that changed something. */
  readonly onApplied: (edit: InverseEdit) => void;
}

/** V1's operation from V2's: the body of the request, the bodies of responses, and no version header. */
function deriveOperation(operation: JsonObject, derivation: OperationDerivation): JsonObject {
  const { description } = derivation;
  const applied = new Set<string>();
  const onApplied = (edit: InverseEdit): void => {
    applied.add(edit.change);
    derivation.onApplied(edit);
  };
  const inside = { ...derivation, onApplied };
  let derived = withQueryOfV1(withoutVersionParameter(operation, description, derivation.header), {
    description,
    changes: derivation.changes,
    onChanged: (change) => applied.add(change),
  });
  derived = withHeadersOfV1(derived, {
    description,
    changes: derivation.ruled,
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

/** The operation or path item without the parameter that names V2's release: V1 has no dated releases. */
function withoutVersionParameter(
  holder: JsonObject,
  description: Description,
  header: string | undefined,
): JsonObject {
  const { parameters } = holder;
  if (!Array.isArray(parameters)) return holder;
  const left: readonly unknown[] = parameters.filter(
    (parameter) => !isVersionParameter(followed(description, parameter), header),
  );
  return left.length === parameters.length ? holder : { ...holder, parameters: left };
}

/** True for the parameter that names V2's release: `place` is as in `OperationDerivation`. */
function isVersionParameter(parameter: unknown, place: string | undefined): boolean {
  const name = memberOf(parameter, 'name');
  if (typeof name !== 'string') return false;
  const isHeader = memberOf(parameter, 'in') === 'header';
  return (isHeader ? name.toLowerCase() : `?${name}`) === place;
}

function deriveResponses(responses: JsonObject, derivation: OperationDerivation): JsonObject {
  const keys = Object.keys(responses);
  return editMembers(responses, (status, declared) => {
    const response = followed(derivation.description, declared);
    if (!isObject(response)) return [[status, declared]];
    const edits = derivation.response.filter((edit) => concerns(edit.status ?? [], status, keys));
    const edited = withContent(withoutVersionHeader(response, derivation.header), edits, derivation);
    return [[status, edited === response ? declared : edited]];
  });
}

function withoutVersionHeader(response: JsonObject, header: string | undefined): JsonObject {
  const { headers } = response;
  const isVersionName = (name: string): boolean => name.toLowerCase() === header;
  if (!isObject(headers) || !Object.keys(headers).some(isVersionName)) return response;
  return {
    ...response,
    headers: editMembers(headers, (name, value) => (isVersionName(name) ? [] : [[name, value]])),
  };
}

/**
 * True if a rule for these statuses applies to a response under this key: a status, a class such as `2XX`, or `default`, which stands for
 * the statuses that no other key names.
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
    if ('wrapper' in edit)
      return isObject(before) || Array.isArray(before) ? { [edit.wrapper]: before } : before;
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

/** The changes with query rules, and the description that references of an operation lead into. */
interface QueryDerivation {
  readonly description: Description;
  /** In the order of the rule book. */
  readonly changes: readonly Change[];
  /** Called with each change that made a parameter differ. */
  readonly onChanged: (change: string) => void;
}

/** The operation with the query parameters of V1: each query rule undone, the last one first. */
function withQueryOfV1(
  operation: JsonObject,
  { description, changes, onChanged }: QueryDerivation,
): JsonObject {
  const rules = changes
    .flatMap(({ id, query = [] }) => query.map((rule) => ({ change: id, rule })))
    .toReversed();
  if (rules.length === 0) return operation;
  const { parameters } = operation;
  const before: readonly unknown[] = Array.isArray(parameters) ? parameters : [];
  let after = before;
  for (const { change, rule } of rules) {
    const edited = editParameters(after, change, rule, description);
    if (edited === after) continue;
    onChanged(change);
    after = edited;
  }
  return after === before ? operation : { ...operation, parameters: after };
}

/** The operation with the header parameters of V1: each header rule undone, the last one first. */
function withHeadersOfV1(
  operation: JsonObject,
  { description, changes, onChanged }: QueryDerivation,
): JsonObject {
  const { parameters } = operation;
  if (!Array.isArray(parameters)) return operation;
  let after: readonly unknown[] = parameters;
  for (const { id, headers = [] } of changes.toReversed()) {
    for (const rule of headers.toReversed()) {
      const edited = after.flatMap((declared) => {
        const parameter = followed(description, declared);
        const name = memberOf(parameter, 'name');
        if (!isObject(parameter) || memberOf(parameter, 'in') !== 'header' || typeof name !== 'string')
          return [declared];
        const derived = fieldOfV1(parameter, name, id, rule);
        if (derived !== parameter) onChanged(id);
        return derived === undefined ? [] : [derived === parameter ? declared : derived];
      });
      after = edited;
    }
  }
  return changes.length === 0 ? operation : { ...operation, parameters: after };
}

/** A header parameter as V1 has it; undefined for one that V1 does not have. */
function fieldOfV1(
  parameter: JsonObject,
  name: string,
  change: string,
  rule: HeaderRule,
): JsonObject | undefined {
  const is = (other: string): boolean => name.toLowerCase() === other.toLowerCase();
  const moves = headerKindOf(rule).moves?.(rule) ?? [];
  for (const { from, to } of moves) {
    if (to === undefined || !is(to)) continue;
    const place = 'query' in from ? { name: from.query, in: 'query' } : { name: from.header };
    return marked({ ...parameter, ...place }, change);
  }
  if (moves.length > 0 || !('field' in rule) || !is(rule.field)) return parameter;
  return 'values' in rule ? withValues(parameter, change, rule.values) : undefined;
}

function editParameters(
  parameters: readonly unknown[],
  change: string,
  rule: QueryRule,
  description: Description,
): readonly unknown[] {
  const names = new Set(parameters.map((parameter) => queryName(followed(description, parameter))));
  if ('parameters' in rule) {
    const gone = rule.parameters.filter((name) => !names.has(name));
    if (gone.length === 0) return parameters;
    return [
      ...parameters,
      ...gone.map((name) => marked({ name, in: 'query', deprecated: true, schema: {} }, change)),
    ];
  }
  const kind = queryKindOf(rule);
  if (kind.adds === true)
    return undoSetParameter(
      parameters,
      change,
      rule.parameter,
      kind.keepsPresent?.(rule) === true,
      description,
    );
  const renamed = kind.renames?.(rule);
  // V1 had no second name.
  if ('to' in rule && renamed === undefined) {
    const isOther = (declared: unknown): boolean => queryName(followed(description, declared)) !== rule.to;
    return names.has(rule.to) ? parameters.filter(isOther) : parameters;
  }
  const affected = renamed?.to ?? rule.parameter;
  if (!names.has(affected)) return parameters;
  return parameters.map((declared) => {
    const parameter = followed(description, declared);
    if (!isObject(parameter) || queryName(parameter) !== affected) return declared;
    if (renamed !== undefined)
      return marked(
        {
          ...parameter,
          name: renamed.from,
          ...('with' in rule && !('values' in rule) && listForm(parameter, rule)),
        },
        change,
      );
    if ('values' in rule) return withValues(parameter, change, rule.values);
    if (!('conversion' in rule)) return declared;
    const follow = (part: unknown): unknown => followed(description, part);
    const back = inverseConversion(rule.conversion);
    const schema =
      typeof back === 'string'
        ? takenSchema(parameter['schema'], rule.conversion, follow)
        : convertedSchema(parameter['schema'], back, follow);
    return marked({ ...parameter, schema }, change);
  });
}

/** The styles of lists in one parameter, by what separates their texts (OpenAPI 3.1 §4.8.12.2). */
const STYLES: ReadonlyMap<string, string> = new Map([
  [',', 'form'],
  [' ', 'spaceDelimited'],
  ['|', 'pipeDelimited'],
]);

/** The style of V1's list where V2's is another one: one parameter with separators, or several parameters. */
function listForm({ schema }: JsonObject, rule: Extract<QueryRule, { with: string }>): JsonObject {
  const isList = isObject(schema) && schema['type'] === 'array';
  if (!makesList(rule))
    return { style: 'form', explode: true, schema: isList ? schema : { type: 'array', items: schema ?? {} } };
  const style = STYLES.get(rule.with);
  return style === undefined || !isList ? { schema: { type: 'string' } } : { style, explode: false };
}

/**
 * Undoes a rule that sets a parameter: removes the parameter, which V1 did not have, or makes it optional, if the rule sets it only where
 * it is absent.
 */
function undoSetParameter(
  parameters: readonly unknown[],
  change: string,
  name: string,
  isForAbsent: boolean,
  description: Description,
): readonly unknown[] {
  const isIt = (declared: unknown): boolean => queryName(followed(description, declared)) === name;
  if (!parameters.some(isIt)) return parameters;
  if (!isForAbsent) return parameters.filter((declared) => !isIt(declared));
  return parameters.map((declared) => {
    const parameter = followed(description, declared);
    return isIt(declared) && isObject(parameter)
      ? marked({ ...parameter, required: false }, change)
      : declared;
  });
}

function queryName(parameter: unknown): string | undefined {
  if (!isObject(parameter) || parameter['in'] !== 'query') return undefined;
  return typeof parameter['name'] === 'string' ? parameter['name'] : undefined;
}

/** The parameter with V1's values in its `enum`; values of a query are compared as text. */
function withValues(
  parameter: JsonObject,
  change: string,
  values: Extract<QueryRule, { rule: 'map' }>['values'],
): JsonObject {
  const { schema } = parameter;
  const items = isObject(schema) ? schema['items'] : undefined;
  if (isObject(schema) && isObject(items)) {
    const edited = withValues({ schema: items }, change, values)['schema'];
    return edited === items
      ? parameter
      : marked({ ...parameter, schema: { ...schema, items: edited } }, change);
  }
  const listed: unknown = isObject(schema) ? schema['enum'] : undefined;
  if (!isObject(schema) || !Array.isArray(listed)) return parameter;
  const mapped = listed.flatMap((value: unknown) => {
    const old = values.filter(({ to }) => to.text === String(value)).map(({ from }) => scalarValue(from));
    return old.length === 0 ? [value] : old;
  });
  return marked({ ...parameter, schema: { ...schema, enum: mapped } }, change);
}

/** The moved operations of a rule book, by their place in a description of V2. */
export class MovedOperations {
  private readonly byPlace: ReadonlyMap<string, readonly Operation[]>;

  constructor(operations: readonly Operation[]) {
    this.byPlace = Map.groupBy(
      operations.filter(({ to }) => to !== undefined),
      (operation) => `${operation.to?.method} ${shapeAtV2(operation)}`,
    );
  }

  /** The operations of V1 that moved to this place in V2; `path` is a template below V2's prefix. */
  at(method: string, path: string): readonly Operation[] {
    if (this.byPlace.size === 0 || templateFault(path) !== undefined) return [];
    return this.byPlace.get(`${method} ${templateShape(path)}`) ?? [];
  }
}

/**
 * Returns V1's operation for one of V2 that moved: with the path parameters of `match`, without the query parameters that `to` takes from
 * the path, and with V1's statuses. `shared` are the parameters of V2's path item, and `path` is its template.
 */
export function movedOperation(
  operation: JsonObject,
  { template, query = [], to, status = [] }: Operation,
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
    if (inV1 === undefined) return [];
    const asked = query.find(({ value }) => value.parameter === inV1);
    if (asked !== undefined)
      return [{ ...parameter, name: decoded(asked.name), in: 'query', required: true }];
    return parametersIn(template).includes(inV1)
      ? [{ ...parameter, name: inV1, in: 'path', required: true }]
      : [];
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

/** V1's names for the parameters of V2's path template; undefined for a parameter that has a fixed text in `to`. */
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

/** Adds operations to the paths of a description, beside existing ones. */
export function withOperations(
  paths: JsonObject,
  added: readonly {
    readonly path: string;
    readonly method: string;
    readonly operation: JsonObject;
    /** True if it answers requests with certain queries only; the operation for all other requests stays. */
    readonly isPart?: boolean;
  }[],
): JsonObject {
  const merged = new Map(Object.entries(paths));
  for (const { path, method, operation, isPart } of added) {
    const item = merged.get(path);
    if (isPart === true && memberOf(item, method.toLowerCase()) !== undefined) continue;
    merged.set(path, { ...(isObject(item) ? item : {}), [method.toLowerCase()]: operation });
  }
  return Object.fromEntries(merged);
}

/** True for a path item without any operation. */
export function isWithoutOperations(item: JsonObject): boolean {
  return !METHODS.some((method) => isObject(memberOf(item, method)));
}
