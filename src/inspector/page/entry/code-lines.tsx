import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { DiffMark } from '../../api.ts';
import { count, type HueOf, markClass } from '../format.ts';
import { Button, classes, visibleText } from '../parts.tsx';
import { type Fold, foldLines, type MarkedLine, type Piece } from './marked-lines.ts';

interface CodeLinesProps {
  readonly label: string;
  readonly lines: readonly MarkedLine[];
  readonly marks: readonly DiffMark[];
  readonly hueOf: HueOf;
  readonly active?: number | undefined;
  readonly onActive?: (mark: number | undefined) => void;
  readonly side?: 'before' | 'after';
  /** Called when lines were folded or unfolded. */
  readonly onResize?: () => void;
}

/** Lines from which a body is folded around its marks. */
const FOLD_FROM = 80;
const AROUND = 4;

/** Maximum lines without a mark that are drawn until the operator expands the rest. */
const PLAIN_MOST = 400;

/** Lines of a body with numbers, colours and marks. */
export function CodeLines(props: CodeLinesProps): VNode {
  const [isWhole, setIsWhole] = useState(false);
  const { lines, onResize } = props;
  const showAll = (): void => {
    setIsWhole(true);
    queueMicrotask(() => onResize?.());
  };
  const shown = isWhole || lines.length <= FOLD_FROM ? lines : shorten(lines);
  return (
    <div class="code" role="group" aria-label={props.label}>
      {shown.map((line) => ('folded' in line ? fold(line, showAll) : codeLine(line, props)))}
    </div>
  );
}

function shorten(lines: readonly MarkedLine[]): readonly (MarkedLine | Fold)[] {
  if (lines.some(({ marks }) => marks.length > 0)) return foldLines(lines, AROUND);
  if (lines.length <= PLAIN_MOST) return lines;
  return [...lines.slice(0, PLAIN_MOST), { folded: lines.length - PLAIN_MOST, from: PLAIN_MOST + 1 }];
}

function fold({ folded, from }: Fold, showAll: () => void): VNode {
  return (
    <Button key={`fold-${from}`} class="fold" onClick={showAll}>
      {`${count(folded)} more lines – show all`}
    </Button>
  );
}

function codeLine(line: MarkedLine, props: CodeLinesProps): VNode {
  const first = props.marks[line.marks[0] ?? -1];
  return (
    <div
      key={line.number}
      class={classes('code-line', first !== undefined && `marked ${markClass(first, props.hueOf)}`)}
    >
      <span class="line-number" aria-hidden>
        {line.number}
      </span>
      <code>{stretches(line.pieces).map((pieces) => codeStretch(pieces, props))}</code>
    </div>
  );
}

/** Joins the pieces of one span. */
function stretches(pieces: readonly Piece[]): readonly (readonly Piece[])[] {
  const all: Piece[][] = [];
  for (const piece of pieces) {
    const last = all.at(-1);
    if (last !== undefined && last[0]?.span === piece.span) last.push(piece);
    else all.push([piece]);
  }
  return all;
}

function codeStretch(pieces: readonly Piece[], props: CodeLinesProps): VNode {
  const tokens = pieces.map(({ text, kind }) =>
    kind === undefined ? visibleText(text) : <span class={`token-${kind}`}>{visibleText(text)}</span>,
  );
  const span = pieces[0]?.span;
  const mark = span === undefined ? undefined : props.marks[span.mark];
  if (span === undefined || mark === undefined) return <span>{tokens}</span>;
  const { active, onActive } = props;
  return (
    <mark
      class={classes(
        markClass(mark, props.hueOf),
        pieces.every(({ text }) => text === '') && 'place',
        active === span.mark && 'active',
        active !== undefined && active !== span.mark && 'faded',
      )}
      title={mark.reason}
      data-join={`${props.side}-${span.mark}-${span.part}`}
      onMouseEnter={() => onActive?.(span.mark)}
      onMouseLeave={() => onActive?.(undefined)}
    >
      {pieces.some(({ opens }) => opens) && (
        <span class="badge" aria-hidden>
          {markNumber(mark)}
        </span>
      )}
      {tokens}
    </mark>
  );
}

/** The number of a mark, the same on both sides and in the list of edits. */
export function markNumber(mark: DiffMark): string {
  return mark.index < 0 ? '!' : String(mark.index + 1);
}
