import type { Components } from '../../openapi/components.ts';
import {
  type DescribedOperation,
  type Description,
  elementsOf,
  followed,
  isJsonMedia,
  isObject,
  isOfTexts,
  type JsonObject,
  memberOf,
  objectIn,
} from '../../openapi/description.ts';
import { keywordIn, patternPrefix } from '../../openapi/draft/conversions.ts';
import { parametersOf } from '../../openapi/draft/match-operations.ts';
import { requestBody } from '../../openapi/draft/bodies.ts';
import { type Direction, type Shape, shapeOf } from '../../openapi/shape.ts';

/** An operation in one version, with its references resolved. */
export interface DescribedSide {
  readonly operation: DescribedOperation;
  readonly components: Components;
}

/** Maximum levels of a body that are compared. */
const MAX_LEVELS = 12;

/** Maximum objects of a body that are compared. */
const MAX_OBJECTS = 2000;

/** A keyword that limits values, and whether a larger limit allows more values. */
const LIMITS: readonly (readonly [word: string, sign: 1 | -1, words: string])[] = [
  ['maxLength', 1, 'at most that many characters'],
  ['minLength', -1, 'at least that many characters'],
  ['maximum', 1, 'at most that'],
  ['minimum', -1, 'at least that'],
  ['maxItems', 1, 'at most that many elements'],
  ['minItems', -1, 'at least that many elements'],
  ['maxProperties', 1, 'at most that many members'],
  ['minProperties', -1, 'at least that many members'],
];

function amount(words: string, { value, isOpen }: Limit): string {
  if (isOpen) return `${words.startsWith('at most') ? 'less' : 'more'} than ${value}`;
  const text = words.replace(/that(?: many)?/, String(value));
  return value === 1 ? text.replace(/s$/, '') : text;
}

/** A limit of values; `isOpen` if the limit itself is outside. */
interface Limit {
  readonly value: number;
  readonly isOpen: boolean;
}

/** The narrowest limit that a shape sets by a keyword, or by its exclusive form: a number, or true in OpenAPI 3.0. */
function limitIn({ constraints, types }: Shape, word: string, sign: 1 | -1): Limit | undefined {
  const own = keywordIn(constraints, word);
  const exclusive = keywordIn(constraints, word.replace(/^m/, 'exclusiveM'));
  const limits: Limit[] = [];
  if (typeof own === 'number') limits.push({ value: own, isOpen: exclusive === true });
  if (typeof exclusive === 'number') limits.push({ value: exclusive, isOpen: true });
  const [limit] = limits.toSorted((one, other) => (allows(one, other, sign) ? 1 : -1));
  const isWhole = types.size === 1 && types.has('integer') && Number.isInteger(limit?.value);
  return limit?.isOpen === true && isWhole ? { value: limit.value - sign, isOpen: false } : limit;
}

/** Whether a limit allows all values that another allows. */
function allows(one: Limit, other: Limit, sign: 1 | -1): boolean {
  const [wide, narrow] = [one.value * sign, other.value * sign];
  return wide > narrow || (wide === narrow && (!one.isOpen || other.isOpen));
}

/**
 * Sentences about a value that V1 accepted, and that V2 refuses or accepts in another form; `isAssumed` if a rule gives V2 the value that V1
 * assumes.
 */
export function narrowed(v1: Shape, v2: Shape, isAssumed = false): readonly string[] {
  const found: string[] = [];
  for (const [word, sign, words] of LIMITS) {
    const [old, young] = [limitIn(v1, word, sign), limitIn(v2, word, sign)];
    if (young === undefined || (old !== undefined && allows(young, old, sign))) continue;
    if (/^min./.test(word) && word !== 'minimum' && old === undefined && young.value <= 0) continue;
    const before = old?.value === young.value ? amount(words, old) : (old?.value ?? 'any');
    found.push(`V2 accepts ${amount(words, young)}, and V1 ${before}`);
  }
  const [step, other] = [v1, v2].map((shape) => keywordIn(shape.constraints, 'multipleOf'));
  if (typeof other === 'number' && !(typeof step === 'number' && Number.isInteger(step / other)))
    found.push(`V2 accepts multiples of ${other}, and V1 ${typeof step === 'number' ? step : 'any'}`);
  if (keywordIn(v2.constraints, 'uniqueItems') === true && keywordIn(v1.constraints, 'uniqueItems') !== true)
    found.push('V2 accepts no element twice, and V1 did');
  const [old, young] = [v1, v2].map((shape) => JSON.stringify(keywordIn(shape.constraints, 'default')));
  if (old !== young && !isAssumed)
    found.push(`without it V1 assumed ${old ?? 'any value'}, and V2 assumes ${young ?? 'any value'}`);
  for (const word of FURTHER) {
    const [before, now] = [v1, v2].map((shape) => JSON.stringify(keywordIn(shape.constraints, word)));
    if (now !== undefined && now !== before)
      found.push(`V2 limits it by ${word}, and V1 ${before === undefined ? 'did not' : 'did otherwise'}`);
  }
  if (v2.format !== '' && isOtherFormat(v1, v2))
    found.push(`V2 accepts the format ${v2.format}, and V1 ${v1.format || 'any text'}`);
  if (v1.format === 'binary' && v2.format === '' && v2.types.has('string'))
    found.push('V1 accepted a file, and V2 reads a text');
  if (isWider(v1, v2)) found.push('V1 accepted 64 bits, and V2 accepts 32');
  if (v1.isNullable && !v2.isNullable && v2.types.size > 0) found.push('V1 accepted null, and V2 does not');
  return found;
}

/** Keywords that limit values and are only compared for equality. */
const FURTHER: readonly string[] =
  'not prefixItems propertyNames dependentRequired contentEncoding contentMediaType'.split(' ');

/** True for texts in two formats, except days and times: their values show the format, and rules may have converted them. */
function isOtherFormat(one: Shape, other: Shape): boolean {
  const isDay = ({ format }: Shape): boolean => format.startsWith('date');
  return one.format !== other.format && one.types.has('string') && !(isDay(one) && isDay(other));
}

/** True if the first is a whole number of 64 bits, and the second one of 32. */
function isWider(one: Shape, other: Shape): boolean {
  const [long, short] = [one, other].map((shape) => keywordIn(shape.constraints, 'format'));
  return long === 'int64' && short === 'int32';
}

/** Sentences about a value that V2 returns and V1 never returned. */
function widened(v1: Shape, v2: Shape): readonly string[] {
  const further = LIMITS.flatMap(([word, sign, words]) => {
    const [old, young] = [limitIn(v1, word, sign), limitIn(v2, word, sign)];
    if (old === undefined || (young !== undefined && allows(old, young, sign))) return [];
    const now = young === undefined ? 'any' : amount(words, young);
    return [`V1 returns ${amount(words, old)}, and V2 ${now}`];
  });
  const [step, other] = [v1, v2].map((shape) => keywordIn(shape.constraints, 'multipleOf'));
  const isFiner = typeof step === 'number' && !(typeof other === 'number' && Number.isInteger(other / step));
  const unique = [v1, v2].map((shape) => keywordIn(shape.constraints, 'uniqueItems') === true);
  const lost = FURTHER.filter((word) => {
    const [before, now] = [v1, v2].map((shape) => JSON.stringify(keywordIn(shape.constraints, word)));
    return before !== undefined && before !== now;
  });
  return [
    ...further,
    ...(isFiner
      ? [`V1 returns multiples of ${step}, and V2 ${typeof other === 'number' ? other : 'any'}`]
      : []),
    ...(unique[0] === true && unique[1] !== true ? ['V1 returns no element twice, and V2 may'] : []),
    ...lost.map((word) => `V1 limits it by ${word}, and V2 does not, or in another way`),
    ...(v1.format !== '' && isOtherFormat(v1, v2)
      ? [`V1 returns the format ${v1.format}, and V2 ${v2.format || 'any text'}`]
      : []),
    ...(isWider(v2, v1) ? ['V1 returns 32 bits, and V2 64'] : []),
    ...(v2.isNullable && !v1.isNullable && v1.types.size > 0 ? ['V2 may return null, and V1 never did'] : []),
  ];
}

/** The types, of several, that the reader of a value does not accept; empty if it accepts none of them. */
function unknownTypes(sent: Shape, read: Shape): readonly string[] {
  const isKnown = (type: string): boolean =>
    read.types.has(type) || (type === 'integer' && read.types.has('number'));
  const unknown = [...sent.types].filter((type) => !isKnown(type));
  return read.types.size > 0 && unknown.length < sent.types.size ? unknown : [];
}

/** Differences in the member that names a value's schema. */
function kindDifferences(v1: Shape, v2: Shape, direction: Direction): readonly string[] {
  const [old, young] = [v1.kinds, v2.kinds];
  if (old === undefined || young === undefined) return [];
  if (old.property !== young.property)
    return [`${old.property} names the schema in V1, and ${young.property} in V2`];
  const [sent, known] = direction === 'request' ? [old, young] : [young, old];
  if (sent.values.length === 0 || known.values.length === 0) return [];
  return sent.values
    .filter((value) => !known.values.includes(value))
    .map((value) =>
      direction === 'request'
        ? `V1 accepted "${value}" in ${old.property}, and V2 does not`
        : `V2 returns "${value}" in ${old.property}, and V1 never did`,
    );
}

/** Cached, because many bodies have the same resources. */
const knownDifferences = {
  request: new WeakMap<Shape, WeakMap<Shape, readonly string[]>>(),
  response: new WeakMap<Shape, WeakMap<Shape, readonly string[]>>(),
};

/** Sentences about the values that both versions have at the same path of a body, and about the schema for members of any name. */
export function valueDifferences(v1: Shape, v2: Shape, direction: Direction): readonly string[] {
  const known = knownDifferences[direction].get(v1) ?? new WeakMap<Shape, readonly string[]>();
  knownDifferences[direction].set(v1, known);
  const found = known.get(v2) ?? findValueDifferences(v1, v2, direction, OF_BODY);
  known.set(v2, found);
  return found;
}

const OF_BODY = 'the body: ';

function findValueDifferences(
  v1: Shape,
  v2: Shape,
  direction: Direction,
  whole: string,
  isAssumed = false,
): readonly string[] {
  const found: string[] = [];
  const say = (path: string, text: string): void =>
    void found.push(path === '' ? `${whole}${text}` : `${path}: ${text}`);
  const seen = new Set<string>();
  const numbers = new Map<object, number>();
  const numberOf = (one: object): number => {
    const known = numbers.get(one) ?? numbers.size;
    numbers.set(one, known);
    return known;
  };
  const visit = (old: Shape, young: Shape, path: string, level: number): void => {
    const key = `${numberOf(old.members)} ${numberOf(young.members)}`;
    if (level > MAX_LEVELS || seen.size > MAX_OBJECTS) return;
    // The limits of a value that rules convert differ as well.
    const isSame = [...old.types].join() === [...young.types].join();
    const texts =
      direction === 'request' ? narrowed(old, young, isAssumed && path === '') : widened(old, young);
    const [sent, read] = direction === 'request' ? [old, young] : [young, old];
    const unknown = unknownTypes(sent, read).map((type) =>
      direction === 'request'
        ? `V1 accepted ${type}, and V2 does not`
        : `V2 may return ${type}, and V1 never did`,
    );
    const isAny = sent.types.size === 0 && sent.unread.length === 0 && read.types.size > 0;
    if (isAny && whole === OF_BODY) {
      const known = [...read.types].join(' or ');
      say(
        path,
        direction === 'request'
          ? `V1 accepted any type, and V2 accepts ${known}`
          : `V2 may return any type, and V1 returned ${known}`,
      );
    }
    for (const text of [...(isSame ? texts : unknown), ...kindDifferences(old, young, direction)])
      say(path, text);
    if (old.members.size > 0 && seen.has(key)) return;
    seen.add(key);
    for (const [name, member] of old.members) {
      const partner = young.members.get(name);
      if (partner === undefined) continue;
      const gone = directionDifference(member.only, partner.only, direction);
      if (gone !== undefined) say(`${path}/${name}`, gone);
      visit(member.shape, partner.shape, `${path}/${name}`, level + 1);
    }
    if (old.element !== undefined && young.element !== undefined)
      visit(old.element, young.element, `${path}/*`, level + 1);
    const [rest, other] = [old.rest, young.rest];
    if (rest === undefined && old.further !== '' && young.isClosed && young.further === '')
      say(path, NO_OTHERS);
    if (rest !== undefined) for (const text of restDifferences(rest, other, young)) say(path, text);
    if (rest !== undefined && other !== undefined) visit(rest, other, `${path}/{any}`, level + 1);
  };
  visit(v1, v2, '', 0);
  return [...new Set(found)];
}

/** A member that both versions describe, and that V2 no longer accepts or no longer returns. */
function directionDifference(
  old: Direction | undefined,
  young: Direction | undefined,
  direction: Direction,
): string | undefined {
  if (young === undefined || young === old) return undefined;
  if (direction === 'request')
    return young === 'response' ? 'V1 accepts it, and V2 only returns it' : undefined;
  return young === 'request' ? 'V1 returns it, and V2 only takes it' : undefined;
}

const NO_OTHERS = 'V1 has members of any name there, and V2 does not';

/** Differences between members of any name (`additionalProperties`). */
function restDifferences(old: Shape, young: Shape | undefined, around: Shape): readonly string[] {
  if (young === undefined)
    return around.isClosed || (around.members.size > 0 && around.further === '') ? [NO_OTHERS] : [];
  const [one, other] = [old, young].map(({ types }) => [...types].join(' or '));
  if (one !== other && old.types.size > 0 && young.types.size > 0)
    return [`members of any name are ${one} in V1, and ${other} in V2`];
  const gone = [...old.members.keys()].filter((name) => young.members.size > 0 && !young.members.has(name));
  return gone.map((name) => `members of any name have ${name} in V1, and not in V2`);
}

/** The parameters of an operation, with a parameter of the query for each member of an object there, such as `filter[state]`. */
export function sentParameters(operation: DescribedOperation, description: Description): readonly unknown[] {
  return parametersOf(operation, description).flatMap((parameter) => membersOf(parameter, description));
}

function membersOf(parameter: unknown, description: Description, level = 0): readonly unknown[] {
  const [name, place, style = 'form'] = ['name', 'in', 'style'].map((key) => memberOf(parameter, key));
  const schema = followed(description, memberOf(parameter, 'schema'));
  const members = Object.entries(objectIn(schema, 'properties'));
  const isDeep = style === 'deepObject';
  const isOneText = style !== 'form' || memberOf(parameter, 'explode') === false;
  if (place !== 'query' || members.length === 0 || (isOneText && !isDeep) || level > 2) return [parameter];
  const isRequired = memberOf(parameter, 'required') === true;
  const required = elementsOf(memberOf(schema, 'required'));
  return members.flatMap(([member, own]) => {
    const one = {
      name: isDeep ? `${String(name)}[${member}]` : member,
      in: place,
      schema: own,
      required: isRequired && required.includes(member),
      ...(isDeep && isObject(own) && { style }),
    };
    return membersOf(one, description, level + 1);
  });
}

/** Header fields of the connection or of the exchange, which are not parameters of an operation. */
const COMMON_FIELDS: ReadonlySet<string> = new Set(['accept', 'content-type', 'authorization', 'host']);

/** True if a rule gives V2 the value that V1 assumes without the parameter. */
function isAssumed({ constraints }: Shape, value: string | null): boolean {
  return value !== null && String(keywordIn(constraints, 'default')) === value;
}

/** The parameters of a migrated request. */
interface SentParameters {
  readonly query: ReadonlySet<string>;
  readonly fields: ReadonlySet<string>;
  /** V2's names of query parameters by V1's, if they differ. */
  readonly renamed: ReadonlyMap<string, string>;
  /** The names of query parameters that a rule leaves out. */
  readonly lost: ReadonlySet<string>;
  /** The query of a request without optional parameters. */
  readonly assumed: URLSearchParams;
}

/** Sentences about parameters that a rule leaves out, and about those that reach V2, which does not describe them or takes them in another form. */
export function parameterDifferences(
  v1: DescribedSide,
  v2: DescribedSide,
  sent: SentParameters,
  shapeIn: (parameter: unknown, components: Components) => Shape,
): readonly string[] {
  const [old, young] = [v1, v2].map(({ operation, components }) =>
    sentParameters(operation, components.description),
  );
  const find = (place: string, name: string): unknown =>
    young?.find((one) => {
      const own = String(memberOf(one, 'name'));
      const isSame = place === 'header' ? own.toLowerCase() === name.toLowerCase() : own === name;
      return memberOf(one, 'in') === place && isSame;
    });
  return (old ?? []).flatMap((parameter) => {
    const [name, place] = [memberOf(parameter, 'name'), String(memberOf(parameter, 'in'))];
    if (typeof name !== 'string' || place === 'path' || COMMON_FIELDS.has(name.toLowerCase())) return [];
    if (place === 'query' && sent.lost.has(name))
      return [`a rule leaves out the query parameter ${name}, so V2 responds as if clients had not sent it`];
    const now = (place === 'query' ? sent.renamed.get(name) : undefined) ?? name;
    const isSent =
      place === 'query'
        ? sent.query.has(now)
        : place === 'header'
          ? sent.fields.has(name.toLowerCase())
          : true;
    if (!isSent) return [];
    const partner = find(place, now);
    const what = `the ${place === 'header' ? 'header field' : place === 'cookie' ? 'cookie' : 'query parameter'} ${now}${now === name ? '' : ` (${name} in V1)`}`;
    if (partner === undefined) return [`V2 does not describe ${what}, which clients send`];
    const forms = [parameter, partner].map((one) => formOf(one, place));
    const medias = [parameter, partner].map((one) => contentOf(one)?.[0]);
    const shapes = [shapeIn(parameter, v1.components), shapeIn(partner, v2.components)] as const;
    return [
      ...(medias[0] === medias[1]
        ? []
        : [`${what} is ${medias[0] ?? 'plain text'} in V1, and ${medias[1] ?? 'plain text'} in V2`]),
      ...(forms[0] === forms[1] || medias[0] !== medias[1]
        ? []
        : [
            `lists in ${what} are written as ${forms[0] || 'one value'} in V1, and as ${forms[1] || 'one value'} in V2`,
          ]),
      ...(memberOf(parameter, 'allowEmptyValue') === true && memberOf(partner, 'allowEmptyValue') !== true
        ? [`V1 accepts ${what} without a value, and V2 does not`]
        : []),
      ...findValueDifferences(...shapes, 'request', '', isAssumed(shapes[0], sent.assumed.get(now))).map(
        (text) => `${what}: ${text}`,
      ),
    ];
  });
}

/** Sentences about parameters of V2's path that must begin with a text, such as `inv_`, and do not in the path of a request to V2. */
export function pathDifferences(
  path: string,
  v1: DescribedSide,
  v2: DescribedSide,
  shapeIn: (parameter: unknown, components: Components) => Shape,
): readonly string[] {
  const prefixes = ({ operation, components }: DescribedSide): ReadonlyMap<string, string> =>
    new Map(
      parametersOf(operation, components.description).flatMap((parameter) => {
        if (memberOf(parameter, 'in') !== 'path') return [];
        const pattern = keywordIn(shapeIn(parameter, components).constraints, 'pattern');
        const prefix = typeof pattern === 'string' ? patternPrefix(pattern) : undefined;
        return prefix === undefined ? [] : [[String(memberOf(parameter, 'name')), prefix] as const];
      }),
    );
  const known = new Set(prefixes(v1).values());
  const wanted = prefixes(v2);
  const sent = path.split('/').toReversed();
  return v2.operation.rest
    .split('/')
    .toReversed()
    .flatMap((segment, at) => {
      const name = segment.slice(1, -1);
      const prefix = segment === `{${name}}` ? wanted.get(name) : undefined;
      if (prefix === undefined || known.has(prefix) || sent[at]?.startsWith(prefix) === true) return [];
      return [`V2 takes only ${prefix}… as the path parameter ${name}, and V1's values do not begin so`];
    });
}

/** The media type of a parameter that is written like a body, and its schema. */
export function contentOf(parameter: unknown): readonly [type: string, media: unknown] | undefined {
  return Object.entries(objectIn(parameter, 'content'))[0];
}

/** How a parameter writes a list or an object: its style, and whether its name is repeated for each element. */
function formOf(parameter: unknown, place: string): string {
  const type = memberOf(memberOf(parameter, 'schema'), 'type');
  if (type !== 'array' && type !== 'object') return '';
  const usual = place === 'header' ? 'simple' : 'form';
  const declared = memberOf(parameter, 'style');
  const style = typeof declared === 'string' ? declared : usual;
  const explode = memberOf(parameter, 'explode') ?? style === 'form';
  return `${style}${explode === true ? ' with explode' : ''}`;
}

function contentTypes(value: unknown, description: Description): readonly string[] {
  return Object.keys(objectIn(followed(description, value), 'content')).map((type) =>
    (type.split(';')[0] ?? '').trim(),
  );
}

/** True if a type is one of `types`, or in one of their ranges. */
function isAmong(type: string, types: readonly string[]): boolean {
  return types.some(
    (other) =>
      other === type ||
      other === '*/*' ||
      (other.endsWith('/*') && type.startsWith(other.slice(0, -1))) ||
      (isPlainJson(type) && isPlainJson(other)),
  );
}

/** True for JSON without a more specific type, on which clients and servers depend. */
function isPlainJson(type: string): boolean {
  return type === 'application/json' || type === 'text/json';
}

/** Sentences about the media types of requests that V2 does not take. */
export function mediaDifferences(
  v1: DescribedSide,
  v2: DescribedSide,
  sentType: (type: string) => string,
): readonly string[] {
  const [old, young] = [v1, v2].map(({ operation, components }) =>
    contentTypes(operation.operation['requestBody'], components.description),
  );
  if (old === undefined || young === undefined || old.length === 0) return [];
  if (young.length === 0) return ['V1 accepts a body, and V2 describes none'];
  const isRequired = ({ operation: { operation }, components }: DescribedSide): boolean =>
    memberOf(followed(components.description, operation['requestBody']), 'required') === true;
  const mayLack = !isRequired(v1) && isRequired(v2) && !hasRequired(v1);
  return [
    ...(mayLack ? ['V1 accepts requests without a body, and V2 requires one'] : []),
    ...old
      .filter((type) => !isAmong(sentType(type), young))
      .map((type) => `V1 accepts a body of ${type}, and V2 does not`),
    ...encodingDifferences(v1, v2),
  ];
}

/** Sentences about members of forms that V2 reads in another way: the style of a list, or the media types of a part. */
function encodingDifferences(v1: DescribedSide, v2: DescribedSide): readonly string[] {
  const [old, young] = [v1, v2].map(({ operation, components }) =>
    objectIn(followed(components.description, operation.operation['requestBody']), 'content'),
  );
  return Object.entries(old ?? {}).flatMap(([type, media]) => {
    const partner = young?.[type];
    if (partner === undefined) return [];
    const [before, after] = [objectIn(media, 'encoding'), objectIn(partner, 'encoding')];
    return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((name) => {
      const [one, other] = [before[name], after[name]];
      const wasExploded = memberOf(one, 'explode') ?? memberOf(one, 'style') ?? 'form';
      const isExploded = memberOf(other, 'explode') ?? memberOf(other, 'style') ?? 'form';
      const isSame = [wasExploded, isExploded].every((value) => value === true || value === 'form');
      const types = [one, other].map((encoding) => {
        const type = memberOf(encoding, 'contentType');
        return (typeof type === 'string' ? type.split(',') : []).map((text) => text.trim());
      });
      const gone = (types[0] ?? []).filter(
        (own) => (types[1] ?? []).length > 0 && !isAmong(own, types[1] ?? []),
      );
      return [
        ...(isSame || wasExploded === isExploded
          ? []
          : [`lists in ${name} of a form are written in another way in V2`]),
        ...gone.map((own) => `V1 accepts ${own} in ${name} of a form, and V2 does not`),
      ];
    });
  });
}

/** True for a body with a required member: clients always send it, even if its description does not require the body. */
function hasRequired({ operation, components }: DescribedSide): boolean {
  const members = requestBody(operation, components)?.shape.members.values() ?? [];
  return [...members].some(({ required }) => required);
}

/** The successful responses of an operation, by status. */
function successes({
  operation,
  components,
}: DescribedSide): readonly (readonly [status: string, response: JsonObject])[] {
  return Object.entries(objectIn(operation.operation, 'responses')).flatMap(([status, declared]) => {
    const response = followed(components.description, declared);
    return status.startsWith('2') && isObject(response) ? [[status, response] as const] : [];
  });
}

/** The sentence about an operation of V2 at a server of its own, which the gateway does not ask. */
export function otherServers(_: DescribedSide, { operation, components }: DescribedSide): readonly string[] {
  const hostOf = (servers: unknown): string => {
    const url = memberOf(elementsOf(servers)[0], 'url');
    return typeof url === 'string' ? (/^\w+:\/\/[^/]*/.exec(url)?.[0] ?? '') : '';
  };
  const own = hostOf(operation.operation['servers'] ?? operation.item['servers']);
  return own === '' || own === hostOf(components.description['servers'])
    ? []
    : [`V2 serves it at ${own}, and the gateway sends all requests to one upstream`];
}

/** Sentences about bodies in a media type that rules do not change, and whose descriptions differ. */
export function uncomparedMedia(v1: DescribedSide, v2: DescribedSide): readonly string[] {
  const bodiesOf = ({ operation: { operation }, components: { description } }: DescribedSide) => ({
    'V1 accepts': [operation['requestBody']],
    'V1 responds with': Object.entries(objectIn(operation, 'responses'))
      .filter(([status]) => status.startsWith('2'))
      .map(([, response]) => response),
    description,
  });
  const [old, young] = [bodiesOf(v1), bodiesOf(v2)];
  const contents = (bodies: readonly unknown[], description: Description): ReadonlyMap<string, unknown> =>
    new Map(bodies.flatMap((body) => Object.entries(objectIn(followed(description, body), 'content'))));
  return (['V1 accepts', 'V1 responds with'] as const).flatMap((what) => {
    const others = contents(young[what], young.description);
    return [...contents(old[what], old.description)]
      .filter(([type, media]) => {
        const other = others.get(type);
        return (
          other !== undefined &&
          !isJsonMedia(type) &&
          !isOfTexts(type) &&
          !/^(?:multipart\/|application\/x-www-form-urlencoded)/.test(type) &&
          schemaText(media, old.description) !== schemaText(other, young.description)
        );
      })
      .map(([type]) => `${what} ${type}, which rules do not change: its members were not compared`);
  });
}

/** The schema of a media type with all that it refers to, without its texts for people. */
function schemaText(media: unknown, description: Description): string {
  const texts = new Map<string, string>();
  const textOf = (schema: unknown): string =>
    JSON.stringify(schema, (key, value: unknown) => {
      if (typeof value !== 'string' && !key.startsWith('example')) return value;
      if (key === '$ref' && typeof value === 'string' && !texts.has(value)) {
        texts.set(value, '');
        texts.set(value, textOf(followed(description, { $ref: value })));
      }
      return key === 'description' || key === 'title' || key.startsWith('example') ? undefined : value;
    }) ?? '';
  const own = textOf(memberOf(media, 'schema'));
  return JSON.stringify([own, [...texts].toSorted(([one], [other]) => (one < other ? -1 : 1))]);
}

/** Sentences about statuses, media types and header fields of responses; `statusOf` is V1's status for V2's. */
export function responseDifferences(
  v1: DescribedSide,
  v2: DescribedSide,
  statusOf: (status: number) => number,
): readonly string[] {
  const [old, young] = [successes(v1), successes(v2)];
  if (old.length === 0 || young.length === 0) return [];
  const statuses = old.map(([status]) => status.toUpperCase());
  const other = young.flatMap(([status]) => {
    const now = /^\d+$/.test(status) ? String(statusOf(Number(status))) : status.toUpperCase();
    return statuses.includes(now) || statuses.includes('2XX') ? [] : [now];
  });
  const kept = young.map(([status]) =>
    /^\d+$/.test(status) ? String(statusOf(Number(status))) : status.toUpperCase(),
  );
  // A status that V2 never returns, although it returns others of V1's.
  const never =
    other.length > 0 || kept.includes('2XX')
      ? []
      : statuses.filter((status) => /^\d+$/.test(status) && !kept.includes(status));
  const types = (all: typeof old, { description }: Components): readonly string[] =>
    all.flatMap(([, response]) => contentTypes(response, description));
  const [before, after] = [types(old, v1.components), types(young, v2.components)];
  const lost = before.filter((type) => !after.some((now) => isAmong(now, [type]) || isAmong(type, [now])));
  const fields = (all: typeof old): readonly string[] =>
    all.flatMap(([, response]) => Object.keys(objectIn(response, 'headers')));
  const named = new Set(fields(young).map((name) => name.toLowerCase()));
  const gone = [...new Set(fields(old))].filter((name) => !named.has(name.toLowerCase()));
  return [
    ...other.map((status) => `V2 returns ${status}, and V1 ${statuses.join(' or ')}`),
    ...never.map((status) => `V1 returns ${status} as well, and V2 only ${kept.join(' or ')}`),
    ...(lost.length > 0 && lost.length === before.length
      ? [`V1 responds with ${before[0] ?? ''}, and V2 with ${after[0] ?? 'no body'}`]
      : [...new Set(lost)].map((type) => `V1 also responds with ${type}, and V2 does not`)),
    ...gone.map((name) => `V1's response has the header field ${name}, which V2 does not describe`),
  ];
}

/** Sentences about header fields of successful responses whose values differ, or that V2's responses may lack. */
export function fieldDifferences(v1: DescribedSide, v2: DescribedSide): readonly string[] {
  const young = fieldsOf(v2);
  return [...fieldsOf(v1)].flatMap(([name, { shape, isRequired }]) => {
    const now = young.get(name);
    if (now === undefined) return [];
    const [one, other] = [shape, now.shape].map(({ types }) => [...types].join(' or '));
    if (one !== other && one !== '' && other !== '')
      return [`the header field ${name} of V1's response is ${one}, and V2's is ${other}`];
    const fresh =
      shape.values.length === 0 ? [] : now.shape.values.filter((value) => !shape.values.includes(value));
    const isDay = [shape, now.shape].every(({ format }) => format.startsWith('date'));
    return [
      ...(isRequired && !now.isRequired
        ? [`V1's response always has the header field ${name}, and V2's may lack it`]
        : []),
      ...findValueDifferences(shape, now.shape, 'response', `the header field ${name}: `),
      ...(isDay && shape.format !== now.shape.format
        ? [`the header field ${name}: V1 returns the format ${shape.format}, and V2 ${now.shape.format}`]
        : []),
      ...fresh.map(
        (value) => `the header field ${name}: V2 returns ${JSON.stringify(value)}, and V1 never did`,
      ),
    ];
  });
}

/** The header fields of successful responses, by their names in lower case. */
function fieldsOf(
  side: DescribedSide,
): ReadonlyMap<string, { readonly shape: Shape; readonly isRequired: boolean }> {
  return new Map(
    successes(side).flatMap(([, response]) =>
      Object.entries(objectIn(response, 'headers')).map(([name, declared]) => {
        const field = followed(side.components.description, declared);
        const shape = shapeOf(memberOf(field, 'schema'), side.components);
        return [name.toLowerCase(), { shape, isRequired: memberOf(field, 'required') === true }] as const;
      }),
    ),
  );
}

/** The statuses of errors in a description, including `default` and ranges. */
function errorStatuses({ operation }: DescribedSide): readonly string[] {
  return Object.keys(objectIn(operation.operation, 'responses')).filter((key) =>
    /^(?:[45]..|default)$/i.test(key),
  );
}

/** The media types of the errors of an operation, by their status as the description writes it. */
export function errorTypes(side: DescribedSide): ReadonlyMap<string, readonly string[]> {
  const { description } = side.components;
  const responses = objectIn(side.operation.operation, 'responses');
  return new Map(
    errorStatuses(side).map((status) => [status.toUpperCase(), contentTypes(responses[status], description)]),
  );
}

/** Sentences about errors of V1 whose status V2 does not describe, although it describes others. */
export function errorDifferences(
  v1: DescribedSide,
  v2: DescribedSide,
  statusOf: (status: number) => number,
): readonly string[] {
  const young = errorStatuses(v2).map((key) =>
    /^\d+$/.test(key) ? String(statusOf(Number(key))) : key.toUpperCase(),
  );
  const never =
    young.length === 0 || young.includes('DEFAULT')
      ? []
      : errorStatuses(v1).filter(
          (key) => /^\d+$/.test(key) && !young.includes(key) && !young.includes(`${key.slice(0, 1)}XX`),
        );
  const fields = errorFields(v2);
  return [
    ...never.map((key) => `V1 returns ${key}, and V2 describes ${young.join(', ')}`),
    ...[...errorFields(v1)].flatMap(([status, names]) => {
      const given = ofStatus(fields, status) ?? names;
      return [...names]
        .filter((name) => !given.has(name))
        .map((name) => `V1's error ${status.toLowerCase()} has the header field ${name}, which V2's lacks`);
    }),
  ];
}

/** The header fields of the errors of an operation, in lower case, by their status. */
function errorFields(side: DescribedSide): ReadonlyMap<string, ReadonlySet<string>> {
  const responses = objectIn(side.operation.operation, 'responses');
  return new Map(
    errorStatuses(side).map((status) => {
      const fields = objectIn(followed(side.components.description, responses[status]), 'headers');
      return [status.toUpperCase(), new Set(Object.keys(fields).map((name) => name.toLowerCase()))];
    }),
  );
}

/** What a description has for an error with a status: under the status itself, its range, or `default`. */
export function ofStatus<Value>(errors: ReadonlyMap<string, Value>, status: string): Value | undefined {
  return errors.get(status) ?? errors.get(`${status.slice(0, 1)}XX`) ?? errors.get('DEFAULT');
}

/** Requirements of V2 on an Authorization field that V1 does not have: another scheme, or a scope. */
export function schemeDifferences(v1: DescribedSide, v2: DescribedSide): readonly string[] {
  const [old, young] = [v1, v2].map(authorizationOf);
  if (old === undefined || young === undefined) return [];
  const certificate =
    young.hasCertificate && !old.hasCertificate ? ['V2 requires a client certificate, and V1 does not'] : [];
  if (old.schemes.size === 0 || young.schemes.size === 0) return certificate;
  const urls = [...old.urls].filter((url) => young.urls.size > 0 && !young.urls.has(url));
  const isKnown = [...young.schemes].some((scheme) => old.schemes.has(scheme));
  const scopes = [...young.scopes].filter((scope) => !old.scopes.has(scope));
  return [
    ...certificate,
    ...urls.map(
      (url) => `V1's clients fetch tokens at ${url}, and V2 describes ${[...young.urls].join(' and ')}`,
    ),
    ...(isKnown
      ? []
      : [
          `V1 accepts ${[...old.schemes].join(' or ')} in Authorization, and V2 ${[...young.schemes].join(' or ')}`,
        ]),
    ...scopes.map((scope) => `V2 requires the scope ${scope}, and V1 does not`),
  ];
}

/** The schemes of Authorization that an operation takes, and their scopes. */
function authorizationOf({ operation, components: { description } }: DescribedSide): {
  readonly schemes: ReadonlySet<string>;
  readonly scopes: ReadonlySet<string>;
  /** Where tokens are fetched. */
  readonly urls: ReadonlySet<string>;
  readonly hasCertificate: boolean;
} {
  const schemes = objectIn(objectIn(description, 'components'), 'securitySchemes');
  const required = elementsOf(operation.operation['security'] ?? description['security']);
  const found = {
    schemes: new Set<string>(),
    scopes: new Set<string>(),
    urls: new Set<string>(),
    hasCertificate: required.length > 0 && required.every((one) => isCertificate(one, schemes)),
  };
  for (const one of required) {
    for (const [name, scopes] of Object.entries(isObject(one) ? one : {})) {
      const scheme = followed(description, schemes[name]);
      const [type, word] = ['type', 'scheme'].map((key) => memberOf(scheme, key));
      if (type === 'http') found.schemes.add(String(word).toLowerCase());
      if (type === 'oauth2' || type === 'openIdConnect') found.schemes.add('bearer');
      for (const scope of elementsOf(scopes)) found.scopes.add(String(scope));
      for (const url of tokenUrls(scheme)) found.urls.add(url);
    }
  }
  return found;
}

function isCertificate(required: unknown, schemes: JsonObject): boolean {
  return Object.keys(isObject(required) ? required : {}).some(
    (name) => memberOf(schemes[name], 'type') === 'mutualTLS',
  );
}

/** The addresses at which tokens of a scheme are fetched. */
function tokenUrls(scheme: unknown): readonly string[] {
  const flows = Object.values(objectIn(scheme, 'flows'));
  const all = flows.flatMap((flow) => ['tokenUrl', 'authorizationUrl'].map((name) => memberOf(flow, name)));
  return [...all, memberOf(scheme, 'openIdConnectUrl')].filter((url) => typeof url === 'string');
}

/** A place of a key: a header field in lower case, a query parameter, or a cookie. */
export interface DescribedKey {
  readonly in: 'header' | 'query' | 'cookie';
  readonly name: string;
}

/** The places of an operation's keys: all of one of these lists, or none. */
export function keysOf({
  operation,
  components: { description },
}: DescribedSide): readonly (readonly DescribedKey[])[] {
  const schemes = objectIn(objectIn(description, 'components'), 'securitySchemes');
  const declared = operation.operation['security'] ?? description['security'];
  const required = elementsOf(declared);
  // If the operation does not name a scheme, any scheme of the description applies.
  const lists = Array.isArray(declared)
    ? required.map((one) => Object.keys(isObject(one) ? one : {}))
    : Object.keys(schemes).map((name) => [name]);
  if (lists.some((names) => names.length === 0)) return [];
  return lists
    .map((names) => names.flatMap((name) => keyOf(followed(description, schemes[name]))))
    .filter((keys) => keys.length > 0);
}

function keyOf(scheme: unknown): readonly DescribedKey[] {
  const [type, place, field] = ['type', 'in', 'name'].map((key) => memberOf(scheme, key));
  if (
    type === 'apiKey' &&
    typeof field === 'string' &&
    (place === 'header' || place === 'query' || place === 'cookie')
  )
    return [{ in: place, name: place === 'header' ? field.toLowerCase() : field }];
  return type === 'http' || type === 'oauth2' || type === 'openIdConnect'
    ? [{ in: 'header', name: 'authorization' }]
    : [];
}
