import { modesInForce, needsV1 } from '../../rollout/modes.ts';
import type { Settings } from '../../settings/read-settings.ts';
import { RolloutControl } from '../../rollout/rollout-control.ts';
import type { OriginSetting } from '../../settings/setting-kinds.ts';
import { settings as table } from '../../settings/settings.ts';
import type { Rollout, Scope } from '../../rules/rollout.ts';
import type { RuleBook } from '../../rules/rule-book.ts';
import type { WriteProcessLine } from '../log/process-log.ts';
import { RolloutFile } from './rollout-file.ts';

/** Routes V1 traffic while the gateway runs. */
export interface OpenRollout {
  readonly control: RolloutControl;
  readonly v1Origin: OriginSetting | undefined;
  /** Returns why a rule book cannot be in force here, as a sentence. */
  readonly faultOf: (book: RuleBook) => string | undefined;
  /** Waits until the last change is saved. */
  readonly close: () => Promise<void>;
}

/** Reads the saved rollout, and checks that it can continue with these settings. */
export function openRollout(
  settings: Settings,
  book: RuleBook,
  log: WriteProcessLine,
): OpenRollout | { readonly fault: string } {
  const v1Origin = settings.get(table.v1Upstream);
  const path = settings.get(table.rolloutFile);
  const file = path === undefined ? undefined : new RolloutFile(path, log);
  const control = new RolloutControl({
    time: Date.now,
    save: file === undefined ? undefined : (change) => file.keep(change),
    onNotice: (sentence) =>
      log({ level: 'error', event: 'rollout-rolled-back', message: `rollout: ${sentence}` }),
  });
  const damaged = file?.open(control);
  if (damaged !== undefined) return { fault: `--rollout-file ${damaged.fault}` };
  const faultOf = (next: RuleBook): string | undefined => {
    if (v1Origin !== undefined || !needsV1(modesInForce(next.rollout?.modes, control.state)))
      return undefined;
    return 'There are modes that send requests to V1; set GATEWAY_V1_UPSTREAM, or take them out.';
  };
  const fault = faultOf(book);
  if (fault !== undefined) return { fault };
  if (
    settings.get(table.clientSecret) === undefined &&
    (v1Origin !== undefined || namesClients(book.rollout))
  ) {
    log({
      level: 'warn',
      event: 'client-secret-random',
      message:
        'rollout: client hashes are new at each start, so that shares, pins and names do not hold; set GATEWAY_CLIENT_SECRET, the same for every replica.',
    });
  }
  return { control, v1Origin, faultOf, close: () => file?.close() ?? Promise.resolve() };
}

function namesClients(rollout: Rollout | undefined): boolean {
  if (rollout === undefined) return false;
  const scopes: readonly Scope[] = [...rollout.brownouts, ...rollout.pins, rollout.gone ?? {}];
  const named = scopes.some(({ clients, except }) => clients !== undefined || except !== undefined);
  return named || Object.keys(rollout.clients).length > 0;
}
