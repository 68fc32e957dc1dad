import { pointerOf } from '../json/json-pointer.ts';
import { JsonWalker } from '../json/json-walk.ts';
import type { Difference } from './difference.ts';
import { kindOfId, type PairedIds } from './paired-ids.ts';

/** Facts about an exchange that say which ids and times its services made up. */
export interface BodyContext {
  readonly ids: PairedIds;
  /** Kind of the resources at the target. */
  readonly collection: string;
  /** True for a text of the request: the client's own value, which must come back as it was. */
  isSent(text: string): boolean;
}

/**
 * Compares the gateway's body with V1's, byte for byte. Ids that stand for the same resource are alike, and so are times of the
 * same form that the services, not the client, wrote. Bodies that are not JSON are compared as bytes.
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

/** Elements of an array above which they are paired by their places. */
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
        kind: 'order',
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
   * The place of each element of V1 in the gateway's array: where it stood, or else the first that is alike; undefined for an element
   * that the gateway's array has not. Undefined for arrays that are paired by place: those too long to look for every element.
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

function unquoted(text: string): string {
  return text.startsWith('"') ? text.slice(1, -1) : text;
}

/** Texts that end in `_id` by chance, such as the client's own `external_id`, are compared as texts. */
function isIdentifier({ kind, text }: JsonNode): boolean {
  return kind === 'scalar' ? /^\d+$/.test(text) : /^"[\da-f]{8}-|^"[\dA-HJKMNP-TV-Z]{26}"$/i.test(text);
}

/** RFC 3339, and what services write that have not read it. */
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
