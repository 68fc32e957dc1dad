import type { Components } from '../components.ts';
import { type DescribedOperation, templateOf } from '../description.ts';
import { isCompatible, type Shape } from '../shape.ts';
import { resourceIn } from './bodies.ts';
import type { NamedShape } from './conversions.ts';
import { isSameName, singular, wordsOf } from './names.ts';

/** A GET of V2 that returns one object for the key at the end of its path. */
export interface LookupTarget {
  /** The path up to the key, below V2's prefix. */
  readonly before: string;
  /** The name of the object that it returns, in the singular: `user` for `/users/{id}`. */
  readonly noun: string;
  /** The member of the key in the returned object, if it has one. */
  readonly id: string | undefined;
  /** The member of the response with the object; undefined if the rule book sets it for all. */
  readonly resource: string | undefined;
  readonly shape: Shape;
}

/** An object of V1's responses to which V2's responses only refer. */
export interface FoundLookup {
  /** The member of V2's response that has the key. */
  readonly key: string;
  readonly get: string;
  readonly resource: string | undefined;
  /** The members of V2's object that V1's has. */
  readonly take: readonly string[];
  /** Members that V1's object has by another name. */
  readonly renames: readonly (readonly [from: string, to: string])[];
}

/** The GETs of V2 that return an object by its key; `resource` is the member that the rule book sets for all responses. */
export function lookupTargets(
  operations: readonly DescribedOperation[],
  components: Components,
  resource: string,
): readonly LookupTarget[] {
  return operations.flatMap((operation): readonly LookupTarget[] => {
    const template = operation.method === 'GET' ? templateOf(operation) : undefined;
    const [, before = '', parameter = ''] = /^([^{}?]*\/)\{([^{}]+)\}$/.exec(template ?? '') ?? [];
    const found = before === '' ? undefined : resourceIn(operation, components);
    if (found === undefined || found.shape.members.size === 0) return [];
    const noun = wordsOf(before.split('/').at(-2) ?? '')
      .map(singular)
      .join('');
    const id = ['id', parameter].find((name) => found.shape.members.has(name));
    return [{ before, noun, id, resource: found.at === resource ? undefined : found.at, shape: found.shape }];
  });
}

/** Last words of the names of keys. */
const KEY_WORDS: ReadonlySet<string> = new Set('id key uuid guid ref code number no'.split(' '));

/** True if a member contains the key of another one: `owner_id` of `owner`. */
export function isKeyOf(key: string, name: string): boolean {
  const words = wordsOf(key);
  return KEY_WORDS.has(words.at(-1) ?? '') && isSameName(words.slice(0, -1).join('_'), name);
}

/** Maximum answers to a question. */
const MAX_TARGETS = 3;

/** The lookups that lead from a key to the object that V1's responses have, the likeliest first. */
export function lookupsFor(
  old: NamedShape,
  key: NamedShape,
  targets: readonly LookupTarget[],
): readonly FoundLookup[] {
  const isKey =
    key.shape.members.size === 0 && ['string', 'integer'].some((type) => key.shape.types.has(type));
  if (!isKey || old.shape.members.size === 0) return [];
  const words = new Set(
    [old.name, key.name, old.shape.text, key.shape.text].flatMap((text) => wordsOf(text).map(singular)),
  );
  const named = (noun: string): boolean => words.has(noun) || isSameName(noun, old.name);
  return targets
    .flatMap((target) => {
      const taken = commonMembers(old.shape, key.shape, target);
      const share = taken.size / old.shape.members.size;
      const isNamed = named(target.noun);
      const isEnough = [...taken.values()].some((name) => name !== target.id) && (isNamed || share > 0.5);
      return isEnough ? [{ target, taken, rank: share + (isNamed ? 1 : 0) }] : [];
    })
    .toSorted((one, other) => other.rank - one.rank)
    .slice(0, MAX_TARGETS)
    .map(({ target, taken }) => ({
      key: key.name,
      get: `${target.before}{${/^\w+$/.test(key.name) ? key.name : ''}}`,
      resource: target.resource,
      take: [...new Set(taken.values())],
      renames: [...taken].flatMap(([to, from]) => (from === to ? [] : [[from, to] as const])),
    }));
}

/** V2's names for the members of V1's object that V2's object has. */
function commonMembers(old: Shape, key: Shape, { shape, id }: LookupTarget): ReadonlyMap<string, string> {
  const taken = new Map<string, string>();
  for (const [name, member] of old.members) {
    const same = shape.members.has(name)
      ? name
      : [...shape.members.keys()].find((other) => isSameName(other, name) && !old.members.has(other));
    const isId = same === undefined && ['id', 'value'].includes(name) && isCompatible(member.shape, key);
    const from = same ?? (isId && !old.members.has(id ?? '') ? id : undefined);
    const partner = from === undefined ? undefined : shape.members.get(from)?.shape;
    const isFree = from !== undefined && ![...taken.values()].includes(from);
    if (isFree && partner !== undefined && isCompatible(member.shape, partner)) taken.set(name, from);
  }
  return taken;
}
