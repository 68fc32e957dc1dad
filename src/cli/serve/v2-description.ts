import type { V2Schemas } from '../../gateway/v1/body-checks.ts';
import type { Operation } from '../../rules/rule-book.ts';
import type { WriteProcessLine } from '../../node/log/process-log.ts';
import { BodySchemas } from '../../openapi/body-schemas.ts';
import { isFault } from '../command-fault.ts';
import { readDescription } from '../draft/description-file.ts';

/** Milliseconds after which an address that did not respond is tried again. */
const RETRY_MS = 60_000;

/** V2's OpenAPI description while the gateway runs: a file is read again when it changes, an address on SIGHUP, and until it responds. */
export class V2Description {
  /** Request schemas of the last description that could be read. */
  schemas: V2Schemas;
  private readonly source: string;
  private readonly log: WriteProcessLine;
  private readonly operations: () => readonly Operation[];
  private retry: NodeJS.Timeout | undefined = undefined;
  private isClosed = false;

  private constructor(source: string, operations: () => readonly Operation[], log: WriteProcessLine) {
    this.source = source;
    this.operations = operations;
    this.log = log;
    this.schemas = 'unread';
  }

  /**
   * Reads the description. A file with a fault stops the start; an address may be down, and does not. What cannot be checked of the
   * bodies of `operations`, those of the rule book in force, is a warning.
   */
  static async open(
    source: string,
    operations: () => readonly Operation[],
    log: WriteProcessLine,
  ): Promise<V2Description | { readonly fault: string }> {
    const opened = new V2Description(source, operations, log);
    if (isAddress(source)) {
      // Not awaited: an address that does not respond must not hold up the start.
      void opened.reload();
      return opened;
    }
    const fault = await opened.read();
    return fault === undefined ? opened : { fault: `GATEWAY_V2_OPENAPI: ${fault}` };
  }

  /** Reads the description again; on a fault, the one in force stays, and an address is tried again later. */
  async reload(): Promise<void> {
    clearTimeout(this.retry);
    const fault = await this.read();
    if (fault !== undefined) this.refuse(fault);
  }

  /** Tells why the description could not be read. */
  refuse(fault: string): void {
    if (this.isClosed) return;
    const consequence =
      this.schemas === 'unread' ? 'No body is checked against it.' : 'The one read before stays in force.';
    this.log({ level: 'warn', event: 'v2-openapi-unread', message: `V2's OpenAPI: ${fault} ${consequence}` });
    if (isAddress(this.source)) this.retry = setTimeout(() => void this.reload(), RETRY_MS).unref();
  }

  /** Where it is, when it is a file. */
  get file(): string | undefined {
    return isAddress(this.source) ? undefined : this.source;
  }

  /** Stops trying. */
  close(): void {
    this.isClosed = true;
    clearTimeout(this.retry);
  }

  /** Reads the description again, and returns why it cannot be used, as a sentence; then the one before stays in force. */
  async read(): Promise<string | undefined> {
    const description = await readDescription(this.source);
    if (isFault(description)) return description.fault;
    const schemas = new BodySchemas(description);
    try {
      const warnings = schemas.warnings(this.operations());
      for (const message of warnings) this.log({ level: 'warn', event: 'v2-openapi-unchecked', message });
    } catch (error) {
      return `The schemas of ${this.source} cannot be used: ${error instanceof Error ? error.message : String(error)}.`;
    }
    this.schemas = schemas;
    return undefined;
  }
}

/** Tells whether a description is at an address, and not in a file. */
export function isAddress(source: string): boolean {
  return /^https?:\/\//i.test(source);
}
