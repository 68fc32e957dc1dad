import type { FieldLines } from '../http/field-lines.ts';
import { addForwarded, type ForwardedMode } from '../http/forwarded.ts';
import type { HeaderList } from '../http/header-list.ts';
import type { ForwardedFields } from '../http/request-head.ts';
import type { Body } from './exchange.ts';
import type { ReceivedRequest } from './received-request.ts';
import type { UpstreamRequest } from './upstream.ts';

/**
 * The client's request as a service receives it. Its fields are listed where somebody asks for them: most are written as the lines that
 * came.
 */
export class ForwardedRequest implements UpstreamRequest {
  readonly method: string;
  readonly target: string;
  readonly lines: FieldLines | undefined;
  readonly fieldText: string | undefined;
  readonly body: Body;
  readonly length: number | undefined;
  private readonly received: ReceivedRequest;
  private readonly fields: ForwardedFields;
  private readonly forwarded: ForwardedMode;

  constructor(
    received: ReceivedRequest,
    fields: ForwardedFields,
    forwarded: ForwardedMode,
    target: string,
    body: Body,
  ) {
    const { exchange, head } = received;
    this.received = received;
    this.fields = fields;
    this.forwarded = forwarded;
    this.method = exchange.method;
    this.target = target;
    this.lines = exchange.lines;
    this.fieldText = forwarded === 'off' ? fields.forwardedLines : undefined;
    this.body = body;
    this.length = head.contentLength;
  }

  get headers(): HeaderList {
    const { forwardedHeaders } = this.fields;
    if (this.forwarded === 'off') return forwardedHeaders;
    const { exchange, head } = this.received;
    const headers = [...forwardedHeaders];
    addForwarded(headers, this.forwarded, {
      address: exchange.remote,
      secure: exchange.secure,
      host: head.host,
    });
    return headers;
  }
}
