import type { Hono } from 'hono';
import { isFilterFault, parseFilter } from '../rewrite-log/filter.ts';
import type { EntriesPage } from './api.ts';
import { entryStream } from './entry-stream.ts';
import { failureBody } from './failure-body.ts';
import { jsonResponse } from './json-response.ts';
import { stateOf } from './stat-routes.ts';
import { workResponse } from './work-response.ts';
import type { InspectorParts } from './inspector-parts.ts';

/** Maximum entries on one page of the API. */
const MAX_PAGE_ENTRIES = 500;

/** Adds `/entries`, `/entries/stream` and `/entries/:seq`. */
export function entryRoutes(app: Hono, parts: InspectorParts): void {
  const { ring, capture } = parts.view;
  app.get('/entries', (c) => {
    const filter = parseFilter(c.req.query('filter') ?? '');
    if (isFilterFault(filter)) return c.json(failureBody(400, 'bad-filter', filter.message), 400);
    const limit = Math.min(MAX_PAGE_ENTRIES, wholeNumber(c.req.query('limit')) ?? 100);
    const before = wholeNumber(c.req.query('before')) ?? ring.latest + 1;
    const found = ring.before(before, Math.max(1, limit), filter.accepts);
    const last = found.at(-1);
    const page: EntriesPage = {
      run: parts.run,
      entries: found.map(({ seq, entry }) => Object.assign({ seq }, entry)),
      ...(last !== undefined && found.length >= limit && last.seq > ring.oldest ? { next: last.seq } : {}),
      oldest: ring.oldest,
      latest: ring.latest,
    };
    return jsonResponse(page);
  });
  app.get('/entries/stream', (c) => {
    const filter = parseFilter(c.req.query('filter') ?? '');
    if (isFilterFault(filter)) return c.json(failureBody(400, 'bad-filter', filter.message), 400);
    const after =
      resumeAt(c.req.header('last-event-id'), parts) ?? wholeNumber(c.req.query('after')) ?? ring.latest;
    return entryStream({
      ring,
      run: parts.run,
      filter,
      after: Math.min(after, ring.latest),
      state: () => stateOf(parts),
      every: parts.every,
    });
  });
  app.get('/entries/:seq{[0-9]+}', async (c) => {
    const seq = Number(c.req.param('seq'));
    const entry = ring.at(seq);
    if (entry === undefined) {
      const detail = `There is no entry ${seq}; the ring holds ${ring.oldest} to ${ring.latest}.`;
      return c.json(failureBody(404, 'no-entry', detail), 404);
    }
    const rules = parts.rulesOf(entry.ruleBook);
    const { run, origin } = parts;
    const ruleBook = rules?.ruleBook;
    return workResponse(
      { kind: 'entry', run, seq, entry, kept: capture.of(seq), ruleBook, origin },
      rules,
      parts,
    );
  });
}

/** A reader of the previous run receives every entry of this one. */
function resumeAt(eventId: string | undefined, { run }: InspectorParts): number | undefined {
  if (eventId === undefined || eventId === '') return undefined;
  const dash = eventId.lastIndexOf('-');
  return eventId.slice(0, dash) === run ? (wholeNumber(eventId.slice(dash + 1)) ?? 0) : 0;
}

function wholeNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
