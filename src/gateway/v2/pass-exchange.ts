import type { FieldLines } from '../../http/field-lines.ts';
import { addForwarded, type ForwardedMode } from '../../http/forwarded.ts';
import type { HeaderList } from '../../http/header-list.ts';
import type { ResponseHead } from '../../http/response-head.ts';
import type { ReceivedRequest } from '../received-request.ts';
import { ProxiedExchange } from '../proxied-exchange.ts';
import type { Body } from '../exchange.ts';
import type { GatewayContext } from '../gateway-context.ts';
import type { UpstreamRequest } from '../upstream.ts';

/** Forwards a V2 request unread: only hop-by-hop fields and `Host` change. */
export class PassExchange extends ProxiedExchange {
  constructor(gateway: GatewayContext, received: ReceivedRequest) {
    super(gateway, received, 'pass');
  }

  start(): void {
    const { exchange } = this.received;
    if (exchange.hasBody) {
      exchange.open('exchange');
      return;
    }
    this.onBody(null);
  }

  override onBody(body: Body): void {
    const { exchange } = this.received;
    const { forwarded } = this.gateway.options;
    this.upstreamTarget = exchange.target;
    this.send(new PassedRequest(this.received, this.gateway.parts.originPath, forwarded, body));
  }

  protected override headForClient(head: ResponseHead): ResponseHead {
    return head.endToEnd?.() ?? super.headForClient(head);
  }
}

/** The request as V2 receives it. Its fields are listed where somebody asks for them: most are written as the lines that came. */
class PassedRequest implements UpstreamRequest {
  readonly method: string;
  readonly target: string;
  readonly lines: FieldLines | undefined;
  readonly fieldText: string | undefined;
  readonly body: Body;
  readonly length: number | undefined;
  private readonly received: ReceivedRequest;
  private readonly forwarded: ForwardedMode;

  constructor(received: ReceivedRequest, path: string, forwarded: ForwardedMode, body: Body) {
    const { exchange, head } = received;
    this.received = received;
    this.forwarded = forwarded;
    this.method = exchange.method;
    this.target = path + exchange.target;
    this.lines = exchange.lines;
    this.fieldText = forwarded === 'off' ? head.forwardedLines : undefined;
    this.body = body;
    this.length = head.contentLength;
  }

  get headers(): HeaderList {
    const { exchange, head } = this.received;
    if (this.forwarded === 'off') return head.forwardedHeaders;
    const headers = [...head.forwardedHeaders];
    addForwarded(headers, this.forwarded, {
      address: exchange.remote,
      secure: exchange.secure,
      host: head.host,
    });
    return headers;
  }
}
