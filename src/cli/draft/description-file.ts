import { relative } from 'node:path';
import { buffer as bytesOf } from 'node:stream/consumers';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { isAlias, isMap, isScalar, isSeq, parseDocument } from 'yaml';
import { decodeText, readText, TextFault } from '../../node/files.ts';
import { openReferenceStore } from '../../node/reference.ts';
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
import {
  type DeadReference,
  isAddress,
  joinDocuments,
  withoutFragment,
} from '../../openapi/join-documents.ts';
import type { DialectName } from '../../reference/dialect.ts';
import { createReference } from '../../reference/reference.ts';
import { valueWords } from '../../rules/rule-book-fault.ts';
import { type CommandFault, isFault, reasonOf } from '../command-fault.ts';

/** Maximum milliseconds to wait for a description. */
const FETCH_TIMEOUT_MS = 30_000;

/** Maximum bytes that are read from addresses for one description, unpacked. The largest public one has about 35 MB. */
const MAX_FETCHED_BYTES = 64 * 1024 * 1024;

/** Maximum documents that a description may consist of. */
const MAX_DOCUMENTS = 1000;

/** Maximum dead references that a fault names. */
const MAX_LISTED = 5;

/**
 * Reads a description to compare. References to documents that cannot be read are reported on stderr; the comparison asks about each place
 * with such a reference.
 */
export async function readToCompare(source: string): Promise<Description | CommandFault> {
  return readDescription(source, new Set(), (words) => {
    process.stderr.write(`${words} It is compared without them.\n`);
  });
}

/**
 * Reads an OpenAPI description from a file, an http or https address, or stdin (`-`), in JSON or YAML, with the documents that it refers
 * to. Adds the files and addresses of these to `others`, even if they cannot be read. Calls `tell` with a sentence about dead references;
 * without `tell`, they are a fault.
 */
export async function readDescription(
  source: string,
  others: Set<string> = new Set(),
  onProgress?: (words: string) => void,
): Promise<Description | CommandFault> {
  const name = source === '-' ? 'stdin' : source;
  const allowance: Allowance = { left: MAX_FETCHED_BYTES };
  let text: string;
  try {
    text = await textFrom(source, allowance);
  } catch (error) {
    return error instanceof TextFault
      ? { fault: noDescription(name, error.message), isJunk: true }
      : { fault: `The description ${name} cannot be read: ${causeOf(error)}.` };
  }
  const value = valueOf(text);
  if (isDescription(value) || isSwagger(value)) {
    const whole = await joinedFrom(source, value, others, allowance, onProgress);
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
  allowance: Allowance,
  onProgress: ((words: string) => void) | undefined,
): Promise<JsonObject | CommandFault> {
  const root = addressOf(source);
  const documents = new Map<string, unknown>([[root, value]]);
  const causes = new Map<string, string>();
  try {
    for (;;) {
      const { description, dead } = joinDocuments(root, documents);
      const unread = Map.groupBy(
        dead.filter(({ isUnread }) => isUnread),
        ({ target }) => withoutFragment(target),
      );
      const missing = [...unread].filter(([address]) => !causes.has(address));
      if (missing.length === 0) {
        if (dead.length === 0) return description;
        const fault = deadFault(source, dead, causes);
        if (onProgress === undefined) return fault;
        onProgress(fault.fault);
        return description;
      }
      if (documents.size + missing.length > MAX_DOCUMENTS)
        return { fault: `${source} refers to more than ${MAX_DOCUMENTS} documents.`, isJunk: true };
      const texts = await Promise.all(
        missing.map(([address, references]) => {
          const why = refusal(
            address,
            references.map(({ document }) => document),
          );
          return documentAt(address, why, others, allowance);
        }),
      );
      for (const [at, [address]] of missing.entries()) {
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

/**
 * Why a document is not read. Documents at addresses are under the control of others: they must not make the gateway read files of this
 * machine, or send requests to other servers, some of which only this machine can reach.
 */
function refusal(address: string, referring: readonly string[]): string | undefined {
  const isFile = address.startsWith('file:');
  if (!isFile && !isAddress(address)) return 'only files and http or https addresses are read';
  const [distant] = referring;
  if (distant === undefined || referring.some((document) => !isAddress(document))) return undefined;
  if (isFile) return 'a description at an address cannot refer to files of this machine';
  const { origin } = new URL(address);
  if (referring.some((document) => new URL(document).origin === origin)) return undefined;
  return `a description at ${new URL(distant).origin} cannot refer to another origin, ${origin}; put all documents on one, or in files`;
}

/** Reads a document that another one refers to; throws if `refused` is a reason not to. */
async function documentAt(
  address: string,
  refused: string | undefined,
  others: Set<string>,
  allowance: Allowance,
): Promise<unknown> {
  if (refused !== undefined) return new UnreadableText(refused);
  try {
    const path = isAddress(address) ? address : fileURLToPath(address);
    others.add(path);
    const text = await textFrom(path, allowance);
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
  const listed = dead.slice(0, MAX_LISTED).map(({ reference, document, target }) => {
    const why = causes.get(withoutFragment(target)) ?? 'there is nothing at this place';
    return `${shortAddress(document)} refers to ${reference}: ${why}.`;
  });
  const more = dead.length - listed.length;
  return {
    fault: [
      `${source} cannot be read whole.`,
      ...listed,
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
  if (error.cause instanceof Error) return `${error.message}: ${causeOf(error.cause)}`;
  const { path = '' }: NodeJS.ErrnoException = error;
  return reasonOf(error, path);
}

/** Bytes that may still be read from addresses; all documents of a description share them. */
interface Allowance {
  left: number;
}

async function textFrom(source: string, allowance: Allowance): Promise<string> {
  if (source === '-') return decodeText(await bytesOf(process.stdin));
  if (!isAddress(source)) return readText(source);
  const response = await fetch(source, {
    headers: { accept: 'application/json, application/yaml;q=0.5' },
    redirect: 'error',
    signal: AbortSignal.timeout(FETCH_TIMEOUT_MS),
  });
  if (!response.ok) throw new Error(`${source} responds with ${response.status}`);
  const decoder = new TextDecoder();
  let text = '';
  // Counts bytes after decompression: a body of some kilobytes can become gigabytes.
  for await (const bytes of response.body ?? []) {
    allowance.left -= bytes.length;
    if (allowance.left < 0)
      throw new Error(
        `it has more than ${MAX_FETCHED_BYTES / 2 ** 20} MiB, with the documents that it refers to`,
      );
    text += decoder.decode(bytes, { stream: true });
  }
  return text + decoder.decode();
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

/** Maximum aliases: for each, the parser visits all values before it. */
const MAX_ALIASES = 20_000;

/** Counts the values of a document with its aliases resolved, including merges (`<<`), without creating them. */
class Expansion {
  aliases = 0;
  private readonly sizes = new Map<string, number>();

  sizeOf(node: unknown): number {
    if (isAlias(node)) {
      this.aliases += 1;
      return this.sizes.get(node.source) ?? 1;
    }
    let size = 1;
    if (isSeq(node)) for (const item of node.items) size += this.sizeOf(item);
    if (isMap(node))
      for (const { key, value } of node.items)
        size += (isScalar(key) ? 0 : this.sizeOf(key)) + this.sizeOf(value);
    if ((isScalar(node) || isSeq(node) || isMap(node)) && node.anchor !== undefined)
      this.sizes.set(node.anchor, size);
    return size;
  }
}

/** Reads YAML as libyaml does: the indentation of continuation lines does not matter. */
const LENIENT = { schema: 'core', intAsBigInt: true, merge: true } as const;

function readLeniently(text: string): ReturnType<typeof parseDocument> {
  const document = parseDocument(text, LENIENT);
  if (!document.errors.some(({ message }) => message.startsWith('Missing closing'))) return document;
  const indented = parseDocument(indentQuoted(text), LENIENT);
  return indented.errors.some(isWrong) ? document : indented;
}

/** False for a fault that libyaml accepts: the indentation of a closing bracket. */
function isWrong({ message }: Error): boolean {
  return !message.includes('must be sufficiently indented') || message.includes('and end with');
}

/**
 * Indents the continuation lines of quoted texts, whose white space has no meaning: many generators give them the indentation of the outer
 * object, which libyaml accepts and YAML 1.2 forbids.
 */
function indentQuoted(text: string): string {
  let quote: string | undefined;
  let block = -1;
  return text
    .split('\n')
    .map((line) => {
      const indent = line.length - line.trimStart().length;
      if (quote !== undefined) {
        const isEnd = endOfQuoted(line, 0, quote) !== undefined;
        if (isEnd) quote = undefined;
        return line.trim() === '' ? line : `${' '.repeat(FURTHER_INDENT)}${line.trimStart()}`;
      }
      if (block >= 0 && (line.trim() === '' || indent > block)) return line;
      block = isBlock(line) ? indent : -1;
      const value = valueIn(line);
      const opening = line[value];
      if (
        block < 0 &&
        (opening === '"' || opening === "'") &&
        endOfQuoted(line, value + 1, opening) === undefined
      )
        quote = opening;
      return line;
    })
    .join('\n');
}

/** The position of a line's value: after the marks of lists and the key. */
function valueIn(line: string): number {
  let start = 0;
  while (line[start] === ' ' || (line[start] === '-' && line[start + 1] === ' ')) start += 1;
  const colon = line.indexOf(': ', start);
  if (colon < 0 || /["'#{[]/.test(line.slice(start, colon))) return start;
  let value = colon + 1;
  while (line[value] === ' ') value += 1;
  return value;
}

/** True for the start of a block text: `|` or `>` at the end of the line. */
function isBlock(line: string): boolean {
  const comment = line.indexOf(' #');
  return /[:-] [|>][-+\d]*$/.test((comment < 0 ? line : line.slice(0, comment)).trimEnd());
}

/** A deeper indentation than any object of a description has. */
const FURTHER_INDENT = 200;

/** The position in a line where a quoted text ends; undefined if it continues. */
function endOfQuoted(line: string, from: number, quote: string): number | undefined {
  for (let at = from; at < line.length; at += 1) {
    if (quote === '"' && line[at] === '\\') at += 1;
    else if (line[at] === quote) {
      if (quote === '"' || line[at + 1] !== quote) return at;
      at += 1;
    }
  }
  return undefined;
}

/** Reads YAML 1.2 with the merge keys (`<<`) of YAML 1.1, which many descriptions use. */
function readYamlText(text: string): unknown {
  try {
    const document = readLeniently(text);
    const error = document.errors.find(isWrong);
    // The first line has the cause with line and column; the others show the place.
    const [cause = ''] = error?.message.split(/:?\n/) ?? [];
    if (error !== undefined)
      return new UnreadableText(
        cause
          .replace('Maximum call stack size exceeded', 'it is nested too deeply')
          .replace(/^Source contains multiple documents.*(?= at line)/, 'it has a second document'),
      );
    const expansion = new Expansion();
    if (expansion.sizeOf(document.contents) > MAX_VALUES)
      return new UnreadableText(`with its aliases it has more than ${MAX_VALUES} values`);
    if (expansion.aliases > MAX_ALIASES)
      return new UnreadableText(`it has more than ${MAX_ALIASES} aliases; write some of them out`);
    return withNumbers(document.toJS({ maxAliasCount: -1 }));
  } catch (error) {
    if (error instanceof RangeError)
      return new UnreadableText('it is nested too deeply, or an alias is within its own anchor');
    const { message } = error instanceof Error ? error : { message: String(error) };
    return new UnreadableText(`${message.split('\n')[0]}${aliasPlace(text, message)}`);
  }
}

/** The place of the alias that a fault names, because the parser reports it without one. */
function aliasPlace(text: string, message: string): string {
  const alias = /^Unresolved alias .*: (\S+)$/.exec(message)?.[1];
  const before = alias === undefined ? -1 : text.indexOf(`*${alias}`);
  if (before < 0) return '';
  const lines = text.slice(0, before).split('\n');
  return ` at line ${lines.length}, column ${(lines.at(-1) ?? '').length + 1}`;
}

function withNumbers(value: unknown): unknown {
  if (typeof value === 'bigint') {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : exactInteger(String(value));
  }
  if (Array.isArray(value)) return value.map((element: unknown) => withNumbers(element));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inside]) => [name, withNumbers(inside)]));
}
