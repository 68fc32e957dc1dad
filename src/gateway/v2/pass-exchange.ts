import type { ResponseHead } from '../../http/response-head.ts';
import type { PassDecision } from '../../migrate/decision.ts';
import type { ReceivedRequest } from '../received-request.ts';
import { ForwardedRequest } from '../forwarded-request.ts';
import { ProxiedExchange } from '../proxied-exchange.ts';
import type { Body } from '../exchange.ts';
import type { GatewayContext } from '../gateway-context.ts';

/** Forwards a V2 request unread: only hop-by-hop fields and `Host` change. */
export class PassExchange extends ProxiedExchange {
  private readonly target: string;

  constructor(gateway: GatewayContext, received: ReceivedRequest, decision: PassDecision) {
    super(gateway, received, 'pass');
    this.target = decision.target.raw;
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
    const { gateway, received, target } = this;
    this.upstreamTarget = target;
    this.send(new ForwardedRequest(gateway, received, received.head, this.origin.path + target, body));
  }

  protected override headForClient(head: ResponseHead): ResponseHead {
    return head.forwarded?.(this.gateway.hopFields) ?? super.headForClient(head);
  }
}
