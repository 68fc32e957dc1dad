import { setTimeout as delay } from 'node:timers/promises';

/** The token of the admin listener in attacks that set one. */
export const ADMIN_TOKEN = 'a token that only the operator knows';

/** A sample of `/metrics` by its name and labels; undefined where there is none, or no response within two seconds. */
export async function sample(adminPort: number, name: string): Promise<number | undefined> {
  return valueIn(await metricsText(adminPort, 2000), name);
}

/** Reads the event loop delay four times a second, so that each scrape covers a quarter second only. */
export function watchLoop(adminPort: number): { stop(): Promise<number | undefined> } {
  let worst: number | undefined;
  const over = new AbortController();
  const look = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const began = performance.now();
      const seconds = valueIn(await metricsText(adminPort, 20_000), 'gateway_event_loop_delay_seconds');
      // A loop that does not come to the scrape is late by as long.
      if (seconds !== undefined) worst = Math.max(worst ?? 0, seconds * 1000);
      else if (worst !== undefined) worst = Math.max(worst, performance.now() - began);
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

async function metricsText(adminPort: number, milliseconds: number): Promise<string> {
  try {
    const response = await fetch(`http://127.0.0.1:${adminPort}/metrics`, {
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
      signal: AbortSignal.timeout(milliseconds),
    });
    return await response.text();
  } catch {
    return '';
  }
}

function valueIn(text: string, name: string): number | undefined {
  const line = text.split('\n').find((one) => one.startsWith(`${name} `) || one.startsWith(`${name}{`));
  return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(' ') + 1));
}
