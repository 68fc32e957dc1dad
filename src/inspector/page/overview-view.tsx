import type { VNode } from 'preact';
import type { Overview, OverviewItem } from '../api.ts';
import { useAsked } from './admin-client.ts';
import { VIEW_NAMES } from './page-header.tsx';
import { type Go, placeAddress } from './page-state.ts';
import { classes, Loading, sentence } from './parts.tsx';

const REFRESH_MS = 5000;

const LEVEL_NAMES = { bad: 'Bad', note: 'Note', good: 'Info' } as const;

/** The state in a sentence, and facts that an operator may want to act on, worst first, each with a link to the view that shows more. */
export function OverviewView({ go }: { readonly go: Go }): VNode {
  const { response, failure } = useAsked<Overview>('overview', REFRESH_MS);
  if (response === undefined) return <Loading failure={failure} subject="the overview" />;
  const { verdict, state, whose, items } = response;
  return (
    <div class="view overview">
      <h2>Overview</h2>
      <section class="card">
        <p class={classes('state', verdict.level)}>{sentence(verdict.sentence)}</p>
        <p>{sentence(state)}</p>
        <small>{sentence(whose)}</small>
      </section>
      <ul class="plain facts-list">
        {items.map((item) => (
          <li key={item.sentence} class={item.level}>
            {itemLink(item, go)}
          </li>
        ))}
      </ul>
    </div>
  );
}

function itemLink({ level, sentence: words, place }: OverviewItem, go: Go): VNode {
  const { view, filter = '' } = place;
  const target = { view, filter, entry: undefined };
  return (
    <a
      href={placeAddress({ ...target, perspective: 'diff' })}
      title={filter === '' ? `Open ${VIEW_NAMES[view]}` : 'Show the exchanges'}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey) return;
        event.preventDefault();
        go(target);
      }}
    >
      <strong>{LEVEL_NAMES[level]}</strong>
      <span>{sentence(words)}</span>
    </a>
  );
}
