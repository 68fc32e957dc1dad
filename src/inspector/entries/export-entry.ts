import type { Entry } from '../../rewrite-log/entry.ts';
import type { KeptExchange } from '../../rewrite-log/capture/kept-exchange.ts';
import type { CompiledRuleBook } from '../../rewrite/compiled-rule-book.ts';
import { caseText } from './case-text.ts';
import { failureBody } from './failure-body.ts';
import { harOf, type HarParts } from './har.ts';
import type { OperatorResult } from '../operator-result.ts';
import { rewriteAgain } from './replayable.ts';

/** An exchange to export, and the data of its file. */
export interface ExportParts extends Pick<HarParts, 'version' | 'gatewayOrigin' | 'origin'> {
  readonly format: 'har' | 'case';
  readonly entry: Entry;
  readonly kept: KeptExchange;
}

/** Formats an exchange as an HTTP Archive, or as a text case where it can be replayed. */
export function exportEntry(
  { format, ...parts }: ExportParts,
  rules: CompiledRuleBook | undefined,
): OperatorResult {
  const { entry, kept } = parts;
  const outcome = rewriteAgain(entry, kept, rules);
  if (format === 'har')
    return { status: 200, value: JSON.stringify(harOf({ ...parts, outcome }), undefined, 2) };
  const text = caseText(entry, kept, outcome);
  if (text !== undefined) return { status: 200, value: text };
  const detail =
    'This exchange is no case: its body was not kept, it is V2 traffic, or a service or the client was missing.';
  return { status: 422, value: failureBody(422, 'no-case', detail) };
}
