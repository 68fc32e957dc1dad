import type { VNode } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { el } from './element.ts';

/** Properties of a splitter. */
export interface PaneSplitterProps {
  /** Share of the first pane in percent. */
  readonly share: number;
  readonly onShare: (share: number) => void;
}

/** Shares of the list that can be chosen, in percent, and one step of the keyboard. */
const [LOWEST, HIGHEST, STEP] = [15, 75, 2];

/** The border between the list and an exchange: moved by pointer or arrow keys, as the ARIA practices have it for a window splitter. */
export function PaneSplitter({ share, onShare }: PaneSplitterProps): VNode {
  const bar = useRef<HTMLDivElement>(null);
  const [isHeld, setIsHeld] = useState(false);
  const choose = (wanted: number): void => onShare(Math.min(HIGHEST, Math.max(LOWEST, Math.round(wanted))));
  return el('div', {
    ref: bar,
    class: isHeld ? 'splitter held' : 'splitter',
    role: 'separator',
    tabIndex: 0,
    'aria-label': 'Width of the list',
    'aria-orientation': 'vertical',
    'aria-controls': 'entries',
    'aria-valuemin': LOWEST,
    'aria-valuemax': HIGHEST,
    'aria-valuenow': share,
    title: 'Drag, or use the arrow keys',
    onPointerDown: (event) => {
      event.currentTarget.setPointerCapture(event.pointerId);
      setIsHeld(true);
    },
    onPointerMove: (event) => {
      const whole = bar.current?.parentElement?.getBoundingClientRect();
      if (isHeld && whole !== undefined) choose(((event.clientX - whole.left) / whole.width) * 100);
    },
    onPointerUp: () => setIsHeld(false),
    onLostPointerCapture: () => setIsHeld(false),
    onDblClick: () => choose(DEFAULT_SHARE),
    onKeyDown: (event) => {
      const next: Readonly<Record<string, number>> = {
        ArrowLeft: share - STEP,
        ArrowRight: share + STEP,
        Home: LOWEST,
        End: HIGHEST,
      };
      const wanted = next[event.key];
      if (wanted === undefined) return;
      event.preventDefault();
      choose(wanted);
    },
  });
}

/** Share of the list until another one is chosen, in percent. */
export const DEFAULT_SHARE = 32;
