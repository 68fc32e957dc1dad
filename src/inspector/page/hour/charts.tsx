import type { ComponentChildren, VNode } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

/** The drawing area inside the axes, in pixels. */
export interface Plot {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** A tick of the vertical axis. */
interface Tick {
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
  /** Number of slots at the beginning for which nothing is known; 0 by default. */
  readonly unknown?: number;
  /** Interval between labels that are drawn, counted from the last slot. */
  readonly labelEvery: number;
  /** Label of the slot under the pointer. */
  readonly readout: (slot: number | undefined) => ComponentChildren;
  readonly draw: (plot: Plot) => ComponentChildren;
  /** Changes to mark, by their slots. */
  readonly marks?: readonly { readonly slot: number; readonly words: string }[];
}

/** Width of a label under the chart, in pixels, at the usual text size. */
const LABEL_WIDTH = 44;

/** The usual text size, in pixels. */
const USUAL_TEXT = 14;

/** Height of the window, in pixels, from which charts grow with it, and the maximum factor. */
const TALL_WINDOW = 900;
const MOST_STRETCH = 1.6;

/** The axes of a chart, and the label for the slot under the pointer. Drawn at the available width, so that lines are sharp. */
export function ChartFrame(props: ChartFrameProps): VNode {
  const { summary, ticks, slots, unknown = 0, readout, draw, marks = [] } = props;
  const frame = useRef<HTMLDivElement>(null);
  const { width, scale, stretch } = useSize(frame);
  const height = props.height * scale * stretch;
  // Leaves out labels that would touch.
  const every = Math.max(1, Math.ceil((LABEL_WIDTH * scale * slots.length) / Math.max(1, width)));
  const labelEvery = Math.ceil(every / props.labelEvery) * props.labelEvery;
  const [slot, setSlot] = useState<number | undefined>(undefined);
  const plot = {
    left: 52 * scale,
    top: 10 * scale,
    width: Math.max(0, width - 72 * scale),
    height: height - 36 * scale,
  };
  const slotWidth = plot.width / Math.max(1, slots.length);
  const isUnknown = slot !== undefined && slot < unknown;
  const follow = (event: MouseEvent): void => {
    const x = event.clientX - (frame.current?.getBoundingClientRect().left ?? 0) - plot.left;
    const index = Math.floor(x / slotWidth);
    setSlot(index >= 0 && index < slots.length ? index : undefined);
  };
  return (
    <div class="chart" ref={frame} onMouseMove={follow} onMouseLeave={() => setSlot(undefined)}>
      <p class="readout">{isUnknown ? [<strong>{slots[slot]}</strong>, 'not known'] : readout(slot)}</p>
      <svg width={width} height={height} role="img" aria-label={summary}>
        {ticks.map(({ label, share }) => {
          const y = plot.top + plot.height * (1 - share);
          return (
            <g key={label} class="tick">
              <line x1={plot.left} x2={plot.left + plot.width} y1={y} y2={y} />
              <text x={plot.left - 8} y={y + 4 * scale} text-anchor="end">
                {label}
              </text>
            </g>
          );
        })}
        {slots.map(
          (label, index) =>
            (slots.length - 1 - index) % labelEvery === 0 && (
              <text
                key={index}
                class="slot-label"
                x={plot.left + slotWidth * (index + 0.5)}
                y={height - 6}
                text-anchor="middle"
              >
                {label}
              </text>
            ),
        )}
        {unknown > 0 && (
          <rect class="unknown" x={plot.left} y={plot.top} width={slotWidth * unknown} height={plot.height} />
        )}
        {slotWidth * unknown > 2 * LABEL_WIDTH * scale && (
          <text x={plot.left + (slotWidth * unknown) / 2} y={plot.top + plot.height / 2} text-anchor="middle">
            not known
          </text>
        )}
        {slot !== undefined && (
          <rect
            class="slot"
            x={plot.left + slotWidth * slot}
            y={plot.top}
            width={slotWidth}
            height={plot.height}
          />
        )}
        {draw(plot)}
        {marks.map(({ slot: at, words }) => {
          const x = plot.left + slotWidth * (at + 0.5);
          return (
            <line
              key={`${at} ${words}`}
              class="change-mark"
              x1={x}
              x2={x}
              y1={plot.top}
              y2={plot.top + plot.height}
            >
              <title>{words}</title>
            </line>
          );
        })}
      </svg>
    </div>
  );
}

interface FrameSize {
  readonly width: number;
  /** Text size relative to the usual one. */
  readonly scale: number;
  readonly stretch: number;
}

/** The width of a chart, the reader's text size, and the stretch for a tall window. */
function useSize(frame: { readonly current: HTMLDivElement | null }): FrameSize {
  const [size, setSize] = useState<FrameSize>({ width: 0, scale: 1, stretch: 1 });
  useLayoutEffect(() => {
    const { current } = frame;
    if (current === null) return undefined;
    const measure = (): void => {
      const text = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
      setSize({
        width: current.clientWidth,
        scale: text / USUAL_TEXT,
        stretch: Math.min(Math.max(innerHeight / TALL_WINDOW, 1), MOST_STRETCH),
      });
    };
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    measure();
    return () => observer.disconnect();
  }, []);
  return size;
}
