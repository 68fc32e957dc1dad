/** The first `length` bytes of the SHA-256 of `bytes`, in hex. The runtime computes it off the event loop. */
export async function digestOf(bytes: Uint8Array, length: number): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new Uint8Array(bytes));
  return hexOf(new Uint8Array(digest, 0, length));
}

/** Bytes in lower-case hex. */
export function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
