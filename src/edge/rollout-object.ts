import { DurableObject } from 'cloudflare:workers';
import type { StateCall, StateNews } from '../rollout/shared-state.ts';
import type { EdgeBindings, RemoteStore } from './bindings.ts';
import type { ObjectState } from './object-state.ts';

/**
 * The object that all isolates of a deployment share. It imports its code when it starts, because each isolate loads this module as well,
 * and does not need that code.
 */
export class RolloutObject extends DurableObject<EdgeBindings> implements RemoteStore {
  private readonly state: Promise<ObjectState>;

  constructor(...[ctx, env]: ConstructorParameters<typeof DurableObject<EdgeBindings>>) {
    super(ctx, env);
    this.state = ctx.blockConcurrencyWhile(async () => {
      const { ObjectState } = await import('./object-state.ts');
      return ObjectState.restored(ctx, env);
    });
  }

  async read(key: string): Promise<string | undefined> {
    return (await this.state).read(key);
  }

  async compareAndSet(key: string, before: string | undefined, after: string): Promise<boolean> {
    return (await this.state).compareAndSet(key, before, after);
  }

  async exchange(call: StateCall): Promise<StateNews> {
    return (await this.state).exchange(call);
  }
}
