import type { VNode } from 'preact';
import { useContext } from 'preact/hooks';
import type { ModeView, RolloutView as Rollout } from '../../../rollout/rollout-tally.ts';
import type { State } from '../../api.ts';
import { lengthWords, percentWords } from '../../../report/text.ts';
import { listed } from '../../../rules/words.ts';
import { count, counted, type Ending, shortTime } from '../format.ts';
import { isAtEnd } from '../../end-of-v1.ts';
import { defaultTarget } from '../../rollout-effect.ts';
import { classes, EndingContext, sentence, visibleText } from '../parts.tsx';

/** The stages of a migration, in order. */
const STAGES = [
  { id: 'observe', name: 'Observe', words: 'V1 responds, V2 is a dry run' },
  { id: 'shadow', name: 'Shadow', words: 'V1 responds, reads compared' },
  { id: 'canary', name: 'Canary', words: 'a share of the clients is on V2' },
  { id: 'migrate', name: 'Migrate', words: 'requests go to V2' },
  { id: 'end', name: 'End', words: 'V1 is switched off' },
] as const;

/** A stage of a migration. */
export type Stage = (typeof STAGES)[number]['id'];

/** Maximum operations and clients that a stage lists by name; the rest are counted. */
const MAX_NAMES = 3;

export interface RailProps {
  readonly rollout: Rollout;
  /** Has the recent requests of V1 clients by the service that got them. */
  readonly state: State;
  /** Chooses a stage for everything without its own mode; if absent, the rail is only a picture. */
  readonly onChoose?: (stage: Stage) => void;
}

/** Observe, shadow, canary, migrate, end: the stage of V1's traffic, and the exceptions. */
export function Rail({ rollout, state, onChoose }: RailProps): VNode {
  const now = Date.now();
  const ending = useContext(EndingContext);
  const isOver = isAtEnd(rollout, now);
  const current = isOver ? 'end' : stageOf(rollout.default);
  const others = [
    ...Object.entries(rollout.operations),
    ...Object.values(rollout.clients).map((mode) => [mode.name ?? 'a client', mode] as const),
  ];
  return (
    <div class="rail-box">
      <ol class="rail" aria-label="Stages of the migration">
        {STAGES.map(({ id, name, words }) => {
          const here = isOver ? [] : others.filter(([, mode]) => stageOf(mode) === id && id !== current);
          const isCurrent = id === current;
          const title = (
            <>
              <i aria-hidden />
              <strong>
                {isCurrent && id === 'canary' ? `Canary ${rollout.default.share ?? 0} %` : name}
              </strong>
            </>
          );
          return (
            <li
              key={id}
              class={classes(isCurrent && 'current')}
              aria-current={isCurrent ? 'step' : undefined}
            >
              {onChoose === undefined ||
              isCurrent ||
              id === 'end' ||
              isOver ||
              (rollout.v1Origin === undefined && id !== 'migrate') ? (
                <span class="stage">{title}</span>
              ) : (
                <button
                  type="button"
                  class="stage"
                  aria-label={`${name}: choose it for ${defaultTarget(rollout)}`}
                  onClick={() => onChoose(id)}
                >
                  {title}
                </button>
              )}
              <small>
                {id === 'end'
                  ? endWords(rollout, now, ending)
                  : isCurrent && rollout.default.mode === 'verify'
                    ? 'requests go to V2, and V1 gets reads as well'
                    : words}
              </small>
              {here.length > 0 && (
                <small class="elsewhere" title={here.map(([one]) => one).join(', ')}>
                  {visibleText(
                    listed(
                      here.map(([one]) => one),
                      MAX_NAMES,
                    ),
                  )}
                </small>
              )}
            </li>
          );
        })}
      </ol>
      {sentBar(state, rollout)}
    </div>
  );
}

/** Where V1 clients' requests went, with the key to the colours. */
function sentBar(
  { sent, startedAt, now, replica }: State,
  { changed }: Pick<Rollout, 'changed'>,
): VNode | false {
  const { since, v1, v2, onPurpose, unsent } = sent;
  const all = v1 + v2 + onPurpose + unsent;
  if (all === 0) return false;
  const parts = [
    { name: 'sent to V1', look: 'of-v1', times: v1 },
    { name: 'sent to V2', look: 'of-v2', times: v2 },
    { name: 'refused on purpose', look: 'on-purpose', times: onPurpose },
    { name: 'not sent', look: 'of-neither', times: unsent },
  ].filter(({ times }) => times > 0);
  const age = lengthWords(Date.parse(now) - Date.parse(since));
  const from = since === startedAt ? `the start at ${since}` : since;
  // The counts are by the minute: some of them may be of the modes before.
  const until = changed === undefined || changed < since ? '' : `, until ${changed} in other modes`;
  return (
    <div class="answered">
      <span class="answered-bar" aria-hidden>
        {parts.map(({ look, times }) => (
          <i key={look} class={look} style={{ flexGrow: times }} />
        ))}
      </span>
      <p class="readout">
        <span>
          {sentence(`${counted(all, 'V1 request')} since ${from} (${age})${until}`)}
          {replica !== undefined && ` at ${replica.name}`}
          {': '}
        </span>
        {parts.map(({ name, look, times }) => (
          <span key={look} class="legend">
            <i class={`swatch ${look}`} aria-hidden />
            {name} <b>{percentWords(times / all)}</b> <small>{count(times)}</small>{' '}
          </span>
        ))}
      </p>
    </div>
  );
}

function stageOf({ mode }: ModeView): Stage {
  return mode === 'verify' ? 'migrate' : mode;
}

function endWords({ sunset, gone }: Rollout, now: number, ending: Ending): string {
  if (sunset === undefined) return 'no date yet';
  const isPast = now >= Date.parse(sunset);
  const what = gone === undefined ? 'announced for' : isPast ? 'since' : 'on';
  const except = isPast && gone?.except !== undefined ? `, except for ${gone.except.join(', ')}` : '';
  return `${what} ${shortTime(sunset, ending, now)}${except}`;
}
