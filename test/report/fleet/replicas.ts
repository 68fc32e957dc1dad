import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { structureObserver } from '../../../src/edge/gateway.ts';
import { Gateway } from '../../../src/gateway/gateway.ts';
import { createClientHash } from '../../../src/node/runtime.ts';
import { decodeBody } from '../../../src/node/decode-body.ts';
import { loadRuleBook } from '../../../src/node/rule-books.ts';
import type { CompiledRuleBook } from '../../../src/rewrite/compiled-rule-book.ts';
import { entryLine } from '../../../src/rewrite-log/entry-line.ts';
import { applyChange, initialRollout, type RolloutState } from '../../../src/rollout/rollout-state.ts';
import { RolloutControl } from '../../../src/rollout/rollout-control.ts';
import type { Mode } from '../../../src/rules/rollout.ts';
import { gatewayOptions, readSettings } from '../../../src/settings/read-settings.ts';
import { MemoryExchange, type FleetRequest, type FleetResponse } from './memory-exchange.ts';
import type { Services } from './services.ts';

/** The virtual clock of a fleet, in milliseconds since 1970. */
export interface Clock {
  now: number;
}

const SECRET = 'the secret of the simulated fleet';

/** Names clients as the gateways of the fleet do. */
export const clientOf = createClientHash(SECRET);

/** Replicas of the gateway that share a rollout, each with its own log, in a folder. */
export class Replicas {
  /** Logs so far, oldest first for each replica; rotated ones are gzipped. */
  readonly files: string[] = [];
  private state: RolloutState = initialRollout;
  private rules: CompiledRuleBook | undefined;
  private readonly gateways: {
    send: (request: FleetRequest) => Promise<FleetResponse>;
    control: RolloutControl;
  }[] = [];
  private readonly current: string[] = [];
  private readonly folder: string;
  private readonly services: Services;
  private readonly clock: Clock;
  private requestIds = 0;
  private turn = 0;

  constructor(count: number, folder: string, services: Services, clock: Clock) {
    this.folder = folder;
    this.services = services;
    this.clock = clock;
    for (let replica = 0; replica < count; replica += 1) {
      this.gateways.push(this.started(replica));
      this.openLog(replica);
    }
  }

  /** Reads the rule book, as SIGHUP does. */
  async load(path: string): Promise<void> {
    const outcome = await loadRuleBook(path);
    if ('faults' in outcome) throw new Error(outcome.faults.join('\n'));
    this.rules = outcome.rules;
  }

  /** Sets the mode of all V1 traffic, as the command `rollout` does. */
  command(mode: Mode): void {
    this.gateways[0]?.control.command({ mode });
  }

  get rollbacks(): number {
    return this.state.rollbacks.length;
  }

  /** Starts a replica again, which knows nothing of the time before but the rollout file. */
  restart(replica: number): void {
    this.gateways[replica] = this.started(replica);
  }

  /** Renames the log of a replica, gzips it, and opens another one. */
  rotate(replica: number): void {
    const file = this.current[replica] ?? '';
    writeFileSync(`${file}.gz`, gzipSync(readFileSync(file)));
    rmSync(file);
    this.files[this.files.indexOf(file)] = `${file}.gz`;
    this.openLog(replica);
  }

  /** Sends a request to the next replica. */
  async send(request: FleetRequest): Promise<FleetResponse> {
    this.turn = (this.turn + 1) % this.gateways.length;
    const gateway = this.gateways[this.turn];
    if (gateway === undefined) throw new Error('there is no replica');
    return gateway.send(request);
  }

  private openLog(replica: number): void {
    const file = join(this.folder, `replica-${replica}.log.${this.files.length}`);
    writeFileSync(file, '');
    this.files.push(file);
    this.current[replica] = file;
  }

  private started(replica: number): (typeof this.gateways)[number] {
    const read = readSettings({ flags: {}, environment: {}, readFile: () => '' });
    if ('faults' in read) throw new Error(read.faults.join('\n'));
    const { clock, services } = this;
    const control = new RolloutControl({ time: () => clock.now, onNotice: () => {} });
    control.shareWith({
      name: `replica-${replica}`,
      isTogether: false,
      keep: (change) => {
        this.state = applyChange(this.state, change, false);
        for (const other of this.gateways) if (other.control !== control) other.control.adopt(this.state);
      },
    });
    if (this.state !== initialRollout) control.adopt(this.state);
    const gateway = new Gateway(
      {
        rules: () => {
          if (this.rules === undefined) throw new Error('no rule book is loaded');
          return this.rules;
        },
        v2: { upstream: services.v2, path: '', hosts: [] },
        v1: { upstream: services.v1, path: '', hosts: [] },
        rollout: control,
        record: (entry) => appendFileSync(this.current[replica] ?? '', entryLine(entry)),
        observer: structureObserver(50, () => clock.now),
        now: () => clock.now,
        time: () => clock.now,
        newRequestId: () => `fleet-${(this.requestIds += 1)}`,
        newTraceHex: () => '0123456789abcdef'.repeat(3),
        clientOf,
        decode: decodeBody,
        after: (_milliseconds, run) => queueMicrotask(run),
        random: () => (this.requestIds * 0.618_034) % 1,
        onUnexpectedError: (error) => {
          throw error;
        },
      },
      { ...gatewayOptions(read.settings, { bufferBytes: 64 * 1024 * 1024 }), breakerFailures: 0 },
    );
    return { control, send: (request) => sendThrough(gateway, request) };
  }
}

async function sendThrough(gateway: Gateway, request: FleetRequest): Promise<FleetResponse> {
  const exchange = new MemoryExchange(request);
  await gateway.serve(gateway.receive(exchange));
  return exchange.response;
}
