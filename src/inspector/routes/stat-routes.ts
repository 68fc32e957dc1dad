import { NO_KEY } from '../../rewrite-log/entry.ts';
import type { Hono } from 'hono';
import { dateText, type GuideDocument } from '../../report/guide/guide-document.ts';
import { guideLetter, guideMail, guideMessage } from '../../report/guide/guide-letter.ts';
import { GUIDE_POLICY, guideMarkdown } from '../../report/guide/guide-text.ts';
import { AVOIDED_FORM, avoidedDays, listedDays } from '../../report/plan/avoided-days.ts';
import { Zone } from '../../report/plan/zone.ts';
import { isZone } from '../../rules/kinds/date-format.ts';
import { reportCsvLines, reportMarkdownParts } from '../../report/report-text.ts';
import { makeReportInSteps, type Report } from '../../report/report.ts';
import { exchangeFamilies, rolloutFamilies, statFamilies } from '../../rewrite-log/metric-families.ts';
import type { ChangeRecord, ReplicaView, RolloutView } from '../../rollout/rollout-tally.ts';
import { DEFAULT_ROLLBACK } from '../../rules/declared-rollout.ts';
import { GONE_AFTER_DAYS } from '../../rules/rollout.ts';
import type { IsAsked } from '../../rewrite-log/history.ts';
import type { OperationTrouble } from '../../rewrite-log/health/trouble.ts';
import type { ClientTrace } from '../../rewrite-log/observer.ts';
import { METRICS_TYPE, printMetrics } from '../../rewrite-log/metrics.ts';
import { SERIES_STEPS } from '../../rewrite-log/traffic-series.ts';
import type { LoggedHistory } from '../log-history.ts';
import { marksUntil } from '../marks.ts';
import { timelineOf } from '../timeline.ts';
import type { EndPlan, Overview, ProblemsScreen, ProblemsView, SeriesView, State, Status } from '../api.ts';
import { unfitCalls } from '../../report/client-report.ts';
import { declaredTimes } from '../end-of-v1.ts';
import { type ConditionFacts, RECENT_MINUTES, REPORTED_MS } from '../condition.ts';
import { conditionsOf } from '../conditions.ts';
import { operationEvents } from '../operation-conditions.ts';
import { askedIn } from '../rollout-effect.ts';
import {
  addFacts,
  type FleetFacts,
  printFacts,
  readFacts,
  type ReplicaFacts,
  toldTroubles,
} from '../fleet-facts.ts';
import { isFilterFault, parseFilter } from '../../rewrite-log/filter.ts';
import { errorGroups, problemsAmong } from '../entries/search-entries.ts';
import { type InspectorParts, clientGuide, clientTexts, namesOfResponses } from '../inspector-parts.ts';
import { SMALL_LOG } from '../operator-view.ts';
import type { PlanWork, RunInThread } from '../operator-work.ts';
import { overviewOf, stateSentence } from '../overview.ts';
import { apart } from '../problems.ts';
import { failure, jsonResponse, partsResponse, pause, queryFault } from './responses.ts';
import { shownNames } from '../shown-names.ts';

const DAYS = {
  accepts: (value: string): boolean => /^\d{1,4}$/.test(value) && Number(value) > 0,
  words: 'a number of days from 1 to 9999',
};
const ZONE = {
  accepts: isZone,
  words: 'the name of a time zone such as Europe/Berlin',
};
const AVOID = {
  accepts: (text: string) => typeof avoidedDays(listedDays(text)) === 'function',
  words: `days without a brownout (${AVOIDED_FORM}; several with commas)`,
};
const PLAN_QUERY = { zone: ZONE, own: ZONE, lead: DAYS, avoid: AVOID };
const MARKDOWN_TYPE = 'text/markdown; charset=utf-8';
const GUIDE_HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': `${GUIDE_POLICY}; frame-ancestors 'none'`,
};
const MESSAGE_HEADERS = {
  'Content-Type': 'message/rfc822',
  'Content-Disposition': 'attachment; filename="guide.eml"',
};
const CSV_TYPE = 'text/csv; charset=utf-8';
const CSV_HEADERS = { 'Content-Disposition': 'attachment; filename="v1-clients.csv"' };

const MAX_FAULTS = 20;

/** Milliseconds for which a plan is reused, so that the log is not read for each request. */
const PLAN_MS = 60_000;

/** Maximum bytes of a plan from a small log. */
const SMALL_PLAN_BYTES = 64 * 1024;

/** Minutes over which the state counts where requests went; few, so that a mode that was just chosen soon shows. */
const SENT_MINUTES = 5;

/** Adds `/overview`, `/problems`, `/state`, `/status`, `/series`, `/metrics`, `/report`, `/plan` and `/timeline`. */
export function statRoutes(app: Hono, parts: InspectorParts): void {
  const { view, time } = parts;
  const plans = endPlans(parts, () => stateOf(parts).replica?.name);
  app.get('/state', () => jsonResponse(stateOf(parts)));
  app.get('/status', () => {
    // The operations' past is available from the next call on, so that no request waits for a large log.
    void parts.history?.read();
    const { conditions, end, ...state } = stateOf(parts);
    const { own: _, ...verdict } = state.verdict;
    const dated = <Said extends { readonly sentence: string }>(said: Said): Said => ({
      ...said,
      sentence: withDates(said.sentence, end),
    });
    return jsonResponse({
      verdict: dated(verdict),
      conditions: conditions.map(dated),
    } satisfies Status);
  });
  app.get('/problems', async (c) => {
    const filter = parseFilter(c.req.query('filter') ?? '', clientTexts(parts));
    if (isFilterFault(filter)) return failure(400, 'bad-filter', filter.message);
    const isWhole = filter.terms.length === 0;
    const before = await parts.history?.read();
    const report = isWhole ? await reportOf(parts) : undefined;
    // Both begin at one moment: later entries are not among the groups.
    const all = problemsOf(parts, before);
    const groups = await errorGroups(view, pause, filter);
    return jsonResponse({
      ...(isWhole
        ? { ...all, problems: apart(all.problems) }
        : await problemsAmong(view, all, filter.accepts, pause)),
      errorGroups: groups,
      unfit: unfitCalls(report?.clients ?? []),
    } satisfies ProblemsScreen);
  });
  app.get('/overview', async (c) => {
    const fault = queryFault(c.req.query(), { by: SERIES_STEPS });
    return fault === undefined
      ? jsonResponse(await overview(parts, stepIn(c.req.query('by'))))
      : failure(400, 'bad-query', fault);
  });
  const planFor = ({
    zone,
    own = 'UTC',
    lead,
    avoid = '',
  }: Readonly<Record<string, string>>): Promise<Response> =>
    plans({
      zone: zone ?? parts.rules().current.ruleBook.zone ?? own,
      lead: lead === undefined ? undefined : Number(lead),
      avoid: listedDays(avoid),
    });
  app.get('/plan', async (c) => {
    const fault = queryFault(c.req.query(), PLAN_QUERY);
    return fault === undefined ? await planFor(c.req.query()) : failure(400, 'bad-query', fault);
  });
  app.get('/timeline', async (c) => {
    const fault = queryFault(c.req.query(), PLAN_QUERY);
    if (fault !== undefined) return failure(400, 'bad-query', fault);
    const [response, report] = await Promise.all([planFor(c.req.query()), reportOf(parts)]);
    const plan: Partial<EndPlan> = response.status === 200 ? await response.json() : {};
    return jsonResponse(
      timelineOf({
        now: time(),
        rollout: parts.rollout?.view(),
        clients: report.clients,
        proposal: plan.proposal,
        noProposal: plan.made?.join(' ') ?? 'The log could not be read for a plan.',
      }),
    );
  });
  app.get('/series', async (c) => {
    const fault = queryFault(c.req.query(), { by: SERIES_STEPS });
    if (fault !== undefined) return failure(400, 'bad-query', fault);
    const before = await parts.history?.read();
    return jsonResponse(seriesOf(parts, stepIn(c.req.query('by')), before));
  });
  app.get('/metrics', () => {
    const { from, to, operations } = parts.rules().current.ruleBook;
    const templates = new Map(operations.map(({ id, template }) => [id, template]));
    const families = [
      ...exchangeFamilies(view.metrics, { from, to, templateOf: (operation) => templates.get(operation) }),
      ...statFamilies(parts.stats(), view.capture.held),
      ...(parts.rollout === undefined ? [] : rolloutFamilies(parts.rollout.view())),
    ];
    return new Response(printMetrics(families), { headers: { 'Content-Type': METRICS_TYPE } });
  });
  app.get('/report', async (c) => {
    const client = c.req.query('client');
    const fault = queryFault(c.req.query(), {
      format: client === undefined ? ['json', 'csv', 'md'] : ['json', 'html', 'md', 'mail', 'eml'],
      'gone-after': DAYS,
    });
    if (fault !== undefined) return failure(400, 'bad-query', fault);
    if (client !== undefined) {
      const made = await guideOf(client, parts);
      if (made === undefined) return failure(404, 'no-client', noGuide(parts));
      const [agent] = view.traces.all.get(made.client)?.userAgents ?? [];
      const guide = agent === undefined ? made : { ...made, agent };
      const wanted = c.req.query('format');
      if (wanted === 'json') return jsonResponse(guide);
      if (wanted === 'html') return c.body(guideLetter(guide), 200, GUIDE_HEADERS);
      if (wanted === 'mail') return c.text(guideMail(guide));
      if (wanted === 'eml') return c.body(guideMessage(guide), 200, MESSAGE_HEADERS);
      return c.body(guideMarkdown(guide), 200, { 'Content-Type': MARKDOWN_TYPE });
    }
    const days = c.req.query('gone-after');
    const report = await reportOf(parts, days === undefined ? undefined : Number(days));
    const format = c.req.query('format') ?? acceptedFormat(c.req.header('accept') ?? '');
    if (format === 'csv') return partsResponse(reportCsvLines(report), CSV_TYPE, CSV_HEADERS);
    if (format === 'md') return partsResponse(reportMarkdownParts(report), MARKDOWN_TYPE);
    return jsonResponse(report);
  });
}

function stepIn(by: string | undefined): SeriesView['by'] {
  return SERIES_STEPS.find((step) => step === by) ?? 'minute';
}

/** The problems of this gateway, since the start of its log. */
function problemsOf(parts: InspectorParts, before: LoggedHistory | undefined): ProblemsView {
  const { view, time, startedAt } = parts;
  const since = before?.since === undefined ? startedAt : Date.parse(before.since);
  return view.problems.view(time(), Math.min(startedAt, since), parts.names(), isAskedOf(parts));
}

/** The traffic of this gateway over time, with what changed and what happened as marks. */
function seriesOf(
  parts: InspectorParts,
  by: SeriesView['by'],
  before: LoggedHistory | undefined,
): SeriesView {
  const { view, time, startedAt } = parts;
  const points = view.series.points(by, time(), startedAt);
  const since = new Date(Math.min(startedAt, view.series.since ?? startedAt)).toISOString();
  return {
    by,
    since,
    known: [
      before?.since === undefined
        ? `Counted by this gateway since ${since}.`
        : `Counted by this gateway since ${new Date(startedAt).toISOString()}; before that, since ${since}, from ${before.logFile}.`,
      ...(before?.unread ?? []),
    ].join(' '),
    points,
    marks: marksOf(parts),
  };
}

/** The marks of charts over time. */
export function marksOf(parts: InspectorParts): readonly ChangeRecord[] {
  const { view, rollout, time } = parts;
  return marksUntil({
    now: time(),
    rollout: rollout?.view(),
    outages: view.history.outages.all,
    faults: operationEvents(conditionFacts(parts, fleetFacts(parts))),
  });
}

/** Makes the report from the counts of this gateway or of all replicas. */
export async function reportOf(parts: InspectorParts, goneAfterDays?: number): Promise<Report> {
  const now = new Date(parts.time()).toISOString();
  const { tally, gaps } = await parts.totals.tally(pause);
  const known = parts.totals.coverage();
  const { ruleBook } = parts.rules().current;
  const names = parts.names();
  const own = parts.gaps?.() ?? [];
  const coverage = {
    ...known,
    get gaps() {
      return [...known.gaps, ...own, ...gaps];
    },
  };
  const options = {
    drift: parts.rollout?.view().shadows.filter(({ verified }) => verified === true) ?? [],
    now,
    observed: { since: new Date(coverage.since).toISOString(), until: now },
    coverage,
    names,
    agents: shownNames(names, parts.view.traces.all),
    ends: ruleBook.rollout?.ends,
    end: ruleBook.rollout,
    ruleBook: ruleBook.hash,
    rules: ruleBook,
    operations: ruleBook,
    goneAfterDays,
  };
  return await makeReportInSteps(tally, options, pause);
}

/** Returns a function that makes plans for the end of V1, and reuses recent ones. */
export function endPlans(
  {
    planEnd,
    time,
    names,
    rules,
    view,
  }: Pick<InspectorParts, 'planEnd' | 'time' | 'names' | 'rules'> & {
    readonly view: { readonly traces: { readonly all: ReadonlyMap<string, ClientTrace> } };
  },
  replica: () => string | undefined,
): (choices: Required<Pick<PlanWork, 'zone' | 'avoid'>> & Pick<PlanWork, 'lead'>) => Promise<Response> {
  const plans = new Map<string, { readonly until: number; readonly made: ReturnType<RunInThread> }>();
  return async ({ zone, lead, avoid }) => {
    if (planEnd === undefined) {
      const made = [
        'No plan: this gateway writes no log file. Set --log-file, or save its stdout and run capture-gateway plan with it.',
      ];
      return jsonResponse({ zone, made, parts: [], clients: [] } satisfies EndPlan);
    }
    const now = time();
    for (const [key, { until }] of plans) if (until <= now) plans.delete(key);
    const { current, text } = rules();
    const { rollout, hash } = current.ruleBook;
    const known = names();
    const key = JSON.stringify([hash, zone, lead, avoid, [...known]]);
    let plan = plans.get(key);
    if (plan === undefined) {
      const name = replica();
      const made = planEnd({
        now,
        zone,
        lead,
        avoid,
        ruleText: text,
        goneAfterDays: GONE_AFTER_DAYS,
        names: shownNames(known, view.traces.all),
        rollout,
        operations: current.ruleBook,
        whose:
          name && `It is the log of the replica ${name} alone: capture-gateway plan reads all logs together.`,
      });
      plan = { until: now + PLAN_MS, made };
      plans.set(key, plan);
    }
    const { status, bytes } = await plan.made.catch((error: unknown) => {
      plans.delete(key);
      throw error;
    });
    if (status !== 200 || isOfSmallLog(bytes)) plans.delete(key);
    return new Response(new Uint8Array(bytes), { status, headers: { 'Content-Type': 'application/json' } });
  };
}

/** True for a plan from a small log, which is made for each request: the log is read quickly, and each new request of a client changes the plan. */
function isOfSmallLog(bytes: Uint8Array): boolean {
  if (bytes.length > SMALL_PLAN_BYTES) return false;
  const { exchanges = 0 }: EndPlan = JSON.parse(new TextDecoder().decode(bytes));
  return exchanges < SMALL_LOG;
}

/** The first view; after its awaits, all of it is counted at once. */
async function overview(parts: InspectorParts, by: SeriesView['by']): Promise<Overview> {
  const { view, rules, time } = parts;
  const before = await parts.history?.read();
  const [report, errors] = await Promise.all([
    reportOf(parts),
    errorGroups(view, pause, { ruleBook: rules().current.ruleBook.hash }),
  ]);
  const { current, since } = rules();
  const facts = fleetFacts(parts);
  const rollout = parts.rollout?.view();
  const problems = problemsOf(parts, before);
  const { days, clients } = report;
  const known = overviewOf({
    sums: facts.sums,
    lastHour: facts.lastHour,
    replicas: facts.replicas,
    startedAt: new Date(facts.startedAt).toISOString(),
    now: time(),
    origin: parts.gatewayOrigin(),
    errors,
    report,
    failing: problems.problems.flatMap(({ operation, until }) =>
      operation === undefined || until !== undefined ? [] : [operation],
    ),
    rules: {
      hash: current.ruleBook.hash,
      loadedAt: new Date(since).toISOString(),
      operations: current.ruleBook.operations.length,
      changes: current.ruleBook.changes.length,
      gone: current.ruleBook.operations.flatMap(({ id, gone }) => (gone === undefined ? [] : [id])),
    },
    rollout,
  });
  return {
    ...known,
    state: stateOf(parts, facts),
    problems: { ...problems, problems: apart(problems.problems) },
    ...(rollout === undefined ? {} : { rollout }),
    series: seriesOf(parts, by, before),
    days,
    ...(clients.some(({ client }) => client === NO_KEY) ? { isKeyless: true } : {}),
  };
}

function isAskedOf({ rollout, rollBack, time }: InspectorParts): IsAsked | undefined {
  return rollout && askedIn(rollout.view(), rollBack?.earlier ?? [], time());
}

/** The facts that this replica counts itself for the verdict and for the marks of charts. */
function ownFacts(parts: InspectorParts): ReplicaFacts {
  const { view, startedAt, rules, time, stats } = parts;
  const now = time();
  const { ruleBook, ...own } = stats();
  const { breaker, v1Breaker, v2Contact, v1Contact, droppedLogLines, lastDroppedLine, certificates } = own;
  const { refusal, since } = rules();
  // Also what was over long ago: the marks of charts stay.
  const operations = view.health.troubles(now, Infinity);
  return {
    startedAt,
    sums: view.history.sums,
    notices: view.history.notices.counts,
    countedFrom: parts.history?.countedFrom ?? startedAt,
    recent: view.history.recentFailures(now, RECENT_MINUTES, isAskedOf(parts)),
    lastResponses: view.history.lastResponses,
    lastHour: view.history.lastHour(now),
    wellSince: view.health.wellSince,
    fresh: view.problems.fresh(now, isAskedOf(parts), operations),
    operations,
    agents: agentsOf(operations, view.traces.all),
    watched: view.health.watched,
    stats: { breaker, v1Breaker, v2Contact, v1Contact, droppedLogLines, lastDroppedLine, certificates },
    ruleBook: ruleBook.hash,
    ruleBookSince: since,
    refusal: refusal && { faults: refusal.faults.length, at: refusal.at },
  };
}

/** By which `User-Agent` people recognise each client that such trouble hits. */
function agentsOf(
  operations: readonly OperationTrouble[],
  traces: ReadonlyMap<string, ClientTrace>,
): Readonly<Record<string, string>> {
  const hit = operations.flatMap((one) => one.hit);
  if (hit.length === 0) return {};
  const shown = shownNames(new Map(), traces);
  return Object.fromEntries(
    hit.flatMap((client) => {
      const agent = shown.get(client);
      return agent === undefined ? [] : [[client, agent] as const];
    }),
  );
}

/** The facts of the other running replicas. */
function heardFacts({ fleet, time }: InspectorParts): readonly ReplicaFacts[] {
  return (fleet?.heard ?? []).flatMap(({ text, ageMs }) => readFacts(text, time() - ageMs) ?? []);
}

/** The facts for other replicas as a text; from then on, requests for the operations that fail there are counted here. */
export function saidFacts(parts: InspectorParts): string {
  const now = parts.time();
  const failing = heardFacts(parts)
    .flatMap(({ operations }) => operations.filter(({ until = now }) => now - until < REPORTED_MS))
    .map(({ operation }) => operation);
  parts.view.health.watch([...new Set(failing)], now);
  const facts = ownFacts(parts);
  return printFacts({ ...facts, operations: toldTroubles(facts.operations, now - REPORTED_MS) }, now);
}

/** The facts of all replicas. */
function fleetFacts(parts: InspectorParts): FleetFacts {
  const { modes } = parts.rules().current.ruleBook.rollout ?? {};
  return addFacts(ownFacts(parts), heardFacts(parts), modes?.rollback ?? DEFAULT_ROLLBACK);
}

function conditionFacts(parts: InspectorParts, facts: FleetFacts): ConditionFacts {
  const { fleet, names, time, rollout, rollBack } = parts;
  const { silent = [] } = fleet ?? {};
  return {
    ...facts,
    refusal: facts.refusal,
    names: names(),
    now: time(),
    rollout: rollout?.view(),
    isAsked: isAskedOf(parts),
    ...(facts.replicas + silent.length > 1 ? { fleet: { ...facts, silent } } : {}),
    rolledBack: rollBack?.standing,
    modeOnV1: (operation) => rollBack?.modeOnV1(operation),
  };
}

/** The content of the page's header. */
export function stateOf(parts: InspectorParts, facts = fleetFacts(parts)): State {
  const { view, run, startedAt, time, stats, origin, rules, resend, token } = parts;
  const { version, ruleBook, inFlight, droppedLogLines, droppedSpans = 0 } = stats();
  const { refusal } = rules();
  const rollout = parts.rollout?.view();
  const { mode, masks, maxEntries, maxBytes, structurePerSecond } = view.capture.options;
  const now = time();
  const { replicas } = facts;
  const conditions = conditionsOf(conditionFacts(parts, facts));
  return {
    run,
    startedAt: new Date(startedAt).toISOString(),
    now: new Date(now).toISOString(),
    version,
    ruleBook: ruleBook.hash,
    origin,
    capture: { mode, masks, maxEntries, maxBytes, ...view.capture.held },
    latest: view.ring.latest,
    perSecond: view.history.perSecond(now),
    structurePerSecond,
    inFlight,
    droppedLogLines,
    droppedSpans,
    canResend: resend !== undefined,
    canLogOut: token !== undefined,
    conditions,
    verdict: view.verdicts.of(conditions, {
      requests: facts.sums.all,
      lastHour: facts.lastHour,
      replicas,
      since: facts.wellSince ?? facts.startedAt,
      changedAt: parts.rollBack?.earlier[0]?.at,
      brownouts: rollout?.brownouts,
      fresh: facts.fresh,
      now,
    }),
    counts: stateSentence({
      sums: facts.sums,
      origin: parts.gatewayOrigin(),
      startedAt: new Date(facts.startedAt).toISOString(),
    }),
    sent: view.series.sent(now, startedAt, SENT_MINUTES),
    ...replicaOf(rollout?.replica),
    ...endOf(rules().current.ruleBook.zone, rollout),
    ...refusedRuleBook(refusal),
  };
}

/** This replica; undefined if it runs alone. */
export function replicaOf(replica: ReplicaView | undefined): Pick<State, 'replica'> {
  const { name, replicas = 1 } = replica ?? {};
  return name === undefined || replicas === 1 ? {} : { replica: { name, replicas } };
}

function endOf(zone: string | undefined, rollout: RolloutView | undefined): Pick<State, 'end'> {
  const times = rollout === undefined ? [] : declaredTimes(rollout);
  if (zone === undefined && times.length === 0) return {};
  return { end: { ...(zone === undefined ? {} : { zone }), times } };
}

/** The sentence with the dates of V1's end in the rule book's zone, as guides give them. */
function withDates(sentence: string, { zone = 'UTC', times = [] }: NonNullable<State['end']> = {}): string {
  return times.reduce(
    (words, time) => words.replaceAll(time, () => dateText(Date.parse(time), new Zone(zone))),
    sentence,
  );
}

function refusedRuleBook(
  refusal: ReturnType<InspectorParts['rules']>['refusal'],
): Pick<State, 'refusedRuleBook'> {
  if (refusal === undefined) return {};
  const { at, faults } = refusal;
  return {
    refusedRuleBook: {
      at: new Date(at).toISOString(),
      faults: faults.slice(0, MAX_FAULTS),
      omitted: Math.max(0, faults.length - MAX_FAULTS),
    },
  };
}

/** The guide for one client, from the entries still in the ring, or from the log file if that has more. */
async function guideOf(given: string, parts: InspectorParts): Promise<GuideDocument | undefined> {
  const { view, rules, names, totals, loggedGuide, time } = parts;
  const namesOf = await namesOfResponses(parts);
  const { guide, samples } = await clientGuide(given.toLowerCase(), view, pause, namesOf);
  const [client = guide.client, ...others] = guide.clients;
  if (others.length > 0) return undefined;
  const { ruleBook } = rules().current;
  const { tally } = await totals.tally(pause);
  const { strips } = tally.census.result(undefined, ruleBook);
  const name = names().get(client);
  const now = new Date(time()).toISOString();
  const isWhole = guide.requests >= (totals.client(client)?.v1.count ?? 0);
  const logged = isWhole
    ? undefined
    : await loggedGuide?.({ client, ruleBook, name, strips, samples, now }).catch(() => undefined);
  if (logged?.status === 200) {
    const document: GuideDocument = JSON.parse(new TextDecoder().decode(logged.bytes));
    if (document.requests > guide.requests) return document;
  }
  return guide.requests === 0
    ? undefined
    : guide.document(ruleBook, name, { inForce: ruleBook.hash, unknown: strips, samples, now });
}

function noGuide({ totals }: InspectorParts): string {
  if (totals.coverage().kind === 'gateway') return 'No single client with recent V1 requests matches.';
  return 'No single client with recent V1 requests to this replica matches; a guide is made from the requests that one replica keeps, or has in its log.';
}

function acceptedFormat(accept: string): 'json' | 'csv' | 'md' {
  if (accept.includes('text/csv')) return 'csv';
  return accept.includes('text/markdown') ? 'md' : 'json';
}
