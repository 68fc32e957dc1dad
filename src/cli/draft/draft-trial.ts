import type { Description } from '../../openapi/description.ts';
import { readJsonText } from '../../openapi/json-text.ts';
import { readTarget } from '../../http/target.ts';
import { generalPointer } from '../../json/json-pointer.ts';
import { count, counted } from '../../report/text/number-text.ts';
import { terminalText } from '../../report/text/untrusted-text.ts';
import type { CompiledRuleBook } from '../../rewrite/compiled-rule-book.ts';
import { BodySchemas } from '../../openapi/body-schemas.ts';
import { offlineExplainer } from '../explain/offline-explainer.ts';
import type { NamedRequest } from '../requests/request-files.ts';

/** The outcome of migrating recorded requests with a draft. */
interface DraftTrial {
  readonly requests: number;
  /** Bodies that were checked against V2's schemas. */
  readonly checked: number;
  /** Requests that the gateway or V2's schema would refuse. */
  readonly refused: number;
  /** Every reason with the number of requests, the most frequent first. */
  readonly reasons: readonly { readonly reason: string; readonly requests: number }[];
  readonly text: string;
}

/** Reasons listed at most; the most frequent come first. */
const MAX_REASONS = 50;

/** Migrates recorded requests by the gateway's own decision, and checks what V2 would receive against its schemas. */
export async function draftTrial(
  rules: CompiledRuleBook,
  v2: Description,
  requests: readonly NamedRequest[],
): Promise<DraftTrial> {
  const explainRequest = offlineExplainer(rules);
  const schemas = new BodySchemas(v2);
  const reasons = new Map<string, number>();
  let [all, checked, refused] = [0, 0, 0];
  for (const { name, request, count: times = 1 } of requests) {
    all += times;
    const explanation = await explainRequest(request);
    if ('fault' in explanation) continue;
    const { refusal, v2Request, v2Body, operation } = explanation;
    const found = new Set<string>();
    if (refusal !== undefined)
      found.add(
        `the gateway refuses it: ${refusal.code}${refusal.pointer === undefined ? '' : ` at ${refusal.pointer}`}`,
      );
    if (v2Request !== undefined && v2Body !== undefined && v2Body !== '') {
      const target = readTarget(v2Request.target);
      const faults =
        target.fault === undefined
          ? schemas.faultsOf(v2Request.method, target.rest, readJsonText(v2Body))
          : undefined;
      if (faults !== undefined) checked += times;
      for (const { pointer, reason } of faults ?? [])
        found.add(`${generalPointer(pointer) || 'the body'}: ${reason}`);
    }
    if (found.size > 0) refused += times;
    for (const reason of found) {
      const key = `${operation ?? name}: ${reason}`;
      reasons.set(key, (reasons.get(key) ?? 0) + times);
    }
  }
  const sorted = [...reasons].toSorted(([, one], [, other]) => other - one);
  const lines = sorted
    .slice(0, MAX_REASONS)
    .map(([reason, times]) => `  ${count(times)} of ${count(all)}  ${terminalText(reason)}\n`);
  const more =
    reasons.size > MAX_REASONS ? `  and ${counted(reasons.size - MAX_REASONS, 'further reason')}\n` : '';
  const head = `${counted(all, 'recorded request')}; ${count(checked)} ${checked === 1 ? 'body' : 'bodies'} checked against V2's schemas; ${counted(refused, 'request')} would be refused.\n`;
  return {
    requests: all,
    checked,
    refused,
    reasons: sorted.map(([reason, times]) => ({ reason, requests: times })),
    text: `${head}${lines.join('')}${more}`,
  };
}
