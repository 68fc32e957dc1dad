import { Buffer } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { parse as parseFlat } from 'node:querystring';
import { formatOfType, isForm, readJsonType } from '../../http/content.ts';
import { DIGEST_FIELDS } from '../../http/fields.ts';
import type { HeaderList } from '../../http/header-list.ts';
import { isJsonObject } from '../../json/values.ts';
import { headerListOf } from '../../library/verdicts.ts';
import { isStream } from './request-body.ts';

/** The body that a body parser, or the platform, has put on a request. */
export interface ParsedBody {
  /** The fields of the request, adapted to the bytes. */
  readonly fields: HeaderList;
  readonly bytes: () => Uint8Array;
}

/**
 * Returns the body of a request whose stream was read: from `rawBody`, which has the client's bytes, otherwise from `body`, by
 * serializing a parsed value. Undefined if neither is set.
 */
export function parsedBody(incoming: IncomingMessage): ParsedBody | undefined {
  const { rawBody, body } = propertiesOf(incoming);
  const kept = isKept(rawBody) ? rawBody : body;
  if (kept instanceof Uint8Array) {
    // Parsers decode it, but leave the name of the coding.
    const isCoded = kept[0] === 0x1f && kept[1] === 0x8b;
    return { fields: fieldsFor(incoming, isCoded, false), bytes: () => kept };
  }
  if (typeof kept === 'string') return textBody(incoming, () => kept);
  // Parsers convert a body that turns out to be empty to an empty value.
  const isEmpty = isStream(incoming) && incoming.readableEnded && !incoming.readableDidRead;
  if (isEmpty && incoming.headers['content-length'] === undefined)
    return { fields: fieldsOf(incoming), bytes: () => new Uint8Array() };
  const text = printed(incoming.headers['content-type'], kept);
  return text === undefined ? undefined : textBody(incoming, text);
}

function textBody(incoming: IncomingMessage, text: () => string): ParsedBody {
  return { fields: fieldsFor(incoming, false, true), bytes: () => Buffer.from(text()) };
}

/** Replaces V1's body where the parser put it with V2's, in the same form. */
export function putParsedBody(incoming: IncomingMessage, bytes: Uint8Array): void {
  const { rawBody, body } = propertiesOf(incoming);
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (isKept(rawBody)) Object.assign(incoming, { rawBody: inForm(rawBody, whole) });
  if (!('body' in incoming)) return;
  const type = incoming.headers['content-type'];
  Object.assign(incoming, { body: isKept(body) ? inForm(body, whole) : parsed(type, body, whole) });
}

/** The fields as received: adapters of cloud functions have no list of them. */
export function fieldsOf({ rawHeaders, headers }: IncomingMessage): HeaderList {
  return Array.isArray(rawHeaders) ? rawHeaders : headerListOf(headers);
}

interface BodyProperties {
  readonly rawBody?: unknown;
  readonly body?: unknown;
}

function propertiesOf(incoming: IncomingMessage & BodyProperties): BodyProperties {
  return { rawBody: incoming.rawBody, body: incoming.body };
}

/** True for the bytes or the text of a body. */
function isKept(body: unknown): body is Uint8Array | string {
  return (typeof body === 'string' || body instanceof Uint8Array) && body.length > 0;
}

function inForm(form: Uint8Array | string, bytes: Buffer): Buffer | string {
  return typeof form === 'string' ? bytes.toString() : bytes;
}

/** The fields without a coding that a parser has removed, and with UTF-8 if the body is now a text. A digest of other bytes is removed. */
function fieldsFor(incoming: IncomingMessage, isCoded: boolean, isText: boolean): string[] {
  const list = fieldsOf(incoming);
  const isReceived = !isText && (isCoded || incoming.headers['content-encoding'] === undefined);
  const fields: string[] = [];
  for (let at = 0; at < list.length; at += 2) {
    const [name = '', value = ''] = list.slice(at, at + 2);
    const lower = name.toLowerCase();
    if (lower === 'content-encoding' && !isCoded) continue;
    if (DIGEST_FIELDS.includes(lower) && !isReceived) continue;
    const isType = isText && lower === 'content-type';
    fields.push(name, isType ? value.replaceAll(charset, '; charset=utf-8') : value);
  }
  return fields;
}

const charset = /;[ \t]*charset=[^;]*/gi;

/** Serializes a parser's result for a body of this type; undefined for a type that cannot be restored, such as multipart. */
function printed(type: string | undefined, value: unknown): (() => string) | undefined {
  if (value === undefined) return undefined;
  if (isJson(type)) return () => JSON.stringify(value);
  if (!isForm(formatOfType(type)) || typeof value !== 'object' || value === null) return undefined;
  return () => printFields(value, '').join('&');
}

/** Parses a body like the parser that made `former`. */
function parsed(type: string | undefined, former: unknown, bytes: Buffer): unknown {
  if (bytes.length === 0) return typeof former === 'object' && former !== null ? {} : undefined;
  if (isJson(type)) {
    const value: unknown = JSON.parse(bytes.toString());
    return value;
  }
  if (!isForm(formatOfType(type))) return former;
  const flat = parseFlat(bytes.toString());
  return isFlat(former) ? flat : nestedFields(flat);
}

function isJson(type: string | undefined): boolean {
  const reading = readJsonType(type);
  return reading === 'json' || reading === 'charset';
}

/** True for the result of a parser that treats brackets in names as plain characters. */
function isFlat(fields: unknown): boolean {
  if (typeof fields !== 'object' || fields === null) return false;
  return Object.getPrototypeOf(fields) === null || Object.keys(fields).some((name) => name.includes('['));
}

function printFields(value: object, name: string): string[] {
  return Object.entries(value).flatMap(([key, member]: [string, unknown]) => {
    const path = name === '' ? key : `${name}[${key}]`;
    if (Array.isArray(member) && member.every((element) => typeof element !== 'object')) {
      // A parser that treats brackets as plain characters keeps them in the name.
      const repeated = path.endsWith('[]') ? path : `${path}[]`;
      return member.map((element) => printField(repeated, element));
    }
    return typeof member === 'object' && member !== null
      ? printFields(member, path)
      : printField(path, member ?? '');
  });
}

function printField(name: string, value: unknown): string {
  return `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`;
}

/** Maximum levels of brackets in a name. */
const MAX_LEVELS = 32;

/** Converts names with brackets to objects and lists. */
function nestedFields(flat: Readonly<Record<string, unknown>>): object {
  const root: FieldObject = {};
  for (const [name, value] of Object.entries(flat)) {
    const steps = [name.split('[', 1)[0] ?? '', ...[...name.matchAll(bracket)].map(([, step = '']) => step)];
    if (steps.length > MAX_LEVELS || steps.includes('__proto__')) continue;
    const values = Array.isArray(value) && steps.at(-1) === '' ? value : [value];
    for (const element of values) putField(root, steps, element);
  }
  return asLists(root);
}

const bracket = /\[([^[\]]*)\]/g;

type FieldObject = Record<string, unknown>;

function putField(root: FieldObject, steps: readonly string[], value: unknown): void {
  let at = root;
  for (const [level, step] of steps.entries()) {
    const name = step === '' ? String(Object.keys(at).length) : step;
    if (level === steps.length - 1) {
      at[name] = value;
      return;
    }
    const known = Object.hasOwn(at, name) ? at[name] : undefined;
    const next: FieldObject = isJsonObject(known) ? known : {};
    at[name] = next;
    at = next;
  }
}

/** Converts objects below the root whose names are all numbers to lists. */
function asLists(fields: FieldObject): FieldObject {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => {
      if (!isJsonObject(value)) return [name, value];
      const made = asLists(value);
      const isList = Object.keys(made).every((key) => /^\d+$/.test(key));
      return [name, isList ? Object.values(made) : made];
    }),
  );
}
