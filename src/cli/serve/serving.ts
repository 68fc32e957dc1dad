import { randomBytes } from 'node:crypto';
import type { DraftDesk } from '../../inspector/draft-desk.ts';
import { noticeLine } from '../../gateway/resilience.ts';
import { webhookSecretFaults } from '../../migrate/webhook-signature.ts';
import type { V2Schemas } from '../../gateway/v1/checks.ts';
import { createOperators, type OperatorParts, type Operators } from '../../node/admin/operators.ts';
import { listenFault } from '../../node/clients/listen.ts';
import { allocateYoung, missingPartsLine } from '../../node/node-internals.ts';
import { fewFilesLine, openFilesLimit } from '../../node/connection-limits.ts';
import { openTraces, type Traces } from '../../node/log/tracing.ts';
import { LimitedLines, type ProcessLine, type WriteProcessLine } from '../../node/log/process-log.ts';
import type { RunningReference } from '../../node/reference.ts';
import { rehearse } from '../../node/rehearsal.ts';
import { type OpenRollout, openRollout } from '../../node/rollout/open-rollout.ts';
import {
  type LoadedRuleBook,
  loadRuleBook,
  type RuleBookOutcome,
  RuleBooks,
  shippedSentence,
  secretReader,
} from '../../node/rule-books.ts';
import { IS_NODE } from '../../node/runtime.ts';
import { type RunningGateway, startGateway } from '../../node/start-gateway.ts';
import { CertificatesInUse, removeDrafts } from '../../node/files.ts';
import { type WorkerLink, mergedRollout } from '../../node/workers/worker-messages.ts';
import { mergedStats, WorkerFault, type WorkerPool } from '../../node/workers/worker-pool.ts';
import { count, counted } from '../../rules/words.ts';
import { clientField, keyFieldAtV1 } from '../../rewrite/client-key.ts';
import { parametersIn, printMatch } from '../../rules/move.ts';
import type { RuleBook } from '../../rules/rule-book.ts';
import { openQuestions, printFault } from '../../rules/rule-book-fault.ts';
import type { Settings } from '../../settings/read-settings.ts';
import { modesFile, type OriginSetting, originText, reachableOrigin } from '../../settings/setting-kinds.ts';
import { settings as table } from '../../settings/settings.ts';
import type { V2Description } from '../draft/v2-description.ts';
import { type LifeCycle, liveUntilSignal, type ProcessLog, refuseStart, stderrLog } from '../life-cycle.ts';
import { packageVersion } from '../program.ts';
import { type GivenSettings, givenSettings } from '../settings-file.ts';
import { addressWords, type Fact, factLines, program, reachable, terminalOf } from '../terminal.ts';
import {
  loadInspectorPage,
  openRewriteLog,
  reopenLog,
  type RewriteLog,
  ServingFiles,
} from './serving-files.ts';
import { type Preflight, preflight, workerFront, type WorkerFrontParts, workersOf } from './preflight.ts';

/** A serving gateway, with the embedded V2 if no other is configured. */
export interface Serving {
  readonly running: RunningGateway;
  readonly settings: Settings;
  readonly ruleBooks: RuleBooks;
  readonly life: LifeCycle;
}

/** Differences from a start by `serve`. */
interface StartOptions {
  /** Set in one of several worker processes. */
  readonly worker?: WorkerLink | undefined;
  /** Dated releases of the embedded V2; by default the first alone. */
  readonly releases?: readonly string[] | undefined;
  /** True to start with a rule book that has open questions. */
  readonly isForced?: boolean;
  /** Answers the questions of a draft on the page. */
  readonly draft?: DraftDesk | undefined;
}

/** An open part, or a sentence that says why it could not be opened. */
type OrFault<Part> = Part | { readonly fault: string };

/**
 * Starts everything that the settings configure. On failure, returns every fault and leaves nothing running.
 */
export async function startServing(
  given: GivenSettings,
  log: ProcessLog,
  { worker, releases, isForced = false, draft }: StartOptions = {},
): Promise<Serving | { readonly faults: readonly string[] }> {
  allocateYoung();
  const since = Date.now();
  const checked = await preflight(given);
  if ('faults' in checked) return checked;
  // The first process has checked the questions for its workers.
  const allowsQuestions = isForced || worker !== undefined;
  const questions = allowsQuestions ? [] : questionFaults(checked.ruleBook, checked.rulesPath);
  if (questions.length > 0) return { faults: questions };
  const { settings } = checked;
  const rollout = await openRollout(settings, checked.ruleBook.rules.ruleBook, log.write, {
    processes: workersOf(settings),
    store: worker?.store,
  });
  if ('fault' in rollout) return { faults: [rollout.fault] };
  const rewriteLog = worker ?? openRewriteLog(settings, log.write);
  if ('fault' in rewriteLog) {
    await rollout.close();
    return { faults: [rewriteLog.fault] };
  }
  if (worker === undefined) {
    warnOfFewFiles(settings, log.write);
    tidyUp(checked);
  }
  let embedded: RunningReference | undefined;
  try {
    embedded = settings.get(table.upstream) === undefined ? await embed(releases, log.write) : undefined;
    const serving = await serve({
      given,
      log,
      worker,
      since,
      checked,
      allowsQuestions,
      rollout,
      rewriteLog,
      embedded,
      draft,
    });
    if (!('fault' in serving)) return serving;
    await Promise.all([rollout.close(), embedded?.close()]);
    return { faults: [serving.fault] };
  } catch (error) {
    await Promise.all([rollout.close(), embedded?.close()]);
    return { faults: [startFault(error, settings)] };
  }
}

/** Open questions that a refused start names; `check` lists all. */
const MAX_NAMED_QUESTIONS = 3;

/** The number of the rule book's open questions, the first of them, and how to continue: in one line, as the log has one for each. */
function questionFaults({ text }: LoadedRuleBook, rulesPath: string): readonly string[] {
  const questions = openQuestions(text, rulesPath);
  if (questions.length === 0) return [];
  const named = questions
    .slice(0, MAX_NAMED_QUESTIONS)
    .map((question) => printFault(question).replace(/\.$/, ''));
  const more = questions.length - named.length;
  const rest = more === 0 ? '' : `; and ${count(more)} more, which check lists`;
  return [
    `${rulesPath} has ${counted(questions.length, 'open question')}: answer each and delete its line, or start with --force. ${named.join('; ')}${rest}`,
  ];
}

/** Removes files that killed gateways and commands have left beside the files that they replace. */
function tidyUp({ settings, rulesPath }: Preflight): void {
  const replaced = [modesFile(settings.get(table.store)), settings.get(table.clientNames), rulesPath];
  for (const path of replaced) if (path !== undefined) void removeDrafts(path);
}

/** Warns of a low limit on open files, only in the first process. */
function warnOfFewFiles(settings: Settings, log: WriteProcessLine): void {
  const line = fewFilesLine(settings, openFilesLimit());
  if (line !== undefined) log(line);
}

/** The parts that are open before the gateway begins to serve. */
interface Opened {
  readonly given: GivenSettings;
  readonly log: ProcessLog;
  readonly worker: WorkerLink | undefined;
  /** A time before the first file was read, in milliseconds since 1970. */
  readonly since: number;
  readonly checked: Preflight;
  /** True if a rule book with open questions may come into force, now or later. */
  readonly allowsQuestions: boolean;
  readonly rollout: OpenRollout;
  readonly rewriteLog: RewriteLog;
  readonly embedded: RunningReference | undefined;
  readonly draft: DraftDesk | undefined;
}

async function serve(opened: Opened): Promise<OrFault<Serving>> {
  const { log, worker, since, checked, rollout, rewriteLog, embedded } = opened;
  const { settings } = checked;
  const certificates = new CertificatesInUse();
  // Only the first process warns of the certificates' end.
  if (worker === undefined) {
    certificates.take('clients', checked.clientTls);
    certificates.take('v2', checked.upstreamTls);
  }
  const ruleBooks = openRuleBooks(opened);
  const hasV1 = settings.get(table.v1Upstream) !== undefined;
  // Each worker that checks bodies reads the same description; only the first process logs its gaps.
  const logDescription: WriteProcessLine = (line) => {
    if ((hasV1 && worker === undefined) || line.event !== 'v2-openapi-unchecked') log.write(line);
  };
  // Without V1 only *Try* on the page uses it, which is not worth memory at each start with the embedded reference.
  const isForTrials = worker === undefined && settings.get(table.v2Openapi) !== undefined;
  const description =
    hasV1 || isForTrials ? await openDescription(settings, embedded, ruleBooks, logDescription) : undefined;
  if (description !== undefined && 'fault' in description) return description;
  const v2Schemas = description && ((): V2Schemas => description.schemas);
  const limited = new LimitedLines(log.write);
  const onUnexpectedError = (error: unknown): void => reportBug(limited, error);
  const clientSecret = settings.get(table.clientSecret) ?? randomBytes(32).toString('hex');
  // Workers do not export traces themselves.
  const traces = worker === undefined ? await tracesOf(opened, ruleBooks) : undefined;
  const serving: { running?: RunningGateway } = {};
  const operators = await createOperators({
    ...operatorParts(opened, ruleBooks, traces),
    // The admin listener responds before the gateway serves clients: it warms transforms first.
    gatewayOrigin: () => serving.running?.origin ?? originToBe(checked),
    known: () => ({
      droppedSpans: traces?.dropped,
      earlyEnds: serving.running?.server.earlyEnds,
      missingInternals: serving.running?.missingInternals,
      certificates: certificates.ends,
    }),
    merge: (own) => mergedStats(own, front),
    mergeRollout: (own) => mergedRollout(own, () => front?.rollouts ?? []),
    v2Schemas,
  });
  const front =
    worker === undefined ? await workerFront(frontParts(opened, operators, clientSecret)) : undefined;
  // With workers, the first process serves no clients, and each worker rehearses for itself.
  if (front === undefined) await playBeforeReady(ruleBooks, settings, log.write);
  const running = await startGateway({
    environment: opened.given.environment,
    settings,
    ruleBooks,
    origin: originOf(settings, embedded),
    v1Origin: rollout.v1Origin,
    rollout: rollout.control,
    store: rollout.store,
    replica: rollout.replica,
    v2Schemas: hasV1 ? v2Schemas : undefined,
    clientSecret,
    record: (entry) => rewriteLog.record(entry, operators.names),
    upstreamTls: checked.upstreamTls,
    clientTls: checked.clientTls,
    observer: worker ?? operators.observer,
    admin: operators.admin,
    ownReport: worker?.ownReport ?? operators.ownReport,
    front,
    isWorker: worker !== undefined,
    onNotice: (notice) => {
      const { key, ...line } = noticeLine(notice);
      limited.add(key, line);
    },
    onUnexpectedError,
  });
  serving.running = running;
  if (worker === undefined) {
    const shipped = shippedSentence(checked.ruleBook);
    if (shipped !== undefined)
      log.write({
        // Not a warning with the embedded V2, for which the shipped rule book is right.
        level: embedded === undefined ? 'warn' : 'info',
        event: 'shipped-rule-book',
        message: `rule book: ${shipped}`,
      });
    log.write(startedLine(opened, running, ruleBooks.current.ruleBook));
    const missing = missingPartsLine(running.missingInternals);
    if (missing !== undefined) log.write(missing);
  }
  const files = new ServingFiles(
    {
      ...checked,
      running,
      ruleBooks,
      rollout,
      certificates,
      description,
      reloadNames: operators.reloadNames,
      names: operators.names,
      environment: opened.given.environment,
      log: log.write,
    },
    since,
  );
  const life = servingLifeCycle({
    ...opened,
    running,
    onUnexpectedError,
    files,
    certificates,
    traces,
    front,
    description,
    endSharing: operators.share(),
  });
  return { running, settings, ruleBooks, life };
}

/** Plays exchanges before ready, on Node only: its effect on other runtimes is unmeasured. */
async function playBeforeReady(
  { current }: RuleBooks,
  settings: Settings,
  log: WriteProcessLine,
): Promise<void> {
  if (!IS_NODE) return;
  try {
    await rehearse(current, settings);
  } catch (error) {
    log({
      level: 'info',
      event: 'not-rehearsed',
      message: `start: the exchanges that warm up the gateway before it is ready failed (${error instanceof Error ? error.message : String(error)}), so the first requests take longer.`,
    });
  }
}

function openRuleBooks({ checked, allowsQuestions, rollout, given }: Opened): RuleBooks {
  const { settings, rulesPath, ruleBook } = checked;
  const load = async (): Promise<RuleBookOutcome> => {
    const next = await loadRuleBook(rulesPath, settings.nameOf(table.rules));
    if ('faults' in next) return next;
    const faults = allowsQuestions ? [] : [...questionFaults(next, rulesPath)];
    const fault = rollout.faultOf(next.rules.ruleBook);
    if (fault !== undefined) faults.push(fault);
    faults.push(...webhookSecretFaults(next.rules.ruleBook, secretReader(given.environment)));
    return faults.length === 0 ? next : { faults };
  };
  return new RuleBooks(ruleBook, load, () => Date.now());
}

function tracesOf({ log }: Opened, ruleBooks: RuleBooks): Promise<Traces | undefined> {
  const tell = (trouble: string): void =>
    log.write({ level: 'warn', event: 'trace-trouble', message: `traces: ${trouble}.` });
  return openTraces(packageVersion(), tell, () => ruleBooks.current.prefixes);
}

function operatorParts(
  { checked: { settings }, rewriteLog, rollout, embedded, log, draft }: Opened,
  ruleBooks: RuleBooks,
  traces: Traces | undefined,
): Omit<OperatorParts, 'gatewayOrigin' | 'known'> {
  return {
    settings,
    ruleBooks,
    sink: rewriteLog,
    origin: originOf(settings, embedded).origin,
    v1Origin: rollout.v1Origin?.origin,
    replica: rollout.replica,
    fleetStore: rollout.fleetStore,
    log: log.write,
    version: packageVersion(),
    program: program(),
    page: once(loadInspectorPage),
    draft,
    onEntry: traces === undefined ? undefined : (entry) => traces.observe(entry),
    isSampled: traces?.isSampled,
  };
}

function frontParts(
  { checked: { settings }, given: { flags }, rewriteLog, rollout, embedded, log }: Opened,
  { observer, ownReport, gaps, names }: Operators,
  clientSecret: string,
): WorkerFrontParts {
  return {
    settings,
    flags,
    upstream: originText(originOf(settings, embedded)),
    v2Openapi: descriptionSource(settings, embedded),
    clientSecret,
    record: (entry) => rewriteLog.record(entry, names),
    observe: (entry, captured) => observer.observe(entry, captured),
    onLost: (number, from, how) => gaps.addWorkerEnd(number, from, how),
    ownReport,
    store: rollout.store,
    log: log.write,
  };
}

function once<Result>(work: () => Result): () => Result {
  let done: { readonly result: Result } | undefined;
  return () => (done ??= { result: work() }).result;
}

/** Logs an unexpected error; counts repetitions, so that an attacker cannot fill the log. */
function reportBug(limited: LimitedLines, error: unknown): void {
  const { message, stack } = error instanceof Error ? error : { message: String(error), stack: undefined };
  limited.add(`bug ${message}`, {
    level: 'error',
    event: 'unexpected-error',
    message: `bug: ${message}`,
    fields: { stack },
  });
}

async function embed(
  releases: readonly string[] | undefined,
  log: WriteProcessLine,
): Promise<RunningReference> {
  const { startReference } = await import('../../node/reference.ts');
  return startReference({
    unknown: 'refuse',
    rate: 0,
    ...(releases === undefined ? {} : { releases }),
    report: (error) =>
      log({
        level: 'error',
        event: 'reference-error',
        message: `reference: ${error instanceof Error ? error.message : String(error)}`,
        fields: { stack: error instanceof Error ? error.stack : undefined },
      }),
  });
}

function originOf(settings: Settings, embedded: RunningReference | undefined): OriginSetting {
  const set = settings.get(table.upstream);
  if (set !== undefined) return set;
  return { origin: embedded?.origin ?? '', path: '' };
}

/** Opens V2's description, to check bodies that go to V1 instead of V2, or that a trial makes; the embedded reference has its own. */
async function openDescription(
  settings: Settings,
  embedded: RunningReference | undefined,
  ruleBooks: RuleBooks,
  log: WriteProcessLine,
): Promise<V2Description | { readonly fault: string } | undefined> {
  const source = descriptionSource(settings, embedded);
  if (source === undefined) return undefined;
  const description = await import('../draft/v2-description.ts');
  return description.V2Description.open(source, () => ruleBooks.current.ruleBook.operations, log);
}

function descriptionSource(settings: Settings, embedded: RunningReference | undefined): string | undefined {
  return settings.get(table.v2Openapi) ?? (embedded && `${embedded.origin}/api/v2/openapi.json`);
}

/** Where the gateway will serve clients; with port 0 the system chooses another. */
function originToBe({ settings, clientTls }: Preflight): string {
  return reachableOrigin(settings.get(table.listen), clientTls === undefined ? 'http' : 'https');
}

function startFault(error: unknown, settings: Settings): string {
  if (error instanceof WorkerFault) return error.message;
  const refused = listenFault(error);
  if (refused === undefined) throw error;
  const all = [table.listen, table.adminListen];
  const concerned = all.filter((setting) => settings.get(setting).port === refused.port);
  const names = (concerned.length === 0 ? all : concerned).map((setting) => settings.nameOf(setting));
  return `cannot listen: ${refused.fault}; choose another address with ${names.join(' or ')}.`;
}

/** Everything that reloads and stops with a serving gateway. */
interface ServingParts extends Opened {
  readonly running: RunningGateway;
  readonly onUnexpectedError: (error: unknown) => void;
  readonly files: ServingFiles;
  readonly certificates: CertificatesInUse;
  readonly traces: Traces | undefined;
  readonly front: WorkerPool | undefined;
  readonly description: V2Description | undefined;
  /** Adds the last counts to those that all replicas share. */
  readonly endSharing: () => Promise<void>;
}

/** Milliseconds of the drain time reserved for flushing each log. */
const FLUSH_TIMEOUT_MS = 300;

/** Returns the functions that reload, stop and flush a serving gateway. */
function servingLifeCycle(parts: ServingParts): LifeCycle {
  const { running, log, files, certificates, rewriteLog } = parts;
  const warnOfEnds = (): void => {
    for (const line of certificates.dueLines(Date.now())) log.write(line);
  };
  warnOfEnds();
  setInterval(warnOfEnds, CERTIFICATE_CHECK_MS).unref();
  return {
    watched: files.watched,
    drain: parts.checked.settings.get(table.drain),
    onUnexpectedError: parts.onUnexpectedError,
    onHangup: () => {
      // First, because the log rotator may be about to compress the old file.
      reopenLog(rewriteLog, log.write);
      return files.reload();
    },
    reloadFile: (what) => files.reloadFile(what),
    destroyAll: () => running.server.destroyAll(),
    stop: () => stop(parts),
    flush: () => flush(parts),
  };
}

/** Milliseconds between two checks of the certificates' ends. */
const CERTIFICATE_CHECK_MS = 3_600_000;

async function stop(parts: ServingParts): Promise<void> {
  const { running, log, description, endSharing, rollout, embedded } = parts;
  log.write({
    level: 'info',
    event: 'draining',
    message: 'stopping: finishing requests in flight.',
    fields: { inFlight: running.gateway.inFlight },
  });
  await running.stop();
  const { unfinished = 0 } = running.server;
  if (unfinished > 0) {
    log.write({
      level: 'warn',
      event: 'drain-ended',
      message: `stopping: the drain time is over; ${counted(unfinished, 'unfinished request')} ended with ${unfinished === 1 ? 'its connection' : 'their connections'}.`,
      fields: { inFlight: unfinished },
    });
  }
  description?.close();
  await endSharing();
  await rollout.close();
  await embedded?.close();
}

async function flush({ rewriteLog, front, log, traces }: ServingParts): Promise<void> {
  await Promise.all([rewriteLog.flush(FLUSH_TIMEOUT_MS), traces?.close(FLUSH_TIMEOUT_MS)]);
  const dropped = rewriteLog.dropped + (front?.dropped ?? 0);
  if (dropped > 0) {
    const message = `log: ${counted(dropped, 'line')} ${dropped === 1 ? 'was' : 'were'} lost.`;
    log.write({ level: 'warn', event: 'log-trouble', message, fields: { dropped } });
  }
  log.write({ level: 'info', event: 'stopped', message: 'stopped.' });
  await log.flush(FLUSH_TIMEOUT_MS);
}

/** Runs the gateway until SIGTERM or SIGINT, then exits. A refused start sets exit code 2. */
export async function serveUntilSignal(
  flags: Readonly<Record<string, string | undefined>>,
  isForced: boolean,
): Promise<void> {
  const given = await givenSettings(flags, process.env);
  const log = stderrLog(given);
  const started = await startServing(given, log, { isForced });
  if ('faults' in started) {
    await refuseStart(log, started.faults);
    return;
  }
  process.exit(await liveUntilSignal(started.life));
}

/** The process log line with addresses and rule book; its text is the human-readable banner. */
function startedLine(opened: Opened, running: RunningGateway, book: RuleBook): ProcessLine {
  const { origin, path } = originOf(opened.checked.settings, opened.embedded);
  return {
    level: 'info',
    event: 'started',
    message: `capture-gateway ${packageVersion()} serves clients on ${running.origin}.`,
    text: banner(opened, running, book),
    fields: {
      version: packageVersion(),
      node: process.versions.node,
      clients: running.origin,
      admin: running.adminOrigin,
      upstream: `${origin}${path}`,
      ruleBook: book.hash,
    },
  };
}

/** The human-readable banner: addresses, rule book, and a request to paste. */
function banner(
  { checked: { settings, ruleBook, rulesPath }, embedded }: Opened,
  running: RunningGateway,
  book: RuleBook,
): string {
  const upstream = settings.get(table.upstream);
  const assumed = book.operations.filter((operation) => operation.assumed).length;
  const secret = settings.get(table.clientSecret);
  const v2 =
    upstream === undefined
      ? `the embedded reference at ${embedded?.origin ?? ''} (set GATEWAY_UPSTREAM for another)`
      : originText(upstream);
  const facts: readonly Fact[] = [
    ['clients', addressWords(running.origin)],
    ['admin', addressWords(running.adminOrigin)],
    ['V2', v2],
    [
      'rule book',
      `${ruleBook.shippedAt ?? rulesPath}: ${counted(book.operations.length, 'operation')}, ${counted(book.changes.length, 'change')}, hash ${book.hash}`,
    ],
    ...(assumed === 0
      ? []
      : [
          [
            '',
            `${counted(assumed, 'path')} ${assumed === 1 ? 'is an assumption' : 'are assumptions'} (see check)`,
          ] as const,
        ]),
    ...(secret === undefined
      ? [['', 'client hashes change at each start (set GATEWAY_CLIENT_SECRET to keep them)'] as const]
      : []),
  ];
  const example = exampleRequest(reachable(running.origin), book);
  return [
    `capture-gateway ${packageVersion()} on ${runtimeText(process.versions)}`,
    ...factLines(facts, 11, terminalOf(process.stderr).columns),
    '',
    `Open ${reachable(running.adminOrigin)} to see each request and its result.`,
    // Last, so that all the text after it can be pasted.
    ...(example.length === 0 ? [] : ['', ...example]),
    '',
  ].join('\n');
}

/**
 * A request to paste: an order for the property-capture API, or a read for another API, with a key in the place that its rule book names.
 */
export function exampleRequest(origin: string, book: RuleBook): readonly string[] {
  const { from: v1, operations } = book;
  if (operations.some(({ method, template }) => method === 'POST' && template === '/orders/floor_plans'))
    return [
      'Order a floor plan as a V1 client does:',
      `  curl -i ${origin}${v1}/orders/floor_plans -H 'Authorization: Bearer any-key' -H 'Content-Type: application/json' \\`,
      `    -d '{"data":{"property":{"display_name":"Harbour Loft","street_address":"1 Main St","suburb":"Enmore","state":"NSW","postcode":"2042","country":"Australia"}}}'`,
    ];
  const reads = operations.filter(({ method, gone }) => method === 'GET' && gone === undefined);
  const read =
    reads.find(({ template, query }) => parametersIn(template).length === 0 && query === undefined) ??
    reads[0];
  if (read === undefined) return [];
  const [path = '', query] = printMatch(read)
    .slice('GET '.length)
    .replaceAll(/\{[^{}]*\}/g, '1')
    .split('?');
  const client = clientField(book);
  const queries = [query, ...('query' in client ? [`${client.query}=any-key`] : [])]
    .filter(Boolean)
    .join('&');
  const field = keyFieldAtV1(book, 'any-key');
  const key = field === undefined ? '' : ` -H '${field.join(': ')}'`;
  return [
    'Read as a V1 client does:',
    `  curl -i '${origin}${v1}${path}${queries === '' ? '' : `?${queries}`}'${key}`,
  ];
}

/** Names the runtime; Bun and Deno also report the version of Node that they imitate. */
function runtimeText({ bun, deno, node = '' }: Readonly<Record<string, string | undefined>>): string {
  if (bun !== undefined) return `Bun ${bun}`;
  return deno === undefined ? `Node ${node}` : `Deno ${deno}`;
}
