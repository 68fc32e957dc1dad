import { type Failure, failure } from '../migrate/failure.ts';
import { closeEntry, openEntry } from '../rewrite-log/open-entry.ts';
import type { Exchange } from './exchange.ts';
import { GatewayContext } from './gateway-context.ts';
import { ProxiedExchange } from './proxied-exchange.ts';
import { type ReceivedRequest, receiveRequest } from './received-request.ts';
import { OptionsExchange, SelfServiceExchange } from './self-service-exchange.ts';
import { startV1Exchange } from './v1/start-v1-exchange.ts';
import { V1Exchange } from './v1/v1-exchange.ts';
import { PassExchange } from './v2/pass-exchange.ts';

/** The gateway: receives every request, then migrates, passes or refuses it as the router decides, and logs it. */
export class Gateway extends GatewayContext {
  /** Reads the head of a request and decides how to handle it. */
  receive(exchange: Exchange): ReceivedRequest {
    const { parts, options } = this;
    const clock = { started: parts.now(), time: parts.time() };
    const received = receiveRequest(exchange, parts.rules(), options, this.trustedProxies, clock);
    if (received.decision.route === 'none' || this.inFlight < options.maxInFlight) return received;
    return { ...received, refusal: failure('overloaded', undefined, ['Retry-After', '1']) };
  }

  /** Responds to a V1 request with V2's response to the migrated request. */
  migrate(received: ReceivedRequest): Exchange['handled'] {
    const { decision, exchange, refusal } = received;
    if (decision.route !== 'migrate') return this.refuse(received);
    if (refusal === undefined) startV1Exchange(this, received, decision);
    else new V1Exchange(this, received, decision).refuse(refusal);
    return exchange.handled;
  }

  /** Responds to a V2 request by forwarding it unchanged. */
  pass(received: ReceivedRequest): Exchange['handled'] {
    const { decision } = received;
    if (decision.route !== 'pass') return this.refuse(received);
    const exchange = new PassExchange(this, received, decision);
    if (received.refusal === undefined) exchange.guarded(() => exchange.start());
    else exchange.refuse(received.refusal);
    return received.exchange.handled;
  }

  /** Responds to a client that reads its own report. */
  serveReport(received: ReceivedRequest): Exchange['handled'] {
    const exchange = new SelfServiceExchange(this, received, 'none');
    if (received.refusal === undefined) exchange.start().catch(exchange.failInternally);
    else exchange.refuse(received.refusal);
    return received.exchange.handled;
  }

  /** Responds to an OPTIONS that asks about the gateway, or that may be forwarded no more. */
  serveOptions(received: ReceivedRequest): Exchange['handled'] {
    const exchange = new OptionsExchange(this, received, 'none');
    if (received.refusal === undefined) exchange.guarded(() => exchange.start());
    else exchange.refuse(received.refusal);
    return received.exchange.handled;
  }

  /** Refuses a request that is under neither prefix, or that the decision refuses. */
  refuse(received: ReceivedRequest): Exchange['handled'] {
    const { decision, exchange } = received;
    const isRefused = decision.route === 'none';
    if (isRefused && decision.closesConnection) exchange.closeAfterResponse();
    new ProxiedExchange(this, received, 'none').refuse(isRefused ? decision.failure : failure('not-found'));
    return exchange.handled;
  }

  /**
   * Logs a request that could not be read, for which there is no exchange. Without `responseBytes` its connection was closed without
   * a response.
   */
  logRefused(refused: Failure, responseBytes?: number): void {
    const { parts } = this;
    const entry = openEntry({
      route: 'none',
      method: '',
      requestId: parts.newRequestId(),
      verdict: 'refused',
      ruleBook: parts.rules().ruleBook.hash,
    });
    entry.failure = refused.code;
    entry.status = responseBytes === undefined ? 0 : refused.status;
    entry.responseBytes = responseBytes ?? 0;
    const none = { target: '', upstreamTarget: undefined, attempts: 0 };
    const closed = closeEntry(entry, { time: parts.time(), ...none });
    parts.record(closed);
    parts.observer?.observe(closed);
  }

  /** Ends an exchange after an internal error: the operator gets the error, the client only a reset. */
  failInternally(exchange: Exchange, error: unknown): Exchange['handled'] {
    this.parts.onUnexpectedError(error);
    exchange.reset();
    return exchange.handled;
  }
}
