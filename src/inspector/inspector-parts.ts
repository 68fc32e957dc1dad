import type { CompiledRuleBook } from '../rewrite/compiled-rule-book.ts';
import type { GatewayStats } from '../rewrite-log/stat-families.ts';
import type { PageFile } from './api.ts';
import type { ExplainParts } from './explain.ts';
import type { GuardOptions } from './guard.ts';
import type { OperatorView } from './operator-view.ts';
import type { RolloutAdmin } from './rollout-routes.ts';

/** What the inspector reads. It writes nothing, anywhere; what it changes is done by the desk of the rollout. */
export interface InspectorParts extends GuardOptions {
  readonly view: OperatorView;
  /** Names this run of the gateway. */
  readonly run: string;
  /** Milliseconds since 1970 when this run began. */
  readonly startedAt: number;
  readonly time: () => number;
  readonly stats: () => GatewayStats;
  /** The rule book in force; `since` is milliseconds since 1970, `text` the file as it was read. */
  readonly rules: () => {
    readonly current: CompiledRuleBook;
    readonly since: number;
    readonly text: string;
  };
  /** A rule book that was in force when an entry was written, as long as it is known. */
  readonly rulesOf: (hash: string) => CompiledRuleBook | undefined;
  readonly limits: ExplainParts['limits'];
  readonly decode: ExplainParts['decode'];
  /** Scheme, host and port of the gateway and of V2. */
  readonly gatewayOrigin: () => string;
  readonly origin: string;
  /** Names for people, by client hash. */
  readonly names: () => ReadonlyMap<string, string>;
  /** Runs something every so many milliseconds until the returned function is called. */
  readonly every: (milliseconds: number, run: () => void) => () => void;
  /** Where the migration stands; absent where nobody can change it. */
  readonly rollout?: RolloutAdmin | undefined;
  /** The page's files by path, asked for when somebody opens it; empty where there is no page. */
  readonly page: () => ReadonlyMap<string, PageFile>;
}
