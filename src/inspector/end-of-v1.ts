import type { RolloutView } from '../rollout/rollout-view.ts';

/** The dates of V1's end, and what the sunset does to requests. */
export type EndOfV1 = Pick<RolloutView, 'deprecation' | 'sunset' | 'gone'>;

/** Says of the dates of V1's end what holds at `now` (milliseconds since 1970), one sentence for each date. */
export function endSentences(end: EndOfV1, now: number): readonly string[] {
  const { deprecation, sunset } = end;
  return [
    ...(deprecation === undefined
      ? []
      : [
          `Deprecated ${isPast(deprecation, now) ? 'since' : 'from'} ${deprecation}, as V1 responses announce.`,
        ]),
    ...(sunset === undefined
      ? []
      : [
          `It ${isPast(sunset, now) ? 'ended' : 'ends'} on ${sunset}, as V1 responses announce: ${goneWords(end, now)}.`,
        ]),
  ];
}

/** Says which V1 requests get 410 at the sunset, without a full stop. */
export function goneWords({ sunset, gone }: Pick<EndOfV1, 'sunset' | 'gone'>, now: number): string {
  if (sunset === undefined || gone === undefined) return 'no request gets 410 for it';
  const { clients, except } = gone;
  const who = clients === undefined ? 'V1 requests' : `V1 requests of ${clients.join(', ')}`;
  const but = except === undefined ? '' : `, except those of ${except.join(', ')}`;
  return `${who} get 410 ${isPast(sunset, now) ? 'now' : 'from then on'}${but}`;
}

function isPast(time: string, now: number): boolean {
  return now >= Date.parse(time);
}
