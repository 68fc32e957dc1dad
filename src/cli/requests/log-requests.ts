import { readLogFile } from '../logs/log-files.ts';
import { requestLike, UNLIKE, type Unlike } from '../../report/entry-request.ts';
import { count, counted } from '../../report/text/number-text.ts';
import { parseEntry } from '../logs/client-entries.ts';
import { type CommandFault, noRewriteLog } from '../command-fault.ts';
import type { NamedRequest } from './request-files.ts';

/** Maximum distinct requests taken from one log. */
const MAX_REQUESTS = 1000;

/** Reconstructed requests of a log, and what has to be said about those that they are not. */
interface LogRequests {
  readonly requests: readonly NamedRequest[];
  readonly notes: readonly string[];
}

/**
 * Reconstructs one request for each kind of V1 request in a log: kinds differ in operation and names. Values are `…`. Notes on
 * stderr say which entries are left out, and that the log is of another rule book than `book`, the hash of the one at hand.
 */
export async function readLogRequests(
  path: string,
  book?: string,
): Promise<readonly NamedRequest[] | CommandFault> {
  const read = await readKinds(path, book);
  if ('fault' in read) return read;
  process.stderr.write(read.notes.map((note) => `note: ${note}\n`).join(''));
  return read.requests;
}

async function readKinds(path: string, book: string | undefined): Promise<LogRequests | CommandFault> {
  const kinds = new Map<
    string,
    { readonly request: NamedRequest['request']; count: number; readonly label: string }
  >();
  const left = new Map<Unlike, number>();
  const lines = { entries: 0, others: 0, beyond: 0, ofOtherBooks: 0 };
  const others = new Set<string>();
  for await (const { bytes } of readLogFile(path)) {
    for (const line of bytes.toString('utf8').split('\n')) {
      const entry = parseEntry(line);
      if (entry !== undefined) lines.entries += 1;
      else if (line !== '') lines.others += 1;
      if (entry === undefined) continue;
      const request = requestLike(entry);
      if (typeof request === 'string') {
        left.set(request, (left.get(request) ?? 0) + 1);
        continue;
      }
      if (entry.ruleBook !== book) {
        lines.ofOtherBooks += 1;
        others.add(entry.ruleBook);
      }
      const label = entry.operation ?? `${entry.method} ${entry.path}`;
      const key = `${label} ${request.body ?? ''}`;
      const known = kinds.get(key);
      if (known !== undefined) known.count += 1;
      else if (kinds.size < MAX_REQUESTS) kinds.set(key, { request, count: 1, label });
      else lines.beyond += 1;
    }
  }
  if (lines.entries === 0 && lines.others > 0) return noRewriteLog(path, lines.others);
  const requests = [...kinds.values()].map(({ request, count: times, label }) => ({
    name: times === 1 ? label : `${label} (${times} like it)`,
    request,
    count: times,
  }));
  return { requests, notes: notesOf(lines, left, book === undefined ? undefined : { book, others }) };
}

function notesOf(
  lines: Readonly<Record<'entries' | 'others' | 'beyond' | 'ofOtherBooks', number>>,
  left: ReadonlyMap<Unlike, number>,
  books: { readonly book: string; readonly others: ReadonlySet<string> } | undefined,
): readonly string[] {
  const omitted = [...left.values()].reduce((sum, times) => sum + times, lines.beyond);
  const reasons = [
    ...[...left].map(([reason, times]) => `${count(times)} ${UNLIKE[reason]}`),
    ...(lines.beyond > 0 ? [`${count(lines.beyond)} of kinds beyond the first ${count(MAX_REQUESTS)}`] : []),
  ];
  const notes: string[] = [];
  if (omitted > 0)
    notes.push(
      `${count(omitted)} of ${counted(lines.entries, 'entry', 'entries')} ${omitted === 1 ? 'is' : 'are'} left out: ${reasons.join('; ')}.`,
    );
  if (lines.others > 0)
    notes.push(
      `${counted(lines.others, 'line')} of the log ${lines.others === 1 ? 'is no entry' : 'are no entries'}.`,
    );
  if (books !== undefined && lines.ofOtherBooks > 0)
    notes.push(
      `${counted(lines.ofOtherBooks, 'request')} of the log ${lines.ofOtherBooks === 1 ? 'was' : 'were'} handled by ${books.others.size === 1 ? 'another rule book' : 'other rule books'} (${[...books.others].slice(0, MAX_NAMED).join(', ')}${books.others.size > MAX_NAMED ? ', …' : ''}); here the outcome is that of ${books.book}.`,
    );
  return notes;
}

/** Hashes of other rule books that a note names. */
const MAX_NAMED = 3;
