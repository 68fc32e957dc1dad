import type { ComponentChildren, VNode } from 'preact';
import { unfitCalls } from '../../../report/client-report.ts';
import type { RolloutView as Rollout } from '../../../rollout/rollout-tally.ts';
import type { Report } from '../../api.ts';
import { useAsked } from '../admin-client.ts';
import { counted } from '../format.ts';
import { Card, Loading, NewTab, type PageTools, sentence, SentenceList } from '../parts.tsx';
import { CensusCard } from './census-card.tsx';
import type { ClientNameProps } from './client-name.tsx';
import { ClientTable, useClientsScreen, useTableChoice } from './client-table.tsx';
import { EndPlanCards, usePlan } from './end-plan.tsx';
import { EndOfV1, hasPlan, useTimeline } from './timeline.tsx';
import { UnfitCard } from './unfit-card.tsx';

/** Properties of the clients. */
type ClientsViewProps = Pick<ClientNameProps, 'clients' | 'onNamed'> &
  Pick<PageTools, 'go' | 'announce' | 'hueOf'>;

const REFRESH = 10_000;

const COVERAGE_WORDS = { gateway: 'one gateway', alone: 'alone' } as const;

/** The clients that still need V1, their remaining work, and the end of V1 for each. */
export function ClientsView(props: ClientsViewProps): VNode {
  const { announce } = props;
  const choice = useTableChoice();
  const { response: shown, failure } = useClientsScreen(choice);
  const { response: rollout } = useAsked<Rollout>('rollout', REFRESH);
  const plan = usePlan();
  const timeline = useTimeline(plan.query);
  if (shown === undefined) return <Loading failure={failure} subject="the clients that call V1" />;
  const { report } = shown.screen;
  const { newcomers = [] } = report;
  const isEnded = report.switchOff.verdict === 'ended';
  return (
    <div class="view clients">
      <div class="title">
        <h2>Clients</h2>
        {coverageOf(report)}
        {exportsOf()}
      </div>
      {isEnded ? endedBanner(report) : neededBanner(report)}
      <EndOfV1 report={report} rollout={rollout} timeline={timeline} />
      <ClientTable shown={shown} choice={choice} notices={plan.asked.response?.clients} {...props} />
      <UnfitCard calls={unfitCalls(report.clients)} go={props.go} />
      {newcomers.length > 0 && (
        <Card heading="New to V1">
          <SentenceList sentences={newcomers.map((one) => one.sentence)} />
        </Card>
      )}
      {/* After the end of V1 there is nothing to plan. */}
      {!isEnded && (
        <EndPlanCards
          plan={plan}
          isDeclared={timeline !== undefined && hasPlan(timeline)}
          announce={announce}
        />
      )}
      {report.census.exchanges > 0 && (
        <CensusCard census={report.census} clients={report.clients} announce={announce} />
      )}
    </div>
  );
}

/** Names the gateway or replicas whose traffic the report counts. */
function coverageOf({ coverage }: Report): VNode | undefined {
  if (coverage === undefined) return undefined;
  const { kind, replicas = 1 } = coverage;
  return (
    <p class="coverage">
      {(kind !== 'fleet' || replicas > 1) && (
        <strong class="badge words">
          {kind === 'fleet' ? counted(replicas, 'replica') : COVERAGE_WORDS[kind]}
        </strong>
      )}{' '}
      {sentence(coverage.sentence)}
    </p>
  );
}

/** After the end of V1: the clients that still call it. */
function endedBanner({ switchOff: { sentence, conditions } }: Report): VNode {
  if (conditions.length === 0) return banner('yes', sentence);
  return banner('unknown', sentence, <SentenceList sentences={conditions.map(({ text }) => text)} />);
}

/** Whether V1 can be switched off, and the clients by the work that they need. */
function neededBanner({ switchOff, remaining, v2 }: Report): VNode {
  const { verdict } = switchOff;
  if (verdict === 'nothing-seen') {
    return banner(
      'unknown',
      switchOff.sentence,
      <p>
        {`${counted(v2, 'V2 request')} in this time. The needs of V1 clients are not known; the command report reads earlier logs.`}
      </p>,
    );
  }
  // A condition that is met, such as a complete count, is no reason to keep V1.
  const reasons = switchOff.conditions.filter(({ state }) => verdict === 'yes' || state !== 'met');
  return banner(
    // Clients that still need V1 are work to do, and no fault.
    verdict === 'yes' ? verdict : verdict === 'no' ? 'work' : 'unknown',
    switchOff.sentence,
    <SentenceList sentences={[...reasons.map(({ text }) => text), ...remaining]} />,
  );
}

function banner(tone: 'yes' | 'work' | 'unknown', words: string, ...more: ComponentChildren[]): VNode {
  return (
    <section class={`response ${tone}`}>
      <h3>{sentence(words)}</h3>
      {more}
    </section>
  );
}

function exportsOf(): VNode {
  const formats = { json: 'JSON', csv: 'CSV', md: 'Markdown' };
  return (
    <p class="actions">
      {'The whole report as '}
      {Object.entries(formats).map(([format, name]) => (
        <NewTab key={format} look="button" href={`report?format=${format}`}>
          {name}
        </NewTab>
      ))}
    </p>
  );
}
