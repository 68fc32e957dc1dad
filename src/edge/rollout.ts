import type { V2Schemas } from '../gateway/v1/checks.ts';
import { NOTICE_EVENTS } from '../rollout/replica.ts';
import { RolloutControl } from '../rollout/rollout-control.ts';
import type { RuleBook } from '../rules/rule-book.ts';
import { type BindingCalls, type EdgeBindings, edgeProcessLine, type Platform } from './bindings.ts';
import { EdgeReplica } from './replica.ts';
import { EdgeTotals } from './totals.ts';

/** The modes in force in an isolate, and its part in the state that all isolates share. */
export interface EdgeRollout {
  readonly control: RolloutControl;
  /** This isolate among the others; undefined without a shared object. */
  readonly replica: EdgeReplica | undefined;
  /** The sums of all isolates; undefined without a shared object. */
  readonly totals: EdgeTotals | undefined;
}

interface EdgeRolloutParts extends Platform {
  readonly bindings: EdgeBindings;
  readonly ruleBook: RuleBook;
  readonly v2Schemas?: V2Schemas;
  readonly calls: BindingCalls;
  /** Name of the isolate, for people. */
  readonly name: string;
  readonly hasV1: boolean;
}

/**
 * Creates the rollout of an isolate. Without modes in the rule book and without a shared object, every request is migrated, and an
 * isolate does not load this code.
 */
export function createEdgeRollout(parts: EdgeRolloutParts): EdgeRollout {
  const { bindings, ruleBook, v2Schemas, print, hasV1 } = parts;
  const control = new RolloutControl({
    time: Date.now,
    hasV1,
    onNotice: (sentence, event) => print(edgeProcessLine('error', event, `rollout: ${sentence}`)),
  });
  if (bindings.ROLLOUT === undefined) return { control, replica: undefined, totals: undefined };
  const { requests } = control;
  return {
    control,
    replica: replicaOf(parts, bindings.ROLLOUT, control),
    totals: new EdgeTotals({ ruleBook: ruleBook.hash, requests, v2Schemas, time: Date.now }),
  };
}

function replicaOf(
  { bindings: { ROLLOUT_COPY }, calls, name, print, later }: EdgeRolloutParts,
  namespace: NonNullable<EdgeBindings['ROLLOUT']>,
  control: RolloutControl,
): EdgeReplica {
  return new EdgeReplica({
    control,
    namespace,
    copy: ROLLOUT_COPY && {
      get: (key) =>
        calls.result('ROLLOUT_COPY', async () => ROLLOUT_COPY.get(key)).then((text) => text ?? null),
    },
    name,
    onNotice: ({ kind, sentence }) => {
      const [level, event] = NOTICE_EVENTS[kind];
      print(edgeProcessLine(level, event, `rollout: ${sentence}`));
    },
    later,
  });
}
