import type { ReplicaView } from '../../rollout/rollout-view.ts';
import type { MetricFamily } from './metric-text.ts';

/** Returns the metric families of a replica among those that share a store. */
export function replicaFamilies({ aloneSince, replicas, waiting }: ReplicaView): MetricFamily[] {
  return [
    {
      name: 'gateway_store_reachable',
      type: 'gauge',
      help: '1 while the store that replicas share is in reach, 0 while this replica is alone.',
      samples: [{ labels: [], value: aloneSince === undefined ? 1 : 0 }],
    },
    {
      name: 'gateway_store_alone_since_seconds',
      type: 'gauge',
      help: 'Time since which the store is out of reach, in seconds since 1970; absent while it is in reach.',
      samples: aloneSince === undefined ? [] : [{ labels: [], value: Date.parse(aloneSince) / 1000 }],
    },
    {
      name: 'gateway_replicas',
      type: 'gauge',
      help: 'Gateways that share the store, each with all its workers, when they were last counted.',
      samples: replicas === undefined ? [] : [{ labels: [], value: replicas }],
    },
    {
      name: 'gateway_store_waiting_changes',
      type: 'gauge',
      help: 'Choices and roll-backs that hold on this replica only, until the store is in reach.',
      samples: [{ labels: [], value: waiting }],
    },
  ];
}
