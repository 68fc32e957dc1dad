import { readFileSync } from 'node:fs';
import { text as textOf } from 'node:stream/consumers';
import { parse } from 'yaml';
import { openReferenceStore } from '../../node/reference/reference-store.ts';
import { type Description, isDescription } from '../../openapi/description.ts';
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
  return { fault: `${name} is not an OpenAPI description, version 3, in JSON or YAML.`, isJunk: true };
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

function readYamlText(text: string): unknown {
  try {
    const value: unknown = parse(text, { schema: 'core', intAsBigInt: true });
    return withNumbers(value);
  } catch {
    return undefined;
  }
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
