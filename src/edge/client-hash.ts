import { rememberedHash } from '../rewrite-log/client-hash.ts';
import { hexOf } from '../rules/digest.ts';

/** Identifies clients as on Node: the first 16 hex digits of HMAC-SHA-256(key, secret). */
export function createClientHash(secret: string): (authorization: string) => Promise<string> {
  const bytes = new TextEncoder();
  let imported: Promise<CryptoKey> | undefined;
  return rememberedHash(async (apiKey) => {
    // Imported on the first request: the platform forbids it while a worker starts.
    imported ??= crypto.subtle.importKey(
      'raw',
      bytes.encode(secret),
      { name: 'HMAC', hash: 'SHA-256' },
      false,
      ['sign'],
    );
    const latin1 = Uint8Array.from(apiKey, (unit) => unit.charCodeAt(0));
    try {
      const digest = await crypto.subtle.sign('HMAC', await imported, latin1);
      return hexOf(new Uint8Array(digest, 0, 8));
    } catch (error) {
      imported = undefined;
      throw error;
    }
  });
}
