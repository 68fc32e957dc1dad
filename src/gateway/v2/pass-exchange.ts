import { addForwarded } from '../../http/forwarded.ts';
import type { ReceivedRequest } from '../received-request.ts';
import { ProxiedExchange } from '../proxied-exchange.ts';
import type { Body } from '../exchange.ts';
import type { GatewayContext } from '../gateway-context.ts';

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
    const { exchange, head } = this.received;
    const headers = head.forwardedHeaders;
    addForwarded(headers, this.gateway.options.forwarded, {
      address: exchange.remote,
      secure: exchange.secure,
      host: head.host,
    });
    this.upstreamTarget = exchange.target;
    this.send({
      method: exchange.method,
      target: this.gateway.parts.originPath + exchange.target,
      headers,
      lines: exchange.lines,
      body,
      length: head.contentLength,
    });
  }
}
