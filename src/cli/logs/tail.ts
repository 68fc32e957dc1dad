import { open, stat } from 'node:fs/promises';
import { stderr, stdout } from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import type { ClientsView, EntriesPage } from '../../inspector/api.ts';
import type { Entry } from '../../rewrite-log/entry.ts';
import { type Filter, hasOpenQuote, isFilterFault, parseFilter } from '../../rewrite-log/filter.ts';
import { type AdminClient, openAdmin } from '../admin-client.ts';
import {
  type CommandFault,
  isFault,
  junk,
  openClientNames,
  openRuleBook,
  unreadable,
} from '../command-fault.ts';
import { clientNames } from '../../rules/rule-book.ts';
import { noEntry } from '../../report/log-gaps.ts';
import { entryHead, entryRow } from '../entry-row.ts';
import { terminalOf } from '../terminal.ts';
import { parseEntry, readLogFile } from '../../node/log/log-files.ts';
import { LogLines } from '../../node/log/log-lines.ts';
import { jsonText } from '../../report/text.ts';

export interface TailOptions {
  readonly filter: string;
  readonly follow?: true;
  readonly admin?: string;
  readonly config?: string;
  /** File of clients' names. */
  readonly names?: string;
  /** Rule book, whose clients have names. */
  readonly rules?: string;
  readonly format: 'text' | 'json';
}

/** Prints the entries of a log or of a running gateway. */
export async function runTail(
  file: string | undefined,
  options: TailOptions,
): Promise<CommandFault | undefined> {
  const parsed = parseFilter(options.filter);
  if (isFilterFault(parsed)) return { fault: parsed.message };
  if (hasOpenQuote(options.filter)) return { fault: 'A double quote of the filter is not closed.' };
  if (file === undefined && options.admin === undefined && process.stdin.isTTY)
    return { fault: 'Name a log file, or use --admin.' };
  if (file !== undefined && options.admin !== undefined)
    return { fault: 'Name a log file, or use --admin, not both.' };
  const client = options.admin === undefined ? undefined : await openAdmin(options.admin, options.config);
  if (client !== undefined && isFault(client)) return client;
  const given = await namesOf(options);
  if (isFault(given)) return given;
  const known = client === undefined ? given : await namesAt(client);
  if (isFault(known)) return known;
  const names = new Map([...known, ...given]);
  const named = parseFilter(options.filter, names);
  const filter = isFilterFault(named) ? parsed : named;
  const terminal = terminalOf(stdout);
  const lines = { entries: 0, others: 0, shown: 0 };
  let isHeadDue = options.format === 'text';
  const printHead = (): void => {
    if (isHeadDue) stdout.write(`${entryHead(terminal, names)}\n`);
    isHeadDue = false;
  };
  const sayWaiting = (): void => {
    if (lines.shown > 0) return;
    const what = options.filter === '' ? 'an entry' : 'an entry that the filter accepts';
    stderr.write(`Waiting for ${what}: ${file ?? options.admin} has none yet. Ctrl-C stops.\n`);
  };
  // The first entry may take a while.
  if (options.admin !== undefined || options.follow === true) printHead();
  try {
    for await (const entry of entriesOf(client ?? file, options, lines, sayWaiting)) {
      // A gateway filters itself, because it also knows names and captured exchanges.
      if (client === undefined && !filter.accepts(entry)) continue;
      lines.shown += 1;
      printHead();
      stdout.write(`${options.format === 'json' ? jsonText(entry) : entryRow(entry, terminal, names)}\n`);
    }
  } catch (error) {
    if (error instanceof AdminRefusal) return { fault: error.message };
    return client?.unreachable(error) ?? unreadable(file ?? 'stdin', error);
  }
  if (lines.entries === 0 && lines.others === 0) stderr.write(`${file ?? 'stdin'} is empty.\n`);
  if (lines.shown === 0 && lines.entries > 0) stderr.write(nothingFound(filter, names));
  return junk(lines.entries === 0 && lines.others > 0 ? noEntry(file ?? '-', lines.others) : undefined);
}

type Names = ReadonlyMap<string, string>;

/** The names of the clients in a log: those of the rule book and of the names file, if given. */
async function namesOf({ names: path, rules, config }: TailOptions): Promise<Names | CommandFault> {
  const given = await openClientNames(path, config);
  if (isFault(given)) return given;
  if (rules === undefined || rules === '') return given;
  const book = await openRuleBook(rules);
  return isFault(book) ? book : clientNames(book.rules.ruleBook, given);
}

/** The names that a running gateway knows. */
async function namesAt(client: AdminClient): Promise<Names | CommandFault> {
  const view = await client.view<ClientsView>('/clients', 'clients');
  if (isFault(view)) return view;
  return new Map(
    view.clients.flatMap(({ client: hash, name }) => (name === undefined ? [] : [[hash, name] as const])),
  );
}

/** Says that no entry of a log matches, and where to find values that no log contains. */
function nothingFound({ terms }: Filter, names: Names): string {
  const isElsewhere = terms.some(
    ({ field }) => field === undefined || field === 'has' || (field === 'client' && names.size === 0),
  );
  return `No entry matches.${isElsewhere ? ' A log has no names of clients and no values of bodies: a running gateway finds those that it keeps, with --admin.' : ''}\n`;
}

async function* entriesOf(
  source: AdminClient | string | undefined,
  { filter, follow }: TailOptions,
  counts: { entries: number; others: number },
  onWait: () => void,
): AsyncGenerator<Entry> {
  if (typeof source === 'object') {
    yield* streamEntries(source, filter, onWait);
    return;
  }
  const file = source ?? '-';
  const isFollowed = follow === true && file !== '-' && (await stat(file)).isFile();
  for await (const line of isFollowed ? followFile(file, onWait) : linesOf(file)) {
    const entry = parseEntry(line);
    if (entry !== undefined) {
      counts.entries += 1;
      yield entry;
    } else if (line !== '') counts.others += 1;
  }
}

async function* linesOf(file: string): AsyncGenerator<string> {
  for await (const { bytes } of readLogFile(file)) yield* bytes.toString('utf8').split('\n');
}

/** Milliseconds before reconnecting a lost stream. */
const RETRY_DELAY_MS = 1000;

/** The admin listener refused the request; the message says why. */
class AdminRefusal extends Error {
  override readonly name = 'AdminRefusal';
}

/** Maximum number of earlier entries to show: with a filter, and without. */
const MAX_FOUND = 100;
const MAX_RECENT = 10;

/**
 * Yields the newest entries of a running gateway, then the coming ones; resumes where it stopped after a lost connection. Throws an
 * `AdminRefusal` if the listener refuses.
 */
async function* streamEntries(
  client: AdminClient,
  filter: string,
  onWait: () => void,
): AsyncGenerator<Entry> {
  const limit = filter === '' ? MAX_RECENT : MAX_FOUND;
  const kept = await client.ask(`/entries?limit=${limit}&filter=${encodeURIComponent(filter)}`);
  if (kept.statusCode !== 200) {
    await kept.body.dump();
    throw new AdminRefusal(client.refusal(kept.statusCode).fault);
  }
  const page: EntriesPage = JSON.parse(await kept.body.text());
  yield* page.entries.toReversed();
  onWait();
  let last = `${page.run}-${page.latest}`;
  let isFirst = true;
  for (;;) {
    const path = `/entries/stream?filter=${encodeURIComponent(filter)}`;
    const response: Awaited<ReturnType<AdminClient['ask']>> | undefined = await client
      .ask(path, { 'last-event-id': last })
      .catch((error: unknown) => {
        if (isFirst) throw error;
        return undefined;
      });
    if (response !== undefined && response.statusCode !== 200) {
      await response.body.dump();
      throw new AdminRefusal(client.refusal(response.statusCode).fault);
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

interface ServerEvent {
  readonly name: string;
  readonly id: string | undefined;
  readonly data: string;
}

/** Yields events until the stream ends or fails. */
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
    // Connection reset or timed out; the caller reconnects.
  }
}

function readEvent(event: string): ServerEvent {
  const fields = new Map(
    event.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
  );
  return { name: fields.get('event') ?? 'message', id: fields.get('id'), data: fields.get('data') ?? '' };
}

/** Milliseconds between two checks of a followed file. */
const POLL_INTERVAL_MS = 200;

/** Yields the lines of a file, then those appended to it; starts again when the file is truncated or replaced. */
async function* followFile(path: string, onWait: () => void): AsyncGenerator<string> {
  let { ino } = await stat(path);
  let size = 0;
  let rest = Buffer.alloc(0);
  let reader = new LogLines();
  let isRead = false;
  for (;;) {
    const now = await stat(path).catch(() => undefined);
    if (now !== undefined && (now.ino !== ino || now.size < size)) {
      size = 0;
      ino = now.ino;
      rest = Buffer.alloc(0);
      reader = new LogLines();
    }
    if (now !== undefined && now.size > size) {
      const bytes = await readFrom(path, size, now.size);
      size += bytes.length;
      const read = Buffer.concat([rest, bytes]);
      const end = read.lastIndexOf('\n') + 1;
      rest = read.subarray(end);
      yield* reader.add(read.subarray(0, end)).toString().split('\n');
      continue;
    }
    if (!isRead) onWait();
    isRead = true;
    await wait(POLL_INTERVAL_MS);
  }
}

async function readFrom(path: string, from: number, to: number): Promise<Uint8Array> {
  const handle = await open(path, 'r');
  try {
    const length = Math.min(to - from, 1024 * 1024);
    const { buffer, bytesRead } = await handle.read(new Uint8Array(length), 0, length, from);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}
