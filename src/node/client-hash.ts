import { createHmac } from 'node:crypto';
import { ownText } from '../rewrite-log/own-text.ts';

/** Keys whose hashes are kept. */
const MOST_HASHES = 10_000;

/** Characters of a key whose hash is kept; longer ones are hashed each time. */
const LONGEST_KEPT = 512;

/**
 * Names clients by a keyed hash of their API key: the first 16 hex digits of HMAC-SHA-256(key, secret). The key is what
 * stands behind `Bearer`; other schemes count whole.
 */
export function createClientHash(secret: string): (authorization: string) => string {
  const known = new Map<string, string>();
  return (authorization) => {
    const hit = known.get(authorization);
    if (hit !== undefined) return hit;
    const key = authorization.replace(/^bearer +/i, '').trim();
    const hash = ownText(createHmac('sha256', secret).update(key, 'latin1').digest('hex').slice(0, 16));
    if (authorization.length > LONGEST_KEPT) return hash;
    // Anybody can send ever new keys: the map starts anew rather than grow.
    if (known.size >= MOST_HASHES) known.clear();
    known.set(ownText(authorization), hash);
    return hash;
  };
}
