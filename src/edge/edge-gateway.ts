import { Gateway } from '../gateway/gateway.ts';
import type { V2Schemas } from '../gateway/v1/body-checks.ts';
import { noticeLine } from '../gateway/notice.ts';
import { modesInForce, needsV1 } from '../rollout/modes.ts';
import { gatewayOptions } from '../settings/gateway-options.ts';
import { memoryShares } from '../settings/memory-shares.ts';
import { readSettings, type Settings } from '../settings/read-settings.ts';
import type { OriginSetting } from '../settings/setting-kinds.ts';
import { settingConflicts } from '../settings/setting-conflicts.ts';
import { environmentName, settings as table } from '../settings/settings.ts';
import type { Upstream } from '../gateway/upstream.ts';
import type { Entry } from '../rewrite-log/entry.ts';
import { CompiledRuleBook } from '../rewrite/compiled-rule-book.ts';
import { logWriter } from '../rewrite-log/log-writer.ts';
import { hexOf } from '../rules/digest.ts';
import type { RuleBook } from '../rules/rule-book.ts';
import { createClientHash } from './client-hash.ts';
import { decodeBody } from './decode-body.ts';
import { dataPoint, type EdgeBindings, environmentOf } from './edge-bindings.ts';
import { edgeProcessLine } from './edge-process-line.ts';
import { createFetchUpstream } from './fetch-upstream.ts';
import { structureObserver } from './structure-observer.ts';

/** The parts of a gateway on a platform. */
export interface EdgeGatewayParts {
  readonly bindings: EdgeBindings;
  readonly ruleBook: RuleBook;
  /** V2's request schemas, if the bundle has them. */
  readonly v2Schemas?: V2Schemas;
  /** Prints a line of the log, or a message for the operator. */
  readonly print: (line: string) => void;
  /** Keeps the worker alive until this is done, even after the response is sent. */
  readonly later: (work: Promise<unknown>) => void;
}

/** The gateway of an isolate, or all faults of its settings. */
export type EdgeGateway =
  | { readonly gateway: Gateway; readonly bodyTimeout: number }
  | { readonly faults: readonly string[] };

/** Creates the gateway of an isolate, which has its own counters and circuit breaker. */
export function createEdgeGateway(parts: EdgeGatewayParts): EdgeGateway {
  const environment = environmentOf(parts.bindings);
  const outcome = readSettings({ flags: {}, environment, readFile: noFile });
  if ('faults' in outcome) return outcome;
  const { settings } = outcome;
  const conflicts = settingConflicts(settings, { ...memoryShares(), bufferBytes: ISOLATE_BYTES });
  if (conflicts.length > 0) return { faults: conflicts };
  const origin = settings.get(table.upstream);
  if (origin === undefined) {
    return {
      faults: [`${environmentName(table.upstream)} is needed here: there is no embedded V2 at the edge.`],
    };
  }
  if (settings.get(table.selfService))
    return {
      faults: [
        `${environmentName(table.selfService)} needs a process that counts; an isolate at the edge has no report. Leave it out.`,
      ],
    };
  const v1Origin = settings.get(table.v1Upstream);
  if (origin.socketPath !== undefined || v1Origin?.socketPath !== undefined)
    return { faults: ['There are no Unix sockets at the edge; set an http or https address.'] };
  if (v1Origin === undefined && needsV1(modesInForce(parts.ruleBook.rollout?.modes, undefined))) {
    const name = environmentName(table.v1Upstream);
    return { faults: [`There are modes that send requests to V1; set ${name}, or take them out.`] };
  }
  return { gateway: gatewayOf(parts, settings, origin), bodyTimeout: settings.get(table.clientBodyTimeout) };
}

function gatewayOf(
  { bindings, ruleBook, v2Schemas, print, later }: EdgeGatewayParts,
  settings: Settings,
  origin: OriginSetting,
): Gateway {
  const rules = new CompiledRuleBook(ruleBook);
  const options = gatewayOptions(settings, { bufferBytes: ISOLATE_BYTES });
  const secret = settings.get(table.clientSecret) ?? randomHex(32);
  const v1 = settings.get(table.v1Upstream);
  const nameClient = createClientHash(secret);
  const write = logWriter(settings.get(table.rewriteLogLevel), (line) => print(line.trimEnd()));
  return new Gateway(
    {
      rules: () => rules,
      upstream: upstreamOf(settings, origin),
      originPath: origin.path,
      originHost: new URL(origin.origin).host,
      v1: v1 && { upstream: upstreamOf(settings, v1), path: v1.path, host: new URL(v1.origin).host },
      v2Schemas: () => v2Schemas,
      record: (entry) => {
        write(entry);
        ship(entry, bindings, later);
      },
      observer: structureObserver(settings.get(table.structureRate), Date.now),
      now: () => performance.now(),
      time: () => Date.now(),
      newRequestId: () => crypto.randomUUID(),
      newTraceHex: () => randomHex(24),
      clientOf: (authorization) => {
        const name = nameClient(authorization);
        later(name);
        return name;
      },
      decode: decodeBody,
      // No Brotli: the `DecompressionStream` of Workers does not support it.
      codings: ['gzip', 'deflate'],
      after: (milliseconds, run) => {
        setTimeout(run, milliseconds);
      },
      random: () => Math.random(),
      onNotice: (notice) => {
        // The exchange's entry already names the fault; a process log line would double the output per request.
        if (notice.event === 'upstream-fault') return;
        const { level, event, message, fields } = noticeLine(notice);
        print(edgeProcessLine(level, event, message, fields));
      },
      onUnexpectedError: (error) => {
        const { message, stack } =
          error instanceof Error ? error : { message: String(error), stack: undefined };
        print(edgeProcessLine('error', 'unexpected-error', `bug: ${message}`, { stack }));
      },
    },
    { ...options, bufferBytes: Math.min(options.bufferBytes, ISOLATE_BYTES) },
  );
}

function upstreamOf(settings: Settings, origin: OriginSetting): Upstream {
  return createFetchUpstream({
    origin: origin.origin,
    headersTimeout: settings.get(table.upstreamHeadersTimeout),
    bodyTimeout: settings.get(table.upstreamBodyTimeout),
  });
}

/** Bytes for buffered bodies: an isolate has 128 MB for everything. */
const ISOLATE_BYTES = 48 * 1024 * 1024;

function ship(entry: Entry, bindings: EdgeBindings, later: EdgeGatewayParts['later']): void {
  bindings.REWRITE_LOG_ANALYTICS?.writeDataPoint(dataPoint(entry));
  const sent = bindings.REWRITE_LOG_QUEUE?.send(entry, { contentType: 'json' });
  // A failing queue loses the copy of the entry, never the response.
  if (sent !== undefined) later(sent.catch(() => undefined));
}

function randomHex(bytes: number): string {
  return hexOf(crypto.getRandomValues(new Uint8Array(bytes)));
}

function noFile(): string {
  throw new Error('files are not available at the edge');
}
