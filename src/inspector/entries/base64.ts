/** Decodes Base64 (RFC 4648 §4); undefined when invalid. */
export function decodeBase64(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** Encodes bytes in Base64 (RFC 4648 §4). */
export function encodeBase64(bytes: Uint8Array): string {
  let binary = '';
  // As arguments of one call, a large body would be more than the stack holds.
  for (let at = 0; at < bytes.length; at += 8192)
    binary += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(binary);
}

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The text that encodes to exactly these bytes in UTF-8; undefined when there is none. A decoder that replaces would change them. */
export function exactText(bytes: Uint8Array): string | undefined {
  try {
    return strict.decode(bytes);
  } catch {
    return undefined;
  }
}
