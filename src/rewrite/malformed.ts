import type { JsonFault } from '../json/json-fault.ts';
import type { Refusal } from './rewrite.ts';

/** Refuses a body that is not JSON in UTF-8, or is nested deeper than `depth` levels. */
export function malformed(fault: JsonFault, depth: number): Refusal {
  const { offset, line, column, message } = fault;
  const found = { status: 400, position: { offset, line, column }, reason: message };
  if (fault.code === 'depth')
    return { code: 'too-deep', detail: `The body is nested too deep: at most ${depth} levels.`, ...found };
  const detail =
    fault.code === 'utf-8'
      ? 'The body is not UTF-8: send JSON in UTF-8.'
      : 'The body is not valid JSON: send one JSON object.';
  return { code: 'malformed-json', detail, ...found };
}

/** The sentence of a refusal, with its position and reason if it has them. */
export function refusalText({
  detail,
  position,
  reason,
}: Pick<Refusal, 'detail' | 'position' | 'reason'>): string {
  if (position === undefined) return detail;
  const { offset, line, column } = position;
  const place = `Byte ${offset}, line ${line}, column ${column}`;
  return `${detail} ${place}${reason === undefined ? '' : `: ${reason}`}.`;
}
