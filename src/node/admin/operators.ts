import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import type { Hono } from 'hono';
import type { GatewayParts } from '../../gateway/gateway-context.ts';
import { isAsked } from '../../rollout/modes-in-force.ts';
import type { RolloutControl } from '../../rollout/rollout-control.ts';
import type { Gateway } from '../../gateway/gateway.ts';
import type { PageFile } from '../../inspector/api.ts';
import type { DraftDesk } from '../../inspector/draft-desk.ts';
import { type InspectorParts, type RequestToResend, OwnReports } from '../../inspector/inspector-parts.ts';
import { createInspector } from '../../inspector/inspector.ts';
import { LogHistory, type LogHistoryParts } from '../../inspector/log-history.ts';
import { OperatorView } from '../../inspector/operator-view.ts';
import { saidFacts } from '../../inspector/routes/stat-routes.ts';
import { type RunInThread, warmUpWork } from '../../inspector/operator-work.ts';
import { OperationRollBack } from '../../inspector/roll-back.ts';
import { bookChangeWords } from '../../inspector/rollout-effect.ts';
import { createRolloutAdmin, type RolloutAdmin, type RolloutCounts } from '../../inspector/rollout-admin.ts';
import { FleetTotals } from '../../report/fleet/fleet-totals.ts';
import { OwnGaps } from '../../report/log-gaps.ts';
import { LoggedTotals } from '../../report/logged-totals.ts';
import { GatewayTotals, type ReportTotals } from '../../report/report-totals.ts';
import type { Entry } from '../../rewrite-log/entry.ts';
import type { Description } from '../../openapi/description.ts';
import type { GatewayStats } from '../../rewrite-log/metric-families.ts';
import type { Observer } from '../../rewrite-log/observer.ts';
import type { CompiledRuleBook } from '../../rewrite/compiled-rule-book.ts';
import { DEFAULT_ROLLBACK } from '../../rules/declared-rollout.ts';
import type { RollbackRule } from '../../rules/rollout.ts';
import { removesMember } from '../../rules/kinds/kinds.ts';
import { clientNames } from '../../rules/rule-book.ts';
import type { Replica } from '../../rollout/replica.ts';
import type { ChangeRecord } from '../../rollout/rollout-tally.ts';
import type { SharedState } from '../../rollout/shared-state.ts';
import { captureOptions, memoryShares, type Settings } from '../../settings/read-settings.ts';
import { settings as table } from '../../settings/settings.ts';
import type { LogQueue } from '../log/log-sink.ts';
import type { WriteProcessLine } from '../log/process-log.ts';
import type { RuleBooks } from '../rule-books.ts';
import { memoryLimit, SYSTEM_CLOCK } from '../runtime.ts';
import { operatorLimits, OperatorThread } from '../threads/operator-thread.ts';
import { watchProcess } from './admin-server.ts';
import type { NamesFault } from './names.ts';
import { shownNames } from '../../inspector/shown-names.ts';

export interface OperatorParts {
  readonly settings: Settings;
  readonly ruleBooks: RuleBooks;
  readonly sink: Pick<LogQueue, 'dropped' | 'droppedAt'>;
  /** Scheme, host and port of V2. */
  readonly origin: string;
  readonly gatewayOrigin: () => string;
  readonly version: string;
  /** The command that starts this program, as a person writes it. */
  readonly program: string;
  readonly page: () => ReadonlyMap<string, PageFile>;
  /** See `InspectorParts.draft`. */
  readonly draft?: DraftDesk | undefined;
  /** V1's origin, if there is one beside V2's. */
  readonly v1Origin?: string | undefined;
  /** This gateway among those that share a store. */
  readonly replica?: Replica | undefined;
  /** The store that replicas share; undefined without one. */
  readonly fleetStore?: SharedState | undefined;
  readonly log?: WriteProcessLine | undefined;
  /** Merges other processes' stats with this one's. */
  readonly merge?: ((own: GatewayStats) => GatewayStats) | undefined;
  /** Merges other processes' rollout counts with this one's. */
  readonly mergeRollout?: ((own: RolloutCounts) => RolloutCounts) | undefined;
  /** See `GatewayParts.v2Schemas`. */
  readonly v2Schemas?: GatewayParts['v2Schemas'];
  /** Receives each entry, for example to export traces. */
  readonly onEntry?: ((entry: Entry) => void) | undefined;
  /** Figures from other parts of the process, for the metrics. */
  readonly known?:
    | (() => Pick<GatewayStats, 'droppedSpans' | 'earlyEnds' | 'certificates' | 'missingInternals'>)
    | undefined;
  /** See `Observer.isSampled`. */
  readonly isSampled?: Observer['isSampled'];
}

/** Parts of a gateway that show operators its traffic. */
export interface Operators {
  readonly view: OperatorView;
  readonly observer: Observer;
  readonly admin: (gateway: Gateway, rollout: RolloutControl) => Hono;
  /** Begins to share counts with other replicas; the returned function shares the last counts and ends that. */
  readonly share: () => () => Promise<void>;
  /** See `GatewayParts.ownReport`. */
  readonly ownReport: NonNullable<GatewayParts['ownReport']>;
  /** See `NamesFile.reload`. */
  readonly reloadNames: NamesFile['reload'];
  /** The display names of clients now, by hash. */
  readonly names: () => ReadonlyMap<string, string>;
  /** Gaps in this gateway's counts. */
  readonly gaps: OwnGaps;
}

const DAY_MS = 86_400_000;
/** Milliseconds between two comparisons of the clock with the monotonic one. */
const CLOCK_CHECK_MS = 10_000;

/** Returns a sentence if the admin listener has no token though other machines can reach it: it exposes traffic. */
export function adminFault(settings: Settings): string | undefined {
  const { host } = settings.get(table.adminListen);
  const isLoopback = host === 'localhost' || host === '::1' || host.startsWith('127.');
  const token = settings.get(table.adminToken);
  if (isLoopback || token !== undefined) return undefined;
  return `${settings.nameOf(table.adminListen)} ${host} can be reached from other machines; set GATEWAY_ADMIN_TOKEN, or listen on 127.0.0.1.`;
}

/** Creates the store of recent exchanges, and the routes that show them. */
export async function createOperators(parts: OperatorParts): Promise<Operators> {
  const { settings, ruleBooks } = parts;
  const capture = { ...captureOptions(settings, memoryShares(memoryLimit())), now: () => performance.now() };
  const rule = (): RollbackRule => ruleBooks.current.ruleBook.rollout?.modes?.rollback ?? DEFAULT_ROLLBACK;
  const view = new OperatorView({
    entries: settings.constants.inspectorEntries,
    time: Date.now,
    onEntry: parts.onEntry,
    capture,
    rule,
    awaitsPast: () => history?.isAwaited() === true,
    onHarm: (trouble) => rollBack?.harmed(trouble),
  });
  let rollBack: OperationRollBack | undefined;
  const books = new RecentRuleBooks();
  const run = randomBytes(4).toString('hex');
  const startedAt = Date.now();
  // Known once there is a gateway whose state can be shown.
  let said: (() => string) | undefined;
  const fleet =
    parts.fleetStore && fleetTotals(parts, parts.fleetStore, view, { run, said: () => said?.() ?? '' });
  const historyThread = new OperatorThread({ ...operatorLimits(memoryLimit()), deadlineMs: HISTORY_MS });
  const history = logHistory(settings, view, startedAt, {
    run: (work) => historyThread.run(work),
    judged: () => ({ rule: rule(), moves: rollBack?.earlier ?? [] }),
  });
  const totals = fleet ?? ownTotals(settings, view, startedAt, history);
  const gaps = new OwnGaps(Date.now, () => performance.now());
  const state: OperatorState = {
    parts,
    view,
    totals,
    fleet,
    gaps,
    history,
    books,
    run,
    startedAt,
    thread: new OperatorThread(operatorLimits(memoryLimit())),
    planThread: new OperatorThread(operatorLimits(memoryLimit())),
    processStats: watchProcess(),
    namesFile: await openNamesFile(settings.get(table.clientNames)),
  };
  const ownReports = new OwnReports({ view, totals, time: Date.now, rules: () => ruleBooks });
  return {
    view,
    observer: {
      bodyLimit: view.bodyLimit,
      begin: () => view.begin(),
      isSampled: parts.isSampled,
      logsValues: capture.mode === 'bodies' && capture.masks.length === 0,
      observe: (entry, captured) => {
        books.add(ruleBooks.current);
        view.observe(entry, captured);
      },
    },
    admin: (gateway, control) => {
      rollBack = new OperationRollBack({
        control,
        ruleBook: () => ruleBooks.current.ruleBook,
        reloads: () =>
          ruleBooks.history.flatMap(({ at, hash, modesBefore }) =>
            hash === undefined ? [] : [{ at: new Date(at).toISOString(), modesBefore }],
          ),
        hasV1: parts.v1Origin !== undefined,
        onRollBack: (sentence) =>
          parts.log?.({ level: 'error', event: 'rollout-rolled-back', message: `rollout: ${sentence}` }),
      });
      control.watch((modes) => view.move((operation) => isAsked(modes, 'v2', operation)));
      const inspector = inspectorParts(state, gateway, { rollout: control, rollBack });
      said = () => saidFacts(inspector);
      return createInspector(inspector);
    },
    share: () => {
      fleet?.start();
      const checks = setInterval(() => gaps.checkClock(), CLOCK_CHECK_MS).unref();
      return () => {
        clearInterval(checks);
        return fleet?.close() ?? Promise.resolve();
      };
    },
    reloadNames: state.namesFile.reload,
    names: () => namesOf(state),
    ownReport: (client, type) => ownReports.of(client, type),
    gaps,
  };
}

/** The state behind the operators' routes. */
interface OperatorState {
  readonly parts: OperatorParts;
  readonly view: OperatorView;
  readonly totals: ReportTotals;
  /** The totals of all replicas; undefined without a store. */
  readonly fleet: FleetTotals | undefined;
  /** The log from before the start; undefined without a file. */
  readonly history: LogHistory | undefined;
  readonly gaps: OwnGaps;
  readonly books: RecentRuleBooks;
  /** A new value after each start. */
  readonly run: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly thread: OperatorThread;
  /** Separate, because a log takes longer to read than an explanation may wait. */
  readonly planThread: OperatorThread;
  readonly processStats: ReturnType<typeof watchProcess>;
  readonly namesFile: NamesFile;
}

/** What decides the modes in force. */
interface Controls {
  readonly rollout: RolloutControl;
  readonly rollBack: OperationRollBack;
}

/** Maximum milliseconds for reading the log. */
const HISTORY_MS = 60_000;

function logHistory(
  settings: Settings,
  view: OperatorView,
  startedAt: number,
  { run, judged }: Pick<LogHistoryParts, 'judged'> & { readonly run: RunInThread },
): LogHistory | undefined {
  const log = settings.get(table.logFile);
  if (log === undefined || log === 'off') return undefined;
  const keepMs = settings.constants.reportKeepDays * DAY_MS;
  return new LogHistory({
    view,
    startedAt,
    keepMs,
    judged,
    run: (work) => run({ ...work, logFile: resolve(log) }),
  });
}

/** Creates the totals of this gateway alone. */
function ownTotals(
  settings: Settings,
  view: OperatorView,
  startedAt: number,
  history: LogHistory | undefined,
): ReportTotals {
  if (history === undefined) return new GatewayTotals(view.tally, startedAt);
  const keepMs = settings.constants.reportKeepDays * DAY_MS;
  return new LoggedTotals({
    own: view.tally,
    startedAt,
    time: Date.now,
    keepMs,
    read: () => history.read(),
  });
}

/** Creates the totals of all replicas; logs when the store is lost and found again. */
function fleetTotals(
  parts: OperatorParts,
  state: SharedState,
  view: OperatorView,
  { run, said }: { readonly run: string; readonly said: () => string },
): FleetTotals {
  return new FleetTotals({
    state,
    clock: SYSTEM_CLOCK,
    name: parts.replica?.name ?? run,
    keepMs: parts.settings.constants.reportKeepDays * DAY_MS,
    onLost: (reason) =>
      parts.log?.({
        level: 'warn',
        event: 'store-lost',
        message: `report: counts of this replica are queued, because the store rejects them (${reason}).`,
      }),
    onFound: (aloneMs) =>
      parts.log?.({
        level: 'info',
        event: 'store-found',
        message: `report: counts are shared again after ${(aloneMs / 1000).toFixed(1)} s.`,
      }),
    own: () => view.tally,
    take: () => view.takeTally(),
    said,
  });
}

function inspectorParts(
  state: OperatorState,
  gateway: Gateway,
  { rollout, rollBack }: Controls,
): InspectorParts {
  const { parts, view, totals, gaps, books, run, startedAt, thread, namesFile } = state;
  const { settings, ruleBooks, gatewayOrigin, origin } = parts;
  const log = settings.get(table.logFile);
  const logFile = log === 'off' ? undefined : log;
  const { count, bytes, bodyLimit, codings } = gateway.options;
  const limits = { count, bytes, bodyLimit, codings };
  const ruleFile = resolve(settings.get(table.rules));
  const v2Description = (): Description | undefined => {
    const schemas = parts.v2Schemas?.();
    return schemas === undefined || schemas === 'unread' ? undefined : schemas.description;
  };
  return {
    view,
    totals,
    fleet: state.fleet,
    gaps: () => gaps.all,
    history: state.history,
    run,
    startedAt,
    time: Date.now,
    stats: () => {
      const own = gatewayStats(state, gateway);
      return parts.merge?.(own) ?? own;
    },
    rules: () => ruleBooks,
    ruleFile,
    v2Description,
    describedNames: async () => {
      const description = v2Description();
      if (description === undefined) return undefined;
      const { responseNames } = await import('../../openapi/response-names.ts');
      return (operation) => responseNames(description, operation);
    },
    loggedEntry:
      logFile === undefined
        ? undefined
        : async (id) => (await import('../log/find-entry.ts')).findLoggedEntry(logFile, id),
    planEnd:
      logFile === undefined
        ? undefined
        : (work) =>
            state.planThread.run({
              kind: 'plan',
              logFile: resolve(logFile),
              ruleFile,
              program: parts.program,
              ...work,
            }),
    loggedGuide:
      logFile === undefined
        ? undefined
        : (work) => state.planThread.run({ kind: 'guide', logFile: resolve(logFile), ...work }),
    rulesOf: (hash) => books.get(hash),
    limits,
    decode: gateway.parts.decode,
    hash: gateway.parts.hash,
    runInThread: thread.run,
    watch: () =>
      thread.hold(() =>
        warmUpWork({
          ruleBook: ruleBooks.current.ruleBook,
          limits,
          gatewayOrigin: gatewayOrigin(),
          origin,
        }),
      ),
    gatewayOrigin,
    origin,
    names: () => namesOf(state),
    resend:
      settings.get(table.inspectorResend) === 'off'
        ? undefined
        : (request) => resendThrough(gatewayOrigin(), request),
    nameClient: namesFile.nameClient,
    // Read for each request, because its file may be renewed.
    get token() {
      return settings.get(table.adminToken);
    },
    hosts: settings.get(table.adminHosts),
    every: (milliseconds, work) => {
      const timer = setInterval(work, milliseconds);
      return () => clearInterval(timer);
    },
    page: parts.page,
    draft: parts.draft,
    rollout: rolloutAdmin(state, gateway, { rollout, rollBack }),
    rollBack,
  };
}

/** Client names from the rule book, and from operators. */
function namesOf({ parts, namesFile }: OperatorState): ReadonlyMap<string, string> {
  return clientNames(parts.ruleBooks.current.ruleBook, namesFile.names());
}

function rolloutAdmin(state: OperatorState, gateway: Gateway, { rollout, rollBack }: Controls): RolloutAdmin {
  const { parts, view } = state;
  const { settings, ruleBooks, replica, fleetStore, v1Origin, mergeRollout } = parts;
  const { comparisons, bodyChecks } = gateway;
  const own: RolloutCounts = {
    requests: rollout.requests,
    comparisons,
    bodyChecks: {
      isOn: bodyChecks.isOn,
      tally: view.bodyChecks,
      warnings: (operations) => bodyChecks.warnings(operations),
    },
  };
  return createRolloutAdmin({
    control: rollout,
    counts: mergeRollout?.(own) ?? own,
    replica,
    hasStore: fleetStore !== undefined,
    names: () => shownNames(namesOf(state), state.view.traces.all),
    ruleBook: () => ruleBooks.current.ruleBook,
    rulesSince: () =>
      ruleBooks.rulesSince === undefined ? undefined : new Date(ruleBooks.rulesSince).toISOString(),
    reloads: () => reloadRecords(state, rollBack),
    removedBy: (member) =>
      ruleBooks.current.ruleBook.changes.find(({ request }) =>
        request.some((rule) => removesMember(rule, member)),
      )?.id,
    earlier: () => rollBack.earlier,
    v1Origin,
    isSticky: settings.get(table.clientSecret) !== undefined,
    onCommand: (sentence) =>
      parts.log?.({ level: 'info', event: 'rollout-changed', message: `rollout: ${sentence}` }),
  });
}

/** The reloads of the rule book, with the modes that they changed. */
function reloadRecords(state: OperatorState, rollBack: OperationRollBack): readonly ChangeRecord[] {
  const { ruleBooks, fleetStore, replica } = state.parts;
  const names = namesOf(state);
  const changed = new Map(
    rollBack.earlier.map(({ change, modes, after }) => [change.at, bookChangeWords(modes, after, names)]),
  );
  return ruleBooks.history.map(({ at: milliseconds, changed: parts = [], fault }) => {
    const at = new Date(milliseconds).toISOString();
    const words = [parts.join(', '), changed.get(at) ?? ''].filter((part) => part !== '').join('; ');
    return {
      at,
      kind: 'rule-book',
      what:
        fault === undefined ? `Rule book changed${words === '' ? '' : `: ${words}`}` : 'Rule book refused',
      ...(replica === undefined || fleetStore === undefined ? {} : { by: replica.status.name }),
      ...(fault === undefined ? {} : { why: fault }),
    };
  });
}

function gatewayStats({ parts, processStats }: OperatorState, gateway: Gateway): GatewayStats {
  const { ruleBooks } = parts;
  const { hash, version } = ruleBooks.current.ruleBook;
  return {
    version: parts.version,
    inFlight: gateway.inFlight,
    bufferedBytes: gateway.budget.held,
    droppedLogLines: parts.sink.dropped,
    lastDroppedLine: parts.sink.droppedAt,
    breaker: gateway.v2.breaker.state,
    v1Breaker: gateway.v1?.breaker.state,
    v2Contact: gateway.v2.breaker.contactAt(Date.now()),
    v1Contact: gateway.v1?.breaker.contactAt(Date.now()),
    ruleBook: {
      hash,
      version: version ?? '',
      since: ruleBooks.since,
      reloads: ruleBooks.reloads,
      refusedReloads: ruleBooks.refused,
      isStale: ruleBooks.refusal !== undefined,
      reloadSeconds: ruleBooks.reloadSeconds,
    },
    process: processStats(),
    ...parts.known?.(),
  };
}

/** Maximum number of rule books to keep. */
const MAX_RULE_BOOKS = 8;

/** The latest rule books in force, by hash, so that operators can still inspect their entries. */
export class RecentRuleBooks {
  private readonly byHash = new Map<string, CompiledRuleBook>();
  private last: CompiledRuleBook | undefined;

  /** Adds the rule book in force, and forgets the oldest one beyond the limit. */
  add(rules: CompiledRuleBook): void {
    if (rules === this.last) return;
    this.last = rules;
    this.byHash.delete(rules.ruleBook.hash);
    this.byHash.set(rules.ruleBook.hash, rules);
    const [oldest] = this.byHash.keys();
    if (this.byHash.size > MAX_RULE_BOOKS && oldest !== undefined) this.byHash.delete(oldest);
  }

  /** Returns a rule book; undefined when it is no longer kept. */
  get(hash: string): CompiledRuleBook | undefined {
    return this.byHash.get(hash);
  }
}

/** Milliseconds for each step of a request. */
const STEP_TIMEOUT_MS = 30_000;

/** Sends a request to the gateway's own listener like a client; returns the status, or undefined without a complete response. */
async function resendThrough(
  origin: string,
  { method, target, headers, body }: RequestToResend,
): Promise<number | undefined> {
  // Loaded on demand: a large library for a rarely used button.
  const { Agent, request } = await import('undici/index.js');
  const agent = new Agent({
    connect: { timeout: STEP_TIMEOUT_MS },
    headersTimeout: STEP_TIMEOUT_MS,
    bodyTimeout: STEP_TIMEOUT_MS,
  });
  try {
    const response = await request(`${origin}${target}`, {
      dispatcher: agent,
      method,
      headers: headers.flat(),
      body: body ?? null,
    });
    // Read to its end: dump() also resolves when the response breaks off.
    for await (const _ of response.body);
    return response.statusCode;
  } catch {
    return undefined;
  } finally {
    await agent.destroy();
  }
}

/** Display names of clients, by client hash. */
interface NamesFile {
  readonly names: () => ReadonlyMap<string, string>;
  /** Names a client, or removes its name; absent without a file. */
  readonly nameClient?: (client: string, name: string | undefined) => NamesFault | undefined;
  /** Reads the file again, and returns its faults as sentences. */
  readonly reload: () => readonly string[];
}

/** Opens the file of client names; only then it loads the YAML reader. */
async function openNamesFile(path: string | undefined): Promise<NamesFile> {
  if (path === undefined) return { names: () => NO_NAMES, reload: () => [] };
  const { ClientNames } = await import('./names.ts');
  const names = new ClientNames(path);
  return {
    names: () => names.current,
    reload: () => names.reload(),
    nameClient: (client, name) => names.name(client, name),
  };
}

const NO_NAMES: ReadonlyMap<string, string> = new Map();
