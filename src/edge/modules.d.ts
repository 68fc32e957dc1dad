/** Modules that exist only when the worker is bundled or runs. */
declare module 'cloudflare:workers' {
  /** Keeps the worker alive until the work of the current request is done. */
  export function waitUntil(work: Promise<unknown>): void;

  /** The base of a Durable Object: its public methods can be called from other isolates. */
  export class DurableObject<Bindings> {
    protected readonly ctx: DurableObjectContext;
    protected readonly env: Bindings;
    constructor(ctx: DurableObjectContext, env: Bindings);
  }

  export interface DurableObjectContext {
    readonly storage: DurableObjectStorage;
    /** Keeps the object alive until the work is done. */
    waitUntil(work: Promise<unknown>): void;
    /** Delivers no other event until the work is done. */
    blockConcurrencyWhile<Result>(work: () => Promise<Result>): Promise<Result>;
  }

  /** The storage of a Durable Object: nothing else is delivered to the object while one of its promises is pending. */
  export interface DurableObjectStorage {
    get(key: string): Promise<unknown>;
    put(key: string, value: unknown): Promise<void>;
    /** Returns the values of all keys that begin with the prefix, by key. */
    list(options: { readonly prefix: string }): Promise<ReadonlyMap<string, unknown>>;
    delete(key: string): Promise<boolean>;
  }
}

/** Written by `config/compile-rules.ts`, which then bundles the worker. */
declare module '*/dist/edge/rule-book.js' {
  // oxlint-disable-next-line typescript/consistent-type-imports -- an ambient module cannot import what is relative
  export const ruleBook: import('../rules/rule-book.ts').RuleBook;
  // oxlint-disable-next-line typescript/consistent-type-imports -- an ambient module cannot import what is relative
  export const transforms: Readonly<Record<string, import('../migrate/transform.ts').TransformModule>>;
}

/** Written by `config/compile-rules.ts` from V2's OpenAPI description, if one is configured for the build. */
declare module '*/dist/edge/v2-schemas.js' {
  // oxlint-disable-next-line typescript/consistent-type-imports -- an ambient module cannot import what is relative
  export const v2Schemas: import('../gateway/v1/checks.ts').V2Schemas;
}
