import type { ComponentChildren, VNode } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { el } from './element.ts';

/** The drawing area inside the axes, in pixels. */
export interface Plot {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** A tick of the vertical axis. */
export interface Tick {
  readonly label: string;
  /** From 0 at the bottom to 1 at the top. */
  readonly share: number;
}

/** Properties of the frame of a chart. */
export interface ChartFrameProps {
  /** Description of the chart with its data, for screen readers. */
  readonly summary: string;
  readonly height: number;
  readonly ticks: readonly Tick[];
  /** Labels under the chart; each is centred in an equal share of the width. */
  readonly slots: readonly string[];
  /** Every how many labels one is drawn, counted from the last. */
  readonly labelEvery: number;
  /** Label of the slot under the pointer. */
  readonly readout: (slot: number | undefined) => ComponentChildren;
  readonly draw: (plot: Plot) => ComponentChildren;
}

/** The axes of a chart, and the label under the pointer. Drawn at the available width, so that lines stay sharp. */
export function ChartFrame(props: ChartFrameProps): VNode {
  const { summary, height, ticks, slots, labelEvery, readout, draw } = props;
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame);
  const [slot, setSlot] = useState<number | undefined>(undefined);
  const plot = { left: 52, top: 10, width: Math.max(0, width - 72), height: height - 36 };
  const slotWidth = plot.width / Math.max(1, slots.length);
  const follow = (event: MouseEvent): void => {
    const x = event.clientX - (frame.current?.getBoundingClientRect().left ?? 0) - plot.left;
    const index = Math.floor(x / slotWidth);
    setSlot(index >= 0 && index < slots.length ? index : undefined);
  };
  return el(
    'div',
    { class: 'chart', ref: frame, onMouseMove: follow, onMouseLeave: () => setSlot(undefined) },
    el('p', { class: 'readout' }, readout(slot)),
    el(
      'svg',
      { width, height, role: 'img', 'aria-label': summary },
      ticks.map(({ label, share }) => {
        const y = plot.top + plot.height * (1 - share);
        return el(
          'g',
          { key: label, class: 'tick' },
          el('line', { x1: plot.left, x2: plot.left + plot.width, y1: y, y2: y }),
          el('text', { x: plot.left - 8, y: y + 4, 'text-anchor': 'end' }, label),
        );
      }),
      slots.map(
        (label, index) =>
          (slots.length - 1 - index) % labelEvery === 0 &&
          el(
            'text',
            {
              key: index,
              class: 'slot-label',
              x: plot.left + slotWidth * (index + 0.5),
              y: height - 6,
              'text-anchor': 'middle',
            },
            label,
          ),
      ),
      slot !== undefined &&
        el('rect', {
          class: 'slot',
          x: plot.left + slotWidth * slot,
          y: plot.top,
          width: slotWidth,
          height: plot.height,
        }),
      draw(plot),
    ),
  );
}

function useWidth(frame: { readonly current: HTMLDivElement | null }): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const { current } = frame;
    if (current === null) return undefined;
    const observer = new ResizeObserver(() => setWidth(current.clientWidth));
    observer.observe(current);
    setWidth(current.clientWidth);
    return () => observer.disconnect();
  }, []);
  return width;
}
