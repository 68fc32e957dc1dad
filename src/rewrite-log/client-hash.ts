import { ownText } from './own-text.ts';

/** Limits of one generation: together with the previous one, at most ten thousand keys and two million characters. */
const GENERATION_KEYS = 5000;
const GENERATION_CHARACTERS = 1_000_000;

/** Returns the API key of an `Authorization` field: the text after `Bearer`; other schemes count whole. */
export function apiKeyOf(authorization: string): string {
  return authorization.replace(/^bearer +/i, '').trim();
}

/**
 * Hashes API keys by `hashOf` and caches the recent hashes. Anybody can send ever new keys: the cache is limited by number and
 * characters, and keys in use outlive those that are sent once.
 */
export function rememberedHash<Hash>(hashOf: (apiKey: string) => Hash): (authorization: string) => Hash {
  let current = new Map<string, Hash>();
  let previous = current;
  let characters = 0;
  return (authorization) => {
    const hit = current.get(authorization);
    if (hit !== undefined) return hit;
    const hash = previous.get(authorization) ?? hashOf(apiKeyOf(authorization));
    if (current.size >= GENERATION_KEYS || characters + authorization.length > GENERATION_CHARACTERS) {
      previous = current;
      current = new Map();
      characters = 0;
    }
    const key = ownText(authorization);
    current.set(key, hash);
    // A hash that could not be made is made again for the next request.
    if (hash instanceof Promise)
      hash.catch(() => {
        current.delete(key);
        previous.delete(key);
      });
    characters += authorization.length;
    return hash;
  };
}
