import { setTimeout as delay } from 'node:timers/promises';

/** The token of the admin listener in attacks that set one. */
export const ADMIN_TOKEN = 'a token that only the operator knows';

/** The text of a response of the admin listener; empty when it does not come in time. */
export async function adminText(
  adminPort: number,
  path: string,
  init: RequestInit = {},
  milliseconds = 14_000,
): Promise<string> {
  try {
    const response = await fetch(`http://127.0.0.1:${adminPort}${path}`, {
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
      signal: AbortSignal.timeout(milliseconds),
      ...init,
    });
    return await response.text();
  } catch {
    return '';
  }
}

/** The members of an entry that the attacks read. */
export interface Seen {
  readonly seq: number;
  readonly bytesIn?: number;
  readonly path?: string;
  readonly client?: string;
}

/** The latest entries. */
export async function entriesOf(adminPort: number): Promise<readonly Seen[]> {
  const text = await adminText(adminPort, '/entries?limit=500');
  return (JSON.parse(text) as { readonly entries: readonly Seen[] }).entries;
}

/** A sample of `/metrics` by its name and labels; NaN where there is none, or no response in time. */
export async function metric(adminPort: number, name: string, milliseconds = 2000): Promise<number> {
  const lines = (await adminText(adminPort, '/metrics', {}, milliseconds)).split('\n');
  const line = lines.find((one) => one.startsWith(`${name} `) || one.startsWith(`${name}{`));
  return line === undefined ? Number.NaN : Number(line.slice(line.lastIndexOf(' ') + 1));
}

/** Reads the event loop delay four times a second, so that each scrape covers a quarter second only; `stop` returns milliseconds. */
export function watchLoop(adminPort: number): { stop(): Promise<number> } {
  let worst = Number.NaN;
  const over = new AbortController();
  const look = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const began = performance.now();
      const delayed = 1000 * (await metric(adminPort, 'gateway_event_loop_delay_seconds', 20_000));
      // A loop that does not come to the scrape is late by as long.
      if (Number.isNaN(worst)) worst = delayed;
      else worst = Math.max(worst, Number.isNaN(delayed) ? performance.now() - began : delayed);
      await delay(250);
    }
  };
  const looked = look();
  return {
    stop: async () => {
      over.abort();
      await looked;
      return worst;
    },
  };
}
