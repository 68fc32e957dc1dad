import { type AddressRange, isWithin } from '../http/address-range.ts';

/** Maximum number of addresses that are remembered; beyond it all are forgotten: a single client may have a whole `/64`. */
const MAX_ADDRESSES = 1024;

/** The peers whose `Forwarded` and similar fields are kept. Whether an address is one of them never changes, and is remembered. */
export class TrustedProxies {
  private readonly ranges: readonly AddressRange[];
  private readonly known = new Map<string, boolean>();

  constructor(ranges: readonly AddressRange[]) {
    this.ranges = ranges;
  }

  /** True for the address of a trusted proxy. */
  has(address: string): boolean {
    if (this.ranges.length === 0) return false;
    const known = this.known.get(address);
    if (known !== undefined) return known;
    if (this.known.size >= MAX_ADDRESSES) this.known.clear();
    const isTrusted = isWithin(address, this.ranges);
    this.known.set(address, isTrusted);
    return isTrusted;
  }
}
