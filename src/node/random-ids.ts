import { randomBytes } from 'node:crypto';

/** Ids that are drawn from one pool before it is filled again. */
const DRAWN = 256;

/**
 * Returns a function that draws random UUIDs (RFC 9562 §5.4). Each is a part of one text; a UUID of Node's own is a tree of twenty
 * strings, which are a third of all objects that a request in flight keeps in memory.
 */
export function randomUuids(): () => string {
  return drawFrom(36, () => {
    const hex = randomBytes(DRAWN * 16).toString('hex');
    return Array.from({ length: DRAWN }, (_, k) => uuidOf(hex.slice(k * 32, k * 32 + 32))).join('');
  });
}

/** Returns a function that draws so many random bytes, as hex digits. */
export function randomHex(bytes: number): () => string {
  return drawFrom(bytes * 2, () => randomBytes(DRAWN * bytes).toString('hex'));
}

/** Draws parts of `length` characters from the texts that `fill` makes. */
function drawFrom(length: number, fill: () => string): () => string {
  let pool = '';
  let at = 0;
  return () => {
    if (at === pool.length) {
      pool = fill();
      at = 0;
    }
    at += length;
    return pool.slice(at - length, at);
  };
}

/** Makes a UUID of version 4 of 32 hex digits. */
function uuidOf(hex: string): string {
  const variant = '89ab'.charAt(Number.parseInt(hex.charAt(16), 16) & 3);
  const [version, clock] = [`4${hex.slice(13, 16)}`, variant + hex.slice(17, 20)];
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${version}-${clock}-${hex.slice(20)}`;
}
