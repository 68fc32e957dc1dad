import { concatBytes } from '../http/byte-collector.ts';
import { JsonWalker, type WalkedNode } from '../json/document.ts';
import { applyEdits, type Edit } from '../json/edit.ts';
import type { RequestRule } from '../rules/rule.ts';
import { placesInV2, type V1Names } from './v1-names.ts';

/** Levels of nested objects and lists in which errors are looked for. */
const MAX_LEVELS = 8;

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

const COMMA = Uint8Array.of(0x2c);

/** A member of an object of errors. */
interface Entry {
  readonly node: Pick<WalkedNode, 'kind' | 'keyStart' | 'keyEnd' | 'start' | 'end'>;
  readonly name: string;
  /** V1's name; the same if it has no other. */
  readonly v1: string;
  /** Where the member before it ends. */
  readonly before: number;
}

/**
 * Turns the errors of Rails back to V1's names: names of attributes as keys of an object (`{"items[0].name":["is blank"]}`), or humanised
 * at the start of each sentence of a list (`["Highlight type is blank"]`).
 */
export class RailsErrors {
  private readonly v1: V1Names;
  /** V1's humanised names by V2's; undefined where V1 has two. */
  private readonly sentences = new Map<string, string | undefined>();
  private readonly longest: number;
  private readonly walker = new JsonWalker(Number.POSITIVE_INFINITY, MAX_LEVELS);

  /** `rules` are the request rules of the operation, in order. */
  constructor(rules: readonly RequestRule[], v1: V1Names) {
    this.v1 = v1;
    for (const place of placesInV2(rules))
      for (let from = 0; from < place.length; from += 1) this.addSentence(place.slice(from), from === 0);
    this.longest = Math.max(0, ...[...this.sentences.keys()].map((name) => name.length));
  }

  /**
   * Returns the edits of a JSON text with errors. `text` turns one sentence back, as spelled in JSON, from what is given to it and from
   * the same with V1's name at its start.
   */
  edits(errors: Uint8Array, text: (raw: string, named: string) => string): readonly Edit[] {
    const texts: Edit[] = [];
    const keys: Edit[] = [];
    const objects: Entry[][] = [];
    const leave = (node: WalkedNode): void => {
      if (node.kind === 'object') keys.push(...mergedKeys(errors, objects.pop() ?? [], texts));
    };
    this.walker.walk(errors, {
      enter: (node) => {
        const name = node.path.at(-1);
        if (typeof name === 'string') this.addEntry(objects.at(-1), node, name);
        if (node.kind === 'object') objects.push([]);
        if (node.kind !== 'string') return true;
        const raw = decoder.decode(errors.subarray(node.start + 1, node.end - 1));
        const isWhole = node.path.every((step) => typeof step === 'number');
        const changed = text(raw, isWhole ? this.sentence(raw) : raw);
        if (changed !== raw)
          texts.push({ start: node.start + 1, end: node.end - 1, insert: encoder.encode(changed) });
        return true;
      },
      leave,
    });
    return [
      ...keys,
      ...texts.filter(({ start }) => !keys.some((key) => key.start <= start && start < key.end)),
    ].sort((one, other) => one.start - other.start);
  }

  /** The sentence with V1's name at its start, where that is one of V2. */
  private sentence(raw: string): string {
    for (let end = Math.min(this.longest, raw.length); end > 0; end -= 1) {
      if (end < raw.length && raw.charCodeAt(end) !== SPACE) continue;
      const name = this.sentences.get(raw.slice(0, end));
      if (name !== undefined) return JSON.stringify(name).slice(1, -1) + raw.slice(end);
    }
    return raw;
  }

  /** One plain word may be that of another object, unless it is the whole place. */
  private addSentence(place: readonly string[], isWhole: boolean): void {
    const name = humanised(place);
    const v1 = humanised(this.v1.loosely(place));
    if (name === v1 || (!isWhole && !name.includes(' '))) return;
    const known = this.sentences.has(name) && this.sentences.get(name) !== v1;
    this.sentences.set(name, known ? undefined : v1);
  }

  private addEntry(entries: Entry[] | undefined, node: WalkedNode, name: string): void {
    const { kind, keyStart, keyEnd, start, end } = node;
    const before = entries?.at(-1)?.node.end ?? keyStart;
    entries?.push({
      node: { kind, keyStart, keyEnd, start, end },
      name,
      v1: this.v1.attribute(name),
      before,
    });
  }
}

const SPACE = 0x20;

/** The edits that give members V1's names. The lists of those that V1 has one name for become one. */
function mergedKeys(errors: Uint8Array, entries: readonly Entry[], texts: readonly Edit[]): readonly Edit[] {
  const edits: Edit[] = [];
  for (const named of Map.groupBy(entries, ({ v1 }) => v1).values()) {
    const [first, ...others] = named;
    const isRenamed = named.some(({ name, v1 }) => name !== v1);
    if (first === undefined || !isRenamed) continue;
    const isMerged = named.every(({ node }) => node.kind === 'array');
    // Two values that are no lists: to drop one would lose an error.
    if (others.length > 0 && !isMerged) continue;
    if (first.name !== first.v1) {
      const { keyStart, keyEnd } = first.node;
      edits.push({ start: keyStart, end: keyEnd, insert: encoder.encode(JSON.stringify(first.v1)) });
    }
    if (others.length === 0) continue;
    const at = first.node.end - 1;
    const added = others
      .map(({ node }) => elementsOf(errors, node, texts))
      .filter((elements) => elements.length > 0)
      .flatMap((elements, index) =>
        index > 0 || elementsOf(errors, first.node, texts).length > 0 ? [COMMA, elements] : [elements],
      );
    edits.push({ start: at, end: at, insert: concatBytes(added) });
    for (const { before, node } of others)
      edits.push({ start: before, end: node.end, insert: new Uint8Array() });
  }
  return edits;
}

/** The elements of a list with the texts turned back, without the brackets and the white space at both ends. */
function elementsOf(errors: Uint8Array, { start, end }: Entry['node'], texts: readonly Edit[]): Uint8Array {
  const inside = texts
    .filter((edit) => edit.start > start && edit.end < end)
    .map((edit) => ({ ...edit, start: edit.start - start - 1, end: edit.end - start - 1 }));
  const elements = errors.subarray(start + 1, end - 1);
  const edited = inside.length === 0 ? elements : applyEdits(elements, inside);
  const first = edited.findIndex((byte) => byte > SPACE);
  return first === -1
    ? new Uint8Array()
    : edited.subarray(first, edited.findLastIndex((byte) => byte > SPACE) + 1);
}

/** The name of an attribute as Rails writes it in a sentence: indexes and `_id` left out, the first letter large. */
function humanised(place: readonly string[]): string {
  const words = place
    .filter((step) => !/^\d+$/.test(step))
    .join('_')
    .replace(/_id$/, '')
    .split('_')
    .filter((word) => word !== '')
    .join(' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
