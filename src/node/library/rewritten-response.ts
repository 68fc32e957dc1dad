import { Buffer } from 'node:buffer';
import { ServerResponse } from 'node:http';
import { ByteCollector, concatBytes } from '../../http/byte-collector.ts';
import { isHopByHop } from '../../http/fields.ts';
import { isFieldValue } from '../../http/header-list.ts';
import type { CollectedResponse, Migration, RequestOfResponse } from '../../library/migration.ts';
import type { ResponseVerdict } from '../../library/verdicts.ts';
import type { ResponseRecord } from '../../rewrite/response-rules.ts';
import type { BodyStream, TextNote } from '../../rewrite/text-stream.ts';
import { decodeBodySync } from '../decode-body.ts';

/**
 * Converts everything that a V2 service writes to `outgoing` to the V1 client's response. Like compression middleware, it replaces the
 * methods of this one object, so that any framework can write to it.
 */
export function rewriteResponse(
  migration: Migration,
  request: RequestOfResponse,
  outgoing: ServerResponse,
): void {
  const rewritten = new RewrittenOutgoing(migration, request, outgoing);
  const writeHead = (...given: unknown[]): unknown => rewritten.writeHead(given);
  Object.assign(outgoing, {
    writeHead,
    // The old name, which Node 26 has removed.
    ...('writeHeader' in outgoing ? { writeHeader: writeHead } : {}),
    write: (...given: unknown[]) => rewritten.write(given),
    end: (...given: unknown[]) => rewritten.end(given),
    flushHeaders: () => rewritten.flushHeaders(),
    // Node and express-session call it to send a head that was not written.
    _implicitHeader: () => rewritten.implicitHeader(),
  });
  for (const method of FIELD_METHODS) {
    const original = outgoing[method].bind(outgoing);
    Object.assign(outgoing, {
      [method]: (...given: unknown[]) => {
        rewritten.refuseFields();
        return Reflect.apply(original, undefined, given);
      },
    });
  }
  rewriteInformation(migration, request, outgoing);
  // For the service, the head counts as sent once the service can no longer change it.
  Object.defineProperty(outgoing, 'headersSent', { configurable: true, get: () => rewritten.headersSent });
}

/** The methods of a response that change its header fields. */
const FIELD_METHODS = ['setHeader', 'appendHeader', 'removeHeader'] as const;

/** The methods of a response that write to it. */
type Method = 'writeHead' | 'write' | 'end' | 'flushHeaders';

/** A response that is being collected. */
interface Collected {
  readonly started: CollectedResponse;
  readonly body: ByteCollector;
}

const NO_BYTES = new Uint8Array();

/** A response's head, and the verdict about its body. */
interface SentHead extends Pick<ResponseVerdict, 'status' | 'headers'> {
  readonly verdict: ResponseVerdict['verdict'] | 'streamed';
}

class RewrittenOutgoing {
  private readonly migration: Migration;
  private readonly request: RequestOfResponse;
  private readonly outgoing: ServerResponse;
  private readonly original: Readonly<Pick<ServerResponse, Method>>;
  private hasBegun = false;
  private collected: Collected | undefined = undefined;
  /** True once the service has ended a response that was collected, whose conversion may take longer. */
  private hasEnded = false;
  /** A response of several texts, each forwarded when it is complete. */
  private texts: BodyStream<ResponseRecord, TextNote> | undefined = undefined;

  constructor(migration: Migration, request: RequestOfResponse, outgoing: ServerResponse) {
    this.migration = migration;
    this.request = request;
    this.outgoing = outgoing;
    this.original = {
      writeHead: outgoing.writeHead.bind(outgoing),
      write: outgoing.write.bind(outgoing),
      end: outgoing.end.bind(outgoing),
      flushHeaders: outgoing.flushHeaders.bind(outgoing),
    };
  }

  get headersSent(): boolean {
    const { outgoing, collected } = this;
    return collected !== undefined || Reflect.get(ServerResponse.prototype, 'headersSent', outgoing);
  }

  /** Throws, as Node would, if the head of a collected response was written. */
  refuseFields(): void {
    if (this.collected !== undefined) throw headersSent('change');
  }

  writeHead(given: readonly unknown[]): unknown {
    const { outgoing } = this;
    if (this.hasBegun) {
      // Node also calls it to send a head that was not written.
      if (this.collected === undefined) return this.call('writeHead', given);
      throw headersSent('write');
    }
    // Node reports the fault.
    if (!applyHead(outgoing, given)) return this.call('writeHead', given);
    this.begin();
    if (this.collected === undefined) this.call('writeHead', [outgoing.statusCode]);
    return outgoing;
  }

  /** Only once: callers cannot see that the head of a collected response was written. */
  implicitHeader(): void {
    if (this.collected === undefined) this.outgoing.writeHead(this.outgoing.statusCode);
  }

  flushHeaders(): unknown {
    this.begin();
    return this.collected === undefined ? this.call('flushHeaders', []) : undefined;
  }

  write(given: readonly unknown[]): unknown {
    // Arguments that Node refuses do not begin the response.
    if (!isChunk(given[0])) return this.call('write', given);
    this.begin();
    const { collected, texts } = this;
    if (texts !== undefined) return this.writeTexts(texts, given);
    if (collected === undefined) return this.call('write', given);
    const { bytes, callback } = readWriteArguments(given);
    if (this.hasEnded) return refuseLate(callback);
    // A copy, because the service may reuse its buffer.
    if (bytes !== undefined) collected.body.add(bytes, true);
    if (callback !== undefined) queueMicrotask(callback);
    return collected.body.length > collected.started.limit ? this.stream(collected) : true;
  }

  end(given: readonly unknown[]): unknown {
    const [chunk] = given;
    const hasChunk = Boolean(chunk) && typeof chunk !== 'function';
    if (hasChunk && !isChunk(chunk)) return this.call('end', given);
    this.begin();
    const { collected, texts } = this;
    if (texts !== undefined) {
      this.texts = undefined;
      const { bytes, callback } = readWriteArguments(given);
      const last = [bytes === undefined ? NO_BYTES : texts.push(bytes).bytes, texts.end().bytes];
      const rest = concatBytes(last);
      return this.call('end', rest.length === 0 ? [callback] : [rest, callback]);
    }
    if (collected === undefined) return this.call('end', given);
    const { bytes, callback } = readWriteArguments(given);
    if (this.hasEnded) {
      if (bytes !== undefined) refuseLate(callback);
      else if (callback !== undefined) this.outgoing.on('finish', callback);
      return this.outgoing;
    }
    if (bytes !== undefined) collected.body.add(bytes);
    const { started, body } = collected;
    if (body.length > started.limit) {
      this.stream(collected);
      return this.call('end', [callback]);
    }
    this.hasEnded = true;
    const whole = body.take();
    const { coding, limit } = started;
    // Synchronously: for the service, a response has ended when `end` returns.
    const isCoded = coding !== undefined && whole.length > 0;
    const outcome = started.settle(isCoded ? decodeBodySync(coding, whole, limit) : whole, whole);
    if (outcome instanceof Promise) {
      // For the service it has ended, because its head and body are written.
      outcome.then((late) => this.send(late, callback)).catch((error: Error) => this.outgoing.destroy(error));
      return this.outgoing;
    }
    this.send(outcome, callback);
    return this.outgoing;
  }

  private send(outcome: ResponseVerdict, callback: WriteArguments['callback']): void {
    this.collected = undefined;
    this.replaceFields(outcome);
    this.call('end', outcome.body === null ? [callback] : [outcome.body, callback]);
  }

  /** Decides on the response, once its head is complete. */
  private begin(): void {
    if (this.hasBegun) return;
    this.hasBegun = true;
    const { outgoing, migration, request } = this;
    const started = migration.startResponse(request, outgoing.statusCode, fieldsOf(outgoing));
    if (started.action === 'collect') this.collected = { started, body: new ByteCollector() };
    // The output of compressing middleware cannot be read text by text.
    else if (started.action === 'stream' && started.coding === undefined) {
      this.texts = started.open();
      this.replaceFields({ ...started.response, verdict: 'streamed' });
    } else this.replaceFields(started.unchanged);
  }

  /** Writes the complete texts, if any. */
  private writeTexts(texts: BodyStream<ResponseRecord, TextNote>, given: readonly unknown[]): unknown {
    const { bytes, callback } = readWriteArguments(given);
    const ready = bytes === undefined ? NO_BYTES : texts.push(bytes).bytes;
    // A copy, because the stream keeps the bytes and the service may reuse its buffer.
    if (ready.length > 0) return this.call('write', [new Uint8Array(ready), callback]);
    if (callback !== undefined) queueMicrotask(callback);
    return true;
  }

  /** Sends the collected part of the response unchanged, and streams the rest. */
  private stream({ started, body }: Collected): unknown {
    this.collected = undefined;
    this.replaceFields(started.unchanged);
    return this.call('write', [body.take()]);
  }

  /** Replaces all fields but the hop-by-hop ones, which belong to the service's connection; the framing changes with the body. */
  private replaceFields({ verdict, status, headers }: SentHead): void {
    const { outgoing } = this;
    // A reason phrase belongs to its status.
    if (outgoing.statusCode !== status) outgoing.statusMessage = '';
    outgoing.statusCode = status;
    const fields = headers.filter(([name]) => !isHopByHop(name));
    const kept = new Set(fields.map(([name]) => name.toLowerCase()));
    for (const name of outgoing.getHeaderNames()) {
      const isFraming = name === 'transfer-encoding' || name === 'trailer';
      const stays = isHopByHop(name) ? !(isFraming && verdict !== 'unchanged') : kept.has(name);
      if (!stays) outgoing.removeHeader(name);
    }
    setFields(outgoing, fields);
  }

  private call(method: Method, given: readonly unknown[]): unknown {
    return Reflect.apply(this.original[method], undefined, given);
  }
}

function headersSent(action: string): Error {
  return Object.assign(new Error(`Cannot ${action} headers after they are sent to the client`), {
    code: 'ERR_HTTP_HEADERS_SENT',
  });
}

/** Refuses, as Node does, what a service writes after it ended its response. */
function refuseLate(callback: WriteArguments['callback']): false {
  const error = Object.assign(new Error('write after end'), { code: 'ERR_STREAM_WRITE_AFTER_END' });
  if (callback !== undefined) queueMicrotask(() => callback(error));
  return false;
}

/** Rewrites the links of informational responses (RFC 9110 §15.2), such as early hints, to V1. */
function rewriteInformation(
  migration: Migration,
  request: RequestOfResponse,
  outgoing: ServerResponse,
): void {
  const inV1 = (fields: unknown): unknown => {
    // Node accepts or refuses arguments other than pairs of fields.
    const pairs = typeof fields === 'object' && fields !== null ? pairsOf(fields) : undefined;
    if (pairs === undefined) return fields;
    const rewritten = pairs.map(([name, value]) => [name, valueInV1(migration, request, name, value)]);
    return Array.isArray(fields) ? rewritten : Object.fromEntries(rewritten);
  };
  // Since Node 24.18 it also writes early hints.
  if (typeof outgoing.writeInformation === 'function') {
    const write = outgoing.writeInformation.bind(outgoing);
    const writeInformation = (status: unknown, fields: unknown, ...rest: unknown[]): unknown =>
      Reflect.apply(write, undefined, [status, inV1(fields), ...rest]);
    Object.assign(outgoing, { writeInformation });
    return;
  }
  const write = outgoing.writeEarlyHints.bind(outgoing);
  const writeEarlyHints = (hints: unknown, ...rest: unknown[]): unknown =>
    Reflect.apply(write, undefined, [inV1(hints), ...rest]);
  Object.assign(outgoing, { writeEarlyHints });
}

/** Returns a value, or the values of several lines, with links to V1. */
function valueInV1(migration: Migration, request: RequestOfResponse, name: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((line) => valueInV1(migration, request, name, line));
  if (typeof value !== 'string') return value;
  const [field] = migration.startResponse(request, 103, [[name, value]]).unchanged.headers;
  return field === undefined ? value : field[1];
}

/** The arguments of `write` and `end`, in any of their forms. */
interface WriteArguments {
  /** The bytes of a chunk, if there is one. */
  readonly bytes: Uint8Array | undefined;
  readonly callback: ((...outcome: unknown[]) => void) | undefined;
}

/** True for a chunk that Node accepts. */
function isChunk(chunk: unknown): chunk is string | Uint8Array {
  return typeof chunk === 'string' || chunk instanceof Uint8Array;
}

/** Reads the arguments of `write` or `end`: a chunk, an encoding and a callback, each of which may be absent. */
function readWriteArguments(given: readonly unknown[]): WriteArguments {
  const [chunk, encoding] = given;
  const last = given.findLast((argument) => typeof argument === 'function');
  const callback =
    last === undefined ? undefined : (...outcome: unknown[]) => void Reflect.apply(last, undefined, outcome);
  if (chunk instanceof Uint8Array) return { bytes: chunk, callback };
  if (typeof chunk !== 'string') return { bytes: undefined, callback };
  const isNamed = typeof encoding === 'string' && Buffer.isEncoding(encoding);
  return { bytes: Buffer.from(chunk, isNamed ? encoding : 'utf8'), callback };
}

/**
 * Applies the arguments of `writeHead`: a status, an optional reason, and fields as an object, a flat list or pairs. Returns false for
 * arguments that Node refuses; invalid names and values throw.
 */
function applyHead(outgoing: ServerResponse, [code, second, third]: readonly unknown[]): boolean {
  const status = Math.trunc(Number(code));
  const reason = typeof second === 'string' ? second : undefined;
  const fields = pairsOf(reason === undefined ? (third ?? second) : third);
  const isTaken = status >= 100 && status <= 999 && isFieldValue(reason ?? '');
  if (!isTaken || fields === undefined) return false;
  outgoing.statusCode = status;
  if (reason !== undefined) outgoing.statusMessage = reason;
  setFields(outgoing, fields);
  return true;
}

/** A field as services give it to Node: its value may be a number, or a list for several lines. */
type GivenField = readonly [name: string, value: unknown];

/** Turns fields in any of Node's forms into pairs; undefined for a list that ends with a name. */
function pairsOf(fields: unknown): readonly GivenField[] | undefined {
  if (typeof fields !== 'object' || fields === null) return [];
  if (!Array.isArray(fields)) return Object.entries(fields);
  const list: readonly unknown[] = fields.every(Array.isArray) ? fields.flat() : fields;
  if (list.length % 2 !== 0) return undefined;
  return list.flatMap((name, at): GivenField[] => (at % 2 === 0 ? [[String(name), list[at + 1]]] : []));
}

/** Sets fields; repeated ones stay separate, and those with an unchanged value keep their spelling. */
function setFields(outgoing: ServerResponse, fields: readonly GivenField[]): void {
  // Typed as unknown, because Node checks values.
  const setter: { setHeader(name: string, value: unknown): unknown } = outgoing;
  const byName = new Map<string, { readonly name: string; readonly values: unknown[] }>();
  for (const [name, value] of fields) {
    const values: readonly unknown[] = Array.isArray(value) ? value : [value];
    const known = byName.get(name.toLowerCase());
    if (known === undefined) byName.set(name.toLowerCase(), { name, values: [...values] });
    else known.values.push(...values);
  }
  for (const { name, values } of byName.values()) {
    const lines = linesOf(outgoing, name);
    const isSet = lines.length === values.length && lines.every((line, at) => line === values[at]);
    if (!isSet) setter.setHeader(name, values.length === 1 ? values[0] : values);
  }
}

/** The fields set so far, as a flat list. */
function fieldsOf(outgoing: ServerResponse): string[] {
  return outgoing.getHeaderNames().flatMap((name) => linesOf(outgoing, name).flatMap((line) => [name, line]));
}

function linesOf(outgoing: ServerResponse, name: string): readonly string[] {
  const value = outgoing.getHeader(name);
  if (value === undefined) return [];
  return Array.isArray(value) ? value.map(String) : [String(value)];
}
