import type { StateCall } from '../../src/rollout/shared-state.ts';

/** A call that only reads, of a process `p0` that knows nothing yet, with other parts where given. */
export function stateCall(over: Partial<StateCall> = {}): StateCall {
  return {
    topic: 't',
    life: '',
    isBehind: false,
    owner: 'p0',
    number: 0,
    put: [],
    takes: [],
    ends: [],
    leaves: false,
    after: 0,
    keepMs: 60_000,
    ...over,
  };
}
