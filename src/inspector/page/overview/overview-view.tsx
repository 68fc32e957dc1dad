import type { VNode } from 'preact';
import type { Overview, OverviewItem, State } from '../../api.ts';
import type { Condition } from '../../condition.ts';
import { beyondVerdict } from '../../verdict.ts';
import type { Asked } from '../admin-client.ts';
import { Evidence } from '../evidence.tsx';
import {
  ActionButton,
  conditionLink,
  ConditionWords,
  type OnCommand,
  RefusedFaults,
  VIEW_NAMES,
} from '../page-header.tsx';
import { failedHeading } from '../format.ts';
import { type Go, openHere, placeAddress } from '../page-state.ts';
import { Card, LinkButton, Loading, type PageTools, sentence } from '../parts.tsx';
import { ProblemTable } from '../traffic/problems-view.tsx';
import { Rail } from '../rollout/rail.tsx';
import { BurnDown } from './burn-down.tsx';
import { type Span, TrafficCharts } from './traffic-charts.tsx';

const LEVEL_NAMES = { bad: 'Bad', note: 'Note' } as const;

const LEVEL_SIGNS = { bad: '✕', note: '!', good: '✓', unknown: '?' } as const;

interface OverviewViewProps extends Pick<PageTools, 'go' | 'nameOf'> {
  /** Names the replica whose exchanges these are, if there are others. */
  readonly whose: string | undefined;
  readonly onCommand: OnCommand;
  /** All that the view shows, counted at one moment. */
  readonly asked: Asked<Overview>;
  /** The state of the header, which is that of `asked` once that is known; undefined before the first. */
  readonly live: State | undefined;
  /** The span of time of the charts. */
  readonly span: Span;
  readonly onSpan: (span: Span) => void;
}

/** The overview for a reader with ten seconds: the verdict, the stage of the migration, the problems, and their history. */
export function OverviewView(props: OverviewViewProps): VNode {
  const { go, nameOf, whose, onCommand, asked, live, span, onSpan } = props;
  const { response, failure } = asked;
  // The header has the verdict sooner, because the overview waits until the earlier log is read.
  if (live === undefined) return <Loading failure={failure} subject="the overview" />;
  const { verdict } = live;
  const { whose: whoseCounts = '', items = [], rollout, problems: failed } = response ?? {};
  const further = beyondVerdict({ sentence: verdict.own }, live.conditions);
  const failing = further.filter(({ level }) => level === 'bad');
  const problems = [
    ...further.flatMap((condition) =>
      failing.includes(condition) || condition.until !== undefined ? [] : conditionItem(condition),
    ),
    ...items.filter(({ level }) => level !== 'good'),
  ];
  const facts = [
    ...further.filter(({ until }) => until !== undefined).flatMap(pastItem),
    ...items.filter(({ level }) => level === 'good'),
  ];
  return (
    <div class="view overview">
      <h2 class="sr-only">Overview</h2>
      <section class={`verdict-card ${verdict.level}`} role={verdict.level === 'bad' ? 'alert' : undefined}>
        <i class="level-sign" aria-hidden>
          {LEVEL_SIGNS[verdict.level]}
        </i>
        <div>
          {headline(verdict.own)}
          <p>{sentence(live.counts)}</p>
          {whoseCounts !== '' && <small>{sentence(whoseCounts)}</small>}
          <Evidence {...verdict} />
          {verdict.about === 'rule-book' && live.refusedRuleBook !== undefined && (
            <RefusedFaults refused={live.refusedRuleBook} />
          )}
          <p class="actions">
            <ActionButton action={verdict.action} onCommand={onCommand} isMain />
            {verdict.about === 'rule-book' && conditionLink({ place: { view: 'rules' } }, go)}
            {failed !== undefined && failed.problems.length > 0 && (
              <LinkButton
                onClick={() => go({ view: 'traffic', part: 'problems', filter: '', entry: undefined })}
              >
                Show the problems
              </LinkButton>
            )}
          </p>
          {failing.length > 0 && (
            <ul class="plain also" aria-label="Also bad">
              {failing.map((condition) => (
                <li key={condition.sentence}>
                  <p>
                    <ConditionWords {...condition} />{' '}
                    {condition.about === 'rule-book' && conditionLink(condition, go)}{' '}
                    <ActionButton action={condition.action} onCommand={onCommand} />
                  </p>
                  {condition.about === 'rule-book' && live.refusedRuleBook !== undefined && (
                    <RefusedFaults refused={live.refusedRuleBook} />
                  )}
                </li>
              ))}
            </ul>
          )}
        </div>
      </section>
      {response === undefined && <Loading failure={failure} subject="the counts" />}
      {rollout !== undefined && (
        <section class="card" aria-label="Stage of the migration">
          <Rail rollout={rollout} state={live} />
          <p class="rail-more">
            <LinkButton onClick={() => go({ view: 'rollout' })}>Open Rollout</LinkButton>
          </p>
        </section>
      )}
      {failed !== undefined && failed.problems.length > 0 && (
        <Card
          heading={failedHeading(failed.problems)}
          note="severe and new first; ended ones stay for an hour"
        >
          <ProblemTable view={failed} nameOf={nameOf} go={go} />
        </Card>
      )}
      {problems.length > 0 && (
        <Card heading="To look into" note="worst first">
          <ul class="plain facts-list">{problems.map((item) => itemLine(item, go))}</ul>
        </Card>
      )}
      {response !== undefined && (
        <>
          <TrafficCharts go={go} whose={whose} series={response.series} span={span} onSpan={onSpan} />
          <BurnDown {...response} />
        </>
      )}
      {facts.length > 0 && (
        <Card heading="Good to know">
          <ul class="plain facts-list">{facts.map((item) => itemLine(item, go))}</ul>
        </Card>
      )}
    </div>
  );
}

/** The first sentence of a verdict in large type, and the rest in small type. */
function headline(words: string): VNode {
  const end = words.indexOf('. ') + 1;
  return (
    <p class="state">
      {sentence(end === 0 ? words : words.slice(0, end))}
      {end > 0 && <small>{sentence(words.slice(end))}</small>}
    </p>
  );
}

function conditionItem({ level, label, sentence: words, place }: Condition): OverviewItem[] {
  if (level !== 'bad' && level !== 'note') return [];
  const [subject = label] = label.split(/[: ]/);
  const isSaid = words.startsWith(subject) || words.toLowerCase().includes(label.toLowerCase());
  const told = isSaid ? words : `${label}: ${words}`;
  return [{ level, sentence: told, place: place ?? { view: 'overview' } }];
}

/** A fault that is over: nothing is left to do. */
function pastItem(condition: Condition): OverviewItem[] {
  return conditionItem(condition).map((item) => ({ ...item, level: 'good' }));
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
        onClick={openHere(() => go(target))}
      >
        {level !== 'good' && (
          <strong>
            <i class="level-sign" aria-hidden>
              {LEVEL_SIGNS[level]}
            </i>
            {LEVEL_NAMES[level]}
          </strong>
        )}
        <span>{sentence(words)}</span>
      </a>
    </li>
  );
}
