import { relative } from 'node:path';
import { buffer as bytesOf } from 'node:stream/consumers';
import { fileURLToPath, pathToFileURL } from 'node:url';
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
  type JsonObject,
  readJsonText,
  fromSwagger,
  isSwagger,
} from '../../openapi/description.ts';
import { type DeadReference, joinDocuments, withoutFragment } from '../../openapi/join-documents.ts';
import type { DialectName } from '../../reference/dialect.ts';
import { createReference } from '../../reference/reference.ts';
import type { Operation } from '../../rules/rule-book.ts';
import { valueWords } from '../../rules/rule-book-fault.ts';
import { type CommandFault, isFault } from '../command-fault.ts';

/** Maximum milliseconds to wait for a description. */
const FETCH_TIMEOUT_MS = 30_000;

/** Maximum documents that a description may consist of. */
const MAX_DOCUMENTS = 1000;

/** Maximum dead references that a fault names. */
const MAX_TOLD = 5;

/**
 * Reads an OpenAPI description from a file, an http or https address, or stdin (`-`), in JSON or YAML, with the documents that it
 * refers to. `others` collects the files and addresses of these, even if they cannot be read.
 */
export async function readDescription(
  source: string,
  others: Set<string> = new Set(),
): Promise<Description | CommandFault> {
  const name = source === '-' ? 'stdin' : source;
  let text: string;
  try {
    text = await textFrom(source);
  } catch (error) {
    return error instanceof TextFault
      ? { fault: noDescription(name, error.message), isJunk: true }
      : { fault: `The description ${name} cannot be read: ${causeOf(error)}.` };
  }
  const value = valueOf(text);
  if (isDescription(value) || isSwagger(value)) {
    const whole = await joinedFrom(source, value, others);
    return !isFault(whole) && isSwagger(whole) ? fromSwagger(whole) : whole;
  }
  const why = value instanceof UnreadableText ? value.why : descriptionFault(value);
  return { fault: noDescription(name, why), isJunk: true };
}

function valueOf(text: string): unknown {
  return readJsonText(text) ?? readYamlText(text);
}

/** Joins a description with the documents that it refers to, directly or not. */
async function joinedFrom(
  source: string,
  value: JsonObject,
  others: Set<string>,
): Promise<JsonObject | CommandFault> {
  const root = addressOf(source);
  const documents = new Map<string, unknown>([[root, value]]);
  const causes = new Map<string, string>();
  try {
    for (;;) {
      const { description, dead } = joinDocuments(root, documents);
      const unread = dead.filter(({ isUnread }) => isUnread).map(({ target }) => withoutFragment(target));
      const missing = [...new Set(unread)].filter((address) => !causes.has(address));
      if (missing.length === 0) return dead.length === 0 ? description : deadFault(source, dead, causes);
      if (documents.size + missing.length > MAX_DOCUMENTS)
        return { fault: `${source} refers to more than ${MAX_DOCUMENTS} documents.`, isJunk: true };
      const texts = await Promise.all(missing.map((address) => documentAt(address, root, others)));
      for (const [at, address] of missing.entries()) {
        const found = texts[at];
        if (found instanceof UnreadableText) causes.set(address, found.why);
        else documents.set(address, found);
      }
    }
  } catch (error) {
    const why = error instanceof RangeError ? 'it is nested too deeply' : causeOf(error);
    return { fault: `${source} cannot be read with the documents that it refers to: ${why}.`, isJunk: true };
  }
}

/** Reads a document that another one refers to. A description from an address must not make the gateway read files of this machine. */
async function documentAt(address: string, root: string, others: Set<string>): Promise<unknown> {
  const isFile = address.startsWith('file:');
  if (isFile && isAddress(root))
    return new UnreadableText('a description at an address cannot refer to files of this machine');
  if (!isFile && !isAddress(address))
    return new UnreadableText('only files and http or https addresses are read');
  try {
    const path = isFile ? fileURLToPath(address) : address;
    others.add(path);
    const text = await textFrom(path);
    // An operation's description may be a text file.
    return /\.(?:md|txt)$/i.test(path) ? text : valueOf(text);
  } catch (error) {
    return new UnreadableText(causeOf(error));
  }
}

function deadFault(
  source: string,
  dead: readonly DeadReference[],
  causes: ReadonlyMap<string, string>,
): CommandFault {
  const told = dead.slice(0, MAX_TOLD).map(({ reference, document, target }) => {
    const why = causes.get(withoutFragment(target)) ?? 'there is nothing at this place';
    return `${shortAddress(document)} refers to ${reference}: ${why}.`;
  });
  const more = dead.length - told.length;
  return {
    fault: [
      `${source} cannot be read whole.`,
      ...told,
      ...(more > 0 ? [`${more} more ${more === 1 ? 'reference leads' : 'references lead'} nowhere.`] : []),
    ].join(' '),
    isJunk: dead.every(({ isUnread }) => !isUnread),
  };
}

function addressOf(source: string): string {
  if (isAddress(source)) return withoutFragment(new URL(source).href);
  return pathToFileURL(source === '-' ? 'stdin' : source).href;
}

function shortAddress(address: string): string {
  return address.startsWith('file:') ? relative(process.cwd(), fileURLToPath(address)) : address;
}

function noDescription(name: string, why: string): string {
  return `${name} is not an OpenAPI description, version 3, in JSON or YAML: ${why}.`;
}

/** Why a value is not a description. */
function descriptionFault(value: unknown): string {
  if (value === null || value === undefined) return 'it is empty';
  if (!isObject(value)) return `it is ${valueWords(value)}, not an object`;
  const { openapi, swagger, paths } = value;
  if (swagger !== undefined && openapi === undefined)
    return `it is Swagger ${JSON.stringify(swagger)}; the only supported Swagger is version "2.0" with paths`;
  if (openapi === undefined) return 'it has no member "openapi"';
  if (typeof openapi !== 'string')
    return `"openapi" is ${JSON.stringify(openapi)}, not a text; write '3.1.0', for example`;
  if (!openapi.startsWith('3.')) return `"openapi" is ${JSON.stringify(openapi)}`;
  return paths === undefined ? 'it has no member "paths"' : '"paths" is not an object';
}

/** The embedded reference service's description. */
export async function referenceDescription(dialect: DialectName): Promise<Description> {
  const store = openReferenceStore(undefined);
  const reference = createReference({ store, now: () => 0, dialects: [dialect] });
  const response = await reference.request(`/api/${dialect}/openapi.json`);
  const value = readJsonText(await response.text());
  store.close();
  if (!isDescription(value)) throw new Error('The embedded reference has no description.');
  return value;
}

/** Returns an error's message with its causes, in which `fetch` hides why a server is unreachable. */
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
  /** The reason, with line and column if known. */
  readonly why: string;

  constructor(why: string) {
    this.why = why;
  }
}

/**
 * Maximum values in a description after following aliases: a few lines of nested aliases can make billions. The largest public descriptions
 * have about a million.
 */
const MAX_VALUES = 3_000_000;

/** Reads YAML 1.2 with the merge keys (`<<`) of YAML 1.1, which many descriptions use. */
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
    // `withNumbers` counts an alias as its value.
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

/** The place of the alias that a fault names: the parser finds the fault without one. */
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

/** Milliseconds after which the gateway tries an unresponsive address again. */
const RETRY_MS = 60_000;

/** V2's OpenAPI description while the gateway runs: it reads changed files again, and addresses on SIGHUP or until they respond. */
export class V2Description {
  /** Request schemas from the last readable description. */
  schemas: V2Schemas;
  private readonly source: string;
  private readonly log: WriteProcessLine;
  private readonly operations: () => readonly Operation[];
  private retry: NodeJS.Timeout | undefined = undefined;
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
   * Reads the description. A fault in a file stops the start, while an address may be down. It logs a warning for bodies of `operations`,
   * those of the rule book in force, that cannot be checked.
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
    if (fault === undefined) return opened;
    if (!opened.isRemote) return { fault: `GATEWAY_V2_OPENAPI: ${fault}` };
    opened.refuse(fault);
    return opened;
  }

  /** Reads the description again; on a fault the current one stays, and an address is tried again later. */
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

  /** Stops trying again. */
  close(): void {
    this.isClosed = true;
    clearTimeout(this.retry);
  }

  /** Reads the description again; returns a sentence if it cannot be used, in which case the previous one stays in force. */
  async read(): Promise<string | undefined> {
    const others = new Set<string>();
    const description = await readDescription(this.source, others);
    this.others = others;
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

/** True if a description is at an address and not in a file. */
export function isAddress(source: string): boolean {
  return /^https?:\/\//i.test(source);
}
