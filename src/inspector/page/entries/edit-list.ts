import type { VNode } from 'preact';
import type { DiffMark } from '../../api.ts';
import type { EditRecord } from '../../../rewrite/rewrite.ts';
import { markNumber } from './code-lines.ts';
import { classes, el } from '../parts/element.ts';
import type { HueOf } from '../traffic/hues.ts';
import { visibleText } from './visible-text.ts';

/** Properties of the list of edits. */
export interface EditListProps {
  readonly title: string;
  readonly edits: readonly EditRecord[];
  readonly marks: readonly DiffMark[];
  readonly hueOf: HueOf;
  readonly active: number | undefined;
  readonly onActive: (mark: number | undefined) => void;
  /** The description of a change, from the rule book. */
  readonly summaryOf: (change: string) => string | undefined;
}

/** Every edit with its reason, grouped by change; the numbers match those in the bodies. */
export function EditList(props: EditListProps): VNode {
  const { edits, hueOf, summaryOf } = props;
  const changes = [...new Set(edits.map(({ change }) => change))];
  return el(
    'section',
    { class: 'edits', 'aria-label': 'Edits' },
    el('h3', null, props.title),
    props.marks.map(
      (mark, at) =>
        mark.index < 0 &&
        el('p', { key: at, class: 'refusal' }, el('span', { class: 'badge' }, '!'), mark.reason),
    ),
    changes.map((change) =>
      el(
        'div',
        { key: change, class: `edit-group hue-${hueOf(change)}` },
        el('h4', null, change),
        el('p', null, summaryOf(change) ?? ''),
        el(
          'ol',
          null,
          edits.map((edit, index) => edit.change === change && editItem(edit, index, props)),
        ),
      ),
    ),
  );
}

function editItem(edit: EditRecord, index: number, props: EditListProps): VNode {
  const at = props.marks.findIndex((mark) => mark.index === index);
  const mark = props.marks[at];
  const number = mark === undefined ? String(index + 1) : markNumber(mark);
  const { active, onActive } = props;
  return el(
    'li',
    { key: index },
    el(
      'button',
      {
        type: 'button',
        class: classes('edit', mark !== undefined && active === at && 'active'),
        'data-edit': index,
        onFocus: () => onActive(at < 0 ? undefined : at),
        onBlur: () => onActive(undefined),
        onMouseEnter: () => onActive(at < 0 ? undefined : at),
        onMouseLeave: () => onActive(undefined),
        onClick: () => reveal(at),
      },
      el('span', { class: 'badge', 'aria-hidden': true }, number),
      el('span', { class: 'rule-name' }, edit.rule),
      el('span', { class: 'pointers' }, pointers(edit)),
      edit.note !== undefined && el('span', { class: 'note' }, edit.note),
      mark !== undefined &&
        el('span', { class: 'reason' }, visibleText(ownWords(mark.reason, props.summaryOf(edit.change)))),
    ),
  );
}

/** The description of the change already stands above the edits. */
function ownWords(reason: string, summary: string | undefined): string {
  return summary !== undefined && reason.endsWith(summary) ? reason.slice(0, -summary.length).trim() : reason;
}

/** The path of a member from the V1 to the V2 body, as pointers; `/` alone is the body itself. */
function pointers({ from, path }: EditRecord): (VNode | string)[] {
  const shown = (pointer: string): VNode => el('code', null, pointer === '' ? '/' : visibleText(pointer));
  if (from !== undefined && path !== undefined) {
    return from === path ? [shown(from)] : [shown(from), ' → ', shown(path)];
  }
  if (from !== undefined) return [shown(from), ' → ', el('em', null, 'dropped')];
  return path === undefined ? [] : ['→ ', shown(path)];
}

/** Scrolls to the first place of a mark. */
function reveal(mark: number): void {
  document
    .querySelector(`[data-join="before-${mark}-0"], [data-join="after-${mark}-0"]`)
    ?.scrollIntoView({ block: 'center' });
}
