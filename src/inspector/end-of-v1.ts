import { NO_KEY } from '../rewrite-log/entry.ts';
import { isInScope } from '../rollout/modes-in-force.ts';
import type { RolloutView } from '../rollout/rollout-tally.ts';
import { isGoneForAll } from '../rules/rollout.ts';

/** The dates of V1's end, and the effect of the sunset on requests. */
export type EndOfV1 = Pick<RolloutView, 'deprecation' | 'sunset' | 'gone' | 'ends'>;

/** The dates of V1's end as of `now` (milliseconds since 1970), one sentence each. */
export function endSentences(end: EndOfV1, now: number): readonly string[] {
  const { deprecation, sunset, ends = [] } = end;
  return [
    ...(deprecation === undefined
      ? []
      : [
          `V1 ${isPast(deprecation, now) ? 'has been deprecated since' : 'is deprecated from'} ${deprecation}, as its responses announce.`,
        ]),
    ...(sunset === undefined
      ? []
      : [
          `V1 ${isPast(sunset, now) ? 'ended' : 'ends'} on ${sunset}, as its responses announce: ${goneWords(end, now)}.`,
        ]),
    ...ends.map((own) => {
      const dates = [
        ...(own.deprecation === undefined
          ? []
          : [`deprecated ${isPast(own.deprecation, now) ? 'since' : 'from'} ${own.deprecation}`]),
        ...(own.sunset === undefined
          ? []
          : [
              `${isPast(own.sunset, now) ? 'ended' : 'ends'} on ${own.sunset}: ${goneWords(own, now, ' for it')}`,
            ]),
      ];
      return `${own.kind === 'operation' ? 'Operation' : 'Change'} ${own.id}: ${dates.length === 0 ? 'its responses link to pages about its end' : dates.join('; ')}.`;
    }),
  ];
}

/** Every time that the rule book declares for the end of V1, RFC 3339. */
export function declaredTimes({
  deprecation,
  sunset,
  ends = [],
  brownouts,
}: Pick<RolloutView, 'deprecation' | 'sunset' | 'ends' | 'brownouts'>): readonly string[] {
  return [
    deprecation,
    sunset,
    ...ends.flatMap((own) => [own.deprecation, own.sunset]),
    ...brownouts.flatMap(({ from, until }) => [from, until]),
  ].filter((time) => time !== undefined);
}

/** The brownouts of the rule book, one sentence each. */
export function brownoutSentences({ brownouts }: Pick<RolloutView, 'brownouts'>): readonly string[] {
  return brownouts.map(
    ({ id, state, share, status, from, until }) =>
      `Brownout ${id} is ${state.replace('-', ' ')}: ${share} % ${state === 'over' ? 'got' : 'get'} ${status}${from === undefined ? '' : `, from ${from}`}${until === undefined ? '' : `, until ${until}`}.`,
  );
}

/** Says which V1 requests get 410 from the sunset on, without a full stop. */
export function goneWords(
  { sunset, gone }: Pick<EndOfV1, 'sunset' | 'gone'>,
  now: number,
  which = '',
): string {
  if (sunset === undefined || gone === undefined) return 'no request gets 410 for it';
  const { clients, except } = gone;
  const who = `V1 requests${which}${clients === undefined ? '' : ` of ${clients.join(', ')}`}`;
  const but = except === undefined ? '' : `, except those of ${except.join(', ')}`;
  return `${who} get 410${isPast(sunset, now) ? ', on purpose' : ' from then on'}${but}`;
}

/** Whether V1 has ended for all clients, so that no mode applies to any V1 request. */
export function hasEnded({ sunset, gone }: Pick<EndOfV1, 'sunset' | 'gone'>, now: number): boolean {
  return sunset !== undefined && isPast(sunset, now) && isGoneForAll(gone);
}

/** Whether V1 has ended for all clients but those that the sunset excepts. */
export function isAtEnd({ sunset, gone }: Pick<EndOfV1, 'sunset' | 'gone'>, now: number): boolean {
  return sunset !== undefined && isPast(sunset, now) && gone !== undefined && gone.clients === undefined;
}

/** Says that no mode changes what has ended: V1, or this operation of it; empty if neither has. */
export function endWarning(end: EndOfV1, now: number, operation: string | undefined): readonly string[] {
  const own = end.ends?.filter(({ kind, id }) => kind === 'operation' && id === operation) ?? [];
  const told = [
    { what: 'V1', which: '', ...end },
    ...own.map((one) => ({ what: one.id, which: ' for it', ...one })),
  ];
  return told
    .filter(({ sunset, gone }) => sunset !== undefined && gone !== undefined && isPast(sunset, now))
    .slice(0, 1)
    .map((one) => `${one.what} ended on ${one.sunset}: in every mode, ${goneWords(one, now, one.which)}.`);
}

/**
 * Whether V1, or this operation of it, has ended for each of these clients (hashes, or `-`), so that their requests get 410; without
 * clients, whether it has for all.
 */
export function hasEndedFor(
  end: EndOfV1,
  now: number,
  operation: string | undefined,
  clients: readonly string[] = [],
): boolean {
  const own = end.ends?.filter(({ kind, id }) => kind === 'operation' && id === operation) ?? [];
  const past = [end, ...own].flatMap(({ sunset, gone }) =>
    sunset === undefined || gone === undefined || !isPast(sunset, now) ? [] : [gone],
  );
  if (clients.length === 0) return past.some(isGoneForAll);
  return clients.every((hash) => {
    const client = hash === NO_KEY ? undefined : hash;
    // Names are for people: they change when a client gets another `User-Agent`.
    return past.some(({ hashes = {} }) => isInScope(hashes, { client, operation }));
  });
}

function isPast(time: string, now: number): boolean {
  return now >= Date.parse(time);
}
