import { isTraced, openSampler } from '../node/log/tracing.ts';
import { captureBodyLimit, readSetting } from '../settings/read-settings.ts';
import { constants, settings as table } from '../settings/settings.ts';
import { watchProcess } from '../node/admin/admin-server.ts';
import type { WriteProcessLine } from '../node/log/process-log.ts';
import { CaptureRate } from '../rewrite-log/capture.ts';
import {
  type FromWorker,
  isToWorker,
  StoreLink,
  type ToWorker,
  ReportRequests,
  WorkerLink,
} from '../node/workers/worker-messages.ts';
import { setExitDeadline } from './life-cycle.ts';
import { PROCESSES_FLAG } from './serve/preflight.ts';
import { startServing } from './serve/serving.ts';

// One of the processes that share the port (`workers`). It ignores signals, which a terminal sends to every process; the first process
// handles them.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR1'] as const) process.on(signal, () => {});

/** Milliseconds between two reports of statistics to the first process. */
const REPORT_INTERVAL_MS = 1000;
/** Maximum milliseconds to flush the log at exit. */
const FLUSH_TIMEOUT_MS = 400;

process.once('message', (message) => {
  if (isToWorker(message) && message.kind === 'start') void serve(message);
});

async function serve({ flags }: Extract<ToWorker, { kind: 'start' }>): Promise<void> {
  const sources = { flags, environment: process.env };
  const share = Math.ceil(constants.structureRate / Number(flags[PROCESSES_FLAG]));
  const rate = new CaptureRate(share, () => performance.now());
  const level = readSetting(table.capture, sources);
  const reports = new ReportRequests(send);
  const store = new StoreLink((id, call) => send({ kind: 'store-call', id, call }));
  process.on('message', (message) => {
    if (!isToWorker(message)) return;
    if (message.kind === 'own-report') reports.settle(message.id, message.outcome);
    if (message.kind === 'store-outcome') store.settle(message.id, message.outcome);
    if (message.kind === 'store-changed') store.changed(message.key);
  });
  const link = new WorkerLink({
    send,
    ownReport: (client, type) => reports.of(client, type),
    store,
    isSampled: isTraced(process.env) ? await openSampler() : undefined,
    bodyLimit: captureBodyLimit(readSetting(table.captureMemory, sources) ?? 0),
    wanted: () => (level === 'bodies' ? 'bodies' : rate.next()),
  });
  const write: WriteProcessLine = (line) => send({ kind: 'process-line', line });
  const log = { write, flush: () => Promise.resolve() };
  const started = await startServing(sources, log, { worker: link });
  if ('faults' in started) {
    send({ kind: 'faults', faults: started.faults }, () => process.exit(2));
    return;
  }
  const { running, settings, life } = started;
  process.on('uncaughtException', life.onUnexpectedError);
  const processStats = watchProcess();
  const report = (done?: () => void): void => {
    const { inFlight, budget, v1, v2, rollout, comparisons } = running.gateway;
    const stats = {
      inFlight,
      bufferedBytes: budget.held,
      breaker: v2.breaker.state,
      v1Breaker: v1?.breaker.state,
      v2Contact: v2.breaker.contactAt(Date.now()),
      v1Contact: v1?.breaker.contactAt(Date.now()),
      process: processStats(),
      dropped: link.dropped,
      droppedAt: link.droppedAt,
      earlyEnds: running.server.earlyEnds ?? { handshakes: {}, proxyHeaders: {} },
      rollout: { requests: rollout.requests, shadows: comparisons.list },
    };
    send({ kind: 'stats', stats }, done);
  };
  let stopping = false;
  const stop = async (): Promise<void> => {
    if (stopping) return;
    stopping = true;
    setExitDeadline(settings.get(table.drain));
    await life.stop();
    await link.flush(FLUSH_TIMEOUT_MS);
    await new Promise<void>((resolve) => {
      report(resolve);
    });
    process.exit(0);
  };
  process.on('message', (message) => {
    if (!isToWorker(message)) return;
    if (message.kind === 'reload') void life.reloadFile(message.what);
    if (message.kind === 'renew' && message.use === 'clients') running.server.renew(message.tls);
    if (message.kind === 'renew' && message.use === 'v2') running.renewUpstream(message.tls);
    if (message.kind === 'ticket-keys') running.server.useTicketKeys?.(message.keys);
    if (message.kind === 'client-secret') running.renewClientSecret(message.secret);
    if (message.kind === 'stop') void stop();
    if (message.kind === 'destroy-all') {
      running.server.destroyAll();
      process.exit(1);
    }
  });
  // If the first process is gone, nothing else would ever stop this one.
  process.on('disconnect', () => void stop());
  if (!process.connected) void stop();
  setInterval(() => report(), REPORT_INTERVAL_MS).unref();
  report();
  send({ kind: 'listening', origin: running.origin });
}

function send(message: FromWorker, done: () => void = () => {}): void {
  if (process.connected) process.send?.(message, done);
  else done();
}
