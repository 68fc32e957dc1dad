import type { VNode } from 'preact';
import { percentWords } from '../../report/text.ts';
import { type FailedShare, leastDifference, type OriginCount, points } from '../../rollout/rollout-state.ts';
import type { Condition } from '../condition.ts';
import { count } from './format.ts';

/** The evidence that an operation fails: the shares of failed requests since it began to and before, each with its bounds. */
export function Evidence({ evidence }: Pick<Condition, 'evidence'>): VNode | false {
  if (evidence === undefined) return false;
  const { before, now, margin } = evidence;
  return (
    <ShareBars
      groups={[
        { name: 'Since it began', kind: 'now', sample: now },
        { name: 'Before', kind: 'before', sample: before },
      ]}
      margin={margin}
    />
  );
}

interface ShareBarsProps {
  readonly groups: readonly {
    readonly name: string;
    readonly kind: 'now' | 'before';
    readonly sample: OriginCount | FailedShare;
  }[];
  /** Of the rule, in percentage points. */
  readonly margin: number;
}

/** The shares of failed requests in two groups, each within the bounds that the test of a canary gives it. */
export function ShareBars({ groups, margin }: ShareBarsProps): VNode {
  const highest = groups.map(({ sample }) =>
    'high' in sample && sample.requests > 0 ? sample.high : shareOf(sample),
  );
  const most = Math.min(1, Math.max((margin / 100) * 2, ...highest) * 1.1);
  const [, before] = groups;
  const least = before === undefined ? 0 : shareOf(before.sample) + leastDifference({ margin }) / 100;
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
              {kind === 'now' && <i class="share-least" style={{ left: at(least) }} />}
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
        <small class="share-key">
          <span>
            <i class="share-point" /> share
          </span>
          <span>
            <i class="share-bounds" /> its bounds
          </span>
          <span>
            <i class="share-least" /> {`${points(leastDifference({ margin }))} more`}
          </span>
        </small>
      </div>
    </div>
  );
}

function shareOf({ requests, failures }: OriginCount): number {
  return requests === 0 ? 0 : failures / requests;
}

function countText({ requests, failures }: OriginCount): string {
  return requests === 0 ? 'no request' : `${count(failures)} of ${count(requests)} failed`;
}
