import type { Edit } from '../../src/json/edit.ts';
import type { Plan } from '../../src/rewrite/plan.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export const bytesOf = (text: string): Uint8Array => encoder.encode(text);
export const textOf = (bytes: Uint8Array): string => decoder.decode(bytes);

/** Writes edits as `start-end=insert`, separated by spaces. */
export function editsOf(edits: readonly Edit[]): string {
  return edits.map(({ start, end, insert }) => `${start}-${end}=${textOf(insert)}`).join(' ');
}

/** Rewrites `text`: the V2 text, or `refused <status> <code> <pointer>`. */
export function rewritten(plan: Plan, text: string): string {
  const outcome = plan.rewrite(bytesOf(text));
  if (outcome.verdict !== 'refused') return textOf(outcome.body);
  const { status, code, pointer } = outcome.refusal;
  return `refused ${status} ${code} ${pointer ?? '-'}`;
}

/** What the log would say: `change rule from -> path (note)`, one a line. */
export function recordsOf(plan: Plan, text: string): readonly string[] {
  const outcome = plan.rewrite(bytesOf(text));
  if (outcome.verdict === 'refused') return [];
  return outcome.records.map(
    ({ rule, from, path, note }) =>
      `${rule} ${from ?? ''} -> ${path ?? ''}${note === undefined ? '' : ` (${note})`}`,
  );
}
