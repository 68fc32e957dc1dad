import { readFileSync } from 'node:fs';
import { text as textOf } from 'node:stream/consumers';
import { parseDocument } from 'yaml';
import { openReferenceStore } from '../../node/reference/reference-store.ts';
import { type Description, isDescription } from '../../openapi/description.ts';
import { isObject } from '../../openapi/json-object.ts';
import { exactInteger, readJsonText } from '../../openapi/json-text.ts';
import type { DialectName } from '../../reference/edition.ts';
import type { CommandFault } from '../command-fault.ts';
import { createReference } from '../../reference/reference.ts';

/** Maximum time to wait for a description, in milliseconds. */
const FETCH_TIMEOUT_MS = 30_000;

/** Reads an OpenAPI description from a file, an http or https address, or stdin (`-`), in JSON or YAML. */
export async function readDescription(source: string): Promise<Description | CommandFault> {
  const name = source === '-' ? 'stdin' : source;
  let text: string;
  try {
    text = await textFrom(source);
  } catch (error) {
    return { fault: `The description ${name} cannot be read: ${causeOf(error)}.` };
  }
  const value = readJsonText(text) ?? readYamlText(text);
  if (isDescription(value)) return value;
  const why = value instanceof UnreadableText ? value.why : descriptionFault(value);
  return {
    fault: `${name} is not an OpenAPI description, version 3, in JSON or YAML: ${why}.`,
    isJunk: true,
  };
}

/** Why a value that could be read is no description. */
function descriptionFault(value: unknown): string {
  if (!isObject(value))
    return `it is ${Array.isArray(value) ? 'a list' : `a ${typeof value}`}, not an object`;
  const { openapi, swagger, paths } = value;
  if (swagger !== undefined && openapi === undefined)
    return `it is Swagger ${JSON.stringify(swagger)}; convert it to OpenAPI 3`;
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
  if (source === '-') return textOf(process.stdin);
  if (!/^https?:\/\//i.test(source)) return readFileSync(source, 'utf8');
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
      return new UnreadableText(cause.replace('Maximum call stack size exceeded', 'it is nested too deeply'));
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
