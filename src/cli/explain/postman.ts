import { latin1Bytes } from '../../http/byte-collector.ts';
import type { ExplainRequest } from '../../inspector/api.ts';
import { encodeBase64 } from '../../inspector/entries/curl.ts';
import { type NamedRequest, readAddress, type ReadRequests } from '../../inspector/explain/curl-command.ts';
import { isJsonObject, memberOf } from '../../json/values.ts';
import type { CommandFault } from '../command-fault.ts';
import {
  faultOfJson,
  type Field,
  fieldOf,
  formBody,
  type FormPart,
  type Json,
  multipartBody,
  parseJson,
  textOf,
} from './forms.ts';

/** Variables in order of precedence: the environment's, the folders' from the inside out, the collection's. */
type Scopes = readonly ReadonlyMap<string, string>[];

/** Properties that the items below a folder inherit. */
interface Folder {
  readonly name: string;
  readonly scopes: Scopes;
  readonly auth: unknown;
  /** Whether GET and other methods without a body keep one. */
  readonly keepsBody: unknown;
}

/**
 * Reads the requests of a Postman collection (2.0 and 2.1, also in the envelope of Postman's API), including those in folders. `environment`
 * is the text of an exported environment, whose values precede the collection's.
 */
export function readPostman(text: string, environment?: string): ReadRequests | CommandFault {
  const parsed = parseJson(text);
  const collection = memberOf(parsed, 'collection') ?? parsed;
  const items = memberOf(collection, 'item');
  if (!Array.isArray(items)) return { fault: faultOfJson(text) ?? notACollection(collection), isJunk: true };
  const outer = environment === undefined ? new Map<string, string>() : readEnvironment(environment);
  if (outer === undefined)
    return {
      fault: faultOfJson(environment ?? '') ?? 'This is not a Postman environment: it has no values.',
      isJunk: true,
    };
  const reader = new CollectionReader(outer);
  const folder = {
    name: '',
    scopes: [],
    auth: memberOf(collection, 'auth'),
    keepsBody: behaviourOf(collection, 'disableBodyPruning'),
  };
  reader.readItems(collection, items, folder);
  return reader;
}

function notACollection(value: unknown): string {
  if (Array.isArray(memberOf(value, 'requests')))
    return 'This is a Postman collection of version 1: export it as version 2.1.';
  if (Array.isArray(memberOf(value, 'values')))
    return 'This is a Postman environment and not a collection: give it with --postman-env.';
  return 'This is not a Postman collection: it has no item.';
}

function readEnvironment(text: string): ReadonlyMap<string, string> | undefined {
  const parsed = parseJson(text);
  const values = memberOf(memberOf(parsed, 'environment') ?? parsed, 'values');
  return Array.isArray(values) ? variablesOf(values) : undefined;
}

/** Variables by `key`, or by `id` in older exports; numbers and booleans as text. */
function variablesOf(list: unknown): ReadonlyMap<string, string> {
  const variables = new Map<string, string>();
  for (const variable of Array.isArray(list) ? list : []) {
    if (!isEnabled(variable)) continue;
    const name = memberOf(variable, 'key') ?? memberOf(variable, 'id');
    if (typeof name !== 'string') continue;
    const value = memberOf(variable, 'value');
    const number = memberOf(variable, 'type') === 'number' ? Number(textOf(value) || Number.NaN) : Number.NaN;
    variables.set(name, Number.isNaN(number) ? writtenValue(value) : String(number));
  }
  return variables;
}

/** A value as Postman inserts it into text, where null becomes `null`. */
function writtenValue(value: unknown): string {
  return value === null ? 'null' : textOf(value);
}

/** A setting by which an item, folder or collection changes how its requests are sent. */
function behaviourOf(item: unknown, name: string): unknown {
  return memberOf(memberOf(item, 'protocolProfileBehavior'), name);
}

function isEnabled(value: unknown): boolean {
  return memberOf(value, 'disabled') !== true && memberOf(value, 'enabled') !== false;
}

/** Methods whose body Postman drops unless the item says otherwise. */
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

const VARIABLE = /\{\{([^{}]*)\}\}/g;

/** Maximum depth to which Postman fills in variables within variables. */
const MAX_DEPTH = 20;

/** Maximum characters that variables insert into one request: values that name further variables can otherwise grow exponentially. */
const MAX_INSERTED = 1024 * 1024;

/** The same for all requests of a collection: a short file can have hundreds that each insert as much as they may. */
const MAX_INSERTED_IN_ALL = 8 * MAX_INSERTED;

const TOO_LONG = 'Its variables insert more than a million characters.';
const TOO_LONG_IN_ALL =
  'Its variables and those of the requests before it insert more than eight million characters.';

class CollectionReader implements ReadRequests {
  readonly requests: NamedRequest[] = [];
  readonly faults: { readonly name: string; readonly fault: string }[] = [];
  private readonly collected = new Set<string>();
  private readonly environment: ReadonlyMap<string, string>;
  /** Characters that variables may still insert. */
  private readonly room: Room = { left: MAX_INSERTED_IN_ALL };
  private scripts = 0;

  constructor(environment: ReadonlyMap<string, string>) {
    this.environment = environment;
  }

  get notes(): readonly string[] {
    if (this.scripts === 0) return [...this.collected];
    const scripts = this.scripts === 1 ? '1 script' : `${this.scripts} scripts`;
    return [
      ...this.collected,
      `${scripts} before requests ${this.scripts === 1 ? 'is' : 'are'} not run: variables that they set have no value here.`,
    ];
  }

  readItems(parent: unknown, items: readonly unknown[], { scopes, ...folder }: Folder): void {
    this.countScripts(parent);
    const inner = { ...folder, scopes: [variablesOf(memberOf(parent, 'variable')), ...scopes] };
    for (const [number, item] of items.entries()) this.readItem(item, number, inner);
  }

  private countScripts(item: unknown): void {
    const events = memberOf(item, 'event');
    for (const event of Array.isArray(events) ? events : []) {
      const lines = memberOf(memberOf(event, 'script'), 'exec');
      const text = Array.isArray(lines) ? lines.join('') : textOf(lines);
      if (memberOf(event, 'listen') === 'prerequest' && text.trim() !== '') this.scripts += 1;
    }
  }

  private readItem(item: unknown, number: number, folder: Folder): void {
    const given = memberOf(item, 'name');
    const title = typeof given === 'string' && given !== '' ? given : `request ${number + 1}`;
    const name = folder.name === '' ? title : `${folder.name} / ${title}`;
    const auth = authOf(memberOf(item, 'auth'), folder.auth);
    const keepsBody = behaviourOf(item, 'disableBodyPruning') ?? folder.keepsBody;
    const items = memberOf(item, 'item');
    if (Array.isArray(items)) {
      this.readItems(item, items, { name, scopes: folder.scopes, auth, keepsBody });
      return;
    }
    this.countScripts(item);
    const scopes = [this.environment, variablesOf(memberOf(item, 'variable')), ...folder.scopes];
    const reader = new RequestReader(scopes, this.collected, this.room);
    const read = reader.read(item, auth, keepsBody === true);
    if (typeof read === 'string') this.faults.push({ name, fault: read });
    else this.requests.push({ name, request: read });
  }
}

/** An item's own credentials, which may be `noauth`, or the inherited ones. */
function authOf(own: unknown, inherited: unknown): unknown {
  return typeof memberOf(own, 'type') === 'string' ? own : inherited;
}

/** Supported kinds of credentials, and none. */
const KNOWN_AUTH: ReadonlySet<string> = new Set(['noauth', 'basic', 'bearer', 'oauth2', 'apikey']);

/** How much the requests of a collection may still take. */
interface Room {
  left: number;
}

class RequestReader {
  private readonly scopes: Scopes;
  private readonly notes: Set<string>;
  private readonly room: Room;
  /** Variables without a value so far. */
  private readonly unset = new Set<string>();
  /** Characters that variables have inserted so far. */
  private inserted = 0;

  constructor(scopes: Scopes, notes: Set<string>, room: Room) {
    this.scopes = scopes;
    this.notes = notes;
    this.room = room;
  }

  /** Why a request that inserts so much is not read; undefined for any other. */
  private get excess(): string | undefined {
    if (this.inserted > MAX_INSERTED) return TOO_LONG;
    return this.inserted > 0 && this.room.left < 0 ? TOO_LONG_IN_ALL : undefined;
  }

  /** An item's request, or a sentence that says why there is none. */
  read(item: unknown, inherited: unknown, keepsBody: boolean): ExplainRequest | string {
    const given = memberOf(item, 'request');
    const request = typeof given === 'string' ? { url: given } : given;
    if (!isJsonObject(request)) return 'It has no request.';
    const headers = this.headers(request['header']);
    const query: Field[] = [];
    this.authorize(authOf(request['auth'], inherited), headers, query);
    const target = this.target(request['url'], query, headers);
    if (this.excess !== undefined) return this.excess;
    if (typeof target !== 'string') return target.fault;
    const method = this.fill(textOf(request['method'])).trim().toUpperCase() || 'GET';
    const known = fieldOf(headers, 'content-type');
    const body = BODILESS.has(method) && !keepsBody ? undefined : this.body(request['body'], headers);
    if (this.excess !== undefined) return this.excess;
    if (typeof body === 'object') return body.fault;
    const isTypeOff = memberOf(behaviourOf(item, 'disabledSystemHeaders'), 'content-type') === true;
    const sent =
      isTypeOff && known === undefined
        ? headers.filter(([name]) => name.toLowerCase() !== 'content-type')
        : headers;
    return { method, target, headers: sent, ...(body === undefined ? {} : { body }) };
  }

  /** Fills in variables, those within their values, and those within their names. */
  private fill(text: string): string {
    let filled = text;
    for (let pass = 0; pass < MAX_DEPTH; pass += 1) {
      const before = filled;
      filled = before.replaceAll(VARIABLE, (whole, written: string) => {
        const name = written.trim();
        const value = this.scopes.find((scope) => scope.has(name))?.get(name);
        this.inserted += value?.length ?? 0;
        this.room.left -= value?.length ?? 0;
        if (this.excess !== undefined) return '';
        return value ?? (name.startsWith('$') ? this.dynamic(name) : whole);
      });
      if (filled === before) break;
    }
    for (const [whole] of filled.matchAll(VARIABLE)) this.unset.add(whole);
    return filled;
  }

  private dynamic(name: string): string {
    const value = DYNAMIC[name] ?? 'text';
    this.notes.add(`Postman makes a new {{${name}}} for each request; here it is ${value}.`);
    return value;
  }

  private sayUnset(where: string): void {
    for (const variable of this.unset)
      this.notes.add(`${variable} has no value: it is sent ${where} as written. Give it with --postman-env.`);
    this.unset.clear();
  }

  /** Reads a list of fields, or the text of a head, in which `//` disables a line. */
  private headers(given: unknown): [string, string][] {
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
      const name = this.fill(textOf(pair[0])).trim();
      if (name === '') return [];
      const isSecret = /^(?:authorization|cookie|x-api-key)$/i.test(name);
      const known = new Set(this.unset);
      const value = this.fill(writtenValue(pair[1])).trim();
      if (isSecret) for (const variable of this.unset) if (!known.has(variable)) this.unset.delete(variable);
      return [[name, value]];
    });
    this.sayUnset('in a header');
    return headers;
  }

  /** Adds credentials as Postman does; their place matters, not their value. */
  private authorize(auth: unknown, headers: [string, string][], query: Field[]): void {
    const type = memberOf(auth, 'type');
    if (typeof type !== 'string') return;
    if (!KNOWN_AUTH.has(type))
      this.notes.add(`Credentials of the kind ${type} are not supported: the request lacks them.`);
    const parameters = memberOf(auth, type);
    // A list in 2.1, or an object in 2.0.
    const values = Array.isArray(parameters)
      ? variablesOf(parameters)
      : new Map(
          Object.entries(isJsonObject(parameters) ? parameters : {}).map(([name, value]) => [
            name,
            textOf(value),
          ]),
        );
    const get = (name: string): string => this.fill(values.get(name) ?? '');
    const send = (value: string): void => setField(headers, ['Authorization', value]);
    if (type === 'basic')
      send(`Basic ${encodeBase64(new TextEncoder().encode(`${get('username')}:${get('password')}`))}`);
    const token = get(type === 'oauth2' ? 'accessToken' : 'token');
    if (type === 'oauth2' && values.get('addTokenTo') === 'queryParams') query.push(['access_token', token]);
    else if ((type === 'bearer' || type === 'oauth2') && token !== '')
      send(
        `${type === 'oauth2' && values.has('headerPrefix') ? get('headerPrefix').trim() : 'Bearer'} ${token}`.trim(),
      );
    if (type === 'apikey' && get('key') !== '') {
      const field: [string, string] = [get('key'), get('value')];
      if (values.get('in') === 'query') query.push(field);
      else setField(headers, field);
    }
    this.unset.clear();
  }

  private target(
    url: unknown,
    added: readonly Field[],
    headers: [string, string][],
  ): string | { readonly fault: string } {
    const address = addressOf(url).trimStart();
    if (address.trim() === '') return { fault: 'It has no URL.' };
    const variables = pathVariables(memberOf(url, 'variable'));
    const origin = ORIGIN.exec(address)?.[0] ?? '';
    const base = this.knownHost(this.fill(origin));
    const [path = '', ...queries] = address.slice(origin.length).split('?');
    const filled = this.fill([this.inPath(path, variables), ...queries].join('?'));
    this.sayUnset('in the URL');
    const [whole = ''] = (base + filled).split('#', 1);
    const read = readAddress(encodedUrl(whole), { isPathAsIs: true });
    if (typeof read === 'string') return { fault: read };
    if (read.user !== undefined && fieldOf(headers, 'authorization') === undefined)
      headers.push(['Authorization', `Basic ${encodeBase64(latin1Bytes(read.user))}`]);
    const parameters = [
      ...(read.query === undefined ? [] : [read.query]),
      ...(added.length === 0 ? [] : [formBody(added)]),
    ];
    return read.path + (parameters.length === 0 ? '' : `?${parameters.join('&')}`);
  }

  /** An address's origin; variables without a value become a placeholder scheme and host, which do not affect the result. */
  private knownHost(base: string): string {
    const origin = ORIGIN.exec(base)?.[0] ?? '';
    const unset = [...origin.matchAll(VARIABLE)].map(([whole]) => whole);
    if (unset.length === 0) return base;
    for (const variable of unset) {
      this.unset.delete(variable);
      this.notes.add(`${variable} has no value, and is read as scheme and host. Give it with --postman-env.`);
    }
    // `{{base}}clients`: the value ends with a slash.
    const segment = /^\{\{[^{}]*\}\}([^{}:.-].*)$/.exec(origin)?.[1];
    return `http://host${segment === undefined ? '' : `/${segment}`}${base.slice(origin.length)}`;
  }

  /** Fills in path variables, such as `:id` at the beginning of a segment, without encoding. */
  private inPath(path: string, variables: ReadonlyMap<string, string>): string {
    return path
      .split('/')
      .map((segment) => {
        const [whole, name = ''] = /^:([^:.]+)/.exec(segment) ?? [];
        if (whole === undefined) return segment;
        const value = variables.get(name) ?? '';
        if (value !== '') return value + segment.slice(whole.length);
        this.notes.add(`The path variable :${name} has no value: the URL keeps its name as written.`);
        return segment;
      })
      .join('/');
  }

  /** Returns the body as Postman sends it; adds the Content-Type that Postman derives from it. */
  private body(body: unknown, headers: [string, string][]): string | undefined | { readonly fault: string } {
    const type = (media: string): void => {
      if (fieldOf(headers, 'content-type') === undefined) headers.push(['Content-Type', media]);
    };
    if (typeof body === 'string') return this.raw({ raw: body }, headers, type);
    if (!isJsonObject(body) || !isEnabled(body)) return undefined;
    const mode = body['mode'];
    const parts = isJsonObject(body) && typeof mode === 'string' ? body[mode] : undefined;
    switch (mode) {
      case 'urlencoded': {
        const parameters = this.parameters(typeof parts === 'string' ? pairsOf(parts) : parts);
        if (parameters.length === 0) return undefined;
        const media = 'application/x-www-form-urlencoded';
        if (fieldOf(headers, 'content-type')?.startsWith(media) !== true)
          setField(headers, ['Content-Type', media]);
        return formBody(parameters);
      }
      case 'formdata':
        return this.form(parts, headers);
      case 'graphql':
        type('application/json');
        return this.graphql(parts);
      case 'file': {
        const file = textOf(memberOf(parts, 'src') ?? memberOf(parts, 'content') ?? parts);
        return file === '{}' || file === ''
          ? undefined
          : {
              fault: `Its body is the file ${file}, which this command does not read; explain the file itself.`,
            };
      }
      case 'none':
      case null:
        return undefined;
      case 'raw':
      case undefined:
        return this.raw(body, headers, type);
      default:
        return { fault: `Its body has the mode ${textOf(mode)}, which is not supported.` };
    }
  }

  private parameters(parts: unknown): readonly Field[] {
    const fields = (Array.isArray(parts) ? parts : [])
      .filter((part) => isEnabled(part))
      .map((part): Field => [
        this.fill(textOf(memberOf(part, 'key'))),
        this.fill(textOf(memberOf(part, 'value'))),
      ]);
    this.sayUnset('in the form');
    return fields;
  }

  private form(parts: unknown, headers: [string, string][]): string | undefined {
    const fields = (Array.isArray(parts) ? parts : [])
      .filter((part) => isEnabled(part))
      .map((part): FormPart => {
        const name = this.fill(textOf(memberOf(part, 'key')));
        const media = memberOf(part, 'contentType');
        const type = typeof media === 'string' && media !== '' ? this.fill(media) : undefined;
        if (memberOf(part, 'type') !== 'file')
          return { name, type, content: this.fill(textOf(memberOf(part, 'value'))) };
        const source = memberOf(part, 'src');
        const path = textOf(Array.isArray(source) ? source[0] : source);
        if (path === '') return { name, type, filename: '', content: '' };
        this.notes.add(`This command does not read the file ${path} of a form; … replaces it.`);
        const filename = path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
        return { name, type: type ?? 'application/octet-stream', filename, content: '…' };
      });
    this.sayUnset('in the form');
    if (fields.length === 0) return undefined;
    const { body, boundary } = multipartBody(fields);
    // Postman replaces any other type.
    if (!/^multipart\/form-data\b.*boundary=/i.test(fieldOf(headers, 'content-type') ?? ''))
      setField(headers, ['Content-Type', `multipart/form-data; boundary=${boundary}`]);
    return body;
  }

  /** Joins the members as Postman does, without parsing the variables. */
  private graphql(parts: unknown): string | { readonly fault: string } {
    const [query, operation, given] = ['query', 'operationName', 'variables'].map((name) =>
      memberOf(parts, name),
    );
    const variables = typeof given === 'string' ? this.fill(given) : given && this.fill(textOf(given));
    const members = [
      ...(typeof query === 'string' ? [`"query":${JSON.stringify(this.fill(query))}`] : []),
      ...(typeof operation === 'string' ? [`"operationName":${JSON.stringify(operation)}`] : []),
      ...(variables === undefined || variables === '' ? [] : [`"variables":${textOf(variables) || 'null'}`]),
    ];
    const body = `{${members.join(',')}}`;
    return parseJson(body) === undefined
      ? { fault: 'The variables of its GraphQL body are not JSON, and Postman sends them unchanged.' }
      : body;
  }

  private raw(
    body: Json,
    headers: readonly Field[],
    type: (media: string) => void,
  ): string | undefined | { readonly fault: string } {
    const raw = textOf(body['raw']);
    if (raw === '') return undefined;
    const language = memberOf(memberOf(memberOf(body, 'options'), 'raw'), 'language');
    const given = fieldOf(headers, 'content-type');
    type(MEDIA_TYPES[textOf(language)] ?? 'text/plain');
    const isJsonBody = language === undefined ? /[/+]json/i.test(given ?? '') : language === 'json';
    const filled = this.fill(isJsonBody ? withoutComments(raw) : raw);
    const [unset] = this.unset;
    if (isJsonBody && unset !== undefined && parseJson(filled) === undefined)
      return {
        fault: `Its body has ${unset}, which has no value, where JSON needs one: give it with --postman-env.`,
      };
    this.sayUnset('in the body');
    return filled;
  }
}

function splitField(line: string): [string, string] {
  const colon = line.indexOf(':');
  return colon === -1 ? [line, ''] : [line.slice(0, colon), line.slice(colon + 1)];
}

/** Sets a field, and replaces the item's own. */
function setField(headers: [string, string][], field: [string, string]): void {
  const name = field[0].toLowerCase();
  const others = headers.filter(([other]) => other.toLowerCase() !== name);
  headers.splice(0, headers.length, ...others, field);
}

/** The parameters of a form that is written as text. */
function pairsOf(form: string): readonly Json[] {
  return form.split('&').map((pair) => {
    const equals = pair.indexOf('=');
    return equals === -1
      ? { key: pair, value: '' }
      : { key: pair.slice(0, equals), value: pair.slice(equals + 1) };
  });
}

/** An address's scheme and host, which may contain variables. */
const ORIGIN = /^(?:[^/?#]*:\/\/)?[^/?#]*/;

/** The values of path variables, which count even if they are disabled. */
function pathVariables(list: unknown): ReadonlyMap<string, string> {
  const given = Array.isArray(list) ? list : [];
  return variablesOf(
    given.map((variable: unknown) =>
      isJsonObject(variable)
        ? { ...variable, value: memberOf(variable, 'value') ?? '', disabled: false }
        : variable,
    ),
  );
}

/** A URL's address: the text itself, its `raw`, or its parts joined, without disabled parameters. */
function addressOf(url: unknown): string {
  if (typeof url === 'string') return url;
  const [raw, path] = [memberOf(url, 'raw'), memberOf(url, 'path')];
  if (path === undefined || path === null) {
    const host = joined(memberOf(url, 'host'), '.');
    return textOf(raw) || hostOf(url, host);
  }
  const segments = joined(path, '/').replace(/^\//, '');
  const query = memberOf(url, 'query');
  const parameters = (Array.isArray(query) ? query : [])
    .filter((parameter) => isEnabled(parameter))
    .map((parameter) => {
      const [name, value] = [memberOf(parameter, 'key'), memberOf(parameter, 'value')];
      const key = textOf(name).replaceAll(/[#&=]/g, encodeURIComponent);
      const isBare = value === undefined || value === null;
      return key + (isBare ? '' : `=${textOf(value).replaceAll(/[#&]/g, encodeURIComponent)}`);
    });
  const host = hostOf(url, joined(memberOf(url, 'host'), '.'));
  const search = parameters.length === 0 ? textQuery(query) : `?${parameters.join('&')}`;
  return `${host}/${segments}${search}`;
}

/** The query as text, which 2.0 allows. */
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
  return parts.map((part) => textOf(isJsonObject(part) ? part['value'] : part)).join(mark);
}

/** Encodes a URL as Postman does: all but the characters that a path or query may have, and some others. */
function encodedUrl(url: string): string {
  const encoded = (text: string, kept: RegExp): string =>
    text.replaceAll(kept, (found) => encodeURIComponent(found.toWellFormed()).replaceAll("'", '%27'));
  const at = url.indexOf('?');
  const [path, query] = at === -1 ? [url, ''] : [url.slice(0, at), url.slice(at)];
  return (
    encoded(path.replaceAll('\\', '/'), /[^\w.~:/[\]@!$&'()*+,;=%|^-]+/gu) +
    encoded(query, /[^\w.~:/?[\]{}@!$&()*+,;=%|\\^`-]+/gu)
  );
}

/** Removes `//` and block comments from JSON, as Postman does, and keeps every other character. */
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
