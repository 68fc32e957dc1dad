import { DEFAULT_ROLLBACK } from '../../src/rules/declared-rollout.ts';
import type { Modes, Rollout } from '../../src/rules/rollout.ts';
import { gatewayFor, type TestGateway, type TestGatewayOptions } from './gateway.ts';
import { ok, type RawResponse, rawServer, type RawServer } from './raw-server.ts';

/** A gateway under test between V1 and V2, both of bytes. */
export interface TwoServices {
  readonly v1: RawServer;
  readonly v2: RawServer;
  readonly gateway: TestGateway;
}

/** Starts all three in `modes`; each service responds with 200 unless told otherwise. They end with the test. */
export async function twoServices(
  modes: Partial<Modes>,
  responses: { readonly v1?: RawResponse; readonly v2?: RawResponse } = {},
  { rollout = {}, ...options }: TestGatewayOptions & { readonly rollout?: Partial<Rollout> } = {},
): Promise<TwoServices> {
  const v1 = await rawServer(responses.v1 ?? ((socket) => socket.write(ok('{"from":"v1"}'))));
  const v2 = await rawServer(responses.v2 ?? ((socket) => socket.write(ok('{"from":"v2"}'))));
  const gateway = await gatewayFor(v2.origin, {
    ...options,
    ruleBook: {
      rollout: rolloutOf(modes, rollout),
      ...options.ruleBook,
    },
    parts: { v1Origin: { origin: v1.origin, path: '' }, ...options.parts },
  });
  return { v1, v2, gateway };
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
