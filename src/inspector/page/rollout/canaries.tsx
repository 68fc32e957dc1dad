import type { VNode } from 'preact';
import {
  type CanaryEvidence,
  evidenceSentence,
  latencySentence,
  type OriginCount,
} from '../../../rollout/rollout-state.ts';
import { capital } from '../../../report/text.ts';
import type { RollbackView, RolloutView as Rollout } from '../../../rollout/rollout-tally.ts';
import { causeFilter } from '../../gateway-conditions.ts';
import { defaultTarget, ruleWords } from '../../rollout-effect.ts';
import { ShareBars } from '../evidence.tsx';
import { ago } from '../format.ts';
import { type Go, toExchanges } from '../page-state.ts';
import { Card, LinkButton, sentence } from '../parts.tsx';

/** The canaries and rollbacks: failures of both groups as a picture with its bounds, and the number of requests that are still needed. */
export function canariesCard(rollout: Rollout, go: Go): VNode | false {
  const { canaries, rollbacks, rollback } = rollout;
  if (canaries.length === 0 && rollbacks.length === 0) return false;
  const rows: readonly CanaryRow[] = [
    ...canaries.map((canary) => ({
      ...canary,
      key: `now ${canary.operation ?? ''}`,
      target: canary.operation ?? defaultTarget(rollout),
      state: canaryState(canary),
    })),
    ...rollbacks.map((one) => ({
      ...one,
      key: one.at,
      evidence: one,
      isOver: one.resolved !== undefined,
      // A mode that an operator chooses says nothing about V2.
      state: `rolled back ${ago(one.at)}${one.resolved === undefined ? '' : `; an operator chose a mode at ${one.resolved}`}`,
    })),
  ];
  return (
    <Card heading="Canaries">
      {canaries.length > 0 && <p class="lead">{sentence(`${capital(ruleWords(rollback))}.`)}</p>}
      <ul class="canaries">
        {rows.map((row) => (
          <li key={row.key}>
            <h4>{row.target}</h4>
            <ShareBars
              groups={[
                { name: 'Migrated', kind: 'now', sample: row.evidence?.failed?.migrated ?? row.migrated },
                { name: 'V1', kind: 'before', sample: row.evidence?.failed?.v1 ?? row.v1 },
              ]}
              margin={rollback.margin}
            />
            <p>
              {sentence(`${capital(row.state)}.`)} {row.isOver === true && causeLink(row, go)}
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
  return `on watch. ${evidenceSentence(evidence)} ${latencySentence(evidence)}`.replace(/\. ?$/, '');
}

interface CanaryRow {
  readonly key: string;
  /** The operation, or the words for everything. */
  readonly target: string;
  readonly migrated: OriginCount;
  readonly v1: OriginCount;
  readonly evidence?: { readonly failed?: CanaryEvidence['failed'] | undefined } | undefined;
  readonly state: string;
  /** True for a roll-back after which an operator chose a mode; the head of the view shows the others. */
  readonly isOver?: boolean;
  readonly cause?: RollbackView['cause'] | undefined;
}

/** A link to the exchanges with the failure that rolled a canary back. */
export function causeLink(
  { target, cause }: Pick<CanaryRow, 'target' | 'cause'>,
  go: Go,
  text = 'Show the exchanges',
): VNode | false {
  if (cause === undefined) return false;
  const filter = causeFilter(cause);
  return (
    <LinkButton
      onClick={toExchanges(go, filter)}
      label={`Show the exchanges that rolled back ${target} (${filter})`}
    >
      {text}
    </LinkButton>
  );
}
