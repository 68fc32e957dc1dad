import { totalmem } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { V2Schemas } from '../../gateway/v1/checks.ts';
import { errorCode } from '../../node/files.ts';
import type { WriteProcessLine } from '../../node/log/process-log.ts';
import { threadResult } from '../../node/threads/thread-messages.ts';
import { BodySchemas } from '../../openapi/body-schemas.ts';
import { type Description, isDescription, readJsonText } from '../../openapi/description.ts';
import { isAddress } from '../../openapi/join-documents.ts';
import type { Operation } from '../../rules/rule-book.ts';

/** The thread's result: the description as JSON, and the documents that it refers to. */
export interface ReadV2 {
  readonly outcome: { readonly text: string } | { readonly fault: string };
  readonly others: readonly string[];
}

/** Maximum MiB of the thread's memory: it needs about 150 bytes for each byte of YAML. */
const MAX_THREAD_MIB = 4096;

/** Milliseconds after which the gateway tries an unresponsive address again. */
const RETRY_MS = 60_000;

/**
 * V2's OpenAPI description while the gateway runs. Changed files are read again; addresses are read again on SIGHUP, and until they
 * respond. A thread reads them, because a megabyte of YAML takes most of a second.
 */
export class V2Description {
  /** Request schemas from the last readable description. */
  schemas: V2Schemas;
  private readonly source: string;
  private readonly log: WriteProcessLine;
  private readonly operations: () => readonly Operation[];
  private retry: NodeJS.Timeout | undefined = undefined;
  private reading: Promise<string | undefined> = Promise.resolve(undefined);
  private waiting: Promise<string | undefined> | undefined;
  private worker: Worker | undefined;
  private isClosed = false;
  /** The documents that the description refers to. */
  private others: ReadonlySet<string> = new Set();

  private constructor(source: string, operations: () => readonly Operation[], log: WriteProcessLine) {
    this.source = source;
    this.operations = operations;
    this.log = log;
    this.schemas = 'unread';
  }

  /**
   * Reads the description. A fault in a file stops the start; an address may be down. Logs a warning for bodies of `operations`, those of
   * the rule book in force, that cannot be checked.
   */
  static async open(
    source: string,
    operations: () => readonly Operation[],
    log: WriteProcessLine,
  ): Promise<V2Description | { readonly fault: string }> {
    const opened = new V2Description(source, operations, log);
    if (isAddress(source)) {
      // Not awaited: an address that does not respond must not delay the start.
      void opened.reload();
      return opened;
    }
    const fault = await opened.read();
    if (fault === undefined) return opened;
    if (!opened.isRemote) return { fault: `GATEWAY_V2_OPENAPI: ${fault}` };
    opened.refuse(fault);
    return opened;
  }

  /** Reads the description again. On a fault, the current one stays, and an address is tried again later. */
  async reload(): Promise<void> {
    clearTimeout(this.retry);
    const fault = await this.read();
    if (fault !== undefined) this.refuse(fault);
  }

  /** Logs why the description could not be read. */
  refuse(fault: string): void {
    if (this.isClosed) return;
    const consequence =
      this.schemas === 'unread' ? 'No body is checked against it.' : 'The previous one stays in force.';
    this.log({ level: 'warn', event: 'v2-openapi-unread', message: `V2's OpenAPI: ${fault} ${consequence}` });
    if (this.isRemote) this.retry = setTimeout(() => void this.reload(), RETRY_MS).unref();
  }

  /** Its files; none if it is at an address. */
  get files(): readonly string[] {
    return [this.source, ...this.others].filter((name) => !isAddress(name));
  }

  /** True if a part of it is at an address, which may be down for a while. */
  get isRemote(): boolean {
    return [this.source, ...this.others].some((name) => isAddress(name));
  }

  /** Stops reading, and trying again. */
  close(): void {
    this.isClosed = true;
    void this.worker?.terminate();
    clearTimeout(this.retry);
  }

  /**
   * Reads the description again; returns a sentence if it cannot be used, in which case the previous one stays in force. Calls while a
   * reading is queued get that reading's outcome.
   */
  read(): Promise<string | undefined> {
    this.waiting ??= this.reading.then(() => {
      this.waiting = undefined;
      const reading = this.readNow();
      this.reading = reading;
      return reading;
    });
    return this.waiting;
  }

  /** Never rejects. */
  private async readNow(): Promise<string | undefined> {
    if (this.isClosed) return undefined;
    try {
      const { outcome, others } = await this.inThread();
      this.others = new Set(others);
      if ('fault' in outcome) return outcome.fault;
      const schemas = new BodySchemas(descriptionIn(outcome.text));
      await schemas.prepareInTurns(setImmediate);
      const warnings = schemas.warnings(this.operations());
      for (const message of warnings) this.log({ level: 'warn', event: 'v2-openapi-unchecked', message });
      this.schemas = schemas;
      return undefined;
    } catch (error) {
      return `The schemas of ${this.source} cannot be used: ${error instanceof Error ? error.message : String(error)}.`;
    }
  }

  /** Each reading gets a new thread, because readings are rare. */
  private inThread(): Promise<ReadV2> {
    const end = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
    const maxOldGenerationSizeMb = threadMib();
    const worker = new Worker(new URL(`./v2-description-worker.${end}`, import.meta.url), {
      workerData: this.source,
      // The process's options for a script, such as `--eval`, do not apply to a module.
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb },
    });
    this.worker = worker;
    return threadResult<ReadV2>(worker).catch((error: unknown) => {
      if (errorCode(error) !== 'ERR_WORKER_OUT_OF_MEMORY') throw error;
      throw new Error(`reading them takes more than ${maxOldGenerationSizeMb} MiB of memory`);
    });
  }
}

/** MiB for the thread: half of the process's limit, so that too large a description ends only the thread. */
function threadMib(): number {
  const limit = process.constrainedMemory();
  const bytes = limit > 0 && limit < totalmem() ? limit : totalmem();
  return Math.min(MAX_THREAD_MIB, Math.ceil(bytes / 2 / 2 ** 20));
}

function descriptionIn(text: string): Description {
  const value = readJsonText(text);
  if (!isDescription(value)) throw new Error('the thread that reads them made no description');
  return value;
}
