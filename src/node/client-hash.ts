import { createHmac } from 'node:crypto';

/** Keys whose hashes are kept. */
const MOST_HASHES = 10_000;

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
    const hash = createHmac('sha256', secret).update(key, 'latin1').digest('hex').slice(0, 16);
    // Anybody can send ever new keys: the map starts anew rather than grow.
    if (known.size >= MOST_HASHES) known.clear();
    known.set(authorization, hash);
    return hash;
  };
}
