import type { Entry } from '../api.ts';

/** The operation's id, or method and path where no operation matches. */
export function entryName(entry: Entry): string {
  return entry.operation ?? `${entry.method} ${entry.path}`;
}

/** The first half of a client's hash: enough to distinguish clients by eye. */
export function shortClient(client: string | undefined): string {
  return client === undefined ? '–' : client.slice(0, 8);
}

/** The text of a status: `gone` when the client disconnected before one was sent. */
export function statusWords(status: number): string {
  return status === 0 ? 'gone' : String(status);
}

/** The class of a status, for colours: `ok`, `fault` or `failure`. */
export function statusTone(status: number): 'ok' | 'fault' | 'failure' {
  if (status >= 500 || status === 0) return 'failure';
  return status >= 400 ? 'fault' : 'ok';
}

/** One sentence about an entry, for screen readers. */
export function entrySentence(entry: Entry): string {
  const edits = entry.edits.length === 1 ? '1 edit' : `${entry.edits.length} edits`;
  return `${entryName(entry)}, ${entry.verdict}, ${edits}, status ${statusWords(entry.status)}`;
}
