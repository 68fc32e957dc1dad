import { EdgeStore } from '../../src/edge/replica.ts';
import type { EdgeBindings } from '../../src/edge/bindings.ts';
import type { SharedState } from '../../src/rollout/shared-state.ts';

export { RolloutObject } from '../../src/edge/rollout-object.ts';

/** A call of a method of the store, or `calls`: how often the subscriber was called. */
export type StoreCall =
  | { readonly do: 'read'; readonly given: Parameters<SharedState['read']> }
  | { readonly do: 'compareAndSet'; readonly given: Parameters<SharedState['compareAndSet']> }
  | { readonly do: 'exchange'; readonly given: Parameters<SharedState['exchange']> }
  | { readonly do: 'subscribe'; readonly given: readonly [key: string] }
  | { readonly do: 'unsubscribe' | 'calls' };

interface StoreUnderTest {
  readonly store: EdgeStore;
  end: () => void;
  calls: number;
}

const stores = new Map<string, StoreUnderTest>();

/** Lets a test call the store of an isolate; the path names the object. */
// oxlint-disable-next-line import/no-default-export -- workerd asks for it
export default {
  async fetch(request: Request, { ROLLOUT }: Required<EdgeBindings>): Promise<Response> {
    const name = new URL(request.url).pathname;
    const used = stores.get(name) ?? { store: new EdgeStore(ROLLOUT, name), end: () => {}, calls: 0 };
    stores.set(name, used);
    const call: StoreCall = await request.json();
    return Response.json({ value: await respond(used, call) });
  },
};

function respond(used: StoreUnderTest, call: StoreCall): unknown {
  const { store } = used;
  switch (call.do) {
    case 'read':
      return store.read(...call.given);
    case 'compareAndSet':
      return store.compareAndSet(call.given[0], call.given[1] ?? undefined, call.given[2]);
    case 'exchange':
      return store.exchange(...call.given);
    case 'subscribe':
      used.calls = 0;
      used.end = store.subscribe(call.given[0], () => {
        used.calls += 1;
      });
      return undefined;
    case 'unsubscribe':
      used.end();
      return undefined;
    case 'calls':
      return used.calls;
  }
}
