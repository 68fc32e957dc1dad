import { counted } from '../rules/words.ts';
import type { OutageOf } from '../rewrite-log/service-outages.ts';
import type { ChangeRecord, RolloutView } from '../rollout/rollout-tally.ts';
import { goneWords } from './end-of-v1.ts';

interface MarkFacts {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Absent if the rollout cannot be read. */
  readonly rollout:
    | Pick<RolloutView, 'changes' | 'deprecation' | 'sunset' | 'gone' | 'ends' | 'brownouts'>
    | undefined;
  readonly outages: readonly OutageOf[];
  /** When operations began to fail, and when they stopped. */
  readonly faults: readonly ChangeRecord[];
}

/** What has happened up to `now`, oldest first: changes by operators and of the rule book, brownouts, the end of V1, and faults. */
export function marksUntil({ now, rollout, outages, faults }: MarkFacts): readonly ChangeRecord[] {
  const all = [
    ...(rollout?.changes ?? []),
    ...(rollout === undefined ? [] : [...brownoutMarks(rollout), ...endMarks(rollout, now)]),
    ...outages.flatMap(outageMarks),
    ...faults,
  ];
  return all
    .filter(({ at }) => Date.parse(at) <= now)
    .sort((one, other) => Date.parse(one.at) - Date.parse(other.at));
}

function event(at: string | undefined, what: string): readonly ChangeRecord[] {
  return at === undefined ? [] : [{ at, kind: 'event', what }];
}

function brownoutMarks({ brownouts }: Pick<RolloutView, 'brownouts'>): readonly ChangeRecord[] {
  return brownouts.flatMap(({ id, from, until, share, status }) => [
    ...event(from, `Brownout ${id} began: ${share} % of V1 requests get ${status}`),
    ...event(until, `Brownout ${id} ended`),
  ]);
}

function endMarks(end: NonNullable<MarkFacts['rollout']>, now: number): readonly ChangeRecord[] {
  return [
    ...event(end.deprecation, 'V1 is deprecated, as its responses announce'),
    ...event(end.sunset, `V1 ended: ${goneWords(end, now)}`),
    ...(end.ends ?? []).flatMap((own) =>
      event(own.sunset, `The ${own.kind} ${own.id} ended: ${goneWords(own, now, ' for it')}`),
    ),
  ];
}

function outageMarks({ service, requests, since, last, responded }: OutageOf): readonly ChangeRecord[] {
  const name = service.toUpperCase();
  return [
    ...event(
      new Date(since).toISOString(),
      `${name} stopped responding: ${counted(requests, 'request')} failed`,
    ),
    ...(responded === 0 ? [] : event(new Date(last).toISOString(), `${name} responded again`)),
  ];
}
