import { createHash, createHmac, randomBytes } from 'node:crypto';
import type { DigestAlgorithm } from '../http/digests.ts';
import { rememberedHash } from '../rewrite-log/observer.ts';
import type { ReplicaClock } from '../rollout/store-contact.ts';

/** False on Bun and Deno, which run the same code and behave differently in places. */
export const IS_NODE = !('bun' in process.versions || 'deno' in process.versions);

/** Clock, timers and randomness of this process. */
export const SYSTEM_CLOCK: ReplicaClock = {
  time: Date.now,
  after: (milliseconds, run) => {
    const timer = setTimeout(run, milliseconds);
    return () => clearTimeout(timer);
  },
  random: Math.random,
};

/** Number of ids in one pool. */
const DRAWN = 256;

/**
 * Returns a function that draws random UUIDs (RFC 9562 §5.4). Each is a slice of one string; a UUID from Node is a tree of twenty
 * strings, a third of all objects that a request in flight keeps in memory.
 */
export function randomUuids(): () => string {
  return drawFrom(36, () => {
    const hex = randomBytes(DRAWN * 16).toString('hex');
    return Array.from({ length: DRAWN }, (_, k) => uuidOf(hex.slice(k * 32, k * 32 + 32))).join('');
  });
}

/** Returns a function that draws `bytes` random bytes, as hex digits. */
export function randomHex(bytes: number): () => string {
  return drawFrom(bytes * 2, () => randomBytes(DRAWN * bytes).toString('hex'));
}

/** Draws slices of `length` characters from the strings that `fill` makes. */
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

/** Makes a version 4 UUID from 32 hex digits. */
function uuidOf(hex: string): string {
  const variant = '89ab'.charAt(Number.parseInt(hex.charAt(16), 16) & 3);
  const [version, clock] = [`4${hex.slice(13, 16)}`, variant + hex.slice(17, 20)];
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${version}-${clock}-${hex.slice(20)}`;
}

/**
 * Memory limit of this process in bytes, from its container (cgroup v1 or v2); undefined where there is none, or the runtime does
 * not report it.
 */
export function memoryLimit(): number | undefined {
  // Bun and Deno added it recently, and each reports "no limit" differently: as 0, or as more than any machine has.
  const limit: number | undefined = process.constrainedMemory?.();
  return limit === undefined || limit === 0 || limit > 2 ** 50 ? undefined : limit;
}

/** Returns a function that names clients by a keyed hash of their API key: the first 16 hex digits of HMAC-SHA-256. */
export function createClientHash(secret: string): (authorization: string) => string {
  return rememberedHash((apiKey) =>
    createHmac('sha256', secret).update(apiKey, 'latin1').digest().toString('hex', 0, 8),
  );
}

/** Hashes a body; undefined if this Node lacks the algorithm, as MD5 in FIPS mode. */
export function hashBody(algorithm: DigestAlgorithm, body: Uint8Array): Uint8Array | undefined {
  try {
    return createHash(algorithm.replace('-', '')).update(body).digest();
  } catch {
    return undefined;
  }
}
