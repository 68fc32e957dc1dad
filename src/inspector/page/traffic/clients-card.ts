import type { ComponentChildren, VNode } from 'preact';
import { bodyCheckLines, isWaitedFor, reasonsOf } from '../../../report/text/outcome-words.ts';
import type { ClientReport, Report } from '../../api.ts';
import { card } from '../parts/card.ts';
import { ClientName, type ClientNameProps } from './client-name.ts';
import { el, part } from '../parts/element.ts';
import { ago, count, counted } from '../parts/format.ts';
import type { HueOf } from './hues.ts';
import type { Go } from '../page-state.ts';
import { scrollTable } from '../parts/scroll-table.ts';
import { visibleText } from '../entries/visible-text.ts';

/** The work that each class of client needs. */
export const CLIENT_CLASSES = {
  'field-work': 'members of requests or responses have to change',
  'unwrap-only': 'only the wrapper is in the way',
  'url-only': 'nothing was edited: a new address is all they need',
  unknown: 'the log does not say yet',
  gone: 'no V1 request lately',
} as const;

/** Properties of the clients. */
export interface ClientsCardProps extends Pick<ClientNameProps, 'clients' | 'announce' | 'onNamed'> {
  readonly report: Report;
  readonly go: Go;
  readonly hueOf: HueOf;
}

/** Every client that ever used V1, with the work it needs to leave it. */
export function ClientsCard(props: ClientsCardProps): VNode {
  const { report } = props;
  const { clients, omittedClients, goneAfterDays } = report;
  const hasChecks = clients.some(({ bodyChecks }) => bodyChecks.length > 0);
  return card(
    counted(clients.length, 'client'),
    `gone after ${counted(goneAfterDays, 'day')} without V1, unless a row says otherwise`,
    clients.length === 0 && el('p', { class: 'empty' }, 'No V1 request has been seen yet.'),
    clients.length > 0 &&
      scrollTable(
        'Clients',
        {
          columns: [
            'Client',
            'Class',
            'V1',
            'V2',
            'Refused',
            'Operations',
            'Changes it needs',
            ...(hasChecks ? ['V2’s schema'] : []),
            'Last V1',
            'Guide',
          ],
          numbers: ['V1', 'V2', 'Refused'],
        },
        clients.map((client) => clientRow(client, props, hasChecks)),
        'wide',
      ),
    omittedClients > 0 &&
      el('p', null, `${counted(omittedClients, 'request')} of further clients, not listed.`),
  );
}

function clientRow(
  client: ClientReport,
  { report, go, hueOf, clients, announce, onNamed }: ClientsCardProps,
  hasChecks: boolean,
): VNode {
  const { client: hash, name } = client;
  // A name for assistive technology has the visible text in it (WCAG 2.5.3).
  const shown = hash === '-' ? 'no key' : hash;
  const guide = `report?client=${encodeURIComponent(hash)}&guide=1`;
  return el(
    'tr',
    { key: hash },
    el(
      'th',
      { scope: 'row' },
      part(ClientName, { client: hash, clients, announce, onNamed }),
      el(
        'button',
        {
          type: 'button',
          class: 'link',
          'aria-label': `Show the exchanges of ${name === undefined ? '' : `${name}, `}${shown}`,
          onClick: () => go({ view: 'traffic', filter: `client:${hash}`, entry: undefined }),
        },
        shown,
      ),
    ),
    el(
      'td',
      null,
      el('span', { class: `class class-${client.class}`, title: CLIENT_CLASSES[client.class] }, client.class),
      reasonsOf(client).map((reason) => el('div', { key: reason }, visibleText(reason))),
    ),
    el('td', { class: 'number' }, count(client.v1)),
    el('td', { class: 'number' }, count(client.v2)),
    el('td', { class: 'number' }, count(client.refused)),
    el(
      'td',
      null,
      client.operations.map(({ operation, count: times }) =>
        el('span', { key: operation, class: 'use' }, operation, el('small', null, count(times))),
      ),
    ),
    el(
      'td',
      { class: 'change-dots' },
      changesOf(client).map(({ change, count: times, rules }) =>
        el(
          'span',
          { key: change, class: 'change-name', title: rules.join(', ') },
          el('i', { class: `dot hue-${hueOf(change)}` }),
          change,
          el('small', null, count(times)),
        ),
      ),
    ),
    hasChecks &&
      el(
        'td',
        null,
        checks(client, () => go({ view: 'traffic', filter: `client:${hash} v2:invalid`, entry: undefined })),
      ),
    el(
      'td',
      null,
      el('time', { dateTime: client.lastSeen }, ago(client.lastSeen)),
      isWaitedFor(client, report.goneAfterDays) &&
        el('div', null, `gone after ${counted(client.goneAfterDays, 'day')}`),
    ),
    el('td', null, el('a', { href: guide, 'aria-label': `Migration guide for ${name ?? hash}` }, 'Guide')),
  );
}

/** The changes of its requests, and those that only its responses need. */
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

/** What V2's schema says of bodies that were not sent to V2, with the exchanges that it refuses. */
function checks({ bodyChecks, client, name }: ClientReport, show: () => void): ComponentChildren {
  if (bodyChecks.length === 0) return 'none checked';
  const words = bodyCheckLines(bodyChecks).map((line) => el('div', { key: line }, visibleText(line)));
  return [
    ...words,
    bodyChecks.some(({ invalid, refusedByBoth }) => invalid + refusedByBoth > 0) &&
      el(
        'button',
        {
          type: 'button',
          class: 'link',
          'aria-label': `Show the bodies of ${name ?? client} that V2's schema refuses`,
          onClick: show,
        },
        'show the bodies',
      ),
  ];
}
