import { type AttributePlace, AttributeTree } from './attribute-tree.ts';
import { NameWalk } from './name-walk.ts';
import { ObservationBudget } from './observation-budget.ts';

/** Maximum bytes of one body to read. */
const MAX_BYTES = 32 * 1024;

/** Maximum number of shared lists of names. */
const MAX_LISTS = 512;

/**
 * Lists the members of JSON bodies as pointers with `*` for elements, each once, in document order. Reads the first bytes of a
 * body once, at any nesting; known names create no strings, and bodies of the same shape share one list.
 */
export class AttributeNames {
  private readonly budget: ObservationBudget;
  private readonly tree = new AttributeTree();
  private readonly lists = new Map<number, (readonly string[])[]>();
  private listCount = 0;
  private bodies = 0;

  /** `now` is a monotonic clock, in milliseconds. */
  constructor(now: () => number) {
    this.budget = new ObservationBudget(now);
  }

  /** The names in a body; empty when it is not JSON, undefined without a body or when the budget of this second is used up. */
  of(body: Uint8Array | undefined, isFailure = false): readonly string[] | undefined {
    if (body === undefined) return undefined;
    const length = Math.min(body.length, MAX_BYTES);
    return this.budget.run(length, isFailure, () => this.namesIn(body, length));
  }

  private namesIn(body: Uint8Array, length: number): readonly string[] {
    if (this.tree.makeRoom()) this.clearLists();
    this.bodies += 1;
    const walk = new NameWalk(this.tree, this.bodies, body, length);
    return walk.isJson ? this.shared(walk.places) : NO_NAMES;
  }

  private shared(places: readonly AttributePlace[]): readonly string[] {
    let hash = places.length;
    for (const { pointer } of places) hash = (Math.imul(hash, 31) + pointer.length) | 0;
    const known = this.lists.get(hash) ?? [];
    for (const list of known) {
      if (list.length === places.length && places.every(({ pointer }, at) => pointer === list[at]))
        return list;
    }
    const list = places.map(({ pointer }) => pointer);
    if (this.listCount === MAX_LISTS) this.clearLists();
    this.listCount += 1;
    this.lists.set(hash, [...known, list]);
    return list;
  }

  private clearLists(): void {
    this.lists.clear();
    this.listCount = 0;
  }
}

const NO_NAMES: readonly string[] = [];
