import type { VNode } from 'preact';
import { errorName, type ErrorSource, errorValue } from '../../../rewrite-log/entry.ts';
import { printFilter } from '../../../rewrite-log/filter.ts';
import type { ErrorGroup, ErrorGroups, Problem, ProblemsView as ProblemsData } from '../../api.ts';
import type { ProblemState } from '../../problems.ts';
import { useAsked } from '../admin-client.ts';
import { ago, count, counted, dayTime, fullTime, shortTime } from '../format.ts';
import { type Go, placeAddress, toExchanges, type ViewPart } from '../page-state.ts';
import {
  Card,
  classes,
  type Column,
  LinkButton,
  Loading,
  type PageTools,
  ScrollTable,
  Trend,
  visibleText,
} from '../parts.tsx';

const REFRESH_MS = 5000;

const SOURCES: Readonly<Record<ErrorSource, string>> = {
  gateway: 'the gateway',
  v1: 'V1',
  v2: 'V2',
  would: 'a dry run',
  schema: 'V2’s schema, without V2',
};

/** Properties of the problems. */
interface ProblemsViewProps extends Pick<PageTools, 'go' | 'nameOf'> {
  /** Names the replica whose exchanges these are, if there are others. */
  readonly whose: string | undefined;
}

/** What failed in groups, and all errors of the kept exchanges by finder, code and place. */
export function ProblemsView({ go, nameOf, whose }: ProblemsViewProps): VNode {
  const { response: failed } = useAsked<ProblemsData>('problems', REFRESH_MS);
  const { response, failure } = useAsked<ErrorGroups>('errors', REFRESH_MS);
  if (response === undefined) return <Loading failure={failure} subject="the errors" />;
  const { groups, exchanges, omitted } = response;
  return (
    <div class="view problems">
      <div class="title">
        <h2>Problems</h2>
        <TrafficParts part="problems" go={go} />
      </div>
      {whose !== undefined && <p class="lead">{visibleText(whose)}</p>}
      {failed !== undefined && (
        <Card heading="What failed" note="severe and new first; what is over goes after an hour">
          {failed.problems.length === 0 ? (
            <p class="empty">
              {'Nothing has failed since '}
              {shortTimeOf(failed.since)}.
            </p>
          ) : (
            <ProblemTable view={failed} nameOf={nameOf} go={go} />
          )}
        </Card>
      )}
      <Card
        heading={`${counted(groups.length, 'kind')} of errors`}
        note={`in ${counted(exchanges, 'kept exchange')}; failures are kept for longer than others`}
      >
        {groups.length === 0 ? (
          <p class="empty">{exchanges === 0 ? 'No exchange is kept yet.' : 'None of them has an error.'}</p>
        ) : (
          <ScrollTable
            label="Problems"
            columns={errorColumns(go)}
            rows={groups}
            keyOf={({ error }) => errorName(error)}
            isWide
          />
        )}
        {omitted > 0 && <p>{`${counted(omitted, 'error')} of further kinds, not listed.`}</p>}
      </Card>
    </div>
  );
}

const STATES: Readonly<Record<ProblemState, string>> = {
  new: 'new',
  again: 'again',
  lasting: 'lasting',
  over: 'over',
};

/** Requests that failed alike, each group with its times, its trend and whether it is over; severe and new ones first. */
export function ProblemTable({
  view: { problems, omitted },
  nameOf,
  go,
}: {
  readonly view: ProblemsData;
} & Pick<PageTools, 'go' | 'nameOf'>): VNode {
  return (
    <>
      <ScrollTable
        label="Failed requests"
        columns={problemColumns(nameOf, go)}
        rows={problems}
        keyOf={({ filter, by, status, message = '' }) => `${by} ${status} ${filter} ${message}`}
        classOf={({ state }) => classes(state === 'over' && 'is-over')}
        isWide
      />
      {omitted > 0 && <p>{`${counted(omitted, 'failed request')} of further kinds, not listed.`}</p>}
    </>
  );
}

function problemColumns(nameOf: PageTools['nameOf'], go: Go): readonly Column<Problem>[] {
  return [
    {
      name: 'Problem',
      kind: 'head',
      cell: (problem) => (
        <LinkButton
          onClick={toExchanges(go, problem.filter)}
          label={`Show the exchanges: ${problemWords(problem)}`}
        >
          {visibleText(problemWords(problem))}
        </LinkButton>
      ),
    },
    {
      name: 'State',
      cell: ({ state, severity }) => (
        <span class={`problem-state ${state === 'over' ? 'good' : severity === 'severe' ? 'bad' : 'note'}`}>
          {STATES[state]}
        </span>
      ),
    },
    { name: 'Message', cell: ({ message }) => visibleText(message ?? '–') },
    { name: 'Failed', kind: 'number', cell: (problem) => count(problem.count) },
    {
      name: 'Last hour',
      cell: ({ trend }) => (
        <Trend counts={trend} label={`Failures by minute in the last hour: ${trend.join(', ')}`} />
      ),
    },
    {
      name: 'Clients',
      cell: ({ clients, client }) =>
        client === undefined ? count(clients) : visibleText(nameOf(client) ?? client.slice(0, 8)),
    },
    { name: 'Since', cell: ({ since }) => shortTimeOf(since) },
    {
      name: 'Last',
      cell: ({ lastSeen }) => (
        <time dateTime={lastSeen} title={fullTime(lastSeen)}>
          {ago(lastSeen)}
        </time>
      ),
    },
  ];
}

function shortTimeOf(time: string): VNode {
  return (
    <time dateTime={time} title={fullTime(time)}>
      {shortTime(time)}
    </time>
  );
}

function problemWords({ operation, service, operations = 0, by, status, code, pointer }: Problem): string {
  if (service !== undefined)
    return `${service.toUpperCase()} out of reach: ${counted(operations, 'operation')}, ${code ?? status}`;
  const who = by === 'gateway' ? 'the gateway' : by.toUpperCase();
  const what = code ?? (status === 0 ? 'no whole response' : String(status));
  return `${operation ?? 'other requests'}: ${what} from ${who}${pointer === undefined ? '' : ` at ${pointer === '' ? '/' : pointer}`}`;
}

/** The parts of the traffic: the exchanges, and their problems. */
export function TrafficParts({ part, go }: { readonly part: ViewPart | undefined; readonly go: Go }): VNode {
  const target = { view: 'traffic', filter: '', entry: undefined, perspective: 'diff' } as const;
  return (
    <nav class="view-parts" aria-label="Traffic">
      {([undefined, 'problems'] as const).map((one) => (
        <a
          key={one ?? 'exchanges'}
          href={placeAddress({ ...target, part: one })}
          aria-current={one === part ? 'page' : undefined}
          onClick={(event) => {
            if (event.metaKey || event.ctrlKey || event.shiftKey) return;
            event.preventDefault();
            go({ view: 'traffic', part: one, entry: undefined });
          }}
        >
          {one === undefined ? 'Exchanges' : 'Problems'}
        </a>
      ))}
    </nav>
  );
}

function errorColumns(go: Go): readonly Column<ErrorGroup>[] {
  return [
    { name: 'Code', kind: 'head', cell: ({ error }) => codeLink(error, go) },
    { name: 'Found by', cell: ({ error }) => SOURCES[error.by] },
    {
      name: 'At',
      cell: ({ error: { pointer } }) =>
        pointer === undefined ? '–' : <code>{visibleText(pointer === '' ? '/' : pointer)}</code>,
    },
    {
      name: 'Operations',
      cell: ({ operations }) =>
        operations.length === 0
          ? 'not read'
          : visibleText(
              operations.map((operation) => (operation === '-' ? '(other)' : operation)).join(', '),
            ),
    },
    { name: 'Exchanges', kind: 'number', cell: (group) => count(group.count) },
    {
      name: 'Clients',
      kind: 'number',
      cell: ({ clients, isKeyless }) =>
        clients === 0
          ? isKeyless === true
            ? 'no key'
            : 'not known'
          : `${count(clients)}${isKeyless === true ? ' and no key' : ''}`,
    },
    {
      name: 'First',
      cell: ({ firstSeen }) => (
        <time dateTime={firstSeen} title={firstSeen}>
          {dayTime(firstSeen)}
        </time>
      ),
    },
    {
      name: 'Last',
      cell: ({ lastSeen }) => (
        <time dateTime={lastSeen} title={lastSeen}>
          {ago(lastSeen)}
        </time>
      ),
    },
  ];
}

function codeLink(error: ErrorGroup['error'], go: Go): VNode {
  const name = errorName(error);
  const filter = printFilter([{ negated: false, field: 'error', values: [errorValue(error)] }]);
  return (
    <LinkButton onClick={toExchanges(go, filter)} label={`Show the exchanges with ${name}`}>
      {visibleText(error.code)}
    </LinkButton>
  );
}
