import { Hono } from 'hono/tiny';
import { createApp } from '../app.ts';
import { failure } from '../migrate/failure.ts';
import { EdgeExchange } from './edge-exchange.ts';
import { edgeProcessLine } from './edge-process-line.ts';
import { failureResponse } from './failure-response.ts';
import { createEdgeGateway, type EdgeGateway, type EdgeGatewayParts } from './edge-gateway.ts';

/** Serves a platform's requests with the gateway of an isolate. */
export class EdgeServer {
  private readonly parts: EdgeGatewayParts;
  private readonly edge: EdgeGateway;
  private readonly app: ReturnType<typeof createApp> | undefined;

  constructor(parts: EdgeGatewayParts) {
    this.parts = parts;
    this.edge = createEdgeGateway(parts);
    this.app = 'faults' in this.edge ? undefined : createApp(this.edge.gateway, Hono);
  }

  async fetch(request: Request): Promise<Response> {
    const { edge, app, parts } = this;
    if ('faults' in edge || app === undefined) return this.unconfigured();
    const { gateway, replica, admin } = edge;
    if (admin?.hosts.has(hostOf(request)) === true) return admin.fetch(request);
    const exchange = new EdgeExchange(request, { bodyTimeout: edge.bodyTimeout });
    const received = gateway.receive(exchange);
    const isShared = replica !== undefined && received.decision.route === 'migrate';
    // A client that disconnects ends the worker, and the entry would be lost, unless some work is still pending.
    parts.later(isShared ? replica.accompany(exchange.finished) : exchange.finished);
    if (isShared) await replica.begin();
    try {
      await app.fetch(request, { received });
    } catch (error) {
      await gateway.failInternally(received.exchange, error);
    }
    return exchange.handled;
  }

  /** A worker cannot refuse to start over its settings; instead it refuses every request and logs the reason for the operator. */
  private unconfigured(): Response {
    const faults = 'faults' in this.edge ? this.edge.faults : [];
    for (const fault of faults) this.parts.print(edgeProcessLine('error', 'start-refused', fault));
    return failureResponse(failure('internal', 'The gateway is not configured.'));
  }
}

/** The host name by which the worker was called, in lower case. */
function hostOf({ headers }: Request): string {
  return (headers.get('host') ?? '').toLowerCase().replace(/:\d*$/, '');
}
