import { acceptedCodings, type Coding, readCoding } from '../http/content-coding.ts';
import { tellForwarded } from '../http/forwarded.ts';
import { readJsonType } from '../http/media-type.ts';
import type { Target } from '../http/target.ts';
import { chooseApiVersion } from './api-version.ts';
import type { Arrival } from './arrival.ts';
import type { Body } from './exchange.ts';
import { failure, failureOf } from './failure.ts';
import type { Decoded, Gateway } from './gateway.ts';
import { isInScope, type Sender } from './scope.ts';
import { isRequestId, newTrace } from './trace-context.ts';
import { V1Crossing } from './v1-crossing.ts';

/** A V1 request on its way to V2: its target, its version header and, where rules apply, its body change. */
export class Migration extends V1Crossing {
  private readonly bodyLimit: number;
  private coding: Coding | undefined = undefined;

  constructor(gateway: Gateway, arrival: Arrival, target: Target, sender?: Sender) {
    super(gateway, arrival, target, sender);
    this.bodyLimit = gateway.options.bodyLimit ?? this.inForce.ruleBook.limits.body;
  }

  start(): void {
    const { exchange } = this.arrival;
    if (!exchange.hasBody) {
      this.opened(null);
      return;
    }
    const way = this.judgeBody();
    if (way === 'forward') exchange.open();
    if (way === 'rewrite') exchange.collect();
  }

  override mayTake(bytes: number): boolean {
    if (this.arrival.exchange.bytesIn > this.bodyLimit) {
      this.refuse(failure('body-too-large', `The body is larger than ${this.bodyLimit} bytes.`));
      return false;
    }
    return this.take(bytes);
  }

  override collected(body: Uint8Array): void {
    if (this.coding === undefined || body.length === 0) {
      this.rewrite(body, body);
      return;
    }
    this.gateway.parts.decode(this.coding, body, this.bodyLimit, (decoded) =>
      this.attempt(() => this.decoded(body, decoded)),
    );
  }

  /** The body crosses as it came. */
  override opened(body: Body): void {
    this.forward(this.headers(), body);
  }

  private judgeBody(): 'rewrite' | 'forward' | 'refused' {
    const { exchange, head } = this.arrival;
    if (exchange.method !== 'POST' && exchange.method !== 'PATCH') return 'forward';
    const type = readJsonType(head.contentType);
    if (type === 'other') return this.untouched('media-type');
    const { unsupported } = this.inForce.ruleBook.policies;
    if (type === 'ambiguous') {
      this.refuse(failure('ambiguous-media-type'));
      return 'refused';
    }
    if (type === 'charset') {
      if (unsupported === 'forward') return this.untouched('unsupported: forward');
      this.refuse(failure('unsupported-charset'));
      return 'refused';
    }
    const coding = readCoding(head.contentEncoding);
    if (coding === 'unsupported') {
      if (unsupported === 'forward') return this.untouched('unsupported: forward');
      this.refuse(failure('unsupported-coding', undefined, ['Accept-Encoding', acceptedCodings]));
      return 'refused';
    }
    this.coding = coding;
    if (head.contentLength !== undefined && head.contentLength > this.bodyLimit) {
      this.refuse(failure('body-too-large', `The body is larger than ${this.bodyLimit} bytes.`));
      return 'refused';
    }
    return 'rewrite';
  }

  private untouched(note: string): 'forward' {
    this.facts.note = note;
    return 'forward';
  }

  private take(bytes: number): boolean {
    if (!this.gateway.budget.take(bytes)) {
      this.refuse(failure('buffer-full', undefined, ['Retry-After', '1']));
      return false;
    }
    this.taken += bytes;
    return true;
  }

  private decoded(original: Uint8Array, decoded: Decoded): void {
    if (decoded === 'too-large') {
      this.refuse(failure('body-too-large', `The decoded body is larger than ${this.bodyLimit} bytes.`));
      return;
    }
    if (decoded === 'undecodable') {
      this.refuse(failure('undecodable-body'));
      return;
    }
    if (this.take(decoded.length)) this.rewrite(original, decoded);
  }

  private rewrite(original: Uint8Array, body: Uint8Array): void {
    if (body.length === 0) {
      this.forward(this.headers(), original.length === 0 ? null : original);
      return;
    }
    const { now } = this.gateway.parts;
    const before = now();
    const outcome = this.inForce.plans.of(this.operation).rewrite(body);
    this.facts.rewriteMs = now() - before;
    if (this.observed !== undefined) {
      this.observed.clientBody({ body });
      this.facts.attributes = this.gateway.attributeNames.of(body);
    }
    if (outcome.verdict === 'refused') {
      this.refuse(failureOf(outcome.refusal));
      return;
    }
    this.facts.edits = outcome.records;
    if (outcome.verdict === 'unchanged') {
      this.facts.note = outcome.note;
      this.forward(this.headers(), original);
      return;
    }
    this.facts.verdict = 'rewritten';
    this.facts.patch = outcome.patch;
    this.forward(withoutOldBody(this.headers()), outcome.body);
  }

  /** The dated release that the rule book has for this client or operation. */
  private pinned(): string | undefined {
    const { sender, inForce } = this;
    if (sender === undefined) return undefined;
    return inForce.ruleBook.rollout?.pins.find((pin) => isInScope(pin, sender))?.version;
  }

  private headers(): string[] {
    const { exchange, head } = this.arrival;
    const { parts, options } = this.gateway;
    const headers = head.crossing;
    const version = chooseApiVersion(head.apiVersion, this.inForce.ruleBook.version, this.pinned());
    this.facts.apiVersion = version;
    if (version.why !== 'client') setField(headers, 'x-api-version', version.sent);
    if (!isRequestId(head.requestId)) setField(headers, 'x-request-id', this.facts.requestId);
    if (this.facts.traceId === undefined) {
      const trace = newTrace(parts.newTraceHex());
      this.facts.traceId = trace.traceId;
      this.facts.spanId = trace.spanId;
      setField(headers, 'traceparent', trace.header);
    }
    tellForwarded(headers, options.forwarded, {
      address: exchange.remote,
      secure: exchange.secure,
      host: head.host,
    });
    return headers;
  }

  private forward(headers: string[], body: Body): void {
    const { exchange, head } = this.arrival;
    this.upstreamTarget = `/api/v2${this.target.rest}${this.target.query}`;
    this.send({
      method: exchange.method,
      target: this.gateway.parts.originPath + this.upstreamTarget,
      headers,
      body,
      length: head.contentLength,
    });
  }
}

/** What was said of the bytes that the client sent is not true of those that are sent on (RFC 9530 §6.2). */
const ofOldBody: ReadonlySet<string> = new Set([
  'content-encoding',
  'content-md5',
  'content-digest',
  'digest',
  'repr-digest',
]);

function withoutOldBody(headers: string[]): string[] {
  const kept: string[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] ?? '';
    if (!ofOldBody.has(name.toLowerCase())) kept.push(name, headers[at + 1] ?? '');
  }
  return kept;
}

/** Gives the field its value, in its place or at the end; further lines of it go. */
function setField(headers: string[], name: string, value: string): void {
  let found = false;
  for (let at = 0; at < headers.length; at += 2) {
    if (headers[at]?.toLowerCase() !== name) continue;
    if (found) {
      headers.splice(at, 2);
      at -= 2;
      continue;
    }
    headers[at + 1] = value;
    found = true;
  }
  if (!found) headers.push(name, value);
}
