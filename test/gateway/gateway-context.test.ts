import { expect, test } from 'vitest';
import { TrustedProxies } from '../../src/gateway/gateway-context.ts';
import { type AddressRange, readRange } from '../../src/http/forwarding.ts';

/** Ranges that count how often an address is compared with the first of them. */
function countedRanges(...texts: readonly string[]): { readonly ranges: AddressRange[]; compared: number } {
  const counted = { ranges: texts.flatMap((text) => readRange(text) ?? []), compared: 0 };
  const [first] = counted.ranges;
  if (first === undefined) throw new Error('there is no range');
  counted.ranges[0] = {
    base: first.base,
    get bits() {
      counted.compared += 1;
      return first.bits;
    },
  };
  return counted;
}

test('all requests of a peer get the same context, and its address is read once', () => {
  const counted = countedRanges('10.0.0.0/8');
  const proxies = new TrustedProxies(counted.ranges);
  for (const address of ['10.1.2.3', '::ffff:10.1.2.3', '192.0.2.1', '']) {
    const first = proxies.has(address);
    expect(first).toBe(address.includes('10.1.'));
    const before = counted.compared;
    expect([proxies.has(address), proxies.has(address)]).toEqual([first, first]);
    expect(counted.compared).toBe(before);
  }
});

// Attack: a client changes its address within its /64 with each connection.
test('ever new addresses neither fill memory nor change which peers are trusted', () => {
  const counted = countedRanges('2001:db8:0:1::/64');
  const proxies = new TrustedProxies(counted.ranges);
  for (let count = 0; count < 5000; count += 1) {
    const low = count.toString(16);
    expect(proxies.has(`2001:db8::1:${low}`)).toBe(false);
    expect(proxies.has(`2001:db8:0:1::${low}`)).toBe(true);
  }
  const before = counted.compared;
  expect(proxies.has('2001:db8:0:1::0')).toBe(true);
  expect(counted.compared).toBeGreaterThan(before);
});

test('without ranges no peer is trusted', () => {
  expect(new TrustedProxies([]).has('127.0.0.1')).toBe(false);
});
