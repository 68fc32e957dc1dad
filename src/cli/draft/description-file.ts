import { buffer as bytesOf } from 'node:stream/consumers';
import { parseDocument } from 'yaml';
import type { V2Schemas } from '../../gateway/v1/dry-run.ts';
import { decodeText, readText, TextFault } from '../../node/files.ts';
import type { WriteProcessLine } from '../../node/log/process-log.ts';
import { openReferenceStore } from '../../node/reference.ts';
import { BodySchemas } from '../../openapi/body-schemas.ts';
import {
  type Description,
  exactInteger,
  isDescription,
  isObject,
  readJsonText,
} from '../../openapi/description.ts';
import type { DialectName } from '../../reference/dialect.ts';
import { createReference } from '../../reference/reference.ts';
import { fromSwagger, isSwagger } from '../../openapi/swagger.ts';
import type { Operation } from '../../rules/rule-book.ts';
import { type CommandFault, isFault } from '../command-fault.ts';

/** Maximum time to wait for a description, in milliseconds. */
const FETCH_TIMEOUT_MS = 30_000;

/** Reads an OpenAPI description from a file, an http or https address, or stdin (`-`), in JSON or YAML. */
export async function readDescription(source: string): Promise<Description | CommandFault> {
  const name = source === '-' ? 'stdin' : source;
  let text: string;
  try {
    text = await textFrom(source);
  } catch (error) {
    return error instanceof TextFault
      ? { fault: noDescription(name, error.message), isJunk: true }
      : { fault: `The description ${name} cannot be read: ${causeOf(error)}.` };
  }
  const value = readJsonText(text) ?? readYamlText(text);
  if (isDescription(value)) return value;
  if (isSwagger(value)) return fromSwagger(value);
  const why = value instanceof UnreadableText ? value.why : descriptionFault(value);
  return { fault: noDescription(name, why), isJunk: true };
}

function noDescription(name: string, why: string): string {
  return `${name} is not an OpenAPI description, version 3, in JSON or YAML: ${why}.`;
}

/** Why a value that could be read is no description. */
function descriptionFault(value: unknown): string {
  if (value === null || value === undefined) return 'it is empty';
  if (!isObject(value))
    return `it is ${Array.isArray(value) ? 'a list' : `a ${typeof value}`}, not an object`;
  const { openapi, swagger, paths } = value;
  if (swagger !== undefined && openapi === undefined)
    return `it is Swagger ${JSON.stringify(swagger)}; of Swagger, only version "2.0" with paths is read`;
  if (openapi === undefined) return 'it has no member "openapi"';
  if (typeof openapi !== 'string')
    return `"openapi" is ${JSON.stringify(openapi)}, not a text; write '3.1.0', for example`;
  if (!openapi.startsWith('3.')) return `"openapi" is ${JSON.stringify(openapi)}`;
  return paths === undefined ? 'it has no member "paths"' : '"paths" is not an object';
}

/** The description of the embedded reference service. */
export async function referenceDescription(dialect: DialectName): Promise<Description> {
  const store = openReferenceStore(undefined);
  const reference = createReference({ store, now: () => 0, dialects: [dialect] });
  const response = await reference.request(`/api/${dialect}/openapi.json`);
  const value = readJsonText(await response.text());
  store.close();
  if (!isDescription(value)) throw new Error('The embedded reference has no description.');
  return value;
}

/** What `fetch` says of a server that cannot be reached is only in the cause of its error, or in the causes of that. */
function causeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return causeOf(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${causeOf(error.cause)}` : error.message;
}

async function textFrom(source: string): Promise<string> {
  if (source === '-') return decodeText(await bytesOf(process.stdin));
  if (!/^https?:\/\//i.test(source)) return readText(source);
  const response = await fetch(source, {
    headers: { accept: 'application/json, application/yaml;q=0.5' },
    redirect: 'error',
    signal: AbortSignal.timeout(FETCH_TIMEOUT_MS),
  });
  if (!response.ok) throw new Error(`${source} responds with ${response.status}`);
  return response.text();
}

/** A text that is neither JSON nor YAML. */
class UnreadableText {
  /** The cause, with line and column where they are known. */
  readonly why: string;

  constructor(why: string) {
    this.why = why;
  }
}

/**
 * Maximum values of a description, aliases followed: each anchor may stand for many values, and a few lines of aliases of aliases for
 * thousands of millions. The largest descriptions that are public have about a million.
 */
const MAX_VALUES = 3_000_000;

/** Reads YAML 1.2 with merge keys (`<<`), which YAML 1.1 had and many descriptions use. */
function readYamlText(text: string): unknown {
  try {
    const document = parseDocument(text, { schema: 'core', intAsBigInt: true, merge: true });
    const [error] = document.errors;
    // The first line has the cause with line and column; the others show the place.
    const [cause = ''] = error?.message.split(/:?\n/) ?? [];
    if (error !== undefined)
      return new UnreadableText(
        cause
          .replace('Maximum call stack size exceeded', 'it is nested too deeply')
          .replace(/^Source contains multiple documents.*(?= at line)/, 'it has a second document'),
      );
    // Aliases are counted as the values that they stand for, below.
    const value: unknown = document.toJS({ maxAliasCount: -1 });
    let values = 0;
    return withNumbers(value, () => {
      values += 1;
      if (values > MAX_VALUES) throw new Error(`with its aliases it has more than ${MAX_VALUES} values`);
    });
  } catch (error) {
    if (error instanceof RangeError)
      return new UnreadableText('it is nested too deeply, or an alias is within its own anchor');
    const { message } = error instanceof Error ? error : { message: String(error) };
    return new UnreadableText(`${message.split('\n')[0]}${aliasPlace(text, message)}`);
  }
}

/** Where the alias stands that a fault names: it is found only after parsing, without a place. */
function aliasPlace(text: string, message: string): string {
  const alias = /^Unresolved alias .*: (\S+)$/.exec(message)?.[1];
  const before = alias === undefined ? -1 : text.indexOf(`*${alias}`);
  if (before < 0) return '';
  const lines = text.slice(0, before).split('\n');
  return ` at line ${lines.length}, column ${(lines.at(-1) ?? '').length + 1}`;
}

function withNumbers(value: unknown, count: () => void): unknown {
  count();
  if (typeof value === 'bigint') {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : exactInteger(String(value));
  }
  if (Array.isArray(value)) return value.map((element: unknown) => withNumbers(element, count));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inside]) => [name, withNumbers(inside, count)]),
  );
}

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
