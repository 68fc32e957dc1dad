import { setTimeout as wait } from 'node:timers/promises';
import type { Entry } from '../../rewrite-log/entry.ts';
import { parseEntry } from './client-entries.ts';
import type { AdminClient } from '../admin-client.ts';

/** Milliseconds before a lost stream is requested again. */
const RETRY_DELAY_MS = 1000;

/** The listener responded, and refused; the message says why. */
export class AdminRefusal extends Error {
  override readonly name = 'AdminRefusal';
}

/**
 * Follows the entries of a running gateway; resumes after a lost connection where it stopped. Throws when the listener refuses.
 */
export async function* streamEntries(client: AdminClient, filter: string): AsyncGenerator<Entry> {
  let last: string | undefined;
  let isFirst = true;
  for (;;) {
    const path = `/entries/stream?filter=${encodeURIComponent(filter)}`;
    const response = await client.ask(path, resume(last)).catch((error: unknown) => {
      if (isFirst) throw error;
      return undefined;
    });
    if (response !== undefined && response.statusCode !== 200) {
      await response.body.dump();
      throw new AdminRefusal(client.refusal(response.statusCode));
    }
    isFirst = false;
    for await (const event of eventsOf(response?.body)) {
      last = event.id ?? last;
      const entry = event.name === 'entry' ? parseEntry(event.data) : undefined;
      if (entry !== undefined) yield entry;
    }
    await wait(RETRY_DELAY_MS);
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

/** Yields events until the stream ends or fails; the caller reconnects either way. */
async function* eventsOf(body: AsyncIterable<Uint8Array> | undefined): AsyncGenerator<ServerEvent> {
  if (body === undefined) return;
  let text = '';
  const decoder = new TextDecoder();
  try {
    for await (const chunk of body) {
      text += decoder.decode(chunk, { stream: true });
      const events = text.split('\n\n');
      text = events.pop() ?? '';
      for (const event of events) yield readEvent(event);
    }
  } catch {
    // Connection reset, or timed out.
  }
}

function readEvent(event: string): ServerEvent {
  const fields = new Map(
    event.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
  );
  return { name: fields.get('event') ?? 'message', id: fields.get('id'), data: fields.get('data') ?? '' };
}
