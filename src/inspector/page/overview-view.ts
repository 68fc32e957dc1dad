import type { VNode } from 'preact';
import type { Overview, OverviewItem } from '../api.ts';
import { useAsked } from './admin-client.ts';
import { VIEW_NAMES } from './page-header.ts';
import { type Go, placeAddress } from './page-state.ts';
import { classes, el, Loading, part, sentence } from './parts.ts';

const REFRESH_MS = 5000;

const LEVEL_NAMES = { bad: 'Bad', note: 'Note', good: 'Info' } as const;

/** The state in a sentence, and facts that an operator may want to act on, worst first, each with a link to the view that shows more. */
export function OverviewView({ go }: { readonly go: Go }): VNode {
  const { response, failure } = useAsked<Overview>('overview', REFRESH_MS);
  if (response === undefined) return part(Loading, { failure, subject: 'the overview' });
  const { verdict, state, whose, items } = response;
  return el(
    'div',
    { class: 'view overview' },
    el('h2', null, 'Overview'),
    el(
      'section',
      { class: 'card' },
      el('p', { class: classes('state', verdict.level) }, sentence(verdict.sentence)),
      el('p', null, sentence(state)),
      el('small', null, sentence(whose)),
    ),
    el(
      'ul',
      { class: 'plain facts-list' },
      items.map((item) => el('li', { key: item.sentence, class: item.level }, itemLink(item, go))),
    ),
  );
}

function itemLink({ level, sentence: words, place }: OverviewItem, go: Go): VNode {
  const { view, filter = '' } = place;
  const target = { view, filter, entry: undefined };
  return el(
    'a',
    {
      href: placeAddress({ ...target, perspective: 'diff' }),
      title: filter === '' ? `Open ${VIEW_NAMES[view]}` : 'Show the exchanges',
      onClick: (event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey) return;
        event.preventDefault();
        go(target);
      },
    },
    el('strong', null, LEVEL_NAMES[level]),
    el('span', null, sentence(words)),
  );
}
