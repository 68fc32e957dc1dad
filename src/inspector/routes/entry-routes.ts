import type { Hono } from 'hono';
import { readDecimal } from '../../http/header-list.ts';
import type { Entry } from '../../rewrite-log/entry.ts';
import { type Filter, isFilterFault, parseFilter, printFilter } from '../../rewrite-log/filter.ts';
import { jsonText } from '../../report/text.ts';
import { counted } from '../../rules/words.ts';
import type { ReplicaView } from '../../rollout/rollout-tally.ts';
import type { KeptExchange } from '../../rewrite-log/capture.ts';
import type { Ring } from '../../rewrite-log/history.ts';
import { KeptResponses } from '../../report/kept-responses.ts';
import type { EntriesPage, EntryDetail, EntryHistogram, NumberedEntry, State, StreamGap } from '../api.ts';
import { contentOf, entryHistogram, numbered, searchEntries } from '../entries/search-entries.ts';
import { clientTexts, ENTRIES_PER_STEP, type InspectorParts, workResponse } from '../inspector-parts.ts';
import { keptBytes } from '../operator-work.ts';
import { failure, jsonResponse, pause, queryFault, WHOLE_NUMBER } from './responses.ts';
import { marksOf, stateOf } from './stat-routes.ts';

/** Maximum entries on one page of the API. */
const MAX_PAGE_ENTRIES = 500;

/** Bytes of bodies after which a page of requests ends. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024;

/** Milliseconds between two checks of the ring. */
const POLL_INTERVAL_MS = 100;

/** Checks between two states; when nothing has changed, a comment keeps the connection alive. */
const POLLS_PER_STATE = 20;

/** Maximum entries read per check, so at most 10,000 a second. */
const MAX_ENTRIES_PER_POLL = 1000;

const encoder = new TextEncoder();

/** Adds `/entries`, `/entries/requests`, `/entries/histogram`, `/entries/stream`, `/entries/find`, and `/entries/:seq` and its exports. */
export function entryRoutes(app: Hono, parts: InspectorParts): void {
  exportRoutes(app, parts);
  const { ring, capture } = parts.view;
  const detailOf = async (seq: number, entry: Entry, namesakes: number): Promise<Response> => {
    const { run, origin } = parts;
    const rules = parts.rulesOf(entry.ruleBook);
    const ruleBook = rules?.ruleBook;
    const lacks = await lackingIn(seq, entry, parts.view);
    return workResponse(
      { kind: 'entry', run, seq, entry, kept: capture.of(seq), ruleBook, origin, namesakes, lacks },
      rules,
      parts,
    );
  };
  app.get('/entries', async (c) => {
    const page = await foundEntries(c.req.query(), parts);
    if (page instanceof Response) return page;
    const { found, next } = page;
    const body: EntriesPage = {
      run: parts.run,
      entries: found.map(({ seq, entry }) => numbered(seq, entry, capture)),
      ...(next === undefined ? {} : { next }),
      oldest: ring.oldest,
      oldestFailure: ring.oldestFailure,
      latest: ring.latest,
    };
    return jsonResponse(body);
  });
  app.get('/entries/requests', async (c) => {
    const page = await foundEntries(c.req.query(), parts);
    if (page instanceof Response) return page;
    const { found, next } = page;
    const book = found[0]?.entry.ruleBook;
    const exchanges: { seq: number; entry: Entry; kept: KeptExchange | undefined }[] = [];
    let bytes = 0;
    for (const { seq, entry } of found) {
      const kept = capture.of(seq);
      bytes += keptBytes({ kept });
      if (entry.ruleBook !== book || (bytes > MAX_PAGE_BYTES && exchanges.length > 0)) break;
      exchanges.push({ seq, entry, kept });
    }
    const rules = book === undefined ? undefined : parts.rulesOf(book);
    const rest = exchanges.length < found.length ? exchanges.at(-1)?.seq : next;
    return workResponse({ kind: 'requests', exchanges, ruleBook: rules?.ruleBook, next: rest }, rules, parts);
  });
  app.get('/entries/histogram', async (c) => {
    const filter = parseFilter(c.req.query('filter') ?? '', clientTexts(parts));
    if (isFilterFault(filter)) return failure(400, 'bad-filter', filter.message);
    const range = parseFilter(printFilter(filter.terms.filter(({ field }) => field === 'time')));
    const inRange = isFilterFault(range) ? filter.accepts : range.accepts;
    const histogram: EntryHistogram = {
      ...(await entryHistogram(parts.view, { accepts: filter.accepts, inRange }, pause)),
      marks: marksOf(parts),
    };
    return jsonResponse(histogram);
  });
  app.get('/entries/stream', (c) => {
    const filter = parseFilter(c.req.query('filter') ?? '', clientTexts(parts));
    if (isFilterFault(filter)) return failure(400, 'bad-filter', filter.message);
    const fault = queryFault(c.req.query(), { after: WHOLE_NUMBER });
    if (fault !== undefined) return failure(400, 'bad-query', fault);
    const after =
      resumeAt(c.req.header('last-event-id'), parts) ?? wholeNumber(c.req.query('after')) ?? ring.latest;
    return entryStream({
      ring,
      contentOf: (seq) => contentOf(capture, seq),
      shown: (seq, entry) => numbered(seq, entry, capture),
      run: parts.run,
      filter,
      after: Math.min(after, ring.latest),
      state: () => stateOf(parts),
      every: parts.every,
      watch: parts.watch,
    });
  });
  app.get('/entries/find', async (c) => {
    const fault = queryFault(c.req.query(), { n: WHOLE_NUMBER });
    if (fault !== undefined) return failure(400, 'bad-query', fault);
    const id = c.req.query('id') ?? '';
    const found = ring.withRequestId(id);
    const hinted = wholeNumber(c.req.query('n'));
    const one = found.find(({ seq }) => seq === hinted) ?? found[0];
    if (one !== undefined) return detailOf(one.seq, one.entry, found.length - 1);
    const logged = id === '' ? undefined : await parts.loggedEntry?.(id);
    if (logged === undefined) return failure(404, 'no-entry', notKept(parts.rollout?.view().replica));
    const detail: EntryDetail = {
      run: parts.run,
      entry: { seq: 0, ...logged },
      kept: 'nothing',
      note: 'The gateway no longer keeps this exchange; its entry is from the log.',
    };
    return jsonResponse(detail);
  });
  app.get('/entries/:seq{[0-9]+}', async (c) => {
    const seq = Number(c.req.param('seq'));
    const entry = ring.at(seq);
    if (entry === undefined) {
      const detail = `There is no entry ${seq}; the ring holds ${ring.oldest} to ${ring.latest}, and failures from ${ring.oldestFailure}.`;
      return failure(404, 'no-entry', detail);
    }
    return detailOf(seq, entry, 0);
  });
}

/** The members that a response of V2 lacks, and that each kept response of V1 to the same operation has. */
async function lackingIn(
  seq: number,
  { route, origin, operation, status }: Entry,
  { ring, capture }: Pick<InspectorParts['view'], 'ring' | 'capture'>,
): Promise<readonly string[]> {
  const own = capture.of(seq)?.clientResponse;
  const isOfV2 = route === 'migrate' && origin === undefined && status >= 200 && status < 300;
  if (own === undefined || !isOfV2 || operation === undefined) return [];
  const responses = new KeptResponses();
  for (let at = ring.latest; at > 0 && at >= ring.oldest; at -= 1) {
    const kept = capture.of(at);
    const entry = kept && ring.at(at);
    if (kept !== undefined && entry?.origin === 'v1' && entry.operation === operation)
      responses.add(entry, kept);
    if (at % ENTRIES_PER_STEP === 0) await pause();
  }
  return responses.lackingIn(own.body);
}

/** Returns the entries of a page for the query of its request, and the start of the next page; or the response to an invalid query. */
async function foundEntries(
  query: Readonly<Record<string, string>>,
  parts: InspectorParts,
): Promise<
  Response | { readonly found: Awaited<ReturnType<typeof searchEntries>>; readonly next: number | undefined }
> {
  const { view } = parts;
  const { ring } = view;
  const filter = parseFilter(query['filter'] ?? '', clientTexts(parts));
  if (isFilterFault(filter)) return failure(400, 'bad-filter', filter.message);
  const fault = queryFault(query, { limit: WHOLE_NUMBER, before: WHOLE_NUMBER });
  if (fault !== undefined) return failure(400, 'bad-query', fault);
  const limit = Math.min(MAX_PAGE_ENTRIES, wholeNumber(query['limit']) ?? 100);
  const before = wholeNumber(query['before']) ?? ring.latest + 1;
  const search = { before, limit: Math.max(1, limit), accepts: filter.accepts };
  const found = await searchEntries(view, search, pause);
  const last = found.at(-1);
  const isMore = last !== undefined && found.length >= limit && last.seq > ring.oldestFailure;
  return { found, next: isMore ? last.seq : undefined };
}

/** Says that an exchange is not kept here, and that other replicas may keep it. */
function notKept(replica: ReplicaView | undefined): string {
  if (replica === undefined || replica.replicas === 1) return 'No exchange with this request id is kept.';
  const { name, replicas, others = [] } = replica;
  const count = replicas === undefined ? 'other replicas' : counted(replicas - 1, 'other replica');
  const named = others.length === 0 ? '' : ` (${others.join(', ')})`;
  return `The replica ${name} keeps no exchange with this request id. Each replica keeps its own: ask the ${count}${named}, on the page or with tail --admin, or the logs.`;
}

/** Adds `/entries/:seq/har` and `/entries/:seq/case`: an exchange as a file. */
function exportRoutes(app: Hono, parts: InspectorParts): void {
  const { ring, capture } = parts.view;
  app.get('/entries/:seq{[0-9]+}/:format{har|case}', async (c) => {
    const seq = Number(c.req.param('seq'));
    const [entry, kept] = [ring.at(seq), capture.of(seq)];
    if (entry === undefined || kept === undefined)
      return failure(404, 'no-content', 'The content of this exchange is not kept.');
    const rules = parts.rulesOf(entry.ruleBook);
    const { version } = parts.stats();
    const gatewayOrigin = parts.gatewayOrigin();
    const { origin } = parts;
    const format = c.req.param('format') === 'har' ? 'har' : 'case';
    const ruleBook = rules?.ruleBook;
    return workResponse(
      { kind: 'export', format, version, entry, kept, ruleBook, gatewayOrigin, origin },
      rules,
      parts,
      format === 'har' ? harHeaders(seq) : { 'Content-Type': 'text/plain; charset=UTF-8' },
    );
  });
}

function harHeaders(seq: number): Readonly<Record<string, string>> {
  return {
    'Content-Type': 'application/json',
    'Content-Disposition': `attachment; filename="exchange-${seq}.har"`,
  };
}

/** The last `seq` that a reader received; 0 for a reader of the previous run, which gets every entry of this one. */
function resumeAt(eventId: string | undefined, { run }: InspectorParts): number | undefined {
  if (eventId === undefined || eventId === '') return undefined;
  const dash = eventId.lastIndexOf('-');
  return eventId.slice(0, dash) === run ? (wholeNumber(eventId.slice(dash + 1)) ?? 0) : 0;
}

function wholeNumber(text: string | undefined): number | undefined {
  return text === undefined ? undefined : readDecimal(text);
}

interface StreamParts {
  readonly ring: Ring;
  /** Returns the kept text of an exchange. */
  readonly contentOf: (seq: number) => string;
  /** Returns an entry as readers receive it. */
  readonly shown: (seq: number, entry: Entry) => NumberedEntry;
  /** Identifies this run in event ids, so that a reader of the previous run starts over. */
  readonly run: string;
  readonly filter: Filter;
  /** The `seq` of the last entry that the reader has received. */
  readonly after: number;
  readonly state: () => State;
  /** Calls `run` at a fixed interval until the returned function is called. */
  readonly every: (milliseconds: number, run: () => void) => () => void;
  /** Called when the reader connects; the returned function is called when it leaves. */
  readonly watch?: (() => () => void) | undefined;
}

/**
 * Streams entries as server-sent events. The ring is the only buffer: the stream does not wait for a slow reader, but reports the
 * entries that it missed in a `gap`.
 */
function entryStream(parts: StreamParts): Response {
  let stop: (() => void) | undefined;
  let leave: (() => void) | undefined;
  const body = new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        const reader = new StreamReader(parts);
        leave = parts.watch?.();
        controller.enqueue(encoder.encode(`retry: 1000\n\n${reader.state()}`));
        stop = parts.every(POLL_INTERVAL_MS, () => {
          if ((controller.desiredSize ?? 0) <= 0) return;
          const events = reader.poll();
          if (events !== '') controller.enqueue(encoder.encode(events));
        });
      },
      cancel: () => {
        stop?.();
        leave?.();
      },
    },
    { highWaterMark: 4 },
  );
  return new Response(body, {
    headers: { 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Accel-Buffering': 'no' },
  });
}

/** Reads the ring incrementally. */
class StreamReader {
  private readonly parts: StreamParts;
  private position: number;
  private polls = 0;
  private lastState = '';

  constructor(parts: StreamParts) {
    this.parts = parts;
    this.position = parts.after;
  }

  /** Returns the events since the last call; empty if there are none. */
  poll(): string {
    const { ring, filter, run, contentOf, shown } = this.parts;
    let events = '';
    const missed = ring.oldest - 1 - this.position;
    if (missed > 0) {
      const gap: StreamGap = { missed };
      events += `event: gap\ndata: ${jsonText(gap)}\n\n`;
      this.position = ring.oldest - 1;
    }
    const end = Math.min(ring.latest, this.position + MAX_ENTRIES_PER_POLL);
    for (let seq = this.position + 1; seq <= end; seq += 1) {
      const entry = ring.at(seq);
      if (entry === undefined || !filter.accepts(entry, () => contentOf(seq))) continue;
      events += `event: entry\nid: ${run}-${seq}\ndata: ${jsonText(shown(seq, entry))}\n\n`;
    }
    this.position = end;
    this.polls += 1;
    return this.polls % POLLS_PER_STATE === 0 ? events + this.state() : events;
  }

  /** Returns the state as an event, or a comment when it is unchanged. */
  state(): string {
    const state = this.parts.state();
    const text = JSON.stringify({ ...state, now: '' });
    if (text === this.lastState) return ': keep-alive\n\n';
    this.lastState = text;
    return `event: state\ndata: ${jsonText(state)}\n\n`;
  }
}
