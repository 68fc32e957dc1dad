import type { ComponentChildren, VNode } from 'preact';
import { errorName, type ErrorSource, errorValue } from '../../../rewrite-log/entry.ts';
import { isFilterFault, parseFilter, printFilter } from '../../../rewrite-log/filter.ts';
import type {
  ErrorGroup,
  ErrorGroups,
  Problem,
  ProblemsScreen,
  ProblemsView as ProblemsData,
  RulesView,
} from '../../api.ts';
import type { ProblemState } from '../../problems.ts';
import { listed } from '../../../rules/words.ts';
import { useAsked } from '../admin-client.ts';
import { ago, count, counted, failedHeading } from '../format.ts';
import { UnfitCard } from '../clients/unfit-card.tsx';
import { type Go, openHere, placeAddress, toExchanges, type ViewPart } from '../page-state.ts';
import {
  Card,
  classes,
  type Column,
  LinkButton,
  Loading,
  type PageTools,
  ScrollTable,
  ShortTime,
  Trend,
  visibleText,
} from '../parts.tsx';
import { FilterBar, knownValues } from './filter-bar.tsx';

const REFRESH_MS = 5000;

/** Operations that a row names. */
const MOST_OPERATIONS = 10;

const SOURCES: Readonly<Record<ErrorSource, string>> = {
  gateway: 'the gateway',
  v1: 'V1',
  v2: 'V2',
  would: 'a dry run',
  schema: 'V2’s schema, without V2',
};

interface ProblemsViewProps extends Pick<PageTools, 'go' | 'nameOf'> {
  /** The filter of the exchanges whose problems are shown. */
  readonly filter: string;
  readonly rules: RulesView | undefined;
  /** Names the replica whose exchanges these are, if there are others. */
  readonly whose: string | undefined;
}

/** Failed requests in groups, and all errors of the kept exchanges by finder, code and place. */
export function ProblemsView({ go, nameOf, filter, rules, whose }: ProblemsViewProps): VNode {
  const query = filter === '' ? '' : `?filter=${encodeURIComponent(filter)}`;
  const { response, failure } = useAsked<ProblemsScreen>(`problems${query}`, REFRESH_MS);
  return (
    <div class="view problems">
      <div class="title">
        <h2 class="sr-only">Problems</h2>
        <TrafficParts part="problems" filter={filter} go={go} />
        <FilterBar
          filter={filter}
          known={knownValues(rules, [])}
          onFilter={(text) => go({ filter: text }, 'replace')}
        />
      </div>
      {whose !== undefined && <p class="lead">{visibleText(whose)}</p>}
      {response === undefined ? (
        <Loading failure={failure} subject="the problems" />
      ) : (
        <>
          <Card
            heading={failedHeading(response.problems)}
            note="severe and new first; ended ones stay for an hour"
          >
            {response.problems.length === 0 ? (
              <p class="empty">
                {filter === ''
                  ? 'Nothing has failed since '
                  : 'No kept exchange that matches has failed since '}
                <ShortTime at={response.since} />.
              </p>
            ) : (
              <ProblemTable view={response} nameOf={nameOf} filter={filter} go={go} />
            )}
          </Card>
          <UnfitCard calls={response.unfit} go={go} />
          {errorsCard(response.errorGroups, filter, go, nameOf)}
        </>
      )}
    </div>
  );
}

function errorsCard(
  { groups, exchanges, isCut, omitted }: ErrorGroups,
  filter: string,
  go: Go,
  nameOf: PageTools['nameOf'],
): VNode {
  const matching = filter === '' ? '' : exchanges === 1 ? ' that matches' : ' that match';
  return (
    <Card
      heading={`${counted(groups.length, 'kind')} of errors`}
      note={`in ${isCut ? 'the last ' : ''}${counted(exchanges, 'kept exchange')}${matching}; failures are kept for longer than others`}
    >
      {groups.length === 0 ? (
        <p class="empty">
          {exchanges > 0
            ? 'None of them has an error.'
            : filter === ''
              ? 'No exchange is kept yet.'
              : 'No kept exchange matches the filter.'}
        </p>
      ) : (
        <ScrollTable
          label="Problems"
          columns={errorColumns(filter, go, nameOf)}
          rows={groups}
          keyOf={({ error }) => errorName(error)}
          isWide
        />
      )}
      {omitted > 0 && <p>{`${counted(omitted, 'error')} of further kinds, not listed.`}</p>}
    </Card>
  );
}

/** Joins the filter of a problem with that of the page, so that a link opens only exchanges that the page's filter shows. */
function bothFilters(one: string, other: string): string {
  const [first, second] = [parseFilter(one), parseFilter(other)];
  if (isFilterFault(first) || isFilterFault(second)) return one;
  const texts = new Set(first.terms.map((term) => printFilter([term])));
  return printFilter([...first.terms, ...second.terms.filter((term) => !texts.has(printFilter([term])))]);
}

const STATES: Readonly<Record<ProblemState, string>> = {
  new: 'new',
  again: 'again',
  lasting: 'lasting',
  over: 'over',
  'off-v1': 'moved off V1',
  'off-v2': 'moved off V2',
};

/** Requests with the same failure, each group with its times, its trend and whether it is over; severe and new ones first. */
export function ProblemTable({
  view: { problems, omitted },
  nameOf,
  filter = '',
  go,
}: {
  readonly view: ProblemsData;
  /** The filter of the exchanges whose problems these are. */
  readonly filter?: string;
} & Pick<PageTools, 'go' | 'nameOf'>): VNode {
  return (
    <>
      <ScrollTable
        label="Failed requests"
        columns={problemColumns(nameOf, filter, go)}
        rows={problems}
        keyOf={({ filter, by, status, message = '' }) => `${by} ${status} ${filter} ${message}`}
        classOf={({ until }) => classes(until !== undefined && 'is-over')}
        isWide
      />
      {omitted > 0 && <p>{`${counted(omitted, 'failed request')} of further kinds, not listed.`}</p>}
    </>
  );
}

function problemColumns(nameOf: PageTools['nameOf'], filter: string, go: Go): readonly Column<Problem>[] {
  const open = (words: string, own: string, shown = words): VNode => (
    <LinkButton onClick={toExchanges(go, bothFilters(own, filter))} label={`Show the exchanges: ${words}`}>
      {visibleText(shown)}
    </LinkButton>
  );
  return [
    {
      name: 'Problem',
      kind: 'head',
      cell: (problem) => {
        const { parts = [] } = problem;
        const words = problemWords(problem);
        return (
          <>
            {open(words, problem.filter)}
            {filter === '' && problem.isShared === true && (
              <small> (opens the exchanges of other problems with this operation and status as well)</small>
            )}
            {parts.length > 1 && (
              <ul class="plain parts">
                {parts.map(({ code, count: times, filter: own }) => (
                  <li key={code}>
                    {open(`${words}, ${code}: ${count(times)}`, own, `${code}: ${count(times)}`)}
                  </li>
                ))}
              </ul>
            )}
          </>
        );
      },
    },
    {
      name: 'State',
      cell: ({ state, severity, until }) => (
        <span
          class={`problem-state ${state === 'over' ? 'good' : until !== undefined ? '' : severity === 'severe' ? 'bad' : 'note'}`}
        >
          {STATES[state]}
        </span>
      ),
    },
    {
      name: 'Message',
      cell: ({ message = '–', example }) =>
        example === undefined ? (
          visibleText(message)
        ) : (
          <span title={`One of the messages, which differ in numbers: ${message}`}>
            {visibleText(example)}
          </span>
        ),
    },
    { name: 'Failed', kind: 'number', cell: (problem) => count(problem.count) },
    ...(filter === ''
      ? []
      : [
          {
            name: 'Kept, matching',
            kind: 'number' as const,
            cell: ({ matching = 0, isShared }: Problem) =>
              isShared === true ? (
                <>
                  {count(matching)} <small>with this operation and status</small>
                </>
              ) : (
                count(matching)
              ),
          },
        ]),
    {
      name: 'Last hour',
      cell: ({ trend }) => (
        <Trend counts={trend} label={`Failures by minute in the last hour: ${trend.join(', ')}`} />
      ),
    },
    {
      name: 'Clients',
      kind: 'number',
      cell: (problem) => clientsOf(problem, nameOf),
    },
    {
      name: 'Since',
      cell: ({ firstSeen, since }) => (
        <>
          <ShortTime at={firstSeen} />
          {since !== firstSeen && (
            <>
              , again <ShortTime at={since} />
            </>
          )}
        </>
      ),
    },
    {
      name: 'Last',
      cell: ({ lastSeen }) => <ShortTime at={lastSeen} short={ago} />,
    },
  ];
}

/** The only client, or the number of clients with a key, and whether there were requests without one. */
function clientsOf(
  { clients, client, isKeyless }: Pick<Problem, 'clients' | 'client' | 'isKeyless'>,
  nameOf: PageTools['nameOf'],
): ComponentChildren {
  if (client !== undefined) return visibleText(nameOf(client) ?? client.slice(0, 8));
  if (isKeyless !== true) return count(clients);
  return clients === 0 ? 'no key' : `${count(clients)} and no key`;
}

function problemWords(problem: Problem): string {
  const {
    operation,
    call = 'other requests',
    service,
    operations = 0,
    hasOthers,
    parts = [],
    by,
    status,
    code,
    pointer,
  } = problem;
  if (service !== undefined) {
    const how = parts.length > 1 ? '' : `, ${code ?? status}`;
    return `${service.toUpperCase()} unreachable: ${counted(operations, 'operation')}${hasOthers === true ? ' and other addresses' : ''}${how}`;
  }
  const who = by === 'gateway' ? 'the gateway' : by.toUpperCase();
  const what = code ?? (status === 0 ? 'no whole response' : String(status));
  return `${operation ?? call}: ${what} from ${who}${pointer === undefined ? '' : ` at ${pointer === '' ? '/' : pointer}`}`;
}

/** The parts of the traffic: the exchanges, and their problems. */
export function TrafficParts({
  part,
  filter,
  go,
}: {
  readonly part: ViewPart | undefined;
  /** The filter of both parts. */
  readonly filter: string;
  readonly go: Go;
}): VNode {
  const target = { view: 'traffic', filter, entry: undefined, perspective: 'diff' } as const;
  return (
    <nav class="view-parts" aria-label="Traffic">
      {([undefined, 'problems'] as const).map((one) => (
        <a
          key={one ?? 'exchanges'}
          href={placeAddress({ ...target, part: one })}
          aria-current={one === part ? 'page' : undefined}
          onClick={openHere(() => go({ view: 'traffic', part: one, entry: undefined }))}
        >
          {one === undefined ? 'Exchanges' : 'Problems'}
        </a>
      ))}
    </nav>
  );
}

function errorColumns(filter: string, go: Go, nameOf: PageTools['nameOf']): readonly Column<ErrorGroup>[] {
  return [
    { name: 'Code', kind: 'head', cell: ({ error }) => codeLink(error, filter, go) },
    { name: 'Found by', cell: ({ error }) => SOURCES[error.by] },
    {
      name: 'At',
      cell: ({ error: { pointer } }) =>
        pointer === undefined ? '–' : <code>{visibleText(pointer === '' ? '/' : pointer)}</code>,
    },
    {
      name: 'Operations',
      cell: ({ operations }) =>
        operations.length === 0 ? 'not read' : visibleText(listed(operations, MOST_OPERATIONS)),
    },
    { name: 'Kept', kind: 'number', cell: (group) => count(group.count) },
    {
      name: 'Clients',
      kind: 'number',
      cell: (group) =>
        group.clients === 0 && group.isKeyless !== true ? 'not known' : clientsOf(group, nameOf),
    },
    { name: 'Since', cell: ({ firstSeen }) => <ShortTime at={firstSeen} /> },
    {
      name: 'Last',
      cell: ({ lastSeen }) => <ShortTime at={lastSeen} short={ago} />,
    },
  ];
}

function codeLink(error: ErrorGroup['error'], filter: string, go: Go): VNode {
  const name = errorName(error);
  const own = printFilter([{ negated: false, field: 'error', values: [errorValue(error)] }]);
  return (
    <LinkButton onClick={toExchanges(go, bothFilters(own, filter))} label={`Show the exchanges with ${name}`}>
      {visibleText(error.code)}
    </LinkButton>
  );
}
