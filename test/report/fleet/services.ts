import type { Hono } from 'hono';
import type { Upstream, UpstreamReceiver, UpstreamRequest } from '../../../src/gateway/upstream.ts';
import { openReferenceStore } from '../../../src/node/reference.ts';
import { createReference } from '../../../src/reference/reference.ts';
import type { UnknownAttributes } from '../../../src/reference/resources.ts';
import { DEPRECATED } from './character.ts';
import { responseHead } from '../../support/response-head.ts';

/** V1 and V2 of the reference service on the same data, in this process. */
export interface Services {
  readonly v1: Upstream;
  readonly v2: Upstream;
  /** V2's OpenAPI description. */
  describe(): Promise<unknown>;
  /** Sends one request to V2, past the gateway. */
  ask(method: string, target: string, body: string | undefined): Promise<{ readonly status: number }>;
  /** While true, V2 responds to every request with 500. */
  isV2Failing: boolean;
  close(): void;
}

/** Starts both services; `unknown` is V2's treatment of attributes that it does not have. */
export function startServices(unknown: UnknownAttributes, now: () => number): Services {
  const store = openReferenceStore(undefined);
  const app = createReference({ store, now, unknown, dialects: ['v1', 'v2'], deprecated: [...DEPRECATED] });
  const services: Services = {
    isV2Failing: false,
    v1: inProcess(app, 'v1', () => false),
    v2: inProcess(app, 'v2', () => services.isV2Failing),
    describe: async () => (await app.request('http://v2/api/v2/openapi.json')).json(),
    ask: async (method, target, body) =>
      app.request(`http://v2${target}`, { method, headers: ASKING, body: body ?? null }),
    close: () => store.close(),
  };
  return services;
}

const ASKING = { Authorization: 'Bearer the-owner', 'Content-Type': 'application/json' };

/** Header field with which a service tells a client of the fleet who it is. */
const SERVICE = 'x-fleet-service';

function inProcess(app: Hono, name: string, isFailing: () => boolean): Upstream {
  return {
    send(request, receiver) {
      void respond(app, name, request, receiver, isFailing());
      return { pause: nothing, resume: nothing, abort: nothing };
    },
  };
}

async function respond(
  app: Hono,
  name: string,
  { method, target, headers, body }: UpstreamRequest,
  receiver: UpstreamReceiver,
  isFailing: boolean,
): Promise<void> {
  if (isFailing) {
    receiver.head(responseHead(500, ['Content-Type', 'application/json', SERVICE, name]));
    receiver.data(new TextEncoder().encode('{"errors":[{"status":"500","title":"Internal Server Error"}]}'));
    receiver.end([]);
    return;
  }
  if (body !== null && !(body instanceof Uint8Array)) throw new TypeError('bodies of the fleet are whole');
  const fields = new Headers();
  for (let at = 0; at < headers.length; at += 2) fields.append(headers[at] ?? '', headers[at + 1] ?? '');
  const sent = body === null ? null : new Uint8Array(body);
  const response = await app.request(`http://service${target}`, { method, headers: fields, body: sent });
  receiver.head(responseHead(response.status, [...[...response.headers].flat(), SERVICE, name]));
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (bytes.length > 0) receiver.data(bytes);
  receiver.end([]);
}

function nothing(): void {}
