import type { ExplainRequest } from '../../inspector/api.ts';
import type { CommandFault } from '../command-fault.ts';
import { requestTarget } from './request-target.ts';

/** A request from a file, with a display name. */
export interface NamedRequest {
  readonly name: string;
  readonly request: ExplainRequest;
  /** Number of similar requests; 1 by default. */
  readonly count?: number;
}

/** Stands for a form, which the gateway does not read. */
const UNREAD = '…';

type Json = Readonly<Record<string, unknown>>;

/** Reads the requests of a HAR file (1.2), as browsers and proxies save it. */
export function readHar(text: string): readonly NamedRequest[] | CommandFault {
  const log = child(parse(text), 'log');
  const entries = log?.['entries'];
  if (!Array.isArray(entries))
    return { fault: 'This is not a HAR file: it has no log.entries.', isJunk: true };
  return entries.flatMap((entry: unknown) => {
    const request = child(entry, 'request');
    const [method, url] = [request?.['method'], request?.['url']];
    if (typeof method !== 'string' || typeof url !== 'string') return [];
    const post = child(request, 'postData');
    const body = post?.['text'] ?? (hasParts(post?.['params']) ? UNREAD : undefined);
    const headers = headersOf(request?.['headers'], 'name');
    const read: ExplainRequest = { method, target: requestTarget(url), headers };
    return [
      {
        name: `${method} ${pathOf(url)}`,
        request: typeof body === 'string' ? { ...read, ...harBody(body, post?.['encoding'], headers) } : read,
      },
    ];
  });
}

/**
 * The body of a request in an archive. Text is that of the decoded body, as browsers have it, so that the field of its coding is no
 * longer true of it; bytes in Base64 are those that were sent.
 */
function harBody(
  text: string,
  encoding: unknown,
  headers: readonly (readonly [string, string])[],
): Pick<ExplainRequest, 'body' | 'bodyBase64' | 'headers'> {
  if (encoding === 'base64') return { bodyBase64: text };
  return { body: text, headers: decodedFields(headers) };
}

/** The fields without those that describe a body with its coding. */
export function decodedFields(
  headers: readonly (readonly [name: string, value: string])[],
): readonly (readonly [name: string, value: string])[] {
  const isCoded = headers.some(([name]) => name.toLowerCase() === 'content-encoding');
  return isCoded ? headers.filter(([name]) => !/^content-(?:encoding|length)$/i.test(name)) : headers;
}

/** Reads the requests of a Postman collection (2.x), including those in folders, and fills in the collection's variables. */
export function readPostman(text: string): readonly NamedRequest[] | CommandFault {
  const collection = parse(text);
  if (!isJson(collection) || !Array.isArray(collection['item']))
    return { fault: 'This is not a Postman collection: it has no item.', isJunk: true };
  const variables = new Map(pairsOf(collection['variable'], 'key'));
  return collection['item'].flatMap((item: unknown) => postmanItem(item, '', variables));
}

function postmanItem(item: unknown, folder: string, variables: ReadonlyMap<string, string>): NamedRequest[] {
  if (!isJson(item)) return [];
  const title = typeof item['name'] === 'string' ? item['name'] : 'request';
  const name = folder === '' ? title : `${folder} / ${title}`;
  if (Array.isArray(item['item']))
    return item['item'].flatMap((inside: unknown) => postmanItem(inside, name, variables));
  const { request } = item;
  const fill = (given: string): string =>
    given.replaceAll(
      /\{\{([^{}]+)\}\}/g,
      (whole, variable: string) => variables.get(variable.trim()) ?? whole,
    );
  if (typeof request === 'string')
    return [{ name, request: { method: 'GET', target: target(fill(request)) } }];
  if (!isJson(request)) return [];
  const url = typeof request['url'] === 'string' ? request['url'] : child(request, 'url')?.['raw'];
  if (typeof url !== 'string') return [];
  const body = child(request, 'body');
  const form = formType(body);
  const raw =
    form === undefined
      ? body?.['mode'] === 'raw' && typeof body['raw'] === 'string'
        ? fill(body['raw'])
        : undefined
      : UNREAD;
  const headers = headersOf(request['header'], 'key').map(([field, value]): [string, string] => [
    fill(field),
    fill(value),
  ]);
  const type = form ?? (raw !== undefined && isJsonMode(body) ? 'application/json' : undefined);
  if (type !== undefined && !headers.some(([field]) => field.toLowerCase() === 'content-type'))
    headers.push(['Content-Type', type]);
  const method = typeof request['method'] === 'string' ? request['method'] : 'GET';
  return [
    {
      name,
      request: { method, target: target(fill(url)), headers, ...(raw === undefined ? {} : { body: raw }) },
    },
  ];
}

/** The media type of a form; undefined for another body, or none. */
function formType(body: Json | undefined): string | undefined {
  const mode = body?.['mode'];
  if (mode === 'formdata' && hasParts(body?.['formdata'])) return 'multipart/form-data';
  if (mode === 'urlencoded' && hasParts(body?.['urlencoded'])) return 'application/x-www-form-urlencoded';
  return undefined;
}

function hasParts(parts: unknown): boolean {
  return Array.isArray(parts) && parts.length > 0;
}

/** Postman derives Content-Type from the language selected in its editor. */
function isJsonMode(body: Json | undefined): boolean {
  return child(child(body, 'options'), 'raw')?.['language'] === 'json';
}

/** An unset variable usually stands for the host. */
function target(url: string): string {
  return requestTarget(url.replace(/^\{\{[^{}]+\}\}/, ''));
}

function headersOf(list: unknown, key: 'name' | 'key'): [string, string][] {
  return pairsOf(list, key).filter(([field]) => !field.startsWith(':'));
}

function pairsOf(list: unknown, key: 'name' | 'key'): [string, string][] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((pair: unknown): [string, string][] => {
    if (!isJson(pair) || pair['disabled'] === true) return [];
    const [field, value] = [pair[key], pair['value']];
    return typeof field === 'string' && typeof value === 'string' ? [[field, value]] : [];
  });
}

function pathOf(url: string): string {
  return URL.parse(url)?.pathname ?? url;
}

function child(value: unknown, name: string): Json | undefined {
  if (!isJson(value)) return undefined;
  const found = value[name];
  return isJson(found) ? found : undefined;
}

function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parse(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ''));
    return value;
  } catch {
    return undefined;
  }
}
