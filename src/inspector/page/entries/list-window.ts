import { useLayoutEffect, useRef } from 'preact/hooks';
import type { NumberedEntry } from '../../api.ts';

/** The visible part of a list, in pixels. */
export interface ListWindow {
  readonly top: number;
  readonly height: number;
  readonly rowHeight: number;
}

type ElementRef = { readonly current: HTMLDivElement | null };

/** The row height follows the style sheet: two lines in a narrow list, more with larger text. */
export function useMeasured(
  scroller: ElementRef,
  sheet: ElementRef,
  set: (update: (before: ListWindow) => ListWindow) => void,
): void {
  useLayoutEffect(() => {
    const measure = (): void => {
      if (scroller.current === null || sheet.current === null) return;
      const { clientHeight } = scroller.current;
      const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
      const rows = Number.parseFloat(getComputedStyle(sheet.current).getPropertyValue('--row-height'));
      set((before) => ({ ...before, height: clientHeight, rowHeight: Math.round(rows * rem) }));
    };
    measure();
    const observer = new ResizeObserver(measure);
    if (scroller.current !== null) observer.observe(scroller.current);
    // Another density changes the rows, and not the list.
    addEventListener('resize', measure);
    return () => {
      observer.disconnect();
      removeEventListener('resize', measure);
    };
  }, []);
}

/** Keeps the first visible row in place when rows are inserted before it. */
export function useAnchor(scroller: ElementRef, rows: readonly NumberedEntry[], rowHeight: number): void {
  const anchor = useRef<{ readonly seq: number; readonly offset: number } | undefined>(undefined);
  useLayoutEffect(() => {
    const { current } = scroller;
    if (current === null) return undefined;
    const { current: kept } = anchor;
    if (kept !== undefined && current.scrollTop > 0) {
      const index = rows.findIndex(({ seq }) => seq <= kept.seq);
      if (index > 0) current.scrollTop = index * rowHeight + kept.offset;
    }
    const remember = (): void => {
      const index = Math.floor(current.scrollTop / rowHeight);
      const row = rows[index];
      anchor.current = row && { seq: row.seq, offset: current.scrollTop - index * rowHeight };
    };
    remember();
    current.addEventListener('scroll', remember);
    return () => current.removeEventListener('scroll', remember);
  }, [rows, rowHeight]);
}
