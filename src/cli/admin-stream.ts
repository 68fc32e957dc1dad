import { setTimeout as wait } from 'node:timers/promises';
import type { Entry } from '../rewrite-log/entry.ts';
import { parseEntry } from './client-entries.ts';
import { type AdminAddress, askAdmin } from './admin-source.ts';

/** Milliseconds until a lost stream is asked for again. */
const RETRY = 1000;

/** Follows the entries of a running gateway; a lost connection is resumed where it was. Throws when the listener refuses. */
export async function* streamEntries(
  address: AdminAddress,
  filter: string,
  signal: AbortSignal,
): AsyncGenerator<Entry> {
  let last: string | undefined;
  let isFirst = true;
  while (!signal.aborted) {
    const response = await askAdmin(
      address,
      `/entries/stream?filter=${encodeURIComponent(filter)}`,
      resume(last),
    ).catch((error: unknown) => {
      if (isFirst) throw error;
      return undefined;
    });
    if (response !== undefined && !response.ok) {
      throw new Error(
        `the admin listener responded with ${response.status}; set GATEWAY_ADMIN_TOKEN if it wants one`,
      );
    }
    isFirst = false;
    for await (const event of eventsOf(response)) {
      if (signal.aborted) return;
      last = event.id ?? last;
      const entry = event.name === 'entry' ? parseEntry(event.data) : undefined;
      if (entry !== undefined) yield entry;
    }
    await wait(RETRY, undefined, { signal }).catch(() => {});
  }
}

function resume(last: string | undefined): Record<string, string> {
  return last === undefined ? {} : { 'last-event-id': last };
}

interface ServerEvent {
  readonly name: string;
  readonly id: string | undefined;
  readonly data: string;
}

/** Ends when the stream does, however it does. */
async function* eventsOf(response: Response | undefined): AsyncGenerator<ServerEvent> {
  if (response === undefined || response.body === null) return;
  let text = '';
  const decoder = new TextDecoder();
  try {
    for await (const chunk of response.body) {
      text += decoder.decode(chunk, { stream: true });
      const events = text.split('\n\n');
      text = events.pop() ?? '';
      for (const event of events) yield readEvent(event);
    }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
}

function readEvent(event: string): ServerEvent {
  const fields = new Map(
    event.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
  );
  return { name: fields.get('event') ?? 'message', id: fields.get('id'), data: fields.get('data') ?? '' };
}
