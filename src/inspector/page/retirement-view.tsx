import type { ComponentChildren, VNode } from 'preact';
import { useState } from 'preact/hooks';
import { MAX_ROW_CLIENTS } from '../../report/census.ts';
import {
  bodyCheckLines,
  CLASS_WORDS,
  clientWouldFail,
  isWaitedFor,
  reasonsOf,
} from '../../report/client-report.ts';
import { capital, countedClients, NO_KEY } from '../../report/text.ts';
import { CHECKED_WORDS, wouldFail } from '../../rollout/body-checks.ts';
import type { RolloutView as Rollout } from '../../rollout/rollout-tally.ts';
import type { Census, CensusRow, ClientReport, Report, ReportDay } from '../api.ts';
import { useAsked } from './admin-client.ts';
import { ClientName, type ClientNameProps } from './client-name.tsx';
import { endCard } from './end-view.tsx';
import { ago, count, counted } from './format.ts';
import { ChartFrame, type Plot } from './hour/charts.tsx';
import { linearTicks } from './hour/ticks.ts';
import { toExchanges } from './page-state.ts';
import {
  Button,
  Card,
  classes,
  type Column,
  CopyButton,
  Legend,
  LinkButton,
  Loading,
  type PageTools,
  ScrollTable,
  sentence,
  SentenceList,
  visibleText,
} from './parts.tsx';

/** Properties of the retirement report. */
type RetirementViewProps = Pick<ClientNameProps, 'clients' | 'onNamed'> &
  Pick<PageTools, 'go' | 'announce' | 'hueOf'>;

const REFRESH = 10_000;

const COVERAGE_WORDS = { gateway: 'one gateway', alone: 'alone' } as const;

const CLASS_NAMES = ['field-work', 'unwrap-only', 'url-only', 'unknown', 'gone'] as const;

/** Minimum number of slots, since the bars of two days alone would be too wide. */
const MIN_SLOTS = 14;

const FIRST = 30;

/** The work that each class of client needs. */
const CLIENT_CLASSES = {
  'field-work': 'members of requests or responses have to change',
  'unwrap-only': 'only the wrapper is in the way',
  'url-only': 'nothing was edited: they need only a new address',
  unknown: 'the log does not show it yet',
  gone: 'no V1 request lately',
} as const;

/** The clients that still need V1, and the work that remains before it can be switched off. */
export function RetirementView(props: RetirementViewProps): VNode {
  const { go, announce } = props;
  const { response: report, failure } = useAsked<Report>('report?format=json', REFRESH);
  const { response: rollout } = useAsked<Rollout>('rollout', REFRESH);
  if (report === undefined) return <Loading failure={failure} subject="the clients on V1" />;
  return (
    <div class="view retirement">
      <h2>Retirement of V1</h2>
      {coverageOf(report)}
      {responseBanner(report)}
      {endCard(
        report,
        rollout,
        <LinkButton onClick={() => go({ view: 'end', entry: undefined })}>Plan the end of V1</LinkButton>,
      )}
      {exportsOf()}
      <Card
        heading="Burn-down by day"
        note={
          report.clients.some(({ client }) => client === NO_KEY)
            ? 'without requests that have no key, whose clients cannot be counted'
            : undefined
        }
      >
        <BurnDown days={report.days} />
      </Card>
      {clientsCard(report, props)}
      <CensusCard census={report.census} announce={announce} />
    </div>
  );
}

/** Names the gateway or replicas whose traffic the report counts. */
function coverageOf({ coverage }: Report): VNode | undefined {
  if (coverage === undefined) return undefined;
  const { kind, replicas = 1 } = coverage;
  return (
    <p class={`coverage coverage-${kind}`}>
      <strong class="badge words">
        {kind === 'fleet' ? counted(replicas, 'replica') : COVERAGE_WORDS[kind]}
      </strong>{' '}
      {sentence(coverage.sentence)}
    </p>
  );
}

function responseBanner(report: Report): VNode {
  const { switchOff, remaining, classes } = report;
  const { verdict } = switchOff;
  if (verdict === 'nothing-seen') {
    return (
      <section class="response unknown">
        <h3>{sentence(switchOff.sentence)}</h3>
        <p>
          {`${counted(report.v2, 'V2 request')} in this time. The needs of V1 clients are not known; the command report reads earlier logs.`}
        </p>
      </section>
    );
  }
  return (
    <section class={`response ${verdict === 'yes' || verdict === 'no' ? verdict : 'unknown'}`}>
      <h3>{sentence(switchOff.sentence)}</h3>
      <SentenceList sentences={[...switchOff.conditions.map(({ text }) => text), ...remaining]} />
      <ul class="tiles">
        {CLASS_NAMES.map((name) => (
          <li key={name} class={`tile tile-${name}`}>
            <span class="tile-name">{CLASS_WORDS[name]}</span>
            <strong>{count(classes[name])}</strong>
            <span class="tile-share">{CLIENT_CLASSES[name]}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function exportsOf(): VNode {
  const formats = { json: 'JSON', csv: 'CSV', md: 'Markdown' };
  return (
    <p class="actions">
      {'The whole report as '}
      {Object.entries(formats).map(([format, name]) => (
        <a key={format} class="button" href={`report?format=${format}`}>
          {name}
        </a>
      ))}
    </p>
  );
}

/** Clients on V1 by day: those whose requests or responses were edited, or would have been, and those without an edit seen. */
function BurnDown({ days }: { readonly days: readonly ReportDay[] }): VNode {
  const ticks = linearTicks(Math.max(...days.map(({ clients }) => clients), 1), 4);
  const max = ticks.at(-1) ?? 1;
  const width = Math.max(days.length, MIN_SLOTS);
  const empty = width - days.length;
  return (
    <ChartFrame
      summary={summaryOf(days)}
      height={220}
      ticks={ticks.map((tick) => ({ label: count(tick), share: tick / max }))}
      slots={Array.from({ length: width }, (_, index) => days[index - empty]?.day.slice(5) ?? '')}
      labelEvery={Math.ceil(days.length / 10)}
      readout={(slot) => readout(slot === undefined ? undefined : days[slot - empty])}
      draw={(plot) => days.map((day, index) => bar(day, index + empty, plot, width, max))}
    />
  );
}

function bar(day: ReportDay, index: number, plot: Plot, slots: number, max: number): VNode {
  const width = plot.width / slots;
  const { clients, rewritten } = day;
  const x = plot.left + width * (index + 0.2);
  const base = plot.top + plot.height;
  const edited = (rewritten / max) * plot.height;
  const plain = ((clients - rewritten) / max) * plot.height;
  return (
    <g key={day.day}>
      <rect class="fill-rewritten" x={x} y={base - edited} width={width * 0.6} height={edited} />
      <rect class="fill-unchanged" x={x} y={base - edited - plain} width={width * 0.6} height={plain} />
    </g>
  );
}

function readout(day: ReportDay | undefined): (VNode | string)[] {
  const plain = day === undefined ? '' : `${count(day.clients - day.rewritten)} `;
  const edited = day === undefined ? 'clients' : counted(day.rewritten, 'client');
  return [
    ...(day === undefined ? [] : [<strong>{day.day}</strong>]),
    <Legend key={`${edited} with edits`} look="swatch fill-rewritten" text={`${edited} with edits`} />,
    <Legend
      key={`${plain}without an edit seen`}
      look="swatch fill-unchanged"
      text={`${plain}without an edit seen`}
    />,
    ...(day === undefined
      ? []
      : [<span class="legend">{`${counted(day.v1, 'request')} on V1, ${count(day.v2)} on V2`}</span>]),
  ];
}

function summaryOf(days: readonly ReportDay[]): string {
  const first = days[0];
  const last = days.at(-1);
  if (first === undefined || last === undefined) return 'Clients on V1 by day: none yet.';
  const later = last === first ? '' : `, ${count(last.clients)} on ${last.day}`;
  return `Clients on V1 by day: ${counted(first.clients, 'client')} on ${first.day}${later}.`;
}

/** Every attribute name that clients send, with V2's reactions and rules that strip the names which V2 refuses. */
function CensusCard({
  census,
  announce,
}: {
  readonly census: Census;
  readonly announce: (sentence: string) => void;
}): VNode {
  const [isWhole, setIsWhole] = useState(false);
  const { rows, proposal, sampled, exchanges, suspects, omitted } = census;
  const places = new Set(census.strips.map(stripPlace));
  const isRejected = (row: CensusRow): boolean => places.has(rowPlace(row));
  const worstFirst = [...rows.filter(isRejected), ...rows.filter((row) => !isRejected(row))];
  const shown = isWhole ? worstFirst : worstFirst.slice(0, FIRST);
  return (
    <Card
      heading="Attribute census"
      note={`names of ${count(sampled)} of ${counted(exchanges, 'V1 exchange')}`}
    >
      {proposal === '' ? (
        <p class="lead">No rule to propose: no attribute is certain to be refused by V2.</p>
      ) : (
        proposalCard(proposal, announce)
      )}
      {rows.length > 0 && (
        <ScrollTable
          label="Attribute census"
          columns={censusColumns(isRejected)}
          rows={shown}
          keyOf={rowPlace}
          classOf={(row) => classes(isRejected(row) && 'rejected')}
          isWide
        />
      )}
      {rows.length > shown.length && (
        <Button onClick={() => setIsWhole(true)}>{`Show all ${counted(rows.length, 'name')}`}</Button>
      )}
      {suspects.length > 0 && (
        <ul>
          {suspects.map(({ operation, pointer, why }) => (
            <li key={`${operation} ${pointer}`}>
              {`Not known: ${operation} `}
              <code>{pointer}</code>
              {`: ${why}.`}
            </li>
          ))}
        </ul>
      )}
      {omitted > 0 && <p>{`Other names occurred ${counted(omitted, 'time')} and are not listed.`}</p>}
    </Card>
  );
}

function proposalCard(proposal: string, announce: (sentence: string) => void): VNode {
  return (
    <div class="proposal">
      <p class="lead">
        V2 does not take these names, and no rule handles them. Paste this into the rule book:
      </p>
      <pre class="file" tabIndex={0}>
        {proposal}
      </pre>
      <CopyButton
        text={proposal}
        label="Copy the YAML"
        done="Copied: the proposed rules."
        announce={announce}
      />
    </div>
  );
}

/** The verdicts of V1, which responds to observed clients, and of V2 are in separate columns. */
function censusColumns(isRejected: (row: CensusRow) => boolean): readonly Column<CensusRow>[] {
  return [
    { name: 'Operation', cell: ({ operation }) => operation },
    { name: 'Attribute', kind: 'head', cell: ({ pointer }) => <code>{pointer}</code> },
    { name: 'Sent', kind: 'number', cell: (row) => count(row.count) },
    { name: 'V1 accepted', kind: 'number', cell: ({ acceptedByV1 }) => count(acceptedByV1) },
    { name: 'V2 accepted', kind: 'number', cell: ({ accepted }) => count(accepted) },
    { name: 'V2 422', kind: 'number', cell: ({ unprocessable }) => count(unprocessable) },
    { name: 'Clients', kind: 'number', title: ({ clients }) => clients.join(', '), cell: clientsOf },
    {
      name: 'Handled by',
      cell: (row) => row.change ?? (isRejected(row) ? <strong>no rule yet</strong> : '–'),
    },
  ];
}

/** The number of clients, as far as the census keeps them. */
function clientsOf({ clients }: CensusRow): string {
  return clients.length < MAX_ROW_CLIENTS ? count(clients.length) : `${count(MAX_ROW_CLIENTS)} or more`;
}

function rowPlace({ operation, pointer }: CensusRow): string {
  return `${operation} ${pointer}`;
}

/** The place of the row for which a strip is proposed. */
function stripPlace({ operation = '(other)', in: inside, member }: Census['strips'][number]): string {
  return `${operation} /${inside === undefined ? '' : `${inside.replaceAll('.', '/')}/`}${member}`;
}

/** Every client that ever used V1, with the work that it needs before it can leave V1. */
function clientsCard(report: Report, props: RetirementViewProps): VNode {
  const { clients, omittedClients, goneAfterDays } = report;
  return (
    <Card
      heading={capital(countedClients(clients.map(({ client }) => client)))}
      note={`gone after ${counted(goneAfterDays, 'day')} without V1, unless a row says otherwise`}
    >
      {clients.length === 0 && <p class="empty">No V1 request has been seen yet.</p>}
      {clients.some(({ bodyChecks }) => bodyChecks.length > 0) && <p class="lead">{CHECKED_WORDS}</p>}
      {clients.length > 0 && (
        <ScrollTable
          label="Clients"
          columns={clientColumns(report, props)}
          rows={clients}
          keyOf={({ client }) => client}
          isWide
        />
      )}
      {omittedClients > 0 && <p>{`${counted(omittedClients, 'request')} of further clients, not listed.`}</p>}
    </Card>
  );
}

function clientColumns(
  report: Report,
  { go, hueOf, clients, announce, onNamed }: RetirementViewProps,
): readonly Column<ClientReport>[] {
  const checks: Column<ClientReport> = {
    name: 'V2’s schema',
    cell: (client) => checkLines(client, toExchanges(go, `client:${client.client} error:schema-*,would-*`)),
  };
  return [
    {
      name: 'Client',
      kind: 'head',
      cell: ({ client, name }) => {
        // A name for assistive technology contains the visible text (WCAG 2.5.3).
        const shown = client === NO_KEY ? 'no key' : client;
        const label = `Show the exchanges of ${name === undefined ? '' : `${name}, `}${shown}`;
        return [
          <ClientName client={client} clients={clients} announce={announce} onNamed={onNamed} />,
          <LinkButton onClick={toExchanges(go, `client:${client}`)} label={label}>
            {shown}
          </LinkButton>,
        ];
      },
    },
    {
      name: 'Class',
      cell: (client) => [
        <span class={`class class-${client.class}`} title={CLIENT_CLASSES[client.class]}>
          {CLASS_WORDS[client.class]}
        </span>,
        reasonsOf(client).map((reason) => <div key={reason}>{visibleText(reason)}</div>),
      ],
    },
    { name: 'V1', kind: 'number', cell: ({ v1 }) => count(v1) },
    { name: 'V2', kind: 'number', cell: ({ v2 }) => count(v2) },
    { name: 'Refused', kind: 'number', cell: ({ refused }) => count(refused) },
    {
      name: 'Operations',
      cell: ({ operations }) =>
        operations.map(({ operation, count: times }) => (
          <span key={operation} class="use">
            {operation}
            <small>{count(times)}</small>
          </span>
        )),
    },
    {
      name: 'Changes it needs',
      cellClass: 'change-dots',
      cell: (client) =>
        changesOf(client).map(({ change, count: times, rules }) => (
          <span key={change} class="change-name" title={rules.join(', ')}>
            <i class={`dot hue-${hueOf(change)}`} />
            {change}
            <small>{count(times)}</small>
          </span>
        )),
    },
    ...(report.clients.some(({ bodyChecks }) => bodyChecks.length > 0) ? [checks] : []),
    {
      name: 'Last V1',
      cell: (client) => [
        <time dateTime={client.lastSeen}>{ago(client.lastSeen)}</time>,
        isWaitedFor(client, report.goneAfterDays) && (
          <div>{`gone after ${counted(client.goneAfterDays, 'day')}`}</div>
        ),
      ],
    },
    {
      name: 'Guide',
      cell: ({ client, name }) => {
        const href = `report?client=${encodeURIComponent(client)}&format=`;
        const who = name ?? client;
        return [
          <a key="guide" href={`${href}html`} aria-label={`Guide: migration of ${who}`}>
            Guide
          </a>,
          ' ',
          <a key="mail" href={`${href}mail`} aria-label={`Mail to the owner of ${who}`}>
            Mail
          </a>,
        ];
      },
    },
  ];
}

/** The changes that its requests need, and those that only its responses need. */
function changesOf({
  changes,
  responses,
}: ClientReport): Pick<ClientReport['changes'][number], 'change' | 'count' | 'rules'>[] {
  const others = responses.filter(({ change }) => !changes.some((one) => one.change === change));
  return [
    ...changes,
    ...[...Map.groupBy(others, ({ change }) => change)].map(([change, members]) => ({
      change,
      count: Math.max(...members.map(({ count: times }) => times)),
      rules: ['responses'],
    })),
  ];
}

/** The verdict of V2's schema on bodies that were not sent to V2, with a link to the refused ones. */
function checkLines({ bodyChecks, client, name }: ClientReport, show: () => void): ComponentChildren {
  if (bodyChecks.length === 0) return 'none checked';
  const words = bodyCheckLines(bodyChecks).map((line) => <div key={line}>{visibleText(line)}</div>);
  const total = clientWouldFail({ bodyChecks });
  return [
    total !== '' && (wouldFail(bodyChecks).failing === 0 ? <div>{total}</div> : <strong>{total}</strong>),
    ...words,
    bodyChecks.some(({ invalid, refused, refusedByBoth }) => invalid + refused + refusedByBoth > 0) && (
      <LinkButton
        onClick={show}
        label={`Show the requests of ${name ?? client} that a migration would refuse`}
      >
        show them
      </LinkButton>
    ),
  ];
}
