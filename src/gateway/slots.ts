/**
 * Things that come and go by the thousand a second, each in a numbered slot. A `Set` makes a new table every few dozen of them, and
 * each old one keeps those that it held then until V8 searches the whole heap: the young generation is then copied instead of freed.
 */
export class Slots<Item> implements Iterable<Item> {
  private readonly items: (Item | undefined)[] = [];
  private readonly free: number[] = [];

  /** Number of items. */
  get size(): number {
    return this.items.length - this.free.length;
  }

  /** Adds an item; returns its slot. */
  add(item: Item): number {
    const slot = this.free.pop() ?? this.items.length;
    this.items[slot] = item;
    return slot;
  }

  /** Empties a slot. */
  remove(slot: number): void {
    this.items[slot] = undefined;
    this.free.push(slot);
  }

  *[Symbol.iterator](): Iterator<Item> {
    for (const item of this.items) if (item !== undefined) yield item;
  }

  /** The items with their slots. */
  *entries(): Generator<readonly [slot: number, item: Item]> {
    for (const [slot, item] of this.items.entries()) if (item !== undefined) yield [slot, item];
  }
}
