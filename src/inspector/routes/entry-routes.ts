import { readDecimal } from '../../http/decimal.ts';
import type { Hono } from 'hono';
import { isFilterFault, parseFilter, printFilter } from '../../rewrite-log/filter/filter.ts';
import type { Entry } from '../../rewrite-log/entry.ts';
import type { EntriesPage, EntryDetail } from '../api.ts';
import { entryHistogram } from '../entries/entry-histogram.ts';
import { entryStream } from './entry-stream.ts';
import { errorGroups } from '../entries/error-groups.ts';
import { failureBody } from '../entries/failure-body.ts';
import { jsonResponse, pause } from './json-response.ts';
import { queryFault, WHOLE_NUMBER } from './query-fault.ts';
import { contentOf, searchEntries } from '../entries/search-entries.ts';
import { stateOf } from './stat-routes.ts';
import { workResponse } from './work-response.ts';
import type { InspectorParts } from '../inspector-parts.ts';

/** Maximum entries on one page of the API. */
const MAX_PAGE_ENTRIES = 500;

/** Adds `/entries`, `/entries/histogram`, `/entries/stream`, `/entries/find`, `/entries/:seq` and its exports, and `/errors`. */
export function entryRoutes(app: Hono, parts: InspectorParts): void {
  exportRoutes(app, parts);
  const { ring, capture } = parts.view;
  const detailOf = (seq: number, entry: Entry, namesakes: number): Promise<Response> => {
    const { run, origin } = parts;
    const rules = parts.rulesOf(entry.ruleBook);
    const ruleBook = rules?.ruleBook;
    return workResponse(
      { kind: 'entry', run, seq, entry, kept: capture.of(seq), ruleBook, origin, namesakes },
      rules,
      parts,
    );
  };
  app.get('/entries', async (c) => {
    const filter = parseFilter(c.req.query('filter') ?? '');
    if (isFilterFault(filter)) return c.json(failureBody(400, 'bad-filter', filter.message), 400);
    const fault = queryFault(c.req.query(), { limit: WHOLE_NUMBER, before: WHOLE_NUMBER });
    if (fault !== undefined) return c.json(failureBody(400, 'bad-query', fault), 400);
    const limit = Math.min(MAX_PAGE_ENTRIES, wholeNumber(c.req.query('limit')) ?? 100);
    const before = wholeNumber(c.req.query('before')) ?? ring.latest + 1;
    const search = { before, limit: Math.max(1, limit), accepts: filter.accepts };
    const found = await searchEntries(parts.view, search, pause);
    const last = found.at(-1);
    const page: EntriesPage = {
      run: parts.run,
      entries: found.map(({ seq, entry }) => Object.assign({ seq }, entry)),
      ...(last !== undefined && found.length >= limit && last.seq > ring.oldestFailure
        ? { next: last.seq }
        : {}),
      oldest: ring.oldest,
      oldestFailure: ring.oldestFailure,
      latest: ring.latest,
    };
    return jsonResponse(page);
  });
  app.get('/entries/histogram', async (c) => {
    const filter = parseFilter(c.req.query('filter') ?? '');
    if (isFilterFault(filter)) return c.json(failureBody(400, 'bad-filter', filter.message), 400);
    const range = parseFilter(printFilter(filter.terms.filter(({ field }) => field === 'time')));
    const inRange = isFilterFault(range) ? filter.accepts : range.accepts;
    return c.json(await entryHistogram(parts.view, { accepts: filter.accepts, inRange }, pause));
  });
  app.get('/errors', async () => jsonResponse(await errorGroups(parts.view, pause)));
  app.get('/entries/stream', (c) => {
    const filter = parseFilter(c.req.query('filter') ?? '');
    if (isFilterFault(filter)) return c.json(failureBody(400, 'bad-filter', filter.message), 400);
    const fault = queryFault(c.req.query(), { after: WHOLE_NUMBER });
    if (fault !== undefined) return c.json(failureBody(400, 'bad-query', fault), 400);
    const after =
      resumeAt(c.req.header('last-event-id'), parts) ?? wholeNumber(c.req.query('after')) ?? ring.latest;
    return entryStream({
      ring,
      contentOf: (seq) => contentOf(capture, seq),
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
    if (fault !== undefined) return c.json(failureBody(400, 'bad-query', fault), 400);
    const id = c.req.query('id') ?? '';
    const found = ring.withRequestId(id);
    const hinted = wholeNumber(c.req.query('n'));
    const one = found.find(({ seq }) => seq === hinted) ?? found[0];
    if (one !== undefined) return detailOf(one.seq, one.entry, found.length - 1);
    const logged = id === '' ? undefined : await parts.loggedEntry?.(id);
    if (logged === undefined)
      return c.json(failureBody(404, 'no-entry', 'No exchange with this request id is kept.'), 404);
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
      return c.json(failureBody(404, 'no-entry', detail), 404);
    }
    return detailOf(seq, entry, 0);
  });
}

/** Adds `/entries/:seq/har` and `/entries/:seq/case`: an exchange as a file. */
function exportRoutes(app: Hono, parts: InspectorParts): void {
  const { ring, capture } = parts.view;
  app.get('/entries/:seq{[0-9]+}/:format{har|case}', async (c) => {
    const seq = Number(c.req.param('seq'));
    const [entry, kept] = [ring.at(seq), capture.of(seq)];
    if (entry === undefined || kept === undefined)
      return c.json(failureBody(404, 'no-content', 'The content of this exchange is not kept.'), 404);
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

/** A reader of the previous run receives every entry of this one. */
function resumeAt(eventId: string | undefined, { run }: InspectorParts): number | undefined {
  if (eventId === undefined || eventId === '') return undefined;
  const dash = eventId.lastIndexOf('-');
  return eventId.slice(0, dash) === run ? (wholeNumber(eventId.slice(dash + 1)) ?? 0) : 0;
}

function wholeNumber(text: string | undefined): number | undefined {
  return text === undefined ? undefined : readDecimal(text);
}
