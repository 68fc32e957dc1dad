import type { ExplainRequest } from '../../inspector/api.ts';
import { encodeBase64 } from '../../inspector/entries/curl.ts';
import { type NamedRequest, readAddress, type ReadRequests } from '../../inspector/explain/curl-command.ts';
import type { CommandFault } from '../command-fault.ts';
import {
  faultOfJson,
  type Field,
  fieldOf,
  formBody,
  type FormPart,
  isJson,
  type Json,
  memberOf,
  multipartBody,
  parseJson,
  textOf,
} from './forms.ts';

/** Variables in the order in which they are looked up: of the environment, of the folders from the inside, of the collection. */
type Scopes = readonly ReadonlyMap<string, string>[];

/** What the items below a folder take from it. */
interface Folder {
  readonly name: string;
  readonly scopes: Scopes;
  readonly auth: unknown;
}

/**
 * Reads the requests of a Postman collection (2.0 and 2.1, also in the envelope of Postman's API), with those in folders. `environment` is
 * the text of an exported environment, whose values come before those of the collection.
 */
export function readPostman(text: string, environment?: string): ReadRequests | CommandFault {
  const parsed = parseJson(text);
  const collection = memberOf(parsed, 'collection') ?? parsed;
  const items = memberOf(collection, 'item');
  if (!Array.isArray(items)) return { fault: faultOfJson(text) ?? notACollection(collection), isJunk: true };
  const outer = environment === undefined ? new Map<string, string>() : readEnvironment(environment);
  if (outer === undefined)
    return {
      fault: faultOfJson(environment ?? '') ?? 'This is not an environment of Postman: it has no values.',
      isJunk: true,
    };
  const reader = new CollectionReader(outer);
  const folder = { name: '', scopes: [], auth: memberOf(collection, 'auth') };
  reader.readItems(collection, items, folder);
  return reader;
}

function notACollection(value: unknown): string {
  if (Array.isArray(memberOf(value, 'requests')))
    return 'This is a Postman collection of version 1: export it as version 2.1.';
  if (Array.isArray(memberOf(value, 'values')))
    return 'This is an environment of Postman and no collection: give it with --postman-env.';
  return 'This is not a Postman collection: it has no item.';
}

function readEnvironment(text: string): ReadonlyMap<string, string> | undefined {
  const parsed = parseJson(text);
  const values = memberOf(memberOf(parsed, 'environment') ?? parsed, 'values');
  return Array.isArray(values) ? variablesOf(values) : undefined;
}

/** Variables by `key`, or by `id` as older exports have them; numbers and booleans are their text. */
function variablesOf(list: unknown): ReadonlyMap<string, string> {
  const variables = new Map<string, string>();
  for (const variable of Array.isArray(list) ? list : []) {
    if (!isEnabled(variable)) continue;
    const name = memberOf(variable, 'key') ?? memberOf(variable, 'id');
    if (typeof name === 'string') variables.set(name, textOf(memberOf(variable, 'value')));
  }
  return variables;
}

function isEnabled(value: unknown): boolean {
  return memberOf(value, 'disabled') !== true && memberOf(value, 'enabled') !== false;
}

/** Methods whose body Postman leaves out unless the item says otherwise. */
const BODILESS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'COPY', 'PURGE', 'UNLOCK']);

/** One value for each variable that Postman draws at random. */
const DYNAMIC: Readonly<Record<string, string>> = {
  $guid: '00000000-0000-4000-8000-000000000000',
  $randomUUID: '00000000-0000-4000-8000-000000000000',
  $timestamp: '1700000000',
  $isoTimestamp: '2023-11-14T22:13:20.000Z',
  $randomInt: '42',
  $randomBoolean: 'true',
  $randomEmail: 'someone@example.com',
};

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  json: 'application/json',
  xml: 'application/xml',
  html: 'text/html',
  javascript: 'application/javascript',
  text: 'text/plain',
};

/** Beyond this depth Postman leaves a variable in a variable as it is. */
const MAX_DEPTH = 20;

class CollectionReader implements ReadRequests {
  readonly requests: NamedRequest[] = [];
  readonly faults: { readonly name: string; readonly fault: string }[] = [];
  readonly #notes = new Set<string>();
  readonly #environment: ReadonlyMap<string, string>;
  #scripts = 0;

  constructor(environment: ReadonlyMap<string, string>) {
    this.#environment = environment;
  }

  get notes(): readonly string[] {
    if (this.#scripts === 0) return [...this.#notes];
    const scripts = this.#scripts === 1 ? '1 script' : `${this.#scripts} scripts`;
    return [
      ...this.#notes,
      `${scripts} before requests ${this.#scripts === 1 ? 'is' : 'are'} not run: variables that they set have no value here.`,
    ];
  }

  readItems(parent: unknown, items: readonly unknown[], { name, scopes, auth }: Folder): void {
    this.#countScripts(parent);
    const inner = { name, scopes: [variablesOf(memberOf(parent, 'variable')), ...scopes], auth };
    for (const [number, item] of items.entries()) this.#readItem(item, number, inner);
  }

  #countScripts(item: unknown): void {
    const events = memberOf(item, 'event');
    for (const event of Array.isArray(events) ? events : []) {
      const lines = memberOf(memberOf(event, 'script'), 'exec');
      const text = Array.isArray(lines) ? lines.join('') : textOf(lines);
      if (memberOf(event, 'listen') === 'prerequest' && text.trim() !== '') this.#scripts += 1;
    }
  }

  #readItem(item: unknown, number: number, folder: Folder): void {
    const given = memberOf(item, 'name');
    const title = typeof given === 'string' && given !== '' ? given : `request ${number + 1}`;
    const name = folder.name === '' ? title : `${folder.name} / ${title}`;
    const auth = authOf(memberOf(item, 'auth'), folder.auth);
    const items = memberOf(item, 'item');
    if (Array.isArray(items)) {
      this.readItems(item, items, { name, scopes: folder.scopes, auth });
      return;
    }
    this.#countScripts(item);
    const scopes = [this.#environment, variablesOf(memberOf(item, 'variable')), ...folder.scopes];
    const reader = new RequestReader(scopes, this.#notes);
    const read = reader.read(item, auth);
    if (typeof read === 'string') this.faults.push({ name, fault: read });
    else this.requests.push({ name, request: read });
  }
}

/** `noauth` stands for none, where nothing is inherited. */
function authOf(own: unknown, inherited: unknown): unknown {
  return own === undefined || own === null ? inherited : own;
}

class RequestReader {
  readonly #scopes: Scopes;
  readonly #notes: Set<string>;
  /** Variables without a value that were met. */
  readonly #unset = new Set<string>();

  constructor(scopes: Scopes, notes: Set<string>) {
    this.#scopes = scopes;
    this.#notes = notes;
  }

  /** The request of an item, or a sentence that says why there is none. */
  read(item: unknown, inherited: unknown): ExplainRequest | string {
    const given = memberOf(item, 'request');
    const request = typeof given === 'string' ? { url: given } : given;
    if (!isJson(request)) return 'It has no request.';
    const headers = this.#headers(request['header']);
    const query: Field[] = [];
    this.#authorize(authOf(request['auth'], inherited), headers, query);
    const target = this.#target(request['url'], query);
    if (typeof target !== 'string') return target.fault;
    const method = this.#fill(textOf(request['method'])).trim().toUpperCase() || 'GET';
    const keepsBody = memberOf(memberOf(item, 'protocolProfileBehavior'), 'disableBodyPruning') === true;
    const body = BODILESS.has(method) && !keepsBody ? undefined : this.#body(request['body'], headers);
    if (typeof body === 'object') return body.fault;
    return { method, target, headers, ...(body === undefined ? {} : { body }) };
  }

  /** Fills in variables, and those within their values. */
  #fill(text: string, depth = 0): string {
    return text.replaceAll(/\{\{([^{}]*)\}\}/g, (whole, written: string) => {
      const name = written.trim();
      const value = this.#scopes.find((scope) => scope.has(name))?.get(name);
      if (value !== undefined && depth < MAX_DEPTH) return this.#fill(value, depth + 1);
      if (value === undefined && name.startsWith('$')) return this.#dynamic(name);
      this.#unset.add(whole);
      return whole;
    });
  }

  #dynamic(name: string): string {
    const value = DYNAMIC[name] ?? 'text';
    this.#notes.add(`Postman makes {{${name}}} anew for each request; here it is ${value}.`);
    return value;
  }

  #sayUnset(where: string): void {
    for (const variable of this.#unset)
      this.#notes.add(
        `${variable} has no value: it is sent ${where} as written. Give it with --postman-env.`,
      );
    this.#unset.clear();
  }

  /** A list of fields, or the text of a head, where `//` disables a line. */
  #headers(given: unknown): [string, string][] {
    const list: readonly unknown[] =
      typeof given === 'string'
        ? given.split(/\r?\n/).filter((line) => !line.trimStart().startsWith('//'))
        : Array.isArray(given)
          ? given
          : [];
    const headers = list.flatMap((field): [string, string][] => {
      if (!isEnabled(field)) return [];
      const pair =
        typeof field === 'string' ? splitField(field) : [memberOf(field, 'key'), memberOf(field, 'value')];
      const name = this.#fill(textOf(pair[0])).trim();
      if (name === '') return [];
      const isSecret = /^(?:authorization|cookie|x-api-key)$/i.test(name);
      const known = new Set(this.#unset);
      const value = this.#fill(textOf(pair[1])).trim();
      if (isSecret)
        for (const variable of this.#unset) if (!known.has(variable)) this.#unset.delete(variable);
      return [[name, value]];
    });
    this.#sayUnset('in a header');
    return headers;
  }

  /** Postman's own credentials: values do not matter, the place does. */
  #authorize(auth: unknown, headers: [string, string][], query: Field[]): void {
    const type = memberOf(auth, 'type');
    if (typeof type !== 'string' || fieldOf(headers, 'authorization') !== undefined) return;
    const parameters = memberOf(auth, type);
    // A list of 2.1, or an object of 2.0.
    const values = Array.isArray(parameters)
      ? variablesOf(parameters)
      : new Map(
          Object.entries(isJson(parameters) ? parameters : {}).map(([name, value]) => [name, textOf(value)]),
        );
    const get = (name: string, otherwise: string): string => this.#fill(values.get(name) ?? otherwise);
    if (type === 'basic')
      headers.push([
        'Authorization',
        `Basic ${encodeBase64(new TextEncoder().encode(`${get('username', '')}:${get('password', '')}`))}`,
      ]);
    if (type === 'bearer') headers.push(['Authorization', `Bearer ${get('token', '')}`]);
    if (type === 'oauth2') headers.push(['Authorization', `Bearer ${get('accessToken', '')}`]);
    if (type === 'apikey') {
      const field: [string, string] = [get('key', 'api-key'), get('value', '')];
      if (values.get('in') === 'query') query.push(field);
      else headers.push(field);
    }
    this.#unset.clear();
  }

  #target(url: unknown, added: readonly Field[]): string | { readonly fault: string } {
    const { address, isFromParts } = addressOf(url);
    if (address.trim() === '') return { fault: 'It has no URL.' };
    const variables = variablesOf(memberOf(url, 'variable'));
    const host = /^\s*\{\{([^{}]*)\}\}/.exec(address);
    const hostName = host?.[1]?.trim() ?? '';
    const isHostUnset = host !== null && !this.#scopes.some((scope) => scope.has(hostName));
    const rest = isHostUnset ? address.trim().slice(host[0].trim().length) : address.trim();
    if (isHostUnset)
      this.#notes.add(
        `{{${hostName}}} has no value: it is taken for scheme and host. Give it with --postman-env.`,
      );
    const [path = '', ...queries] = rest.split('?');
    const filledPath = this.#fill(this.#pathVariables(path, variables));
    const query = queries.length === 0 ? '' : `?${this.#fill(queries.join('?'))}`;
    this.#sayUnset('in the URL');
    const whole = encodedUrl(
      isFromParts ? filledPath + query : ((filledPath + query).split('#', 1)[0] ?? ''),
    );
    const read = readAddress(isHostUnset && !whole.startsWith('/') ? `http://host/${whole}` : whole, {
      isPathAsIs: true,
    });
    if (typeof read === 'string') return { fault: read };
    const parameters = [
      ...(read.query === undefined ? [] : [read.query]),
      ...(added.length === 0 ? [] : [formBody(added)]),
    ];
    return read.path + (parameters.length === 0 ? '' : `?${parameters.join('&')}`);
  }

  /** `:id` as a whole segment is a variable of the path. */
  #pathVariables(path: string, variables: ReadonlyMap<string, string>): string {
    return path
      .split('/')
      .map((segment) => {
        const name = /^:([^:?#]+)$/.exec(segment)?.[1];
        if (name === undefined) return segment;
        const value = this.#fill(variables.get(name) ?? '');
        if (value !== '') return encodeURIComponent(value.toWellFormed());
        this.#notes.add(`The path variable :${name} has no value: the URL keeps its name as written.`);
        return segment;
      })
      .join('/');
  }

  /** The body as Postman sends it; adds the Content-Type that Postman derives from it. */
  #body(body: unknown, headers: [string, string][]): string | undefined | { readonly fault: string } {
    if (!isJson(body) || !isEnabled(body)) return undefined;
    const type = (media: string): void => {
      if (fieldOf(headers, 'content-type') === undefined) headers.push(['Content-Type', media]);
    };
    const mode = body['mode'];
    const parts = isJson(body) && typeof mode === 'string' ? body[mode] : undefined;
    switch (mode) {
      case 'urlencoded': {
        if (typeof parts === 'string') {
          type('application/x-www-form-urlencoded');
          return this.#fill(parts);
        }
        const parameters = this.#parameters(parts);
        if (parameters.length === 0) return undefined;
        type('application/x-www-form-urlencoded');
        return formBody(parameters);
      }
      case 'formdata':
        return this.#form(parts, headers);
      case 'graphql':
        type('application/json');
        return this.#graphql(parts);
      case 'file':
        return {
          fault: `Its body is the file ${textOf(memberOf(parts, 'src') ?? parts)}, which is not read.`,
        };
      case 'raw':
      case undefined:
        return this.#raw(body, headers, type);
      default:
        return { fault: `Its body has the mode ${textOf(mode)}, which is not read.` };
    }
  }

  #parameters(parts: unknown): readonly Field[] {
    const fields = (Array.isArray(parts) ? parts : [])
      .filter((part) => isEnabled(part))
      .map((part): Field => [
        this.#fill(textOf(memberOf(part, 'key'))),
        this.#fill(textOf(memberOf(part, 'value'))),
      ]);
    this.#sayUnset('in the form');
    return fields;
  }

  #form(parts: unknown, headers: [string, string][]): string | undefined {
    const fields = (Array.isArray(parts) ? parts : [])
      .filter((part) => isEnabled(part))
      .map((part): FormPart => {
        const name = this.#fill(textOf(memberOf(part, 'key')));
        const media = memberOf(part, 'contentType');
        const type = typeof media === 'string' && media !== '' ? this.#fill(media) : undefined;
        if (memberOf(part, 'type') !== 'file')
          return { name, type, content: this.#fill(textOf(memberOf(part, 'value'))) };
        const source = memberOf(part, 'src');
        const path = textOf(Array.isArray(source) ? source[0] : source);
        this.#notes.add(`The file ${path} of a form is not read: … replaces it.`);
        const filename = path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
        return { name, type: type ?? 'application/octet-stream', filename, content: '…' };
      });
    this.#sayUnset('in the form');
    if (fields.length === 0) return undefined;
    const { body, boundary } = multipartBody(fields);
    // Postman replaces a multipart type without a boundary.
    const at = headers.findIndex(([name]) => name.toLowerCase() === 'content-type');
    const given = headers[at]?.[1] ?? 'multipart/form-data';
    if (at === -1) headers.push(['Content-Type', `${given}; boundary=${boundary}`]);
    else if (/^multipart\//i.test(given) && !/boundary=/i.test(given))
      headers[at] = ['Content-Type', `${given}; boundary=${boundary}`];
    return body;
  }

  #graphql(parts: unknown): string | { readonly fault: string } {
    const [query, variables, operation] = ['query', 'variables', 'operationName'].map((name) =>
      memberOf(parts, name),
    );
    const written = typeof variables === 'string' ? this.#fill(variables) : textOf(variables);
    const values = written.trim() === '' ? '{}' : withoutComments(written);
    if (parseJson(values) === undefined) return { fault: 'The variables of its GraphQL body are no JSON.' };
    const name = typeof operation === 'string' ? `,"operationName":${JSON.stringify(operation)}` : '';
    return `{"query":${JSON.stringify(this.#fill(textOf(query)))},"variables":${values}${name}}`;
  }

  #raw(
    body: Json,
    headers: readonly Field[],
    type: (media: string) => void,
  ): string | undefined | { readonly fault: string } {
    const raw = body['raw'];
    if (typeof raw !== 'string' || raw === '') return undefined;
    const language = memberOf(memberOf(memberOf(body, 'options'), 'raw'), 'language');
    const given = fieldOf(headers, 'content-type');
    type(MEDIA_TYPES[textOf(language)] ?? 'text/plain');
    const isJsonBody = language === 'json' || /[/+]json/i.test(given ?? '');
    const filled = this.#fill(isJsonBody ? withoutComments(raw) : raw);
    const [unset] = this.#unset;
    if (isJsonBody && unset !== undefined && parseJson(filled) === undefined)
      return {
        fault: `Its body has ${unset}, which has no value, where JSON needs one: give it with --postman-env.`,
      };
    this.#sayUnset('in the body');
    return filled;
  }
}

function splitField(line: string): [string, string] {
  const colon = line.indexOf(':');
  return colon === -1 ? [line, ''] : [line.slice(0, colon), line.slice(colon + 1)];
}

/** The address of a URL as text, as `raw`, or put together from its parts; of these, disabled parameters are left out. */
function addressOf(url: unknown): { readonly address: string; readonly isFromParts: boolean } {
  if (typeof url === 'string') return { address: url, isFromParts: false };
  const [raw, path] = [memberOf(url, 'raw'), memberOf(url, 'path')];
  if (path === undefined || path === null) {
    const host = joined(memberOf(url, 'host'), '.');
    return { address: textOf(raw) || hostOf(url, host), isFromParts: false };
  }
  const segments = joined(path, '/').replace(/^\//, '');
  const query = memberOf(url, 'query');
  const parameters = (Array.isArray(query) ? query : [])
    .filter((parameter) => isEnabled(parameter))
    .map((parameter) => {
      const [name, value] = [memberOf(parameter, 'key'), memberOf(parameter, 'value')];
      return textOf(name) + (value === undefined || value === null ? '' : `=${textOf(value)}`);
    });
  const host = hostOf(url, joined(memberOf(url, 'host'), '.'));
  const search = parameters.length === 0 ? textQuery(query) : `?${parameters.join('&')}`;
  return { address: `${host}/${segments}${search}`, isFromParts: true };
}

/** The query as a text, as 2.0 may have it. */
function textQuery(query: unknown): string {
  return typeof query === 'string' && query !== '' ? `?${query}` : '';
}

function hostOf(url: unknown, host: string): string {
  const [protocol, port] = [textOf(memberOf(url, 'protocol')), textOf(memberOf(url, 'port'))];
  const scheme = protocol === '' || host === '' ? '' : `${protocol.split(':', 1)[0] ?? ''}://`;
  return `${scheme}${host}${port === '' || host === '' ? '' : `:${port}`}`;
}

function joined(parts: unknown, mark: string): string {
  if (!Array.isArray(parts)) return textOf(parts);
  return parts.map((part) => textOf(isJson(part) ? part['value'] : part)).join(mark);
}

/** What Postman encodes in a URL: everything but the characters that a URL may have, and `%`. */
function encodedUrl(url: string): string {
  return url.replaceAll(/[^\w.~:/?#[\]@!$&'()*+,;=%|\\^`-]+/gu, (text) =>
    encodeURIComponent(text.toWellFormed()),
  );
}

/** JSON without `//` and block comments, which Postman takes out; every other character stays. */
function withoutComments(text: string): string {
  let kept = '';
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '"') {
      for (at += 1; at < text.length && text[at] !== '"'; at += 1) if (text[at] === '\\') at += 1;
      continue;
    }
    const isBlock = text.startsWith('/*', at);
    if (!isBlock && !text.startsWith('//', at)) continue;
    const end = text.indexOf(isBlock ? '*/' : '\n', at + 2);
    kept += text.slice(from, at);
    from = end === -1 ? text.length : end + (isBlock ? 2 : 0);
    at = from - 1;
  }
  return kept + text.slice(from);
}
