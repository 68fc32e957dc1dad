import type { VNode } from 'preact';
import { el } from './parts/element.ts';
import { perspectiveName } from './perspective-view.ts';
import { type Go, type Perspective, PERSPECTIVES } from './page-state.ts';

/** Tabs as the ARIA practices recommend: arrow keys wrap around, and only one tab is in the tab order. */
export function PerspectiveTabs({
  perspective,
  origin,
  go,
}: {
  readonly perspective: Perspective;
  /** The service that was to get the request. */
  readonly origin: 'v1' | 'v2';
  readonly go: Go;
}): VNode {
  const step = (by: number): void => {
    const next = PERSPECTIVES.at((PERSPECTIVES.indexOf(perspective) + by) % PERSPECTIVES.length) ?? 'diff';
    go({ perspective: next }, 'replace');
    document.getElementById(`tab-${next}`)?.focus();
  };
  return el(
    'div',
    {
      class: 'tabs',
      role: 'tablist',
      'aria-label': 'Perspectives',
      onKeyDown: (event) => {
        if (event.key === 'ArrowRight') step(1);
        if (event.key === 'ArrowLeft') step(-1);
      },
    },
    PERSPECTIVES.map((name) =>
      el(
        'button',
        {
          key: name,
          type: 'button',
          role: 'tab',
          id: `tab-${name}`,
          class: 'tab',
          'aria-selected': name === perspective,
          'aria-controls': 'perspective',
          tabIndex: name === perspective ? 0 : -1,
          onClick: () => go({ perspective: name }, 'replace'),
        },
        perspectiveName(name, origin),
      ),
    ),
  );
}
