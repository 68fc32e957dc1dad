import { counted } from '../../report/text/number-text.ts';
import { ownMode } from '../../rollout/modes.ts';
import type { Modes, Rollout, Scope } from '../../rules/rollout.ts';
import { goneWords } from '../end-of-v1.ts';

/** What decides, beside the rules, about a live V1 request of some client. */
export interface LiveState {
  readonly rollout: Pick<Rollout, 'signals' | 'gone' | 'brownouts'> | undefined;
  readonly modes: Modes;
  /** Undefined for a request that the rule book does not name. */
  readonly operation: string | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Says why a live V1 request would not, or not always, be migrated at the moment: the end of V1, brownouts, modes; empty when it would. */
export function liveSentences(state: LiveState): readonly string[] {
  return [...goneSentences(state), ...brownoutSentences(state), ...modeSentences(state)];
}

function goneSentences({ rollout, operation, now }: LiveState): readonly string[] {
  const { gone, signals } = rollout ?? {};
  const { sunset } = signals ?? {};
  if (gone === undefined || sunset === undefined || now < sunset || !mayConcern(gone, operation)) return [];
  const { clients, except } = gone;
  const named = {
    ...(clients === undefined ? {} : { clients }),
    ...(except === undefined ? {} : { except }),
  };
  return [`V1 has ended: ${goneWords({ sunset: new Date(sunset).toISOString(), gone: named }, now)}.`];
}

function brownoutSentences({ rollout, operation, now }: LiveState): readonly string[] {
  return (rollout?.brownouts ?? [])
    .filter(({ from = -Infinity, until = Infinity }) => now >= from && now < until)
    .filter((brownout) => mayConcern(brownout, operation))
    .map(({ id, share, status, clients, except }) => {
      const whose = clients === undefined && except === undefined ? '' : ' of the clients that it names';
      return `Brownout ${id} is on: ${share} % of such requests${whose} get ${status}, and nothing is sent.`;
    });
}

/** Whether a scope includes the operation, for some client: whose request it is, is not known. */
function mayConcern({ operations }: Scope, operation: string | undefined): boolean {
  return operations === undefined || (operation !== undefined && operations.includes(operation));
}

function modeSentences({ modes, operation }: LiveState): readonly string[] {
  const stage = (operation === undefined ? undefined : ownMode(modes.operations, operation)) ?? modes.default;
  const others = Object.values(modes.clients).filter(
    ({ mode, share }) => mode !== stage.mode || share !== stage.share,
  ).length;
  return [
    ...MODE_SENTENCES[stage.mode](stage.share ?? 0),
    ...(others === 0 ? [] : [`${counted(others, 'client')} ${others === 1 ? 'has' : 'have'} another mode.`]),
  ];
}

const MODE_SENTENCES: Readonly<Record<Modes['default']['mode'], (share: number) => readonly string[]>> = {
  migrate: () => [],
  observe: () => ['The mode is observe: V1 gets the request as it came, and V2 nothing.'],
  shadow: () => [
    'The mode is shadow: V1 gets the request as it came; of reads, V2 gets a migrated copy whose response no client sees.',
  ],
  canary: (share) =>
    share >= 100
      ? []
      : [
          `The mode is a canary: ${share} % of the clients are migrated; of the others, V1 gets the request as it came.`,
        ],
};
