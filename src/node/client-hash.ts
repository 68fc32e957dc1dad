import { createHmac } from 'node:crypto';
import { rememberedHash } from '../rewrite-log/client-hash.ts';

/** Names clients by a keyed hash of their API key: the first 16 hex digits of HMAC-SHA-256(key, secret). */
export function createClientHash(secret: string): (authorization: string) => string {
  return rememberedHash((apiKey) =>
    createHmac('sha256', secret).update(apiKey, 'latin1').digest().toString('hex', 0, 8),
  );
}
