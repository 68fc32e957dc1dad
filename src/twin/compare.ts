import { JsonWalker } from '../json/document.ts';
import { pointerOf } from '../json/pointer.ts';
import type { FieldDifference } from '../rollout/comparison-tally.ts';
import type { TwinResponse } from './script.ts';

/** The facts about an exchange that tell ids and times of the services from those of the client. */
interface BodyContext {
  readonly ids: PairedIds;
  /** Kind of the resources at the target. */
  readonly collection: string;
  /** True for a text that the request contains: the client's own value, which must come back unchanged. */
  isSent(text: string): boolean;
}

/**
 * Compares the gateway's body with V1's, byte for byte, with two exceptions: ids that stand for the same resource count as equal, and so
 * do times of the same form that the services wrote and not the client. Bodies that are not JSON are compared as bytes.
 */
export function compareBodies(
  v1: Uint8Array,
  gateway: Uint8Array,
  context: BodyContext,
): readonly Difference[] {
  const [one, other] = [readTree(v1), readTree(gateway)];
  if (one === undefined || other === undefined) return compareTexts(v1, gateway);
  const comparison = new TreeComparison(context);
  comparison.compare(one.root, other.root, []);
  const { differences } = comparison;
  if (differences.length > 0 || one.skeleton === other.skeleton) return differences;
  return [{ where: '', kind: 'spelling', v1: one.skeleton, gateway: other.skeleton }];
}

interface JsonNode {
  readonly kind: 'object' | 'array' | 'string' | 'scalar';
  readonly step: string | number;
  /** As spelled; of a container, its first character. */
  readonly text: string;
  readonly children: JsonNode[];
}

interface JsonTree {
  readonly root: JsonNode;
  /** The body without its strings and scalars: names, white space and punctuation. */
  readonly skeleton: string;
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

function readTree(body: Uint8Array): JsonTree | undefined {
  const open: JsonNode[] = [];
  let skeleton = '';
  let from = 0;
  const isJson = new JsonWalker().walk(body, {
    enter: ({ kind, path, start, end }) => {
      const isLeaf = kind === 'string' || kind === 'scalar';
      const text = decoder.decode(body.subarray(start, isLeaf ? end : start + 1));
      const node: JsonNode = { kind, step: path.at(-1) ?? '', text, children: [] };
      open[path.length - 1]?.children.push(node);
      open[path.length] = node;
      if (isLeaf) {
        skeleton += `${decoder.decode(body.subarray(from, start))}·`;
        from = end;
      }
      return undefined;
    },
  });
  const [root] = open;
  if (!isJson || root === undefined) return undefined;
  return { root, skeleton: skeleton + decoder.decode(body.subarray(from)) };
}

function compareTexts(v1: Uint8Array, gateway: Uint8Array): readonly Difference[] {
  const [one, other] = [decoder.decode(v1), decoder.decode(gateway)];
  return one === other ? [] : [{ where: '', kind: 'value', v1: one, gateway: other }];
}

type Path = readonly (string | number)[];

/** Maximum elements of an array that are paired by their values; elements of a longer array are paired by index. */
const MAX_PAIRED = 300;

class TreeComparison {
  readonly differences: Difference[] = [];
  private readonly context: BodyContext;
  private readonly isTrial: boolean;

  /** A trial learns no ids, pairs elements by their places, and ends at the first difference. */
  constructor(context: BodyContext, isTrial = false) {
    this.context = context;
    this.isTrial = isTrial;
  }

  compare(v1: JsonNode, gateway: JsonNode, path: Path): void {
    if (this.isTrial && this.differences.length > 0) return;
    if (v1.kind !== gateway.kind) this.add(path, 'type', v1, gateway);
    else if (v1.kind === 'object') this.compareMembers(v1, gateway, path);
    else if (v1.kind === 'array') this.compareElements(v1, gateway, path);
    else this.compareValues(v1, gateway, path);
  }

  private compareMembers(v1: JsonNode, gateway: JsonNode, path: Path): void {
    const [ones, others] = [namedChildren(v1), namedChildren(gateway)];
    for (const [name, node] of ones) {
      const other = others.get(name);
      if (other === undefined) this.add([...path, node.step], 'missing', node, undefined);
      else this.compare(node, other, [...path, node.step]);
    }
    for (const [name, node] of others) {
      if (!ones.has(name)) this.add([...path, node.step], 'extra', undefined, node);
    }
    const orders = [ones, others].map((members) => JSON.stringify([...members.keys()]));
    const isSameSet = ones.size === others.size && [...ones.keys()].every((name) => others.has(name));
    if (isSameSet && orders[0] !== orders[1]) {
      this.differences.push({
        where: pointerOf(path),
        kind: 'member-order',
        v1: orders[0] ?? '',
        gateway: orders[1] ?? '',
      });
    }
  }

  private compareElements(v1: JsonNode, gateway: JsonNode, path: Path): void {
    const [count, other] = [v1.children.length, gateway.children.length];
    if (count !== other) {
      this.differences.push({
        where: pointerOf(path),
        kind: 'length',
        v1: String(count),
        gateway: String(other),
      });
    }
    const places = this.isTrial ? undefined : this.placesOf(v1, gateway, path);
    const moved = places?.filter((place) => place !== undefined) ?? [];
    if (moved.some((place, at) => place < (moved[at - 1] ?? 0))) this.add(path, 'order', v1, gateway);
    const left = [...gateway.children.keys()].filter((at) => !moved.includes(at)).values();
    v1.children.forEach((node, at) => {
      const place = places === undefined ? at : (places[at] ?? left.next().value);
      const against = place === undefined ? undefined : gateway.children[place];
      if (against !== undefined) this.compare(node, against, [...path, at]);
    });
  }

  /**
   * The index in the gateway's array of each element of V1: the same index if that element is equal, otherwise that of the first equal
   * element, and undefined if there is none. Returns undefined for arrays that are too long to search.
   */
  private placesOf(v1: JsonNode, gateway: JsonNode, path: Path): readonly (number | undefined)[] | undefined {
    const { children: others } = gateway;
    if (Math.max(v1.children.length, others.length) > MAX_PAIRED) return undefined;
    const taken = new Set<number>();
    return v1.children.map((node, at) => {
      const isAlike = (place: number): boolean => {
        const other = others[place];
        if (other === undefined || taken.has(place)) return false;
        const trial = new TreeComparison(this.context, true);
        trial.compare(node, other, [...path, at]);
        return trial.differences.length === 0;
      };
      const place = isAlike(at) ? at : others.findIndex((_, other) => isAlike(other));
      if (place === -1) return undefined;
      taken.add(place);
      return place;
    });
  }

  private compareValues(v1: JsonNode, gateway: JsonNode, path: Path): void {
    const { ids, collection } = this.context;
    const kind = kindOfId(path, collection);
    const sent = this.context.isSent(unquoted(v1.text));
    const isAlike =
      kind !== undefined && isIdentifier(v1)
        ? this.isTrial
          ? ids.mayAgree(kind, v1.text, gateway.text, sent)
          : ids.agree(kind, v1.text, gateway.text, sent)
        : v1.text === gateway.text ||
          (v1.kind === 'string' &&
            (ids.agreeInText(v1.text, gateway.text) || (!sent && areTimes(v1.text, gateway.text))));
    if (isAlike) return;
    this.add(
      path,
      v1.text !== gateway.text && areSpellings(v1.text, gateway.text) ? 'spelling' : 'value',
      v1,
      gateway,
    );
  }

  private add(
    path: Path,
    kind: Difference['kind'],
    v1: JsonNode | undefined,
    gateway: JsonNode | undefined,
  ): void {
    this.differences.push({
      where: pointerOf(path),
      kind,
      ...(v1 === undefined ? {} : { v1: textOf(v1) }),
      ...(gateway === undefined ? {} : { gateway: textOf(gateway) }),
    });
  }
}

/** Members by name; the second member of the same name gets a number. */
function namedChildren({ children }: JsonNode): ReadonlyMap<string, JsonNode> {
  const named = new Map<string, JsonNode>();
  for (const child of children) {
    let name = String(child.step);
    for (let count = 2; named.has(name); count += 1) name = `${String(child.step)} (${count})`;
    named.set(name, child);
  }
  return named;
}

function textOf({ text, children }: JsonNode): string {
  return text === '{' || text === '[' ? `${text}${children.length}${text === '{' ? '}' : ']'}` : text;
}

/** The content of a JSON string without its quotes; other values unchanged. */
export function unquoted(text: string): string {
  return text.startsWith('"') ? text.slice(1, -1) : text;
}

/** True for a value that can be an id. A member such as the client's `external_id` may have another text, which is compared as a text. */
function isIdentifier({ kind, text }: JsonNode): boolean {
  return kind === 'scalar' ? /^\d+$/.test(text) : /^"[\da-f]{8}-|^"[\dA-HJKMNP-TV-Z]{26}"$/i.test(text);
}

/** A time of RFC 3339, or in one of the similar forms that services write. */
const TIME = /^"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?"$/;

function areTimes(v1: string, gateway: string): boolean {
  return TIME.test(v1) && v1.replaceAll(/\d/g, '0') === gateway.replaceAll(/\d/g, '0');
}

function areSpellings(v1: string, gateway: string): boolean {
  try {
    return JSON.parse(v1) === JSON.parse(gateway);
  } catch {
    return false;
  }
}

/** Fields of responses that are not compared, each with the reason. Every other field is. */
export const FIELDS_LEFT_OUT: ReadonlyMap<string, string> = new Map([
  ['date', 'the clock'],
  ['connection', 'of one connection (RFC 9110 §7.6.1), not of the response'],
  ['keep-alive', 'of one connection'],
  ['transfer-encoding', 'framing; the body itself is compared'],
  ['content-length', 'framing; the body itself is compared'],
  ['content-encoding', 'the body is compared decoded'],
  ['alt-svc', 'of the server, not of the response'],
  ['server', 'of the server, not of the response'],
  ['via', 'of the path to the service'],
  ['x-request-id', 'new for each request'],
  ['x-runtime', 'a measurement'],
  ['x-api-version', 'V2 names its release; V1 has no such field'],
  ['x-gateway-error', 'tells refusals of the gateway from those of V2'],
]);

/** Fields that are not compared in refusals of the gateway itself, each with the reason. */
const FIELDS_OF_REFUSALS: ReadonlyMap<string, string> = new Map([
  ['accept-encoding', 'the codings that the runtime of the gateway can decode'],
]);

/** The two origins, whose names in links count as the same. */
interface Origins {
  readonly v1: string;
  readonly gateway: string;
}

/** Compares the fields of two responses, value by value, in order; `ignored` names are left out as well, in lower case. */
export function compareFields(
  v1: TwinResponse,
  gateway: TwinResponse,
  ids: PairedIds,
  origins: Origins,
  ignored: ReadonlySet<string>,
): readonly Difference[] {
  const isRefusal = gateway.headers.some(([name]) => name.toLowerCase() === 'x-gateway-error');
  const left = isRefusal ? new Set([...ignored, ...FIELDS_OF_REFUSALS.keys()]) : ignored;
  const [ones, others] = [fieldsOf(v1, left, origins.v1), fieldsOf(gateway, left, origins.gateway)];
  const differences: Difference[] = [];
  for (const name of new Set([...ones.keys(), ...others.keys()])) {
    const [value, other] = [ones.get(name), others.get(name)];
    const where = `${name}:`;
    if (other === undefined) differences.push({ where, kind: 'missing', v1: value ?? '' });
    else if (value === undefined) differences.push({ where, kind: 'extra', gateway: other });
    else if (!ids.agreeInText(value, other))
      differences.push({ where, kind: 'value', v1: value, gateway: other });
  }
  return differences;
}

function fieldsOf(
  { headers }: TwinResponse,
  ignored: ReadonlySet<string>,
  origin: string,
): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (const [spelled, value] of headers) {
    const name = spelled.toLowerCase();
    if (FIELDS_LEFT_OUT.has(name) || ignored.has(name)) continue;
    const before = fields.get(name);
    const own = value.replaceAll(`${origin}/`, '/');
    fields.set(name, before === undefined ? own : `${before}, ${own}`);
  }
  return fields;
}

/** One thing in which the gateway's response is not V1's. */
export interface Difference {
  /** `status`, `response`, the name of a field with a colon, or an RFC 6901 pointer into the body. */
  readonly where: string;
  /**
   * `missing`, `extra`: only V1, or only the gateway, has it. `member-order`, `order`: members or elements in another order. `length`: elements of an array.
   * `spelling`: the same value, or the same body, in other bytes.
   */
  readonly kind: FieldDifference['kind'] | 'extra' | 'spelling' | 'member-order';
  readonly v1?: string;
  readonly gateway?: string;
}

/** Members that only errors of the gateway itself have, and V1's do not: its code, and the place of a fault. */
const OWN_MEMBERS: ReadonlySet<string> = new Set(['code', 'meta']);

/** Returns the body of the gateway's own refusals without `OWN_MEMBERS`, and any other body unchanged. */
export function withoutOwnMembers({ headers, body }: TwinResponse): Uint8Array {
  if (!headers.some(([name]) => name.toLowerCase() === 'x-gateway-error')) return body;
  const text = new TextDecoder().decode(body);
  if (text === '') return body;
  // The gateway printed this body with JSON.stringify, so parsing and printing it changes nothing else.
  const read: unknown = JSON.parse(text, (name, value: unknown) =>
    OWN_MEMBERS.has(name) ? undefined : value,
  );
  return new TextEncoder().encode(JSON.stringify(read));
}

/** An id of whole digits, a UUID or a ULID; in JSON, with or without quotes. */
const ID = /^"?(?:[1-9]\d{0,19}|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|[\dA-HJKMNP-TV-Z]{26})"?$/i;

const TOKEN = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|\d+/gi;

/**
 * Pairs of the ids that the two services gave to the same resource. Each service numbers its own resources. When two new ids are in the
 * same place for the first time, they become a pair; from then on each must always match the other.
 */
export class PairedIds {
  private readonly kinds = new Map<string, Pairs>();

  /**
   * Returns whether two ids stand for the same resource of a kind, and pairs them if both are new. With `isSent`, the id is the client's
   * own text and not one that a service created: it must be the same in both responses, and is not paired.
   */
  agree(kind: string, v1: string, gateway: string, isSent: boolean): boolean {
    if (!this.mayAgree(kind, v1, gateway, isSent)) return false;
    const pairs = this.pairsOf(kind);
    if (!isSent && !pairs.forward.has(v1)) {
      pairs.forward.set(v1, gateway);
      pairs.backward.set(gateway, v1);
    }
    return true;
  }

  /** Returns what `agree` would return, but pairs no ids: for trying out which elements of arrays belong together. */
  mayAgree(kind: string, v1: string, gateway: string, isSent: boolean): boolean {
    const pairs = this.pairsOf(kind);
    const [known, reverse] = [pairs.forward.get(v1), pairs.backward.get(gateway)];
    if (known === gateway) return true;
    if (isSent) return v1 === gateway;
    return known === undefined && reverse === undefined && ID.test(v1) && ID.test(gateway);
  }

  /** True if two texts differ only in ids of the same resources. */
  agreeInText(v1: string, gateway: string): boolean {
    if (v1 === gateway) return true;
    if (v1.replaceAll(TOKEN, '\0') !== gateway.replaceAll(TOKEN, '\0')) return false;
    const others = gateway.match(TOKEN) ?? [];
    return (v1.match(TOKEN) ?? []).every(
      (token, at) => token === others[at] || this.knows(token, others[at]),
    );
  }

  private knows(v1: string, gateway: string | undefined): boolean {
    return [...this.kinds.values()].some(({ forward }) => {
      return (forward.get(v1) ?? forward.get(`"${v1}"`)?.slice(1, -1)) === gateway;
    });
  }

  private pairsOf(kind: string): Pairs {
    const known = this.kinds.get(kind);
    if (known !== undefined) return known;
    const pairs: Pairs = { forward: new Map(), backward: new Map() };
    this.kinds.set(kind, pairs);
    return pairs;
  }
}

interface Pairs {
  readonly forward: Map<string, string>;
  readonly backward: Map<string, string>;
}

/** The kind of resource whose id a member contains; undefined if there is none. `collection` is the request's. */
function kindOfId(path: readonly (string | number)[], collection: string): string | undefined {
  const name = path.at(-1);
  if (typeof name !== 'string') return undefined;
  if (name !== 'id' && name !== 'uuid') return name.endsWith('_id') ? name.slice(0, -3) : undefined;
  const holder = path.slice(0, -1).findLast((step) => typeof step === 'string' && step !== 'data');
  return typeof holder === 'string' ? singular(holder) : collection;
}

/** The kind of the resources at a target: the last segment of its path that is not an id. */
export function collectionOf(target: string): string {
  const [path = ''] = target.split(/[?#]/, 1);
  const segments = path
    .replace(/\/?(?:\.json)?$/, '')
    .split('/')
    .filter((segment) => !ID.test(segment));
  return singular(segments.at(-1) ?? '');
}

function singular(name: string): string {
  return name.replace(/ies$/, 'y').replace(/s$/, '');
}
