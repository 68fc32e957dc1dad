import { waitUntil } from 'cloudflare:workers';
import { ruleBook, transforms } from '../../dist/edge/rule-book.js';
import { v2Schemas } from '../../dist/edge/v2-schemas.js';
import type { EdgeBindings } from './bindings.ts';
import { EdgeServer } from './gateway.ts';

export { RolloutObject } from './rollout-object.ts';

/** An isolate has one set of bindings, and reuses the server built from it across requests. */
const servers = new WeakMap<EdgeBindings, EdgeServer>();

export default {
  fetch(request: Request, bindings: EdgeBindings): Promise<Response> {
    const server =
      servers.get(bindings) ??
      new EdgeServer({
        bindings,
        ruleBook,
        transforms,
        v2Schemas,
        print: (line) => console.log(line),
        later: waitUntil,
      });
    servers.set(bindings, server);
    return server.fetch(request);
  },
};
