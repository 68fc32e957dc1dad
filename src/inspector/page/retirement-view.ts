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
import { ClientName, type ClientNameProps } from './client-name.ts';
import { endCard } from './end-view.ts';
import { ago, count, counted } from './format.ts';
import { ChartFrame, linearTicks, type Plot } from './hour/charts.ts';
import { toExchanges } from './page-state.ts';
import {
  button,
  card,
  classes,
  type Column,
  CopyButton,
  el,
  legend,
  linkButton,
  Loading,
  type PageTools,
  part,
  scrollTable,
  sentence,
  sentenceList,
  visibleText,
} from './parts.ts';

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
  if (report === undefined) return part(Loading, { failure, subject: 'the clients on V1' });
  return el(
    'div',
    { class: 'view retirement' },
    el('h2', null, 'Retirement of V1'),
    coverageOf(report),
    responseBanner(report),
    endCard(
      report,
      rollout,
      linkButton('Plan the end of V1', () => go({ view: 'end', entry: undefined })),
    ),
    exportsOf(),
    card(
      'Burn-down by day',
      report.clients.some(({ client }) => client === NO_KEY)
        ? 'without requests that have no key, whose clients cannot be counted'
        : undefined,
      part(BurnDown, { days: report.days }),
    ),
    clientsCard(report, props),
    part(CensusCard, { census: report.census, announce }),
  );
}

/** Names the gateway or replicas whose traffic the report counts. */
function coverageOf({ coverage }: Report): VNode | undefined {
  if (coverage === undefined) return undefined;
  const { kind, replicas = 1 } = coverage;
  return el(
    'p',
    { class: `coverage coverage-${kind}` },
    el(
      'strong',
      { class: 'badge words' },
      kind === 'fleet' ? counted(replicas, 'replica') : COVERAGE_WORDS[kind],
    ),
    ' ',
    sentence(coverage.sentence),
  );
}

function responseBanner(report: Report): VNode {
  const { switchOff, remaining, classes } = report;
  const { verdict } = switchOff;
  if (verdict === 'nothing-seen') {
    return el(
      'section',
      { class: 'response unknown' },
      el('h3', null, sentence(switchOff.sentence)),
      el(
        'p',
        null,
        `${counted(report.v2, 'V2 request')} in this time. The needs of V1 clients are not known; the command report reads earlier logs.`,
      ),
    );
  }
  return el(
    'section',
    { class: `response ${verdict === 'yes' || verdict === 'no' ? verdict : 'unknown'}` },
    el('h3', null, sentence(switchOff.sentence)),
    sentenceList([...switchOff.conditions.map(({ text }) => text), ...remaining]),
    el(
      'ul',
      { class: 'tiles' },
      CLASS_NAMES.map((name) =>
        el(
          'li',
          { key: name, class: `tile tile-${name}` },
          el('span', { class: 'tile-name' }, CLASS_WORDS[name]),
          el('strong', null, count(classes[name])),
          el('span', { class: 'tile-share' }, CLIENT_CLASSES[name]),
        ),
      ),
    ),
  );
}

function exportsOf(): VNode {
  const formats = { json: 'JSON', csv: 'CSV', md: 'Markdown' };
  return el(
    'p',
    { class: 'actions' },
    'The whole report as ',
    Object.entries(formats).map(([format, name]) =>
      el('a', { key: format, class: 'button', href: `report?format=${format}` }, name),
    ),
  );
}

/** Clients on V1 by day: those whose requests or responses were edited, or would have been, and those without an edit seen. */
function BurnDown({ days }: { readonly days: readonly ReportDay[] }): VNode {
  const ticks = linearTicks(Math.max(...days.map(({ clients }) => clients), 1), 4);
  const max = ticks.at(-1) ?? 1;
  const width = Math.max(days.length, MIN_SLOTS);
  const empty = width - days.length;
  return part(ChartFrame, {
    summary: summaryOf(days),
    height: 220,
    ticks: ticks.map((tick) => ({ label: count(tick), share: tick / max })),
    slots: Array.from({ length: width }, (_, index) => days[index - empty]?.day.slice(5) ?? ''),
    labelEvery: Math.ceil(days.length / 10),
    readout: (slot) => readout(slot === undefined ? undefined : days[slot - empty]),
    draw: (plot) => days.map((day, index) => bar(day, index + empty, plot, width, max)),
  });
}

function bar(day: ReportDay, index: number, plot: Plot, slots: number, max: number): VNode {
  const width = plot.width / slots;
  const { clients, rewritten } = day;
  const x = plot.left + width * (index + 0.2);
  const base = plot.top + plot.height;
  const edited = (rewritten / max) * plot.height;
  const plain = ((clients - rewritten) / max) * plot.height;
  return el(
    'g',
    { key: day.day },
    el('rect', { class: 'fill-rewritten', x, y: base - edited, width: width * 0.6, height: edited }),
    el('rect', { class: 'fill-unchanged', x, y: base - edited - plain, width: width * 0.6, height: plain }),
  );
}

function readout(day: ReportDay | undefined): (VNode | string)[] {
  const plain = day === undefined ? '' : `${count(day.clients - day.rewritten)} `;
  const edited = day === undefined ? 'clients' : counted(day.rewritten, 'client');
  return [
    ...(day === undefined ? [] : [el('strong', null, day.day)]),
    legend('swatch fill-rewritten', `${edited} with edits`),
    legend('swatch fill-unchanged', `${plain}without an edit seen`),
    ...(day === undefined
      ? []
      : [el('span', { class: 'legend' }, `${counted(day.v1, 'request')} on V1, ${count(day.v2)} on V2`)]),
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
  return card(
    'Attribute census',
    `names of ${count(sampled)} of ${counted(exchanges, 'V1 exchange')}`,
    proposal === ''
      ? el('p', { class: 'lead' }, 'No rule to propose: no attribute is certain to be refused by V2.')
      : proposalCard(proposal, announce),
    rows.length > 0 &&
      scrollTable(
        'Attribute census',
        censusColumns(isRejected),
        {
          rows: shown,
          keyOf: rowPlace,
          classOf: (row) => classes(isRejected(row) && 'rejected'),
        },
        'wide',
      ),
    rows.length > shown.length && button(`Show all ${counted(rows.length, 'name')}`, () => setIsWhole(true)),
    suspects.length > 0 &&
      el(
        'ul',
        null,
        suspects.map(({ operation, pointer, why }) =>
          el(
            'li',
            { key: `${operation} ${pointer}` },
            `Not known: ${operation} `,
            el('code', null, pointer),
            `: ${why}.`,
          ),
        ),
      ),
    omitted > 0 && el('p', null, `Other names occurred ${counted(omitted, 'time')} and are not listed.`),
  );
}

function proposalCard(proposal: string, announce: (sentence: string) => void): VNode {
  return el(
    'div',
    { class: 'proposal' },
    el(
      'p',
      { class: 'lead' },
      'V2 does not take these names, and no rule handles them. Paste this into the rule book:',
    ),
    el('pre', { class: 'file', tabIndex: 0 }, proposal),
    part(CopyButton, {
      text: proposal,
      label: 'Copy the YAML',
      done: 'Copied: the proposed rules.',
      announce,
    }),
  );
}

/** The verdicts of V1, which responds to observed clients, and of V2 are in separate columns. */
function censusColumns(isRejected: (row: CensusRow) => boolean): readonly Column<CensusRow>[] {
  return [
    { name: 'Operation', cell: ({ operation }) => operation },
    { name: 'Attribute', kind: 'head', cell: ({ pointer }) => el('code', null, pointer) },
    { name: 'Sent', kind: 'number', cell: (row) => count(row.count) },
    { name: 'V1 accepted', kind: 'number', cell: ({ acceptedByV1 }) => count(acceptedByV1) },
    { name: 'V2 accepted', kind: 'number', cell: ({ accepted }) => count(accepted) },
    { name: 'V2 422', kind: 'number', cell: ({ unprocessable }) => count(unprocessable) },
    { name: 'Clients', kind: 'number', title: ({ clients }) => clients.join(', '), cell: clientsOf },
    {
      name: 'Handled by',
      cell: (row) => row.change ?? (isRejected(row) ? el('strong', null, 'no rule yet') : '–'),
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
  return card(
    capital(countedClients(clients.map(({ client }) => client))),
    `gone after ${counted(goneAfterDays, 'day')} without V1, unless a row says otherwise`,
    clients.length === 0 && el('p', { class: 'empty' }, 'No V1 request has been seen yet.'),
    clients.some(({ bodyChecks }) => bodyChecks.length > 0) && el('p', { class: 'lead' }, CHECKED_WORDS),
    clients.length > 0 &&
      scrollTable(
        'Clients',
        clientColumns(report, props),
        { rows: clients, keyOf: ({ client }) => client },
        'wide',
      ),
    omittedClients > 0 &&
      el('p', null, `${counted(omittedClients, 'request')} of further clients, not listed.`),
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
          part(ClientName, { client, clients, announce, onNamed }),
          linkButton(shown, toExchanges(go, `client:${client}`), label),
        ];
      },
    },
    {
      name: 'Class',
      cell: (client) => [
        el(
          'span',
          { class: `class class-${client.class}`, title: CLIENT_CLASSES[client.class] },
          CLASS_WORDS[client.class],
        ),
        reasonsOf(client).map((reason) => el('div', { key: reason }, visibleText(reason))),
      ],
    },
    { name: 'V1', kind: 'number', cell: ({ v1 }) => count(v1) },
    { name: 'V2', kind: 'number', cell: ({ v2 }) => count(v2) },
    { name: 'Refused', kind: 'number', cell: ({ refused }) => count(refused) },
    {
      name: 'Operations',
      cell: ({ operations }) =>
        operations.map(({ operation, count: times }) =>
          el('span', { key: operation, class: 'use' }, operation, el('small', null, count(times))),
        ),
    },
    {
      name: 'Changes it needs',
      cellClass: 'change-dots',
      cell: (client) =>
        changesOf(client).map(({ change, count: times, rules }) =>
          el(
            'span',
            { key: change, class: 'change-name', title: rules.join(', ') },
            el('i', { class: `dot hue-${hueOf(change)}` }),
            change,
            el('small', null, count(times)),
          ),
        ),
    },
    ...(report.clients.some(({ bodyChecks }) => bodyChecks.length > 0) ? [checks] : []),
    {
      name: 'Last V1',
      cell: (client) => [
        el('time', { dateTime: client.lastSeen }, ago(client.lastSeen)),
        isWaitedFor(client, report.goneAfterDays) &&
          el('div', null, `gone after ${counted(client.goneAfterDays, 'day')}`),
      ],
    },
    {
      name: 'Guide',
      cell: ({ client, name }) => {
        const href = `report?client=${encodeURIComponent(client)}&format=`;
        const who = name ?? client;
        return [
          el('a', { key: 'guide', href: `${href}html`, 'aria-label': `Guide: migration of ${who}` }, 'Guide'),
          ' ',
          el('a', { key: 'mail', href: `${href}mail`, 'aria-label': `Mail to the owner of ${who}` }, 'Mail'),
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
  const words = bodyCheckLines(bodyChecks).map((line) => el('div', { key: line }, visibleText(line)));
  const total = clientWouldFail({ bodyChecks });
  return [
    total !== '' && el(wouldFail(bodyChecks).failing === 0 ? 'div' : 'strong', null, total),
    ...words,
    bodyChecks.some(({ invalid, refused, refusedByBoth }) => invalid + refused + refusedByBoth > 0) &&
      linkButton('show them', show, `Show the requests of ${name ?? client} that a migration would refuse`),
  ];
}
