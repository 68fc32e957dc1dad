import type { ResponseHead } from '../../http/response-head.ts';
import type { ReceivedRequest } from '../received-request.ts';
import { ForwardedRequest } from '../forwarded-request.ts';
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
    const { received } = this;
    const { forwarded } = this.gateway.options;
    const { target } = received.exchange;
    this.upstreamTarget = target;
    this.send(new ForwardedRequest(received, received.head, forwarded, this.origin.path + target, body));
  }

  protected override headForClient(head: ResponseHead): ResponseHead {
    return head.endToEnd?.() ?? super.headForClient(head);
  }
}
