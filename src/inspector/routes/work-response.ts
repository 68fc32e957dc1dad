import type { CompiledRuleBook } from '../../rewrite/compiled-rule-book.ts';
import type { InspectorParts } from '../inspector-parts.ts';
import { jsonResponse, pause } from './json-response.ts';
import { doOperatorWork, isLargeWork, type OperatorWork } from '../operator-work.ts';

/** Bytes of a text that are sent at once. */
const PART_BYTES = 256 * 1024;

/**
 * Responds with the result of work: large work is done in a worker thread, where the runtime has threads. `rules` is the
 * compiled rule book of the work; `textHeaders` are the fields for a result that is a text.
 */
export async function workResponse(
  work: OperatorWork,
  rules: CompiledRuleBook | undefined,
  { runInThread, decode, time }: Pick<InspectorParts, 'runInThread' | 'decode' | 'time'>,
  textHeaders: Readonly<Record<string, string>> = {},
): Promise<Response> {
  if (runInThread !== undefined && isLargeWork(work)) {
    const { status, isJson, bytes } = await runInThread(work);
    return new Response(inParts(bytes), { status, headers: isJson ? JSON_HEADERS : textHeaders });
  }
  const compiled = (): CompiledRuleBook => {
    if (rules === undefined) throw new Error('the work has no rule book');
    return rules;
  };
  const { status, value } = await doOperatorWork(work, { compiled, decode, now: time, pause });
  if (typeof value === 'string') return new Response(value, { status, headers: textHeaders });
  return status === 200 ? jsonResponse(value) : Response.json(value, { status });
}

const JSON_HEADERS = { 'Content-Type': 'application/json' };

function inParts(bytes: Uint8Array): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      if (at > 0) await pause();
      controller.enqueue(bytes.subarray(at, at + PART_BYTES));
      at += PART_BYTES;
      if (at >= bytes.length) controller.close();
    },
  });
}
