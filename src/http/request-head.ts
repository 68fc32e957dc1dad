import { readDecimal } from './decimal.ts';
import { isFieldValue } from './field-lines.ts';
import { isForwarding } from './forwarded.ts';
import { type HeaderList, withoutFields } from './header-list.ts';
import { isHopByHop, namesOthers, nominated } from './hop-by-hop.ts';

/** The fields of a request's header section that the gateway uses, read in one pass. */
export interface RequestHead {
  readonly fault: HeadFault | undefined;
  readonly host: string | undefined;
  readonly authorization: string | undefined;
  readonly contentType: string | undefined;
  /** All values of `Content-Encoding`, joined with commas. */
  readonly contentEncoding: string | undefined;
  /** Length of the body in bytes; undefined without `Content-Length`. */
  readonly contentLength: number | undefined;
  readonly chunked: boolean;
  readonly apiVersion: string | undefined;
  readonly requestId: string | undefined;
  readonly traceparent: string | undefined;
  readonly upgrade: string | undefined;
  readonly expect: string | undefined;
  /**
   * The fields to forward, in order and spelling as received: without hop-by-hop fields, those that `Connection` lists, `Host`,
   * `Expect` and the framing, and without `Forwarded` and similar fields unless the peer is trusted.
   */
  readonly forwardedHeaders: string[];
}

/** Why a header section is refused, with the response status. */
export interface HeadFault {
  readonly status: 400 | 431 | 501;
  readonly detail: string;
}

/** Limits of a header section. */
export interface HeadLimits {
  /** Maximum number of fields. */
  readonly count: number;
  /** Maximum bytes of names, values and their separators. */
  readonly bytes: number;
}

/**
 * Reads a header section, and refuses anything that two parsers could read differently. With `areChecked` the values are known to
 * have no control characters. `targetBytes` count against the limit of bytes: in HTTP/1.1 the target is part of what is limited.
 */
export function readHead(
  headers: HeaderList,
  limits: HeadLimits,
  trusted: boolean,
  areChecked = false,
  targetBytes = 0,
): RequestHead {
  const reader = new HeadReader(trusted);
  if (headers.length > limits.count * 2) {
    reader.fault = { status: 431, detail: `The request has more than ${limits.count} header fields.` };
  }
  let bytes = targetBytes;
  const end = Math.min(headers.length, limits.count * 2);
  for (let at = 0; at < end; at += 2) {
    const name = headers[at] ?? '';
    const value = headers[at + 1] ?? '';
    bytes += name.length + value.length + 4;
    if (!areChecked) reader.check(name, value);
    reader.read(name, value);
  }
  if (bytes > limits.bytes) {
    reader.fault ??= {
      status: 431,
      detail: `The request's header section is larger than ${limits.bytes} bytes.`,
    };
  }
  reader.finish();
  return reader;
}

/** How a field is handled: at most one allowed, used by the gateway, not forwarded, or any other. */
type Use =
  | Singleton
  | 'connection'
  | 'upgrade'
  | 'hop-by-hop'
  | 'expect'
  | 'forwarding'
  | 'alias'
  | 'contentEncoding'
  | 'requestId'
  | 'traceparent'
  | 'other';

/** Fields that must not be repeated: with two lines, two parsers could read two different requests. */
type Singleton = 'host' | 'authorization' | 'contentType' | 'length' | 'coding' | 'apiVersion';

const FIELD_USES: ReadonlyMap<string, Use> = new Map<string, Use>([
  ['host', 'host'],
  ['authorization', 'authorization'],
  ['content-type', 'contentType'],
  ['content-length', 'length'],
  ['transfer-encoding', 'coding'],
  ['x-api-version', 'apiVersion'],
  ['connection', 'connection'],
  ['upgrade', 'upgrade'],
  ['expect', 'expect'],
  ['content-encoding', 'contentEncoding'],
  ['x-request-id', 'requestId'],
  ['traceparent', 'traceparent'],
]);

/** Other fields that nearly every client sends. */
const COMMON_NAMES = [
  'accept',
  'accept-encoding',
  'accept-language',
  'user-agent',
  'keep-alive',
  'cookie',
  'origin',
  'tracestate',
];

/** Uses by the two spellings that nearly all clients send, so that most names take one lookup and no conversion. */
const usesBySpelling: ReadonlyMap<string, Use> = new Map(
  [...FIELD_USES.keys(), ...COMMON_NAMES].flatMap((lower): [string, Use][] => [
    [lower, useOf(lower)],
    [lower.replaceAll(/(?<![a-z])[a-z]/g, (letter) => letter.toUpperCase()), useOf(lower)],
  ]),
);

function useOf(lower: string): Use {
  const use = FIELD_USES.get(lower);
  if (use !== undefined) return use;
  if (isHopByHop(lower)) return 'hop-by-hop';
  if (isForwarding(lower)) return 'forwarding';
  return lower.includes('_') && isAlias(lower) ? 'alias' : 'other';
}

/** Servers that follow CGI read X_API_VERSION as X-API-VERSION, which would bypass every check. */
function isAlias(lower: string): boolean {
  const plain = lower.replaceAll('_', '-');
  const use = FIELD_USES.get(plain);
  return (use !== undefined && use !== 'expect') || isHopByHop(plain) || isForwarding(plain);
}

class HeadReader implements RequestHead {
  fault: HeadFault | undefined = undefined;
  host: string | undefined = undefined;
  authorization: string | undefined = undefined;
  contentType: string | undefined = undefined;
  contentEncoding: string | undefined = undefined;
  contentLength: number | undefined = undefined;
  chunked = false;
  apiVersion: string | undefined = undefined;
  requestId: string | undefined = undefined;
  traceparent: string | undefined = undefined;
  upgrade: string | undefined = undefined;
  expect: string | undefined = undefined;
  forwardedHeaders: string[] = [];
  private length: string | undefined = undefined;
  private coding: string | undefined = undefined;
  private connection: string[] | undefined = undefined;
  private readonly trusted: boolean;

  constructor(trusted: boolean) {
    this.trusted = trusted;
  }

  check(name: string, value: string): void {
    if (!isFieldValue(value)) this.refuse(`The value of ${name.toLowerCase()} contains a control character.`);
  }

  read(name: string, value: string): void {
    const use = usesBySpelling.get(name) ?? useOf(name.toLowerCase());
    switch (use) {
      case 'other':
        break;
      case 'host':
      case 'length':
      case 'coding':
        this.setSingleton(use, name, value);
        return;
      case 'authorization':
      case 'contentType':
      case 'apiVersion':
        this.setSingleton(use, name, value);
        break;
      case 'connection':
        if (namesOthers(value)) (this.connection ??= []).push(value);
        return;
      case 'upgrade':
        this.upgrade = this.upgrade === undefined ? value : `${this.upgrade}, ${value}`;
        return;
      case 'hop-by-hop':
        return;
      case 'expect':
        this.expect = this.expect === undefined ? value : `${this.expect}, ${value}`;
        return;
      case 'forwarding':
        if (!this.trusted) return;
        break;
      case 'alias': {
        const lower = name.toLowerCase();
        this.refuse(`The header ${lower} can be read as ${lower.replaceAll('_', '-')}.`);
        break;
      }
      case 'contentEncoding':
        this.contentEncoding =
          this.contentEncoding === undefined ? value : `${this.contentEncoding},${value}`;
        break;
      case 'requestId':
        this.requestId ??= value;
        break;
      case 'traceparent':
        this.traceparent ??= value;
        break;
    }
    this.forwardedHeaders.push(name, value);
  }

  private setSingleton(field: Singleton, name: string, value: string): void {
    if (this[field] !== undefined) this.refuse(`The header ${name.toLowerCase()} occurs twice.`);
    this[field] = value;
  }

  finish(): void {
    if (this.connection !== undefined)
      this.forwardedHeaders = withoutFields(this.forwardedHeaders, nominated(this.connection));
    if (this.length !== undefined) {
      this.contentLength = readDecimal(this.length);
      if (this.contentLength === undefined) this.refuse('Content-Length is not a number of bytes.');
    }
    if (this.coding === undefined) return;
    if (this.length !== undefined) this.refuse('The request has both Transfer-Encoding and Content-Length.');
    if (this.coding.toLowerCase() === 'chunked') {
      this.chunked = true;
      return;
    }
    this.fault ??= /^[a-z][\w-]*(?:[ \t]*,[ \t]*[a-z][\w-]*)*$/i.test(this.coding)
      ? { status: 501, detail: 'The only supported transfer coding is chunked.' }
      : { status: 400, detail: 'Transfer-Encoding is malformed.' };
  }

  private refuse(detail: string): void {
    this.fault ??= { status: 400, detail };
  }
}
