import type { ComponentChildren, VNode } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';

/** One quantity over time; a missing value is null. */
export interface ChartSeries {
  readonly name: string;
  /** Bars are stacked in the order of the series; lines lie above them. */
  readonly kind: 'bar' | 'line';
  /** The custom property with its colour. */
  readonly color: `--${string}`;
  /** The style that distinguishes it without colour: filling for bars, stroke for lines. */
  readonly look: Look;
  readonly values: readonly (number | null)[];
}

/** A filling or a stroke. */
type Look = 'plain' | 'striped' | 'dotted';

/** An instant to mark, such as an operator's change. */
export interface ChartMark {
  /** Seconds since 1970. */
  readonly at: number;
  readonly words: string;
}

interface TimeChartProps {
  /** What assistive technology reads in place of the picture. */
  readonly label: string;
  /** Starts of the slots in seconds since 1970, ascending and without gaps. */
  readonly times: readonly number[];
  /** Length of a slot in seconds. */
  readonly step: number;
  /** The time that is drawn, in seconds since 1970. */
  readonly from: number;
  readonly until: number;
  /** Nothing is known about the time before. */
  readonly knownSince: number;
  readonly series: readonly ChartSeries[];
  readonly scale?: 'linear' | 'log';
  readonly marks?: readonly ChartMark[];
  /** Height in rem. */
  readonly height?: number;
  readonly valueText: (value: number) => string;
  readonly tickText: (second: number) => string;
  /** Called with the bar that the reader has clicked, or the range dragged over, in seconds since 1970. */
  readonly onRange?: (from: number, to: number) => void;
}

/** Lines per pixel of the device: thin enough for sixty slots on a phone. */
const LINE = 2;

const DAY = 86_400;

const DASHES: Readonly<Record<Look, number[]>> = { plain: [], striped: [8, 4], dotted: [2, 4] };

/** Room for the numbers of marks, and between two of their lines, in pixels. */
const [NUMBER_WIDTH, LINE_GAP] = [52, 6];

/** Height of the smallest bar, in pixels: one failure among hundreds is seen. */
const MIN_BAR = 2;

/** Colours of the rest of the chart. */
const [INK, LINE_COLOR, UNKNOWN] = ['--ink-3', '--line', '--sunken'] as const;

/** A chart over time, whose legend shows the values under the pointer. It uses the page's current colours. */
export function TimeChart(props: TimeChartProps): VNode {
  const { label, series, times, valueText, tickText, marks = [] } = props;
  const place = useRef<HTMLDivElement>(null);
  const drawn = useRef<uPlot | undefined>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const [slot, setSlot] = useState<number | undefined>(undefined);
  // uPlot cannot change the series of a chart, so other series make another chart.
  const shape = `${series.map(({ name, kind }) => `${name} ${kind}`).join()} ${props.scale ?? ''}`;
  useLayoutEffect(() => {
    const { current } = place;
    if (current === null) return undefined;
    const plot = createPlot(current, latest, setSlot);
    drawn.current = plot;
    const observer = new ResizeObserver(() => plot.setSize(sizeOf(current, latest.current.height)));
    observer.observe(current);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    const redraw = (): void => plot.redraw(false);
    scheme.addEventListener('change', redraw);
    return () => {
      scheme.removeEventListener('change', redraw);
      observer.disconnect();
      plot.destroy();
    };
  }, [shape]);
  useEffect(() => drawn.current?.setData(dataOf(props)), [times, series, props.from, props.until, marks]);
  const time = slot === undefined ? undefined : times[slot];
  return (
    <div class="chart">
      <div class="chart-place" ref={place} role="img" aria-label={label} />
      <p class="readout">
        <strong>{time === undefined ? '' : tickText(time)}</strong>
        {series.map(({ name, kind, color, look, values }) => (
          <span key={name} class="legend">
            <i class={`swatch ${kind}-${look}`} style={{ '--tone': `var(${color})` }} />
            {name}
            {slot !== undefined && <b>{valueAt(values, slot, valueText)}</b>}
          </span>
        ))}
      </p>
    </div>
  );
}

function valueAt(
  values: ChartSeries['values'],
  slot: number,
  text: (value: number) => string,
): ComponentChildren {
  const value = values[slot];
  return value === undefined || value === null ? '–' : text(value);
}

function createPlot(
  place: HTMLDivElement,
  latest: { readonly current: TimeChartProps },
  setSlot: (slot: number | undefined) => void,
): uPlot {
  const { series, scale = 'linear', height } = latest.current;
  const { fontSize, fontFamily } = getComputedStyle(place);
  const font = `${fontSize} ${fontFamily}`;
  const size = Number.parseFloat(fontSize);
  const axis = { font, stroke: () => colorOf(INK), grid: { stroke: () => colorOf(LINE_COLOR), width: 1 } };
  return new uPlot(
    {
      ...sizeOf(place, height),
      legend: { show: false },
      padding: [size * 1.6, size * 2, 0, 0],
      scales: {
        x: { time: true, range: () => [latest.current.from, latest.current.until] },
        y:
          scale === 'log'
            ? { distr: 3, log: 10, range: logRange }
            : { range: () => [0, highest(latest.current)] },
      },
      axes: [
        {
          ...axis,
          size: size * 2.2,
          space: size * 6,
          ticks: { stroke: () => colorOf(LINE_COLOR), width: 1, size: 4 },
          ...(latest.current.step === DAY
            ? { splits: (plot) => middleOfDays(plot, latest.current, size * 6) }
            : {}),
          values: (_, splits) => splits.map((second) => latest.current.tickText(second)),
        },
        {
          ...axis,
          // A logarithmic scale gets grid lines only at powers of ten, not at the steps between them.
          grid: { ...axis.grid, ...(scale === 'log' ? { filter: powersOfTen } : {}) },
          size: size * 4.6,
          space: size * 2.4,
          ticks: { show: false },
          values: (_, splits) =>
            splits.map((value) => (value === null ? '' : latest.current.valueText(value))),
        },
      ],
      cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
      series: [
        {},
        ...series.map(({ kind, color, look }): uPlot.Series => {
          if (kind === 'bar')
            return { stroke: 'transparent', width: 0, points: { show: false }, paths: () => null };
          const ink = (): string => colorOf(color);
          return {
            stroke: ink,
            width: LINE,
            dash: DASHES[look],
            points: { show: look === 'plain', size: 5, fill: ink, filter: withSome },
          };
        }),
      ],
      hooks: {
        drawClear: [(plot) => shadeUnknown(plot, latest.current)],
        drawAxes: [
          (plot) => nameUnknown(plot, latest.current, font),
          (plot) => drawBars(plot, latest.current),
        ],
        draw: [(plot) => drawMarks(plot, latest.current)],
        setCursor: [({ cursor: { idx, left = -1 } }) => setSlot(left < 0 ? undefined : (idx ?? undefined))],
        setSelect: [(plot) => plot.select.width > 0 && choose(plot, latest.current, plot.select)],
        // Not fired after a drag.
        ready: [
          (plot) =>
            plot.over.addEventListener('click', ({ clientX }) =>
              choose(plot, latest.current, { left: clientX - plot.over.getBoundingClientRect().left }),
            ),
        ],
      },
    },
    dataOf(latest.current),
    place,
  );
}

/** Chooses the whole of each bar that a range of pixels touches. */
function choose(
  plot: uPlot,
  { onRange, step, from }: TimeChartProps,
  { left, width = 0 }: { readonly left: number; readonly width?: number },
): void {
  const barAt = (pixel: number): number =>
    from + Math.floor((plot.posToVal(pixel, 'x') - from) / step) * step;
  onRange?.(barAt(left), barAt(left + width) + step - 1);
}

function sizeOf(place: HTMLElement, height = 16): { readonly width: number; readonly height: number } {
  const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  return { width: Math.max(place.clientWidth, 1), height: Math.round(height * rem) };
}

/** The data for uPlot, with each value in the middle of its slot. */
function dataOf({ times, step, series }: TimeChartProps): uPlot.AlignedData {
  return [times.map((time) => time + step / 2), ...series.map(({ values }) => [...values])];
}

/** The highest stack or line; positive even for an empty chart, which also needs a scale. */
function highest({ times, series }: TimeChartProps): number {
  const sums = times.map((_, slot) =>
    series.reduce((sum, { kind, values }) => (kind === 'bar' ? sum + (values[slot] ?? 0) : sum), 0),
  );
  const lines = series
    .filter(({ kind }) => kind === 'line')
    .flatMap(({ values }) => values.map((value) => value ?? 0));
  return Math.max(4, ...sums, ...lines) * 1.05;
}

/** The range of a logarithmic scale: the powers of ten around the values, at least one decade. */
function logRange(_: uPlot, low: number | null, high: number | null): [number, number] {
  const first = Math.floor(Math.log10(Math.max(low ?? 1, 0.1)));
  return [10 ** first, 10 ** Math.max(first + 1, Math.ceil(Math.log10(Math.max(high ?? 10, 0.1))))];
}

function colorOf(property: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(property).trim();
}

/** Places the labels of days in the middle of their bars; the last day always has one. */
function middleOfDays({ bbox }: uPlot, { from, until }: TimeChartProps, space: number): number[] {
  const days = Math.round((until - from) / DAY);
  const every = Math.max(1, Math.ceil((days * space * devicePixelRatio) / bbox.width));
  return Array.from(
    { length: Math.ceil(days / every) },
    (_, index) => until - (index * every + 0.5) * DAY,
  ).reverse();
}

/** The slots of a series that get a point: those with a value other than zero, since points at each zero would hide the line. */
function withSome({ data }: uPlot, series: number): number[] {
  return [...(data[series] ?? [])].flatMap((value, slot) =>
    value === null || value === undefined || value === 0 ? [] : [slot],
  );
}

function powersOfTen(_: uPlot, values: number[]): (number | null)[] {
  return values.map((value) => (Number.isInteger(Math.round(Math.log10(value) * 1e6) / 1e6) ? value : null));
}

/** Width in device pixels of the time without data. */
function unknownWidth(plot: uPlot, { from, knownSince }: TimeChartProps): number {
  if (knownSince <= from) return 0;
  return Math.max(0, Math.min(plot.valToPos(knownSince, 'x', true) - plot.bbox.left, plot.bbox.width));
}

function shadeUnknown(plot: uPlot, props: TimeChartProps): void {
  const { ctx, bbox } = plot;
  ctx.fillStyle = colorOf(UNKNOWN);
  ctx.fillRect(bbox.left, bbox.top, unknownWidth(plot, props), bbox.height);
}

/** Writes that nothing is known, if there is room; the grid must not cross the words. */
function nameUnknown(plot: uPlot, props: TimeChartProps, font: string): void {
  const { ctx, bbox } = plot;
  const room = unknownWidth(plot, props);
  ctx.save();
  ctx.font = font.replace(/[\d.]+/, (size) => String(Number(size) * devicePixelRatio));
  const { width } = ctx.measureText('not known');
  if (width * 1.2 < room) {
    const [x, y, height] = [bbox.left + room / 2, bbox.top + bbox.height / 2, width * 0.4];
    ctx.fillStyle = colorOf(UNKNOWN);
    ctx.fillRect(x - width * 0.6, y - height / 2, width * 1.2, height);
    ctx.fillStyle = colorOf(INK);
    ctx.textAlign = 'center';
    ctx.textBaseline = 'middle';
    ctx.fillText('not known', x, y);
  }
  ctx.restore();
}

function drawBars(plot: uPlot, { times, step, series }: TimeChartProps): void {
  const bars = series.filter(({ kind }) => kind === 'bar');
  if (bars.length === 0) return;
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  const fills = bars.map(({ color, look }) => fillOf(ctx, colorOf(color), look));
  for (const [slot, time] of times.entries()) {
    const left = plot.valToPos(time, 'x', true);
    const width = Math.max(plot.valToPos(time + step, 'x', true) - left, 1);
    let sum = 0;
    for (const [index, { values }] of bars.entries()) {
      const value = values[slot] ?? 0;
      if (value <= 0) continue;
      const [bottom, top] = [plot.valToPos(sum, 'y', true), plot.valToPos(sum + value, 'y', true)];
      ctx.fillStyle = fills[index] ?? '';
      const height = Math.max(bottom - top, MIN_BAR * devicePixelRatio);
      ctx.fillRect(left + width * 0.1, bottom - height, width * 0.8, height);
      sum += value;
    }
  }
  ctx.restore();
}

/** A colour, or a pattern of it on the surface. */
function fillOf(context: CanvasRenderingContext2D, color: string, look: Look): string | CanvasPattern {
  if (look === 'plain') return color;
  const tile = document.createElement('canvas');
  const size = 6 * Math.max(1, Math.round(devicePixelRatio));
  tile.width = size;
  tile.height = size;
  const pen = tile.getContext('2d');
  if (pen === null) return color;
  pen.fillStyle = color;
  if (look === 'striped') pen.fillRect(0, 0, size, (size * 2) / 3);
  if (look === 'dotted') {
    pen.fillRect(0, 0, size / 2, size / 2);
    pen.fillRect(size / 2, size / 2, size / 2, size / 2);
  }
  return context.createPattern(tile, 'repeat') ?? color;
}

/** Puts a line at each mark, and its number above it, as in the list below the chart; close marks share a number, from the first to the last. */
function drawMarks(plot: uPlot, { marks = [], from, until }: TimeChartProps): void {
  for (const old of plot.over.querySelectorAll('.change-mark, .change-line')) old.remove();
  const places = marks.flatMap(({ at, words }, index) =>
    at < from || at > until ? [] : [{ left: plot.valToPos(at, 'x'), number: index + 1, words }],
  );
  const put = (name: string, left: number, title: string): HTMLElement => {
    const mark = document.createElement('span');
    mark.className = name;
    mark.title = title;
    mark.style.left = `${left}px`;
    plot.over.append(mark);
    return mark;
  };
  let drawn = -Infinity;
  for (const { left, words } of places) {
    if (left - drawn < LINE_GAP) continue;
    put('change-line', left, words);
    drawn = left;
  }
  for (const group of together(places)) {
    const [first, last] = [group[0], group.at(-1)];
    if (first === undefined || last === undefined) continue;
    const mark = put('change-mark', first.left, group.map(({ words }) => words).join('\n'));
    mark.textContent = first === last ? String(first.number) : `${first.number}–${last.number}`;
    mark.style.minWidth = `${last.left - first.left}px`;
  }
}

interface MarkPlace {
  readonly left: number;
  readonly number: number;
  readonly words: string;
}

/** Groups the marks whose numbers would overlap; each group shares one number. */
function together(places: readonly MarkPlace[]): readonly (readonly MarkPlace[])[] {
  const groups: MarkPlace[][] = [];
  for (const place of places) {
    const group = groups.at(-1);
    if (group?.[0] !== undefined && place.left - group[0].left < NUMBER_WIDTH) group.push(place);
    else groups.push([place]);
  }
  return groups;
}
