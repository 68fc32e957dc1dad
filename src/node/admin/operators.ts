import { randomBytes } from 'node:crypto';
import type { Hono } from 'hono';
import type { Gateway } from '../../gateway/gateway.ts';
import type { GatewayParts } from '../../gateway/gateway-context.ts';
import type { CompiledRuleBook } from '../../rewrite/compiled-rule-book.ts';
import { memoryShares } from '../../settings/memory-shares.ts';
import { captureOptions } from '../../settings/capture-options.ts';
import type { Settings } from '../../settings/read-settings.ts';
import { settings as table } from '../../settings/settings.ts';
import type { PageFile } from '../../inspector/api.ts';
import type { ExplainParts } from '../../inspector/explain.ts';
import { createInspector } from '../../inspector/inspector.ts';
import type { Entry } from '../../rewrite-log/entry.ts';
import type { GatewayStats } from '../../rewrite-log/stat-families.ts';
import { FleetTotals } from '../../report/fleet/fleet-totals.ts';
import { GatewayTotals } from '../../report/gateway-totals.ts';
import type { RecordStore } from '../../rollout/record-store.ts';
import { SYSTEM_CLOCK } from '../system-clock.ts';
import type { Replica } from '../../rollout/replica.ts';
import type { Observer } from '../../rewrite-log/observer.ts';
import { OwnReports } from '../../inspector/own-reports.ts';
import { OperatorView } from '../../inspector/operator-view.ts';
import { findLoggedEntry } from '../log/find-logged-entry.ts';
import { openNamesFile } from './names-file.ts';
import type { LogQueue } from '../log/log-sink.ts';
import type { WriteProcessLine } from '../log/process-log.ts';
import { resendThrough } from './resend.ts';
import { OperatorThread } from '../threads/operator-thread.ts';
import { watchProcess } from './process-stats.ts';
import { createRolloutAdmin, type RolloutCounts } from '../../inspector/rollout-admin.ts';
import { warmUpWork } from '../../inspector/warm-up.ts';
import { memoryLimit } from '../memory-limit.ts';
import type { RuleBooks } from '../rule-books.ts';

/** Parts of the operators' side of a gateway. */
export interface OperatorParts {
  readonly settings: Settings;
  readonly ruleBooks: RuleBooks;
  readonly sink: Pick<LogQueue, 'dropped'>;
  /** Scheme, host and port of V2. */
  readonly origin: string;
  readonly gatewayOrigin: () => string;
  readonly version: string;
  readonly page: () => ReadonlyMap<string, PageFile>;
  /** The origin of V1, where there is one beside V2. */
  readonly v1Origin?: string | undefined;
  /** This gateway among those that share a store. */
  readonly replica?: Replica | undefined;
  /** Records that this gateway shares with its replicas; undefined without a store. */
  readonly records?: RecordStore | undefined;
  readonly log?: WriteProcessLine | undefined;
  /** Merges the stats of other processes with those of this one. */
  readonly merge?: ((own: GatewayStats) => GatewayStats) | undefined;
  /** Merges the counts of the rollout of other processes with those of this one. */
  readonly mergeRollout?: ((own: RolloutCounts) => RolloutCounts) | undefined;
  /** Receives each entry, such as an exporter of traces. */
  readonly onEntry?: ((entry: Entry) => void) | undefined;
  /** See `Observer.isSampled`. */
  readonly isSampled?: Observer['isSampled'];
}

/** Parts of a gateway that show operators its traffic. */
export interface Operators {
  readonly view: OperatorView;
  readonly observer: Observer;
  readonly admin: (gateway: Gateway) => Hono;
  /** Begins to share counts with other replicas; the function that it returns ends this, with what was counted last. */
  readonly share: () => () => Promise<void>;
  /** See `GatewayParts.ownReport`. */
  readonly ownReport: NonNullable<GatewayParts['ownReport']>;
}

/** Maximum number of earlier rule books whose entries can still be inspected. */
const BOOKS = 8;

const DAY_MS = 86_400_000;

/**
 * Returns why the settings of the admin listener are refused, as a sentence. It exposes traffic, so beyond loopback it requires a
 * token.
 */
export function adminFault(settings: Settings): string | undefined {
  const { host } = settings.get(table.adminListen);
  const isLoopback = host === 'localhost' || host === '::1' || host.startsWith('127.');
  const token = settings.get(table.adminToken);
  if (isLoopback || token !== undefined) return undefined;
  return `--admin-listen ${host} can be reached from other machines; set GATEWAY_ADMIN_TOKEN, or listen on 127.0.0.1.`;
}

/** Creates the store of recent exchanges, and the routes that show them. */
export async function createOperators(parts: OperatorParts): Promise<Operators> {
  const { settings, ruleBooks, sink, version } = parts;
  const capture = { ...captureOptions(settings, memoryShares(memoryLimit())), now: () => performance.now() };
  const view = new OperatorView({
    entries: settings.get(table.inspectorEntries),
    time: Date.now,
    onEntry: parts.onEntry,
    capture,
  });
  const books = new Books();
  const thread = new OperatorThread();
  const processStats = watchProcess();
  const { names, nameClient } = await openNamesFile(settings.get(table.clientNames));
  const logFile = settings.get(table.logFile);
  const run = randomBytes(4).toString('hex');
  const startedAt = Date.now();
  const fleet =
    parts.records &&
    new FleetTotals({
      records: parts.records,
      clock: SYSTEM_CLOCK,
      name: parts.replica?.name ?? run,
      id: randomBytes(8).toString('hex'),
      keepMs: settings.get(table.reportKeep) * DAY_MS,
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
    });
  const totals = fleet ?? new GatewayTotals(view.tally, startedAt);
  const observer: Observer = {
    bodyLimit: view.bodyLimit,
    begin: () => view.begin(),
    isSampled: parts.isSampled,
    logsValues: capture.mode === 'bodies' && capture.masks.length === 0,
    observe: (entry, captured) => {
      books.see(ruleBooks.current);
      view.observe(entry, captured);
    },
  };
  const statsOf = (gateway: Gateway): GatewayStats => ({
    version,
    inFlight: gateway.inFlight,
    bufferedBytes: gateway.budget.held,
    droppedLogLines: sink.dropped,
    breaker: gateway.v2.breaker.state,
    ruleBook: {
      hash: ruleBooks.current.ruleBook.hash,
      version: ruleBooks.current.ruleBook.version,
      since: ruleBooks.since,
      reloads: ruleBooks.reloads,
      refusedReloads: ruleBooks.refused,
      reloadSeconds: ruleBooks.reloadSeconds,
    },
    process: processStats(),
  });
  const countsOf = ({ rollout, comparisons, bodyChecks }: Gateway): RolloutCounts => ({
    requests: rollout.requests,
    comparisons,
    bodyChecks: { isOn: bodyChecks.isOn, tally: view.bodyChecks },
  });
  const admin = (gateway: Gateway): Hono =>
    createInspector({
      view,
      totals,
      run,
      startedAt,
      time: Date.now,
      stats: () => parts.merge?.(statsOf(gateway)) ?? statsOf(gateway),
      rules: () => ruleBooks,
      loggedEntry: logFile === undefined ? undefined : (id) => findLoggedEntry(logFile, id),
      rulesOf: (hash) => books.of(hash),
      limits: gateway.options,
      decode: gateway.parts.decode,
      runInThread: thread.run,
      watch: () =>
        thread.hold(() =>
          warmUpWork({
            ruleBook: ruleBooks.current.ruleBook,
            limits: plainLimits(gateway.options),
            gatewayOrigin: parts.gatewayOrigin(),
            origin: parts.origin,
          }),
        ),
      gatewayOrigin: parts.gatewayOrigin,
      origin: parts.origin,
      names,
      resend:
        settings.get(table.inspectorResend) === 'off'
          ? undefined
          : (request) => resendThrough(parts.gatewayOrigin(), request),
      nameClient,
      token: settings.get(table.adminToken),
      hosts: settings.get(table.adminHosts),
      every: (milliseconds, work) => {
        const timer = setInterval(work, milliseconds);
        return () => clearInterval(timer);
      },
      page: parts.page,
      rollout: createRolloutAdmin({
        control: gateway.rollout,
        counts: parts.mergeRollout?.(countsOf(gateway)) ?? countsOf(gateway),
        replica: parts.replica,
        hasStore: parts.records !== undefined,
        names,
        ruleBook: () => ruleBooks.current.ruleBook,
        v1Origin: parts.v1Origin,
        isSticky: settings.get(table.clientSecret) !== undefined,
      }),
    });
  const own = new OwnReports({ view, totals, time: Date.now, rules: () => ruleBooks });
  const share = (): (() => Promise<void>) => {
    fleet?.start();
    return () => fleet?.close() ?? Promise.resolve();
  };
  return { view, observer, admin, share, ownReport: (client, type) => own.of(client, type) };
}

/** Only what can be sent to a thread. */
function plainLimits({ count, bytes, bodyLimit, codings }: ExplainParts['limits']): ExplainParts['limits'] {
  return { count, bytes, bodyLimit, codings };
}

/** Remembers the rule books that were recently in force. */
class Books {
  private readonly known = new Map<string, CompiledRuleBook>();
  private last: CompiledRuleBook | undefined;

  see(rules: CompiledRuleBook): void {
    if (rules === this.last) return;
    this.last = rules;
    this.known.set(rules.ruleBook.hash, rules);
    const [oldest] = this.known.keys();
    if (this.known.size > BOOKS && oldest !== undefined) this.known.delete(oldest);
  }

  of(hash: string): CompiledRuleBook | undefined {
    return this.known.get(hash);
  }
}
