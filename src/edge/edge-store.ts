import type { SharedWindow, Store, WindowAddition } from '../rollout/store.ts';
import type { RemoteStore, RolloutNamespace } from './edge-bindings.ts';

/** Name of the object of a deployment. */
export const ROLLOUT_OBJECT = 'rollout';

/**
 * A store in a Durable Object. Nothing can call an isolate, so a subscriber is called when a response of the object has another
 * text than the one before.
 */
export class EdgeStore implements Store {
  private readonly namespace: RolloutNamespace;
  private readonly name: string;
  private readonly texts = new Map<string, string | undefined>();
  private readonly subscribers = new Set<{ readonly key: string; readonly changed: () => void }>();

  /** `name` is that of the object: isolates with the same one share it. */
  constructor(namespace: RolloutNamespace, name: string) {
    this.namespace = namespace;
    this.name = name;
  }

  async read(key: string): Promise<string | undefined> {
    const text = await this.object().read(key);
    this.note(key, text);
    return text;
  }

  async compareAndSet(key: string, before: string | undefined, after: string): Promise<boolean> {
    const isSet = await this.object().compareAndSet(key, before, after);
    if (isSet) this.note(key, after);
    return isSet;
  }

  async count(additions: readonly WindowAddition[]): Promise<readonly SharedWindow[]> {
    return this.object().count(additions);
  }

  subscribe(key: string, changed: () => void): () => void {
    const subscriber = { key, changed };
    this.subscribers.add(subscriber);
    return () => void this.subscribers.delete(subscriber);
  }

  async close(): Promise<void> {
    this.subscribers.clear();
  }

  /** Anew for each call: workerd binds a stub to the request that made it. */
  private object(): RemoteStore {
    return this.namespace.get(this.namespace.idFromName(this.name));
  }

  private note(key: string, text: string | undefined): void {
    const isNew = this.texts.has(key) && this.texts.get(key) !== text;
    this.texts.set(key, text);
    if (!isNew) return;
    for (const subscriber of this.subscribers) if (subscriber.key === key) subscriber.changed();
  }
}
