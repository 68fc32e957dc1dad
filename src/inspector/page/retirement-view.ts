import type { VNode } from 'preact';
import type { ClientReport, Report } from '../api.ts';
import { useAsked } from './admin-client.ts';
import { BurnDown } from './burn-down.ts';
import { CensusCard } from './census-card.ts';
import { el, part } from './element.ts';
import { ago, count, counted } from './format.ts';
import type { HueOf } from './hues.ts';
import { Loading } from './loading.ts';
import type { Go } from './place.ts';
import { TableHead } from './table-head.ts';

/** What the retirement report is drawn with. */
export interface RetirementViewProps {
  readonly go: Go;
  readonly say: (sentence: string) => void;
  readonly hueOf: HueOf;
}

const REFRESH = 10_000;

const CLASSES = {
  'field-work': 'members must move, change name or go',
  'unwrap-only': 'only the wrapper is in the way',
  'url-only': 'already flat: a new address is all they need',
  gone: 'no V1 request lately',
} as const;

const CLASS_NAMES = ['field-work', 'unwrap-only', 'url-only', 'gone'] as const;

/** Who still needs V1, and what stands between today and switching it off. */
export function RetirementView({ go, say, hueOf }: RetirementViewProps): VNode {
  const { answer: report, failure } = useAsked<Report>('report?format=json', REFRESH);
  if (report === undefined) return part(Loading, { failure, what: 'who still needs V1' });
  return el(
    'div',
    { class: 'view retirement' },
    el('h2', null, 'Retirement of V1'),
    answerBanner(report),
    exportsOf(),
    el(
      'section',
      { class: 'card' },
      el('h3', null, 'Burn-down by day'),
      part(BurnDown, { days: report.days }),
    ),
    clientsCard(report, go, hueOf),
    part(CensusCard, { census: report.census, say }),
  );
}

function answerBanner(report: Report): VNode {
  const { canSwitchOff, remaining, classes } = report;
  return el(
    'section',
    { class: canSwitchOff ? 'answer yes' : 'answer no' },
    el('h3', null, canSwitchOff ? 'V1 can be switched off' : 'V1 is still needed'),
    el(
      'ul',
      { class: 'plain' },
      remaining.map((sentence) => el('li', { key: sentence }, sentence)),
    ),
    el(
      'ul',
      { class: 'tiles' },
      CLASS_NAMES.map((name) =>
        el(
          'li',
          { key: name, class: `tile tile-${name}` },
          el('span', { class: 'tile-name' }, name),
          el('strong', null, count(classes[name])),
          el('span', { class: 'tile-share' }, CLASSES[name]),
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

function clientsCard({ clients, omittedClients, goneAfterDays }: Report, go: Go, hueOf: HueOf): VNode {
  return el(
    'section',
    { class: 'card' },
    el(
      'h3',
      null,
      counted(clients.length, 'client'),
      el('small', null, `gone after ${goneAfterDays} days without V1`),
    ),
    clients.length === 0 && el('p', { class: 'empty' }, 'No V1 request has been seen yet.'),
    clients.length > 0 &&
      el(
        'div',
        { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': 'Clients' },
        el(
          'table',
          { class: 'wide' },
          part(TableHead, {
            columns: [
              'Client',
              'Class',
              'V1',
              'V2',
              'Refused',
              'Operations',
              'Changes it needs',
              'Last V1',
              'Guide',
            ],
            numbers: ['V1', 'V2', 'Refused'],
          }),
          el(
            'tbody',
            null,
            clients.map((client) => clientRow(client, go, hueOf)),
          ),
        ),
      ),
    omittedClients > 0 &&
      el('p', null, `${counted(omittedClients, 'request')} of further clients, not listed.`),
  );
}

function clientRow(client: ClientReport, go: Go, hueOf: HueOf): VNode {
  const { client: hash, name } = client;
  const guide = `report?client=${encodeURIComponent(hash)}&guide=1`;
  return el(
    'tr',
    { key: hash },
    el(
      'th',
      { scope: 'row' },
      name !== undefined && el('span', { class: 'client-name' }, name),
      el(
        'button',
        {
          type: 'button',
          class: 'link',
          'aria-label': `Show the exchanges of ${name ?? hash}`,
          onClick: () => go({ view: 'traffic', filter: `client:${hash}`, entry: undefined }),
        },
        hash === '-' ? 'no key' : hash,
      ),
    ),
    el(
      'td',
      null,
      el('span', { class: `class class-${client.class}`, title: CLASSES[client.class] }, client.class),
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
      client.changes.map(({ change, count: times, rules }) =>
        el(
          'span',
          { key: change, class: 'change-name', title: rules.join(', ') },
          el('i', { class: `dot hue-${hueOf(change)}` }),
          change,
          el('small', null, count(times)),
        ),
      ),
    ),
    el('td', null, el('time', { dateTime: client.lastSeen }, ago(client.lastSeen))),
    el('td', null, el('a', { href: guide, 'aria-label': `Migration guide for ${name ?? hash}` }, 'Guide')),
  );
}
