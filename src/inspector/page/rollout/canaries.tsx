import type { VNode } from 'preact';
import {
  type CanaryEvidence,
  evidenceSentence,
  type FailedShare,
  latencySentence,
  type OriginCount,
} from '../../../rollout/rollout-state.ts';
import type { RollbackView, RolloutView as Rollout } from '../../../rollout/rollout-tally.ts';
import { percentWords } from '../../../report/text.ts';
import { causeFilter } from '../../conditions.ts';
import { ruleWords } from '../../rollout-effect.ts';
import { ago, count } from '../format.ts';
import { type Go, toExchanges } from '../page-state.ts';
import { Card, LinkButton } from '../parts.tsx';

/** The canaries and roll-backs: failures of both groups as a picture with its bounds, and what is still to be seen. */
export function canariesCard({ canaries, rollbacks, rollback }: Rollout, go: Go): VNode | false {
  if (canaries.length === 0 && rollbacks.length === 0) return false;
  const rows: readonly CanaryRow[] = [
    ...canaries.map((canary) => ({
      ...canary,
      key: `now ${canary.operation ?? ''}`,
      state: canaryState(canary),
    })),
    ...rollbacks.map((one) => ({
      ...one,
      key: one.at,
      state: `rolled back ${ago(one.at)}${one.resolved === undefined ? '' : ', resolved'}`,
    })),
  ];
  return (
    <Card heading="Canaries" note={ruleWords(rollback)}>
      <ul class="canaries">
        {rows.map((row) => (
          <li key={row.key}>
            <h4>{row.operation ?? 'everything else'}</h4>
            <ShareBars
              groups={[
                { name: 'Migrated', kind: 'now', sample: row.evidence?.failed?.migrated ?? row.migrated },
                { name: 'V1', kind: 'before', sample: row.evidence?.failed?.v1 ?? row.v1 },
              ]}
              margin={rollback.margin}
            />
            <p>
              {row.state} {causeLink(row, go)}
            </p>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function canaryState({ migrated, evidence }: Rollout['canaries'][number]): string {
  if (evidence === undefined || evidence.migrated === 0)
    return migrated.requests === 0 ? 'nothing to watch: no request was migrated yet' : 'on watch';
  return `on watch. ${evidenceSentence(evidence)} ${latencySentence(evidence)}`;
}

interface CanaryRow {
  readonly key: string;
  readonly operation?: string | undefined;
  readonly migrated: OriginCount;
  readonly v1: OriginCount;
  readonly evidence?: CanaryEvidence | undefined;
  readonly state: string;
  readonly cause?: RollbackView['cause'] | undefined;
}

/** Properties of the picture of a comparison. */
interface ShareBarsProps {
  readonly groups: readonly {
    readonly name: string;
    readonly kind: 'now' | 'before';
    readonly sample: OriginCount | FailedShare;
  }[];
  /** The difference that counts as harm, in percentage points. */
  readonly margin: number;
}

/** The shares of failed requests in two groups, each within the bounds that the test of a canary gives it. */
export function ShareBars({ groups, margin }: ShareBarsProps): VNode {
  const highest = groups.map(({ sample }) =>
    'high' in sample && sample.requests > 0 ? sample.high : shareOf(sample),
  );
  const most = Math.min(1, Math.max((margin / 100) * 2, ...highest) * 1.1);
  const at = (share: number): string => `${(Math.min(share / most, 1) * 100).toFixed(2)}%`;
  return (
    <div class="share-bars">
      {groups.map(({ name, kind, sample }) => {
        const isKnown = sample.requests > 0;
        const bounds = isKnown && 'low' in sample ? sample : undefined;
        return (
          <div key={name} class={kind}>
            <span>{name}</span>
            <span class="share-track" aria-hidden>
              {bounds !== undefined && (
                <i
                  class="share-bounds"
                  style={{ left: at(bounds.low), width: `calc(${at(bounds.high)} - ${at(bounds.low)})` }}
                />
              )}
              {isKnown && <i class="share-point" style={{ left: at(shareOf(sample)) }} />}
            </span>
            <span>
              {countText(sample)}
              {bounds !== undefined && (
                <small>{`${percentWords(bounds.low)} to ${percentWords(bounds.high)}`}</small>
              )}
            </span>
          </div>
        );
      })}
      <div aria-hidden>
        <span />
        <small class="share-scale">
          <span>0 %</span>
          <span>{percentWords(most)}</span>
        </small>
        <span />
      </div>
    </div>
  );
}

function shareOf({ requests, failures }: OriginCount): number {
  return requests === 0 ? 0 : failures / requests;
}

/** A link to the exchanges with the failure that rolled a canary back. */
export function causeLink(
  { operation = 'everything else', cause }: Pick<CanaryRow, 'operation' | 'cause'>,
  go: Go,
  text = 'Show the exchanges',
): VNode | false {
  if (cause === undefined) return false;
  const filter = causeFilter(cause);
  return (
    <LinkButton
      onClick={toExchanges(go, filter)}
      label={`Show the exchanges that rolled back ${operation} (${filter})`}
    >
      {text}
    </LinkButton>
  );
}

function countText({ requests, failures }: OriginCount): string {
  return requests === 0 ? 'no request lately' : `${count(failures)} of ${count(requests)} failed`;
}
