/** A block of addresses in CIDR form; IPv4 addresses are mapped to `::ffff:`, so that one form covers both. */
export interface AddressRange {
  /** The 128 bits of the first address. */
  readonly base: bigint;
  /** The number of leading bits that are fixed, of 128. */
  readonly bits: number;
}

/** Reads `10.0.0.0/8`, `2001:db8::/32` or a single address; undefined for anything else. */
export function readRange(text: string): AddressRange | undefined {
  const [address = '', length, more] = text.trim().split('/');
  const base = addressBits(address);
  if (base === undefined || more !== undefined) return undefined;
  const width = address.includes(':') ? 128 : 32;
  if (length === undefined) return { base, bits: 128 };
  if (!/^\d{1,3}$/.test(length) || Number(length) > width) return undefined;
  return { base, bits: 128 - width + Number(length) };
}

/** True when one of the ranges contains the address. */
export function isWithin(address: string, ranges: readonly AddressRange[]): boolean {
  if (ranges.length === 0) return false;
  const bits = addressBits(address);
  if (bits === undefined) return false;
  return ranges.some((range) => bits >> BigInt(128 - range.bits) === range.base >> BigInt(128 - range.bits));
}

/** The 128 bits of an address, with or without a zone (`fe80::1%eth0`); undefined for anything else. */
export function addressBits(text: string): bigint | undefined {
  const [address = ''] = text.split('%');
  if (!address.includes(':')) {
    const ipv4 = parseIpv4(address);
    return ipv4 === undefined ? undefined : 0xff_ff_00_00_00_00n | ipv4;
  }
  return parseIpv6(address);
}

function parseIpv4(text: string): bigint | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || parts.some((part) => !/^(?:0|[1-9]\d{0,2})$/.test(part) || Number(part) > 255)) {
    return undefined;
  }
  return parts.reduce((sum, part) => sum * 256n + BigInt(part), 0n);
}

function parseIpv6(text: string): bigint | undefined {
  const tail = text.lastIndexOf(':');
  const dotted = text.includes('.') ? parseIpv4(text.slice(tail + 1)) : undefined;
  if (text.includes('.') && dotted === undefined) return undefined;
  const plain =
    dotted === undefined
      ? text
      : `${text.slice(0, tail)}:${(dotted >> 16n).toString(16)}:${(dotted & 0xff_ffn).toString(16)}`;
  const [head = '', rest, more] = plain.split('::');
  if (more !== undefined) return undefined;
  const before = head === '' ? [] : head.split(':');
  const after = rest === undefined || rest === '' ? [] : rest.split(':');
  const missing = 8 - before.length - after.length;
  if (rest === undefined ? missing !== 0 : missing < 1) return undefined;
  const groups = [...before, ...Array.from({ length: missing }, () => '0'), ...after];
  if (groups.some((group) => !/^[0-9a-f]{1,4}$/i.test(group))) return undefined;
  return groups.reduce((sum, group) => sum * 65_536n + BigInt(`0x${group}`), 0n);
}
