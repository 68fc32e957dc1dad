import { type ComponentChildren, createContext, type JSX, type RefObject, type VNode } from 'preact';
import { useContext, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Outcome } from '../../rewrite-log/entry.ts';
import type { Completion } from '../../rewrite-log/filter.ts';
import { OUTCOME_MEANINGS, OUTCOME_WORDS } from '../entries/entry-words.ts';
import type { AdminFailure } from './admin-client.ts';
import { withoutSameTimes } from '../../report/clock.ts';
import { fullTime, type HueOf, NO_ENDING, shortTime } from './format.ts';
import type { Go } from './page-state.ts';

type Tags = JSX.IntrinsicElements;

/** Default share of the list, in percent. */
export const DEFAULT_SHARE = 32;

/** An instant of RFC 3339 in UTC, a day, or a number with its unit; lines do not break inside them. */
const WHOLE = /(\d{4}-\d\d-\d\dT[\d:.]+Z|\d{4}-\d\d-\d\d|\d[\d.,]{0,30} (?:%|ms|s|min|h|days?)(?![\w]))/;

const REWRITTEN = 'M1.5 8.5 8 2l2 2-6.5 6.5-2.5.5z';
const UNCHANGED = 'M2 4.5h8M2 7.5h8';
const REFUSED = 'M2.5 2.5l7 7m0-7l-7 7';
const PASSED = 'M2 6h8M7 3l3 3-3 3';

const SIGNS: Readonly<Record<Outcome, string>> = {
  rewritten: REWRITTEN,
  unchanged: UNCHANGED,
  refused: REFUSED,
  passed: PASSED,
  served: UNCHANGED,
  'would-rewritten': REWRITTEN,
  'would-unchanged': UNCHANGED,
  'would-refused': REFUSED,
  'to-v1': PASSED,
};

/**
 * Characters that affect the display instead of being readable: control and format characters (bidirectional, zero-width), line
 * separators and lone surrogates. Tabs and line feeds are allowed.
 */
const UNPRINTABLE = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Announces a sentence at the foot of the page and to screen readers; with `isSpoken`, only to them. */
export type Announce = (sentence: string, isSpoken?: boolean) => void;

/** Tools for every view of the page. */
export interface PageTools {
  readonly go: Go;
  readonly announce: Announce;
  readonly hueOf: HueOf;
  /** Returns what sentences call a client, if that is known. */
  readonly nameOf: (client: string | undefined) => string | undefined;
  /** Returns the description of a change, from the rule book. */
  readonly summaryOf: (change: string) => string | undefined;
  /** Returns the address of an operation in V2, if it is another than in V1. */
  readonly addressOf: (operation: string | undefined) => string | undefined;
}

/** A button; its properties add to those of a plain one, or replace them. */
export function Button({ children, ...props }: Tags['button']): VNode {
  return (
    <button type="button" class="button" {...props}>
      {children}
    </button>
  );
}

/** Properties of a form: `onSubmit` gets no event. */
type FormProps = Omit<Tags['form'], 'onSubmit'> & { readonly onSubmit: () => Promise<unknown> | void };

/** A form that the page submits itself. */
export function Form({ onSubmit, children, ...props }: FormProps): VNode {
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void onSubmit();
  };
  return (
    <form {...props} onSubmit={submit}>
      {children}
    </form>
  );
}

interface CheckboxProps {
  readonly label: string;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
}

export function Checkbox({ label, checked, onChange }: CheckboxProps): VNode {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={checked}
        onChange={({ currentTarget }) => onChange(currentTarget.checked)}
      />
      {label}
    </label>
  );
}

/** A name and its value in a list of facts. */
export function Fact({
  name,
  children,
}: {
  readonly name: string;
  readonly children: ComponentChildren;
}): VNode {
  return (
    <div class="fact">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** Joins class names; absent ones are left out. */
export function classes(...names: readonly (string | false | undefined)[]): string {
  return names.filter((name) => typeof name === 'string' && name !== '').join(' ');
}

/** Properties of a card; `note` is a small text beside its heading. */
interface CardProps {
  readonly heading: string;
  readonly note?: string | undefined;
  readonly children: ComponentChildren;
}

/** A section of a view under a heading. */
export function Card({ heading, note, children }: CardProps): VNode {
  return (
    <section class="card">
      <h3>
        {heading}
        {note !== undefined && <small>{note}</small>}
      </h3>
      {children}
    </section>
  );
}

interface CompletionListProps {
  readonly options: readonly Completion[];
  /** Index of the option that Enter would accept; -1 for none. */
  readonly chosen: number;
  readonly accept: (option: Completion) => void;
}

/** The completions under the filter. */
export function CompletionList({ options, chosen, accept }: CompletionListProps): VNode {
  return (
    <ul
      class="completions"
      id="completions"
      role="listbox"
      aria-label="Completions"
      hidden={options.length === 0}
    >
      {options.map((option, index) => (
        <li
          key={option.insert}
          id={`completion-${index}`}
          role="option"
          class={classes(index === chosen && 'chosen')}
          aria-selected={index === chosen}
          // The field must keep the focus, or the list closes before the click arrives.
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => accept(option)}
        >
          <code>{option.insert.trim()}</code>
          <span>{option.help}</span>
        </li>
      ))}
    </ul>
  );
}

interface CopyButtonProps {
  readonly text: string;
  readonly label: string;
  /** Message after copying. */
  readonly done: string;
  readonly announce: (sentence: string) => void;
  readonly shortcut?: string;
}

/** A button that copies a text to the clipboard and announces it. */
export function CopyButton({ text, label, done, announce, shortcut }: CopyButtonProps): VNode {
  const copy = async (): Promise<void> =>
    announce((await copyText(text)) ? done : 'The browser did not allow copying.');
  return (
    <Button aria-keyshortcuts={shortcut} onClick={() => void copy()}>
      {label}
    </Button>
  );
}

/** Copies a text; true on success. Without TLS, except on localhost, browsers support only the old command. */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

function copyBySelection(text: string): boolean {
  const field = document.createElement('textarea');
  const focused = document.activeElement;
  field.value = text;
  field.className = 'sr-only';
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return isCopied;
}

/** Placeholder for a view that is loading, or could not be loaded. */
export function Loading({
  failure,
  subject,
}: {
  readonly failure: AdminFailure | undefined;
  readonly subject: string;
}): VNode {
  return (
    <p class="empty view">
      {failure === undefined ? `Loading ${subject}…` : `Could not load ${subject}: ${failure.message}`}
    </p>
  );
}

interface PaneSplitterProps {
  /** Share of the first pane in percent. */
  readonly share: number;
  readonly onShare: (share: number) => void;
}

/** Minimum and maximum share of the list, and the step of the arrow keys, in percent. */
const [LOWEST, HIGHEST, STEP] = [15, 75, 2];

/** The border between the list and an exchange, moved by pointer or arrow keys like a window splitter of the ARIA practices. */
export function PaneSplitter({ share, onShare }: PaneSplitterProps): VNode {
  const bar = useRef<HTMLDivElement>(null);
  const [isHeld, setIsHeld] = useState(false);
  const choose = (wanted: number): void => onShare(Math.min(HIGHEST, Math.max(LOWEST, Math.round(wanted))));
  return (
    <div
      ref={bar}
      class={isHeld ? 'splitter held' : 'splitter'}
      role="separator"
      tabIndex={0}
      aria-label="Width of the list"
      aria-orientation="vertical"
      aria-controls="entries"
      aria-valuemin={LOWEST}
      aria-valuemax={HIGHEST}
      aria-valuenow={share}
      title="Drag, or use the arrow keys"
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        setIsHeld(true);
      }}
      onPointerMove={(event) => {
        const whole = bar.current?.parentElement?.getBoundingClientRect();
        if (isHeld && whole !== undefined) choose(((event.clientX - whole.left) / whole.width) * 100);
      }}
      onPointerUp={() => setIsHeld(false)}
      onLostPointerCapture={() => setIsHeld(false)}
      onDblClick={() => choose(DEFAULT_SHARE)}
      onKeyDown={(event) => {
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
      }}
    />
  );
}

/** A column of a table, and its cell in each row. */
export interface Column<Row> {
  readonly name: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** `number` aligns right; `head` names its row. */
  readonly kind?: 'number' | 'head';
  readonly cellClass?: string;
  readonly title?: (row: Row) => string;
}

/** Properties of a table; `label` names it, and `keyOf` returns a unique text for each row. */
interface ScrollTableProps<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly classOf?: (row: Row) => string;
  readonly isWide?: boolean;
}

/** A table that scrolls on its own, also by keyboard. */
export function ScrollTable<Row>(props: ScrollTableProps<Row>): VNode {
  const { label, columns, rows, keyOf, classOf, isWide = false } = props;
  const head = columns.map(({ name, kind }) => (
    <th key={name} scope="col" class={classes(kind === 'number' && 'number')}>
      {name}
    </th>
  ));
  const body = rows.map((row) => (
    <tr key={keyOf(row)} class={classOf?.(row)}>
      {columns.map((column) => tableCell(column, row))}
    </tr>
  ));
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={label}>
      <table class={isWide ? 'wide' : undefined}>
        <thead>
          <tr>{head}</tr>
        </thead>
        <tbody>{body}</tbody>
      </table>
    </div>
  );
}

function tableCell<Row>({ name, kind, cell, cellClass, title }: Column<Row>, row: Row): VNode {
  if (kind === 'head')
    return (
      <th key={name} scope="row">
        {cell(row)}
      </th>
    );
  return (
    <td key={name} class={kind ?? cellClass} title={title?.(row)} data-label={name}>
      {cell(row)}
    </td>
  );
}

/** Properties of a button that looks like a link; `label` is its name for assistive technology if the text does not suffice. */
interface LinkButtonProps {
  readonly onClick: () => void;
  readonly label?: string | undefined;
  readonly children: ComponentChildren;
}

/** A button that looks like a link. */
export function LinkButton({ onClick, label, children }: LinkButtonProps): VNode {
  return (
    <Button class="link" aria-label={label} onClick={onClick}>
      {children}
    </Button>
  );
}

/** Properties of a link to a new tab; `label` is its name for assistive technology if the text does not suffice. */
interface NewTabProps {
  readonly href: string;
  readonly look?: string;
  readonly label?: string;
  readonly children: ComponentChildren;
}

/** A link that leaves the page where it is, and says so. */
export function NewTab({ href, look, label, children }: NewTabProps): VNode {
  return (
    <a
      class={classes('new-tab', look)}
      href={href}
      target="_blank"
      rel="noopener"
      aria-label={label === undefined ? undefined : `${label} (in a new tab)`}
    >
      {children}
      {label === undefined && <span class="sr-only"> (in a new tab)</span>}
    </a>
  );
}

/** Properties of a list of sentences; `shown` converts each to the content of its item. */
type SentenceListProps = Tags['ul'] & {
  readonly sentences: readonly string[];
  readonly shown?: (text: string) => ComponentChildren;
};

/** A list of different sentences, by default about the gateway. */
export function SentenceList({ sentences, shown = sentence, ...props }: SentenceListProps): VNode {
  return (
    <ul class="plain" {...props}>
      {sentences.map((text) => (
        <li key={text}>{shown(text)}</li>
      ))}
    </ul>
  );
}

/** A fault in a sentence, which screen readers say at once; nothing if it is empty. */
export function Fault({
  text,
  tag: Tag = 'p',
}: {
  readonly text: string;
  readonly tag?: 'p' | 'span';
}): VNode | null {
  if (text === '') return null;
  return (
    <Tag class="fault" role="alert">
      {text}
    </Tag>
  );
}

/** The dates of V1's end for all times of the page. */
export const EndingContext = createContext(NO_ENDING);

/** A time in short, which has the whole one as its title; on one line with `isWhole`. */
export function ShortTime({
  at,
  short,
  isWhole = false,
}: {
  /** RFC 3339. */
  readonly at: string;
  readonly short?: ((time: string) => string) | undefined;
  readonly isWhole?: boolean;
}): VNode {
  const ending = useContext(EndingContext);
  return (
    <time class={isWhole ? 'nowrap' : undefined} dateTime={at} title={fullTime(at)}>
      {short === undefined ? shortTime(at, ending) : short(at)}
    </time>
  );
}

/** A sentence about the gateway, with instants short, and figures on one line with their units. */
export function sentence(
  text: string,
  short?: (time: string) => string,
): (VNode | ReturnType<typeof visibleText>)[] {
  return withoutSameTimes(text)
    .split(WHOLE)
    .map((piece, index) => {
      if (index % 2 === 0) return visibleText(piece);
      if (!piece.endsWith('Z')) return <span class="nowrap">{piece}</span>;
      return <ShortTime at={piece} short={short} isWhole />;
    });
}

/** A long message: its first line, and the others folded under a few words. */
export function Folded({ text, rest }: { readonly text: string; readonly rest: string }): VNode {
  const [first = '', ...others] = text.split('\n');
  if (others.length === 0) return <>{sentence(first)}</>;
  return (
    <>
      {sentence(first)}
      <details class="folded">
        <summary>{rest}</summary>
        {others.map((line) => (
          <div key={line}>{sentence(line)}</div>
        ))}
      </details>
    </>
  );
}

/** Code that breaks only between words, never after a `?` or `-` within one. */
export function unbrokenWords(text: string): (VNode | string)[] {
  return text.split(' ').flatMap((word, index) => [
    ...(index === 0 ? [] : [' ']),
    <span key={index} class="word">
      {word}
    </span>,
  ]);
}

/** An outcome with a symbol, readable without colour; dashed for a dry run. */
export function VerdictBadge({
  outcome,
  words = OUTCOME_WORDS[outcome],
  meaning = OUTCOME_MEANINGS[outcome],
}: {
  readonly outcome: Outcome;
  readonly words?: string;
  readonly meaning?: string;
}): VNode {
  const isDryRun = outcome.startsWith('would-');
  const hue = isDryRun ? outcome.slice('would-'.length) : outcome;
  return (
    <span class={classes('verdict', `verdict-${hue}`, isDryRun && 'dry-run')} title={meaning}>
      <svg class="verdict-sign" viewBox="0 0 12 12" aria-hidden>
        <path d={SIGNS[outcome]} />
      </svg>
      {words}
    </span>
  );
}

/**
 * Returns the `ref` of a part that replaces its opener. The focus moves to the first field when the part opens, and to the opener when
 * it closes.
 */
export function useFocusInside(isOpen: boolean): (node: HTMLElement | null) => void {
  const place = useRef<HTMLElement | null>(null);
  const was = useRef(isOpen);
  // Before the browser paints, so that text typed at once goes into the field.
  useLayoutEffect(() => {
    if (was.current !== isOpen) place.current?.querySelector<HTMLElement>('input, button')?.focus();
    was.current = isOpen;
  }, [isOpen]);
  return (node) => {
    place.current = node;
  };
}

/** Shows untrusted text: a character that would hide, reverse or move others is replaced by its code point, such as `U+202E`. */
export function visibleText(text: string): string | (string | VNode)[] {
  const parts: (string | VNode)[] = [];
  let shown = 0;
  for (const match of text.matchAll(UNPRINTABLE)) {
    const code = (match[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    parts.push(
      text.slice(shown, match.index),
      <span class="unprintable" title="An invisible character">
        {`U+${code}`}
      </span>,
    );
    shown = match.index + match[0].length;
  }
  return shown === 0 ? text : [...parts, text.slice(shown)];
}

/** A ref to the outcome of a form: each new one scrolls into view, because a long form hides it below. */
export function useScrollTo<Part extends Element>(outcome: unknown): RefObject<Part | null> {
  const part = useRef<Part>(null);
  useEffect(() => {
    if (outcome !== undefined) part.current?.scrollIntoView({ block: 'start' });
  }, [outcome]);
  return part;
}

interface TrendProps {
  readonly counts: readonly number[];
  /** The failed part of each count; absent if all of it failed. */
  readonly failed?: readonly number[];
  /** What assistive technology reads in place of the picture. */
  readonly label: string;
}

/** Counts over time as bars, with what failed below in another colour. */
export function Trend({ counts, failed = counts, label }: TrendProps): VNode {
  const most = Math.max(1, ...counts);
  const bar = (look: 'all' | 'failed', slot: number, value: number): VNode | false => {
    const height = Math.max(1.5, (value / most) * 20);
    return value > 0 && <rect class={look} x={slot * 4} y={20 - height} width={3} height={height} />;
  };
  return (
    <svg
      class="trend"
      viewBox={`0 0 ${counts.length * 4} 20`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <title>{label}</title>
      {/* Empty bars are left out, because a table can have hundreds of trends. */}
      {counts.flatMap((value, slot) => [bar('all', slot, value), bar('failed', slot, failed[slot] ?? 0)])}
    </svg>
  );
}
