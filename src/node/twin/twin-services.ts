import { createServer, type Server } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { createReference, type ReferenceParts } from '../../reference/reference.ts';
import { type Store, StoreBusy } from '../../reference/store.ts';
import { listen } from '../listen.ts';
import { openReferenceStore } from '../reference/reference-store.ts';

/** Settings of both reference services: requests a minute, attributes that only V1 still takes, V2's reaction to unknown ones. */
export type ServiceSettings = Pick<ReferenceParts, 'rate' | 'deprecated' | 'unknown'>;

/** V1 itself and V2, each on data of its own, both empty at the start. */
export interface TwinServices {
  /** Such as `http://127.0.0.1:4711`. */
  readonly v1: string;
  readonly v2: string;
  /** Restarts both, with empty data and, if given, other settings. */
  reset(settings?: ServiceSettings): void;
  /** Breaks the stores of both, holds them, or repairs them. Throws if one has met a bug since the last call. */
  setStore(state: 'broken' | 'busy' | undefined): void;
  close(): void;
}

/** Starts the two reference services on free ports of the loopback interface. Their clock stands still. */
export async function startTwinServices(): Promise<TwinServices> {
  const [v1, v2] = [new Service('v1'), new Service('v2')];
  const origins = [await v1.listen(), await v2.listen()] as const;
  const both = (act: (service: Service) => void): void => [v1, v2].forEach(act);
  return {
    v1: origins[0],
    v2: origins[1],
    reset: (settings) => both((service) => service.reset(settings)),
    setStore: (state) => both((service) => service.setStore(state)),
    close: () => both((service) => service.close()),
  };
}

class Service {
  private readonly server: Server;
  private readonly dialect: 'v1' | 'v2';
  private settings: ServiceSettings = {};
  private store = openReferenceStore(undefined);
  private state: 'broken' | 'busy' | undefined = undefined;
  private bug: unknown = undefined;
  private app: ReturnType<typeof createReference>;

  constructor(dialect: 'v1' | 'v2') {
    this.dialect = dialect;
    this.app = this.createApp();
    const respond = getRequestListener((request) => this.app.fetch(request), {
      overrideGlobalObjects: false,
    });
    this.server = createServer(
      { keepAliveTimeout: 65_000 },
      (incoming, outgoing) => void respond(incoming, outgoing),
    );
  }

  async listen(): Promise<string> {
    return listen(this.server, { host: '127.0.0.1', port: 0 }, 'http');
  }

  reset(settings: ServiceSettings | undefined): void {
    this.store.close();
    this.store = openReferenceStore(undefined);
    this.state = undefined;
    if (settings === undefined) return;
    this.settings = settings;
    this.app = this.createApp();
  }

  setStore(state: 'broken' | 'busy' | undefined): void {
    // Two services with the same bug respond alike.
    if (this.bug !== undefined) throw new Error(`The ${this.dialect} service failed`, { cause: this.bug });
    this.state = state;
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
    this.store.close();
  }

  private createApp(): ReturnType<typeof createReference> {
    return createReference({
      readOnlyKeys: ['reader'],
      ...this.settings,
      store: this.replaceableStore(),
      now: () => 0,
      report: (error) => {
        if (this.state !== 'broken') this.bug = error;
      },
      dialects: [this.dialect],
    });
  }

  /** The store of the moment, so that new data needs no new service. */
  private replaceableStore(): Store {
    const current = (): Store => {
      if (this.state === 'busy') throw new StoreBusy('another writer holds the store');
      if (this.state === 'broken') throw new Error('the store is broken');
      return this.store;
    };
    return {
      create: (...given) => current().create(...given),
      read: (...given) => current().read(...given),
      list: (...given) => current().list(...given),
      update: (...given) => current().update(...given),
      remove: (...given) => current().remove(...given),
      atomically: (work) => current().atomically(work),
      close: () => this.store.close(),
    };
  }
}
