import type { VNode } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type EditRecord, placesOfEdit } from '../../../rewrite/records.ts';
import type { Diff, DiffMark, EntryDetail, HeaderView, RequestView } from '../../api.ts';
import { type HueOf, markClass } from '../format.ts';
import { classes, type PageTools, visibleText } from '../parts.tsx';
import { CodeLines, markNumber } from './code-lines.tsx';
import { markedLines, type MarkedSpan, type Pair, pairsOf } from './marked-lines.ts';
import { HeaderName, requestLine } from './perspective-view.tsx';

/** An edit by a rule of requests or responses. */
type ListedEdit = EditRecord<string>;

/** The result of a request, in a live exchange or an explanation. */
type Changed = Pick<EntryDetail, 'v1Request' | 'v2Request' | 'diff'> & {
  readonly edits: EntryDetail['entry']['edits'];
  /** The heading above the edits. */
  readonly editsTitle: string;
  /** The edits of the response with their heading, which is empty if they are not shown. */
  readonly response?: { readonly title: string; readonly edits: readonly ListedEdit[] };
  /** The captions of the two bodies. */
  readonly captions: { readonly before: string; readonly after: string };
  /** Shown in place of a missing V2 request. */
  readonly nothingSent: string;
  /** Shown in place of a missing diff, or of its missing right side. */
  readonly missing: string;
};

interface DiffPaneProps extends Pick<PageTools, 'hueOf' | 'summaryOf'> {
  readonly changed: Changed;
}

/** Width of the gutter, in the units of its drawing; the style sheet sets the same width. */
const GUTTER = 64;

const STUB = 0.4;

/** The differences between V1 and V2 request: first line, headers, body, and each edit with its reason. */
export function DiffPane({ changed, hueOf, summaryOf }: DiffPaneProps): VNode {
  const { v1Request, v2Request, nothingSent, diff, edits, editsTitle, response, captions, missing } = changed;
  const [active, setActive] = useState<number>();
  useEffect(() => setActive(undefined), [diff]);
  return (
    <div class="changed">
      {v1Request !== undefined && heads(v1Request, v2Request, nothingSent)}
      {diff === undefined ? (
        <p class="empty">{missing}</p>
      ) : (
        <DiffView
          diff={diff}
          captions={captions}
          hueOf={hueOf}
          active={active}
          onActive={setActive}
          missing={missing}
        />
      )}
      <EditList
        label="Edits"
        title={editsTitle}
        edits={edits}
        marks={diff?.marks ?? []}
        hueOf={hueOf}
        active={active}
        onActive={setActive}
        summaryOf={summaryOf}
      />
      {response !== undefined && response.title !== '' && (
        <EditList
          label="Response"
          title={response.title}
          edits={response.edits}
          marks={[]}
          hueOf={hueOf}
          active={undefined}
          onActive={() => undefined}
          summaryOf={summaryOf}
        />
      )}
    </div>
  );
}

/** First lines side by side, with the headers that differ. */
function heads(v1: RequestView, v2: RequestView | undefined, nothingSent: string): VNode {
  const changed = v2?.headers.filter(({ change }) => change !== undefined) ?? [];
  return (
    <div class="heads">
      <div class="head">
        {requestLine(v1)}
        {headerLines(replaced(v1, changed), 'before')}
      </div>
      <div class="head">
        {v2 === undefined ? <p class="empty">{nothingSent}</p> : requestLine(v2)}
        {headerLines(
          changed.filter(({ change }) => change !== 'removed'),
          'after',
        )}
      </div>
    </div>
  );
}

/** The fields of the V1 request that V2 received with changes, or not at all. */
function replaced(v1: RequestView, changed: readonly HeaderView[]): readonly HeaderView[] {
  const names = new Set(
    changed.filter(({ change }) => change !== 'added').map(({ name }) => name.toLowerCase()),
  );
  return v1.headers.filter(({ name }) => names.has(name.toLowerCase()));
}

function headerLines(headers: readonly HeaderView[], side: 'before' | 'after'): VNode | false {
  if (headers.length === 0) return false;
  return (
    <ul class={classes('header-lines', side)}>
      {headers.map(({ name, value }) => (
        <li key={name}>
          <span class="name">
            <HeaderName name={name} />
            {': '}
          </span>
          {visibleText(value)}
        </li>
      ))}
    </ul>
  );
}

interface DiffViewProps {
  readonly diff: Diff;
  readonly captions: Changed['captions'];
  readonly hueOf: HueOf;
  readonly active: number | undefined;
  readonly onActive: (mark: number | undefined) => void;
  /** Shown in place of a missing right side. */
  readonly missing: string;
}

/** The V1 and the V2 body side by side, their edits highlighted and joined by lines. */
function DiffView({ diff, captions, hueOf, active, onActive, missing }: DiffViewProps): VNode {
  const panes = useRef<HTMLDivElement>(null);
  const gutter = useRef<HTMLDivElement>(null);
  const [joins, setJoins] = useState<readonly Join[]>([]);
  const { before, after, marks } = diff;
  const pairs = useMemo(() => marks.map((mark) => pairsOf(diff, mark)), [diff]);
  const left = useMemo(() => markedLines(before, spansOf(marks, 'before', pairs)), [before, pairs]);
  const right = useMemo(
    () => (after === undefined ? undefined : markedLines(after, spansOf(marks, 'after', pairs))),
    [after, pairs],
  );
  const measure = useCallback(() => {
    if (panes.current !== null && gutter.current !== null)
      setJoins(findJoins(panes.current, gutter.current, pairs));
  }, [pairs]);
  useLayoutEffect(() => {
    measure();
    const observer = new ResizeObserver(measure);
    if (panes.current !== null) observer.observe(panes.current);
    return () => observer.disconnect();
  }, [measure, left, right]);
  const shared = { marks, hueOf, active, onActive, onResize: measure };
  return (
    <div class="diff" ref={panes}>
      <div class="pane">
        <h3 class="pane-title">
          V1
          <small>{captions.before}</small>
        </h3>
        <CodeLines {...shared} lines={left} side="before" label="V1 body" />
      </div>
      <div class="gutter" ref={gutter} aria-hidden>
        <Joins joins={joins} marks={marks} hueOf={hueOf} active={active} />
      </div>
      <div class="pane">
        <h3 class="pane-title">
          V2
          {right !== undefined && <small>{captions.after}</small>}
        </h3>
        {right === undefined ? (
          <p class="empty">{missing}</p>
        ) : (
          <CodeLines {...shared} lines={right} side="after" label="V2 body" />
        )}
      </div>
    </div>
  );
}

interface JoinsProps {
  readonly joins: readonly Join[];
  readonly marks: readonly DiffMark[];
  readonly hueOf: HueOf;
  readonly active: number | undefined;
}

function Joins({ joins, marks, hueOf, active }: JoinsProps): VNode {
  return (
    <svg class="joins" width={GUTTER} height="100%">
      {joins.map((join) => {
        const mark = marks[join.mark];
        const end = stubEnd(join, GUTTER);
        const state = classes(
          'join',
          mark !== undefined && markClass(mark, hueOf),
          active === join.mark && 'active',
          active !== undefined && active !== join.mark && 'faded',
        );
        return (
          <g class={state}>
            <path d={joinPath(join, GUTTER)} />
            {end !== undefined && <path d={cross(end.x, end.y)} />}
          </g>
        );
      })}
    </svg>
  );
}

function cross(x: number, y: number): string {
  return `M ${x - 3} ${y - 3} l 6 6 m 0 -6 l -6 6`;
}

function spansOf(
  marks: readonly DiffMark[],
  side: 'before' | 'after',
  pairs: readonly (readonly Pair[])[],
): readonly MarkedSpan[] {
  return marks.flatMap((entry, mark) =>
    entry[side].map((span, part) => ({
      ...span,
      mark,
      part,
      isNumbered: pairs[mark]?.some((pair) => pair[side] === part) === true,
    })),
  );
}

interface EditListProps extends Pick<PageTools, 'hueOf' | 'summaryOf'> {
  readonly label: string;
  readonly title: string;
  readonly edits: readonly ListedEdit[];
  readonly marks: readonly DiffMark[];
  readonly active: number | undefined;
  readonly onActive: (mark: number | undefined) => void;
}

/** Every edit with its reason, grouped by change; the numbers match those in the bodies. */
function EditList(props: EditListProps): VNode {
  const { edits, hueOf, summaryOf } = props;
  const changes = [...new Set(edits.map(({ change }) => change))];
  return (
    <section class="edits" aria-label={props.label}>
      <h3>{props.title}</h3>
      {props.marks.map(
        (mark, at) =>
          mark.index < 0 && (
            <p key={at} class="refusal">
              <span class="badge">!</span>
              {mark.reason}
            </p>
          ),
      )}
      {changes.map((change) => (
        <div key={change} class={`edit-group hue-${hueOf(change)}`}>
          <h4>{change}</h4>
          <p>{summaryOf(change) ?? ''}</p>
          <ol>{edits.map((edit, index) => edit.change === change && editItem(edit, index, props))}</ol>
        </div>
      ))}
    </section>
  );
}

function editItem(edit: ListedEdit, index: number, props: EditListProps): VNode {
  const at = props.marks.findIndex((mark) => mark.index === index);
  const mark = props.marks[at];
  const number = mark === undefined ? String(index + 1) : markNumber(mark);
  const { active, onActive } = props;
  return (
    <li key={index}>
      <button
        type="button"
        class={classes('edit', mark !== undefined && active === at && 'active')}
        data-edit={index}
        onFocus={() => onActive(at < 0 ? undefined : at)}
        onBlur={() => onActive(undefined)}
        onMouseEnter={() => onActive(at < 0 ? undefined : at)}
        onMouseLeave={() => onActive(undefined)}
        onClick={() => reveal(at)}
      >
        <span class="badge" aria-hidden>
          {number}
        </span>
        <span class="rule-name">{edit.rule}</span>
        <span class="pointers">{pointers(edit)}</span>
        {edit.note !== undefined && <span class="note">{edit.note}</span>}
        {mark !== undefined && (
          <span class="reason">{visibleText(ownWords(mark.reason, props.summaryOf(edit.change)))}</span>
        )}
      </button>
    </li>
  );
}

/** Removes the description of the change from a reason, because it is already above the edits. */
function ownWords(reason: string, summary: string | undefined): string {
  return summary !== undefined && reason.endsWith(summary) ? reason.slice(0, -summary.length).trim() : reason;
}

/** The path of a member from the V1 to the V2 body, as pointers; `/` alone is the body itself. */
function pointers(edit: ListedEdit): (VNode | string)[] {
  const { from, path } = placesOfEdit(edit);
  const shown = (pointer: string): VNode => <code>{pointer === '' ? '/' : visibleText(pointer)}</code>;
  if (from !== undefined && path !== undefined) {
    return from === path ? [shown(from)] : [shown(from), ' → ', shown(path)];
  }
  if (from !== undefined) return [shown(from), ' → ', <em>dropped</em>];
  return path === undefined ? [] : ['→ ', shown(path)];
}

/** Scrolls to the first place of a mark. */
function reveal(mark: number): void {
  document
    .querySelector(`[data-join="before-${mark}-0"], [data-join="after-${mark}-0"]`)
    ?.scrollIntoView({ block: 'center' });
}

/** A line between the two sides of a mark, in pixels of the gutter; `to` is absent when V2 has no counterpart. */
interface Join {
  readonly mark: number;
  readonly from: number | undefined;
  readonly to: number | undefined;
}

/** The path of a join across a gutter of `width`: a curve, or a stub when the other side has no counterpart. */
function joinPath({ from, to }: Join, width: number): string {
  if (from === undefined) return `M ${width} ${to ?? 0} h ${-width * STUB}`;
  if (to === undefined) return `M 0 ${from} h ${width * STUB}`;
  const bend = width / 2;
  return `M 0 ${from} C ${bend} ${from}, ${width - bend} ${to}, ${width} ${to}`;
}

function stubEnd({ from, to }: Join, width: number): { readonly x: number; readonly y: number } | undefined {
  if (from !== undefined && to === undefined) return { x: width * STUB, y: from };
  if (from === undefined && to !== undefined) return { x: width * (1 - STUB), y: to };
  return undefined;
}

/** Finds the position of each mark on both sides; `gutter` is the strip between them. */
function findJoins(
  panes: HTMLElement,
  gutter: HTMLElement,
  pairs: readonly (readonly Pair[])[],
): readonly Join[] {
  const { top } = gutter.getBoundingClientRect();
  const middle = (side: 'before' | 'after', mark: number, part: number): number | undefined => {
    const element = panes.querySelector(`[data-join="${side}-${mark}-${part}"]`);
    if (element === null) return undefined;
    const [first] = element.getClientRects();
    return first === undefined ? undefined : first.top + first.height / 2 - top;
  };
  return pairs.flatMap((ofMark, mark) =>
    ofMark
      .map(({ before, after }) => ({
        mark,
        from: before === undefined ? undefined : middle('before', mark, before),
        to: after === undefined ? undefined : middle('after', mark, after),
      }))
      .filter(({ from, to }) => from !== undefined || to !== undefined),
  );
}
