import type { FoundRule } from '../../src/openapi/draft/found-rules.ts';
import type { FoundValue } from '../../src/openapi/draft/conversions.ts';

/** Two descriptions of an API, and the rules that lead from the first to the second, by operation id. */
export interface RandomPair {
  readonly v1: Record<string, unknown>;
  readonly v2: Record<string, unknown>;
  readonly known: ReadonlyMap<string, readonly FoundRule[]>;
}

/** A number from 0 up to 1. */
type Random = () => number;

interface Schema {
  readonly [word: string]: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
}

/** A description with one to four operations with random bodies, and the same with random changes applied. */
export function randomPair(seed: number): RandomPair {
  const random = mulberry(seed);
  const paths: [Record<string, unknown>, Record<string, unknown>] = [{}, {}];
  const known = new Map<string, FoundRule[]>();
  const isWrapped = random() < 0.6;
  const operations = 1 + Math.floor(random() * 4);
  for (let number = 0; number < operations; number += 1) {
    const id = `create_${number}`;
    const body = randomObject(random, 0);
    const rules: FoundRule[] = isWrapped ? [{ rule: 'unwrap', member: 'payload' }] : [];
    const changed = changedObject(body, [], rules, random);
    const wrapped = { type: 'object', required: ['payload'], properties: { payload: body } };
    paths[0][`/api/v1/things${number}`] = { post: operationOf(id, isWrapped ? wrapped : body) };
    paths[1][`/api/v2/things${number}`] = { post: operationOf(id, changed) };
    known.set(id, rules);
  }
  const [v1, v2] = paths.map((all) => ({
    openapi: '3.1.0',
    info: { title: 'Random', version: '2025-01-01' },
    paths: all,
  }));
  return { v1: v1 ?? {}, v2: v2 ?? {}, known };
}

function operationOf(operationId: string, schema: Schema): unknown {
  return { operationId, requestBody: { content: { 'application/json': { schema } } }, responses: {} };
}

function randomObject(random: Random, level: number): Schema {
  const count = 3 + Math.floor(random() * (level === 0 ? 9 : 4));
  const names = new Set<string>();
  while (names.size < count) names.add(randomName(random));
  const properties = Object.fromEntries([...names].map((name) => [name, randomSchema(random, level)]));
  const required = [...names].filter(() => random() < 0.3);
  return { type: 'object', properties, ...(required.length > 0 ? { required } : {}) };
}

function randomSchema(random: Random, level: number): Schema {
  const text = random() < 0.5 ? { description: `The ${sentence(random)}.` } : {};
  const kind = random();
  if (kind < 0.12 && level < 2) return { ...randomObject(random, level + 1), ...text };
  if (kind < 0.2 && level < 2) return { type: 'array', items: randomObject(random, level + 1), ...text };
  if (kind < 0.35) return { type: 'string', enum: randomValues(random), ...text };
  if (kind < 0.45) return { type: 'integer', ...(random() < 0.5 ? { minimum: 0 } : {}), ...text };
  if (kind < 0.55) return { type: 'number', ...text };
  if (kind < 0.65) return { type: 'boolean', ...text };
  if (kind < 0.75)
    return { type: 'string', format: pick(random, ['date-time', 'uri', 'email', 'uuid']), ...text };
  return {
    type: random() < 0.5 ? 'string' : ['string', 'null'],
    ...(random() < 0.3 ? { maxLength: 255 } : {}),
    ...text,
  };
}

function randomValues(random: Random): readonly string[] {
  const values = new Set<string>();
  const count = 2 + Math.floor(random() * 4);
  while (values.size < count) values.add(`${pick(random, WORDS)}_${pick(random, WORDS)}`);
  return [...values];
}

/** Changes an object and what is in it; `path` is the one that it has in V2. */
function changedObject(schema: Schema, path: readonly string[], rules: FoundRule[], random: Random): Schema {
  const before = schema.properties ?? {};
  const names = Object.keys(before);
  const free = (): string => {
    for (;;) {
      const name = randomName(random);
      if (!names.includes(name) && !taken.has(name)) return name;
    }
  };
  const taken = new Set<string>();
  const renamed = new Map<string, string>();
  const stripped = new Set<string>();
  const mapped = new Map<string, Schema>();
  for (const name of names) {
    const luck = random();
    if (luck < 0.07 && renamed.size < 2) {
      const to = random() < 0.5 ? related(name, random, names) : free();
      taken.add(to);
      renamed.set(name, to);
      rules.push({ rule: 'rename', in: path, member: name, to });
    } else if (luck < 0.13) {
      stripped.add(name);
      rules.push({ rule: 'strip', in: path, member: name });
    }
    const values = before[name]?.['enum'];
    if (!Array.isArray(values) || stripped.has(name) || renamed.has(name) || random() > 0.25) continue;
    const pairs = mappedValues(values as string[], random);
    mapped.set(name, {
      ...before[name],
      enum: (values as string[]).map((value) => pairs.get(value) ?? value),
    });
    rules.push({ rule: 'map', in: path, member: name, values: [...pairs] });
  }
  const stays = names.filter((name) => !stripped.has(name) && !renamed.has(name) && !mapped.has(name));
  const nested = random() < 0.25 && stays.length > 4 ? stays.filter(() => random() < 0.5).slice(0, 5) : [];
  const under = nested.length > 1 ? free() : undefined;
  if (under !== undefined) {
    taken.add(under);
    rules.push({ rule: 'nest', in: path, members: nested, under });
  }

  const pairs: [string, Schema][] = [];
  const inside: [string, Schema][] = [];
  for (const name of names) {
    if (stripped.has(name)) continue;
    const isNested = under !== undefined && nested.includes(name);
    const to = renamed.get(name) ?? name;
    const at = isNested ? [...path, under, to] : [...path, to];
    const member = changedMember(mapped.get(name) ?? before[name] ?? {}, at, rules, random);
    (isNested ? inside : pairs).push([to, member]);
  }
  if (under !== undefined) pairs.push([under, { type: 'object', properties: Object.fromEntries(inside) }]);
  // V2 has attributes of its own, and its authors sort some lists anew.
  if (random() < 0.2) pairs.push([free(), randomSchema(random, 9)]);
  if (random() < 0.25) pairs.sort(([one], [other]) => (one < other ? -1 : 1));
  const required = ((schema['required'] ?? []) as string[]).flatMap((name) => {
    if (stripped.has(name) || (under !== undefined && nested.includes(name))) return [];
    return [renamed.get(name) ?? name];
  });
  const { required: _before, ...rest } = schema;
  return { ...rest, properties: Object.fromEntries(pairs), ...(required.length > 0 ? { required } : {}) };
}

function changedMember(member: Schema, path: readonly string[], rules: FoundRule[], random: Random): Schema {
  const text =
    member['description'] !== undefined && random() < 0.1 ? { description: `The ${sentence(random)}.` } : {};
  if (member.properties !== undefined) return { ...changedObject(member, path, rules, random), ...text };
  const { items } = member as { readonly items?: Schema };
  if (items?.properties === undefined) return { ...member, ...text };
  return { ...member, items: changedObject(items, [...path, '*'], rules, random), ...text };
}

/** Some values in another spelling, or all of them as codes. */
function mappedValues(values: readonly string[], random: Random): Map<FoundValue, FoundValue> {
  const kind = random();
  if (kind < 0.5) return new Map(values.map((value) => [value, value.toUpperCase().replaceAll('_', '-')]));
  if (kind < 0.8) return new Map(values.map((value, at) => [value, `code${at + 1}`]));
  const [first = ''] = values;
  return new Map([[first, `${first}_v2`]]);
}

/** A name with a word in common, or in camel case. */
function related(name: string, random: Random, names: readonly string[]): string {
  const words = name.split('_');
  const camel = words.map((word, at) => (at === 0 ? word : word[0]?.toUpperCase() + word.slice(1))).join('');
  if (random() < 0.3 && camel !== name) return camel;
  for (;;) {
    const made = [pick(random, WORDS), words.at(-1) ?? ''].join('_');
    if (!names.includes(made)) return made;
  }
}

function randomName(random: Random): string {
  const one = pick(random, WORDS);
  return random() < 0.4 ? one : `${one}_${pick(random, WORDS)}`;
}

function sentence(random: Random): string {
  return Array.from({ length: 4 }, () => pick(random, WORDS)).join(' ');
}

function pick<Value>(random: Random, list: readonly Value[]): Value {
  const value = list[Math.floor(random() * list.length)];
  if (value === undefined) throw new Error('an empty list');
  return value;
}

const WORDS =
  'account agent amount area asset bill booking branch brand buyer call camera case city client colour contact copy count country date deal desk door draft drone email end event fee field file floor folder format garden group height image invoice item job key kind label lead level link list lot mail map mark media model month name note number office order owner page paper park payment person phone photo place plan postcode price print project rate reason region report role room route sale scan scene seller service shot sign site size source stage start state status street suburb sum tag task team term text time title tour type unit user video view visit week width window year zone'.split(
    ' ',
  );

/** A small generator of random numbers with a seed (mulberry32). */
function mulberry(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 4_294_967_296;
  };
}
