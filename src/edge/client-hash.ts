/** Keys whose hashes are kept. */
const MOST_HASHES = 10_000;

/**
 * Names clients as on Node: the first 16 hex digits of HMAC-SHA-256(key, secret). The key is what stands behind `Bearer`;
 * other schemes count whole.
 */
export function createClientHash(secret: string): (authorization: string) => Promise<string> {
  const bytes = new TextEncoder();
  const known = new Map<string, Promise<string>>();
  let imported: Promise<CryptoKey> | undefined;
  const hash = async (authorization: string): Promise<string> => {
    // Not before the first request: the platform forbids it while a worker starts.
    imported ??= crypto.subtle.importKey(
      'raw',
      bytes.encode(secret),
      { name: 'HMAC', hash: 'SHA-256' },
      false,
      ['sign'],
    );
    const key = authorization.replace(/^bearer +/i, '').trim();
    const latin1 = Uint8Array.from(key, (unit) => unit.charCodeAt(0));
    const digest = new Uint8Array(await crypto.subtle.sign('HMAC', await imported, latin1));
    return [...digest.subarray(0, 8)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  };
  return (authorization) => {
    const hit = known.get(authorization);
    if (hit !== undefined) return hit;
    const name = hash(authorization);
    // Anybody can send ever new keys: the map starts anew rather than grow.
    if (known.size >= MOST_HASHES) known.clear();
    known.set(authorization, name);
    return name;
  };
}
