import { counted } from '../../report/text/number-text.ts';
import { terminalText } from '../../report/text/untrusted-text.ts';

/** Maximum characters of a value, or of the part of it, that are shown. */
const EXCERPT = 64;
/** Characters shown before the first difference. */
const BEFORE = 20;

/**
 * Returns two values that differ as one line each: the parts around their first difference, at the same place of both. The number
 * of characters left out stands in their place. Values are escaped for a terminal.
 */
export function differingExcerpts(one: string, other: string): readonly [one: string, other: string] {
  const start = startOf(one, firstDifference(one, other) - BEFORE);
  return [excerptFrom(one, start), excerptFrom(other, start)];
}

/** Returns the beginning of a value, with the number of characters that are left out. */
export function valueExcerpt(text: string): string {
  return excerptFrom(text, 0);
}

function firstDifference(one: string, other: string): number {
  let at = 0;
  while (at < one.length && at < other.length && one[at] === other[at]) at += 1;
  return at;
}

/** A few characters take no more room than the sentence that they are left out. */
function startOf(text: string, wanted: number): number {
  return wanted <= EXCERPT / 2 ? 0 : boundary(text, wanted);
}

function excerptFrom(text: string, start: number): string {
  if (text === '') return '(empty)';
  const isShort = text.length <= start + EXCERPT + EXCERPT / 2;
  const end = isShort ? text.length : boundary(text, start + EXCERPT);
  return [leftOut(start), terminalText(text.slice(start, end)), leftOut(text.length - end)]
    .filter((part) => part !== '')
    .join(' ');
}

function leftOut(characters: number): string {
  return characters === 0 ? '' : `(… ${counted(characters, 'character')} …)`;
}

/** An index that does not stand between the two halves of a character. */
function boundary(text: string, at: number): number {
  return /[\uDC00-\uDFFF]/.test(text[at] ?? '') && /[\uD800-\uDBFF]/.test(text[at - 1] ?? '') ? at - 1 : at;
}
