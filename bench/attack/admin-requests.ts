/** The members of an entry that the attacks read. */
export interface Seen {
  readonly seq: number;
  readonly bytesIn?: number;
  readonly path?: string;
  readonly client?: string;
}

/** The latest entries. */
export async function entriesOf(adminPort: number): Promise<readonly Seen[]> {
  const response = await fetch(`http://127.0.0.1:${adminPort}/entries?limit=500`, {
    signal: AbortSignal.timeout(14_000),
  });
  const { entries } = (await response.json()) as { readonly entries: readonly Seen[] };
  return entries;
}

/** Bytes of a response of the admin listener; 0 when it does not come in time. */
export async function sizeOf(adminPort: number, path: string, init: RequestInit = {}): Promise<number> {
  try {
    const response = await fetch(`http://127.0.0.1:${adminPort}${path}`, {
      ...init,
      signal: AbortSignal.timeout(14_000),
    });
    return (await response.arrayBuffer()).byteLength;
  } catch {
    return 0;
  }
}
