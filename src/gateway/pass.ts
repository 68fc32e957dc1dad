import { tellForwarded } from '../http/forwarded.ts';
import type { Arrival } from './arrival.ts';
import { Crossing } from './crossing.ts';
import type { Body } from './exchange.ts';
import type { Gateway } from './gateway.ts';

/** A V2 request on its way: nothing of it is read, and nothing but hop-by-hop fields and `Host` changes. */
export class Pass extends Crossing {
  constructor(gateway: Gateway, arrival: Arrival) {
    super(gateway, arrival, 'pass');
  }

  start(): void {
    const { exchange } = this.arrival;
    if (exchange.hasBody) {
      exchange.open();
      return;
    }
    this.opened(null);
  }

  override opened(body: Body): void {
    const { exchange, head } = this.arrival;
    const headers = head.crossing;
    tellForwarded(headers, this.gateway.options.forwarded, {
      address: exchange.remote,
      secure: exchange.secure,
      host: head.host,
    });
    this.upstreamTarget = exchange.target;
    this.send({
      method: exchange.method,
      target: this.gateway.parts.originPath + exchange.target,
      headers,
      body,
      length: head.contentLength,
    });
  }
}
