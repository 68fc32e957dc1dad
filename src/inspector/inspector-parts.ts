import type { CompiledRuleBook } from '../rewrite/compiled-rule-book.ts';
import type { GatewayStats } from '../rewrite-log/stat-families.ts';
import type { PageFile } from './api.ts';
import type { ExplainParts } from './explain.ts';
import type { GuardOptions } from './guard.ts';
import type { WorkBeside } from './operator-work.ts';
import type { OperatorView } from './operator-view.ts';
import type { RolloutAdmin } from './rollout-routes.ts';

/** The data that the inspector reads. It writes nothing; changes of the rollout go through `RolloutAdmin`. */
export interface InspectorParts extends GuardOptions {
  readonly view: OperatorView;
  /** Identifies this run of the gateway. */
  readonly run: string;
  /** Start of this run, in milliseconds since 1970. */
  readonly startedAt: number;
  readonly time: () => number;
  readonly stats: () => GatewayStats;
  /** The rule book in force; `since` is milliseconds since 1970, `text` the source text of the file. */
  readonly rules: () => {
    readonly current: CompiledRuleBook;
    readonly since: number;
    readonly text: string;
  };
  /** Returns the rule book with which an entry was written, while it is still known. */
  readonly rulesOf: (hash: string) => CompiledRuleBook | undefined;
  readonly limits: ExplainParts['limits'];
  readonly decode: ExplainParts['decode'];
  /** Does large work beside the event loop; absent where the runtime has no threads. */
  readonly beside?: WorkBeside | undefined;
  /** Scheme, host and port of the gateway and of V2. */
  readonly gatewayOrigin: () => string;
  readonly origin: string;
  /** Display names by client hash. */
  readonly names: () => ReadonlyMap<string, string>;
  /** Calls `run` at a fixed interval until the returned function is called. */
  readonly every: (milliseconds: number, run: () => void) => () => void;
  /** The rollout; absent when it cannot be changed. */
  readonly rollout?: RolloutAdmin | undefined;
  /** The page's files by path, loaded on the first request for the page; empty without a page. */
  readonly page: () => ReadonlyMap<string, PageFile>;
}
