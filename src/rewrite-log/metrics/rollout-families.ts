import type { MetricFamily } from './metric-text.ts';
import { replicaFamilies } from './replica-families.ts';
import type { ModeView, RolloutView } from '../../rollout/rollout-view.ts';

/** Returns the metric families of a rollout. */
export function rolloutFamilies(view: RolloutView): MetricFamily[] {
  const stages = [['(default)', view.default] as const, ...Object.entries(view.operations)];
  const unresolved = view.rollbacks.filter(({ resolved }) => resolved === undefined);
  return [
    {
      name: 'gateway_rollout_mode',
      type: 'gauge',
      help: '1 for the mode of the default and of each operation that has its own.',
      samples: stages.map(([stage, { mode }]) => ({
        labels: [
          ['stage', stage],
          ['mode', mode],
        ],
        value: 1,
      })),
    },
    {
      name: 'gateway_rollout_migrated_share',
      type: 'gauge',
      help: 'Share of clients that are migrated, 0 to 1.',
      samples: stages.map(([stage, mode]) => ({ labels: [['stage', stage]], value: shareOf(mode) })),
    },
    {
      name: 'gateway_rollout_requests_total',
      type: 'counter',
      help: 'V1 requests by the origin that they were sent to.',
      samples: (['v1', 'v2'] as const).map((origin) => ({
        labels: [['origin', origin]],
        value: view.requests?.[origin] ?? 0,
      })),
    },
    {
      name: 'gateway_canary_window_requests',
      type: 'gauge',
      help: 'Requests in the window of a canary, by origin and outcome; with a store, of all replicas together.',
      samples: view.canaries.flatMap(({ operation, migrated, v1 }) =>
        (
          [
            ['v2', 'false', migrated.requests - migrated.failures],
            ['v2', 'true', migrated.failures],
            ['v1', 'false', v1.requests - v1.failures],
            ['v1', 'true', v1.failures],
          ] as const
        ).map(([origin, failed, value]) => ({
          labels: [
            ['stage', operation ?? '(default)'],
            ['origin', origin],
            ['failed', failed],
          ],
          value,
        })),
      ),
    },
    {
      name: 'gateway_rollbacks_standing',
      type: 'gauge',
      help: 'Canaries that were rolled back and wait for an operator.',
      samples: [{ labels: [], value: unresolved.length }],
    },
    ...(view.replica === undefined ? [] : replicaFamilies(view.replica)),
    {
      name: 'gateway_shadow_comparisons_total',
      type: 'counter',
      help: 'Reads compared between both origins, by operation and outcome.',
      samples: view.shadows.flatMap(({ operation, same, different, unknown }) =>
        Object.entries({ same, different, unknown }).map(([verdict, value]) => ({
          labels: [
            ['operation', operation ?? ''],
            ['verdict', verdict],
          ],
          value,
        })),
      ),
    },
  ];
}

function shareOf({ mode, share = 0 }: ModeView): number {
  if (mode === 'migrate') return 1;
  return mode === 'canary' ? share / 100 : 0;
}
