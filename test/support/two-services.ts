import { DEFAULT_ROLLBACK } from '../../src/rules/declared-rollout.ts';
import type { Modes, Rollout } from '../../src/rules/rollout.ts';
import type { TestGatewayOptions } from './gateway.ts';
import { ok, type RawResponse, rawServer, type RawServer } from './raw-server.ts';
import { type Served, served } from './served.ts';

/** A gateway under test between V1 and V2, both of bytes. */
export interface TwoServices extends Served {
  readonly v1: RawServer;
}

/** Starts all three in `modes`; each service responds with 200 by default. They end with the test. */
export async function twoServices(
  modes: Partial<Modes>,
  responses: { readonly v1?: RawResponse; readonly v2?: RawResponse } = {},
  { rollout = {}, ...options }: TestGatewayOptions & { readonly rollout?: Partial<Rollout> } = {},
): Promise<TwoServices> {
  const v1 = await rawServer(responses.v1 ?? ((socket) => socket.write(ok('{"from":"v1"}'))));
  const all = await served(responses.v2 ?? ok('{"from":"v2"}'), {
    ...options,
    ruleBook: { rollout: rolloutOf(modes, rollout), ...options.ruleBook },
    parts: { v1Origin: { origin: v1.origin, path: '' }, ...options.parts },
  });
  return { v1, ...all };
}

/** The rollout of a rule book with these modes. */
export function rolloutOf(modes: Partial<Modes>, over: Partial<Rollout> = {}): Rollout {
  return {
    clients: {},
    brownouts: [],
    pins: [],
    modes: {
      default: { mode: 'migrate' },
      operations: {},
      clients: {},
      rollback: DEFAULT_ROLLBACK,
      ...modes,
    },
    ...over,
  };
}
