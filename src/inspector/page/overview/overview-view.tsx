import type { VNode } from 'preact';
import type { RolloutView as Rollout } from '../../../rollout/rollout-tally.ts';
import type { HistoryView, Overview, OverviewItem, ProblemsView, Report } from '../../api.ts';
import { useAsked } from '../admin-client.ts';
import { ActionButton, type OnCommand, VIEW_NAMES } from '../page-header.tsx';
import { type Go, placeAddress } from '../page-state.ts';
import { Card, classes, LinkButton, Loading, type PageTools, sentence } from '../parts.tsx';
import { ProblemTable } from '../traffic/problems-view.tsx';
import { Rail } from '../rollout/rail.tsx';
import { BurnDown } from './burn-down.tsx';
import { TrafficCharts } from './traffic-charts.tsx';

const REFRESH_MS = 5000;

const SLOW_MS = 30_000;

const LEVEL_NAMES = { bad: 'Bad', note: 'Note', good: 'Info' } as const;

const LEVEL_SIGNS = { bad: '✕', note: '!', good: '✓', unknown: '?' } as const;

/** Properties of the overview. */
interface OverviewViewProps extends Pick<PageTools, 'go' | 'nameOf'> {
  /** Names the replica whose exchanges these are, if there are others. */
  readonly whose: string | undefined;
  readonly onCommand: OnCommand;
}

/** All in ten seconds: the verdict, the stage of the migration, what is wrong, and how it came about. */
export function OverviewView({ go, nameOf, whose, onCommand }: OverviewViewProps): VNode {
  const { response, failure } = useAsked<Overview>('overview', REFRESH_MS);
  const { response: history } = useAsked<HistoryView>('history', REFRESH_MS);
  const { response: rollout } = useAsked<Rollout>('rollout', REFRESH_MS);
  const { response: report } = useAsked<Report>('report?format=json', SLOW_MS);
  const { response: failed } = useAsked<ProblemsView>('problems', REFRESH_MS);
  if (response === undefined) return <Loading failure={failure} subject="the overview" />;
  const { verdict, state, whose: counted, items } = response;
  const known = new Set(failed?.problems.map(({ filter }) => filter));
  // What stands in the table of problems, or is the verdict, is not said again.
  const others = items.filter(
    ({ place, sentence: words }) =>
      !known.has(place.filter ?? '') &&
      !(verdict.level !== 'good' && (verdict.sentence.startsWith(words) || words.endsWith(verdict.sentence))),
  );
  const problems = others.filter(({ level }) => level !== 'good');
  const facts = others.filter(({ level }) => level === 'good');
  return (
    <div class="view overview">
      <h2 class="sr-only">Overview</h2>
      <section class={`verdict-card ${verdict.level}`} role={verdict.level === 'bad' ? 'alert' : undefined}>
        <i class="level-sign" aria-hidden>
          {LEVEL_SIGNS[verdict.level]}
        </i>
        <div>
          <p class={classes('state', verdict.level)}>{sentence(verdict.sentence)}</p>
          <p>{sentence(state)}</p>
          <small>{sentence(counted)}</small>
          <ActionButton action={verdict.action} onCommand={onCommand} />
        </div>
      </section>
      {rollout !== undefined && (
        <section class="card" aria-label="Stage of the migration">
          <Rail rollout={rollout} answered={answeredOf(history)} />
          <p class="rail-more">
            <LinkButton onClick={() => go({ view: 'rollout' })}>Open Rollout</LinkButton>
          </p>
        </section>
      )}
      {failed !== undefined && failed.problems.length > 0 && (
        <Card heading="What fails" note="severe and new first; what is over goes after an hour">
          <ProblemTable view={failed} nameOf={nameOf} go={go} />
        </Card>
      )}
      {problems.length > 0 && (
        <Card heading="To know of" note="worst first">
          <ul class="plain facts-list">{problems.map((item) => itemLine(item, go))}</ul>
        </Card>
      )}
      <TrafficCharts go={go} whose={whose} />
      {report !== undefined && <BurnDown report={report} changes={rollout?.changes ?? []} />}
      <Card heading="Good to know">
        <ul class="plain facts-list">{facts.map((item) => itemLine(item, go))}</ul>
      </Card>
    </div>
  );
}

/** V1 clients' requests of the last hour by who answered. */
function answeredOf(history: HistoryView | undefined): { v1: number; v2: number; words: string } | undefined {
  if (history === undefined) return undefined;
  let [v1, v2] = [0, 0];
  for (const { outcomes } of history.minutes) {
    v1 += outcomes.v1;
    v2 += outcomes.rewritten + outcomes.unchanged;
  }
  return { v1, v2, words: 'In the last hour' };
}

function itemLine(item: OverviewItem, go: Go): VNode {
  const { level, sentence: words, place } = item;
  const { view, part, filter = '' } = place;
  const target = { view, part, filter, entry: undefined };
  return (
    <li key={words} class={level}>
      <a
        href={placeAddress({ ...target, perspective: 'diff' })}
        title={filter === '' ? `Open ${VIEW_NAMES[view]}` : 'Show the exchanges'}
        onClick={(event) => {
          if (event.metaKey || event.ctrlKey || event.shiftKey) return;
          event.preventDefault();
          go(target);
        }}
      >
        <strong>
          <i class="level-sign" aria-hidden>
            {LEVEL_SIGNS[level]}
          </i>
          {LEVEL_NAMES[level]}
        </strong>
        <span>{sentence(words)}</span>
      </a>
    </li>
  );
}
