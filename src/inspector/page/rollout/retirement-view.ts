import type { VNode } from 'preact';
import type { Report } from '../../api.ts';
import { useAsked } from '../admin-client.ts';
import { BurnDown } from '../traffic/burn-down.ts';
import { CensusCard } from '../traffic/census-card.ts';
import { CLIENT_CLASSES, ClientsCard } from '../traffic/clients-card.ts';
import { card } from '../parts/card.ts';
import type { ClientNameProps } from '../traffic/client-name.ts';
import { el, part } from '../parts/element.ts';
import { count, counted } from '../parts/format.ts';
import type { HueOf } from '../traffic/hues.ts';
import { Loading } from '../parts/loading.ts';
import type { Go } from '../page-state.ts';
import { sentence } from '../parts/sentence.ts';

/** Properties of the retirement report. */
export interface RetirementViewProps extends Pick<ClientNameProps, 'clients' | 'onNamed'> {
  readonly go: Go;
  readonly announce: (sentence: string) => void;
  readonly hueOf: HueOf;
}

const REFRESH = 10_000;

const COVERAGE_WORDS = { gateway: 'one gateway', alone: 'alone' } as const;

const CLASS_NAMES = ['field-work', 'unwrap-only', 'url-only', 'unknown', 'gone'] as const;

/** The clients that still need V1, and the work that remains before it can be switched off. */
export function RetirementView({ go, announce, hueOf, clients, onNamed }: RetirementViewProps): VNode {
  const { response: report, failure } = useAsked<Report>('report?format=json', REFRESH);
  if (report === undefined) return part(Loading, { failure, subject: 'the clients on V1' });
  return el(
    'div',
    { class: 'view retirement' },
    el('h2', null, 'Retirement of V1'),
    coverageOf(report),
    responseBanner(report),
    exportsOf(),
    card('Burn-down by day', undefined, part(BurnDown, { days: report.days })),
    part(ClientsCard, { report, go, hueOf, clients, announce, onNamed }),
    part(CensusCard, { census: report.census, announce }),
  );
}

/** Whose traffic the report counts. */
function coverageOf({ coverage }: Report): VNode | undefined {
  if (coverage === undefined) return undefined;
  const { kind, sentence, replicas = 1 } = coverage;
  return el(
    'p',
    { class: `coverage coverage-${kind}` },
    el('strong', { class: 'badge' }, kind === 'fleet' ? counted(replicas, 'replica') : COVERAGE_WORDS[kind]),
    ' ',
    sentence,
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
        `${counted(report.v2, 'V2 request')} in this time: what V1 clients need is not known. The command report reads the logs of earlier times.`,
      ),
    );
  }
  return el(
    'section',
    { class: `response ${verdict === 'yes' || verdict === 'no' ? verdict : 'unknown'}` },
    el('h3', null, sentence(switchOff.sentence)),
    el(
      'ul',
      { class: 'plain' },
      [...switchOff.conditions.map(({ text }) => text), ...remaining].map((text) =>
        el('li', { key: text }, sentence(text)),
      ),
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
