import type { RawHeaders } from '../http/raw-headers.ts';
import { addForwarded, type ForwardedMode } from '../http/forwarding.ts';
import { FieldNames, type HeaderList, setField, withoutFields } from '../http/header-list.ts';
import type { ForwardedFields } from '../http/request-head.ts';
import type { Body } from './exchange.ts';
import type { GatewayContext, ReceivedRequest } from './gateway-context.ts';
import type { UpstreamRequest } from './upstream.ts';
import { type AddedFields, countedDown } from '../http/fields.ts';

const TRAILER = new FieldNames(['trailer']);

/** The client's request as a service receives it. Its fields are listed only on demand: most are written as the received lines. */
export class ForwardedRequest implements UpstreamRequest {
  readonly method: string;
  readonly target: string;
  readonly lines: RawHeaders | undefined;
  readonly fieldText: string | undefined;
  readonly body: Body;
  readonly length: number | undefined;
  readonly signal: AbortSignal | undefined;
  private readonly received: ReceivedRequest;
  private readonly fields: ForwardedFields;
  private readonly forwarded: ForwardedMode;
  private readonly added: AddedFields;
  /** The remaining hops of a request with Max-Forwards. */
  private readonly hopsLeft: number | undefined;
  /** True for a client that announces trailers which are not forwarded: the body has a length, or the platform does not report them. */
  private readonly dropsTrailer: boolean;

  constructor(
    { options: { forwarded }, hopFields }: GatewayContext,
    received: ReceivedRequest,
    fields: ForwardedFields,
    target: string,
    body: Body,
    /** The client's method, unless V2 has the operation under another one. */
    method = received.exchange.method,
  ) {
    const { exchange, head } = received;
    this.received = received;
    this.fields = fields;
    this.forwarded = forwarded;
    this.added = hopFields.ofRequest(exchange.version);
    this.method = method;
    this.target = target;
    this.lines = exchange.lines;
    this.body = body;
    this.signal = exchange.signal;
    this.length = isOther(body) ? undefined : head.contentLength;
    this.hopsLeft = head.maxForwards === undefined ? undefined : hopsLeft(exchange.method, head.maxForwards);
    this.dropsTrailer = head.namesTrailers && !this.hasTrailers;
    const isAsReceived = forwarded === 'off' && this.hopsLeft === undefined && !this.dropsTrailer;
    const text = isAsReceived ? fields.forwardedLines : undefined;
    this.fieldText = text === undefined ? undefined : text + this.added.text;
  }

  get headers(): HeaderList {
    const { fields, forwarded, added, hopsLeft: left } = this;
    const headers = this.dropsTrailer
      ? withoutFields(fields.forwardedHeaders, TRAILER)
      : [...fields.forwardedHeaders];
    if (left !== undefined) setField(headers, 'max-forwards', String(left));
    const { exchange, head } = this.received;
    addForwarded(headers, forwarded, {
      address: exchange.remote,
      secure: exchange.secure,
      host: head.host,
    });
    headers.push(...added.fields);
    return headers;
  }

  private get hasTrailers(): boolean {
    const { body, length, received } = this;
    const isInParts = body !== null && !(body instanceof Uint8Array) && !isOther(body);
    return isInParts && length === undefined && received.exchange.trailers !== undefined;
  }
}

/** True for a body that the gateway rewrites while the client sends it. */
function isOther(body: Body): boolean {
  return body !== null && !(body instanceof Uint8Array) && body.sentBytes !== undefined;
}

/** Only OPTIONS and TRACE count hops; the decision has refused those that must not be forwarded. */
function hopsLeft(method: string, maxForwards: string): number | undefined {
  return method === 'OPTIONS' || method === 'TRACE' ? countedDown(maxForwards) : undefined;
}
