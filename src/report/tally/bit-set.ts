/** A set of small non-negative integers. */
export class BitSet {
  size = 0;
  private bits = new Uint32Array(8);

  add(index: number): void {
    const word = index >>> 5;
    if (word >= this.bits.length) {
      const bits = new Uint32Array(Math.max(this.bits.length * 2, word + 1));
      bits.set(this.bits);
      this.bits = bits;
    }
    const before = this.bits[word] ?? 0;
    const after = before | (1 << (index & 31));
    if (after >>> 0 === before) return;
    this.bits[word] = after;
    this.size += 1;
  }
}
