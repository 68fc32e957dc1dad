import { ownText } from './own-text.ts';

/** Keys of one generation: together with the one before, ten thousand keys and two million characters at the most. */
const GENERATION_KEYS = 5000;
const GENERATION_CHARACTERS = 1_000_000;

/** The API key in an `Authorization` field: what stands behind `Bearer`; other schemes count whole. */
export function apiKeyOf(authorization: string): string {
  return authorization.replace(/^bearer +/i, '').trim();
}

/**
 * Names clients by `hashOf` their API key, and remembers the names of those seen lately. Anybody can send ever new keys: what is
 * remembered is bounded by number and by characters, and keys in use outlive those that are sent once.
 */
export function rememberedHash<Hash>(hashOf: (apiKey: string) => Hash): (authorization: string) => Hash {
  let young = new Map<string, Hash>();
  let old = young;
  let characters = 0;
  return (authorization) => {
    const hit = young.get(authorization);
    if (hit !== undefined) return hit;
    const hash = old.get(authorization) ?? hashOf(apiKeyOf(authorization));
    if (young.size >= GENERATION_KEYS || characters + authorization.length > GENERATION_CHARACTERS) {
      old = young;
      young = new Map();
      characters = 0;
    }
    young.set(ownText(authorization), hash);
    characters += authorization.length;
    return hash;
  };
}
