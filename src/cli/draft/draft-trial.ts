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
  /** Bodies that could not be checked, because V2's schema cannot be used. */
  readonly unchecked: number;
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
  const unusable = new Map<string, number>();
  let [all, checked, unchecked, refused] = [0, 0, 0, 0];
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
      const outcome =
        target.fault === undefined
          ? checkBody(schemas, v2Request.method, target.rest, v2Body)
          : { faults: undefined };
      if ('unusable' in outcome) {
        unchecked += times;
        const key = `${operation ?? name}: V2's schema cannot be used: ${outcome.unusable}`;
        unusable.set(key, (unusable.get(key) ?? 0) + times);
      } else {
        if (outcome.faults !== undefined) checked += times;
        for (const { pointer, reason } of outcome.faults ?? [])
          found.add(`${generalPointer(pointer) || 'the body'}: ${reason}`);
      }
    }
    if (found.size > 0) refused += times;
    for (const reason of found) {
      const key = `${operation ?? name}: ${reason}`;
      reasons.set(key, (reasons.get(key) ?? 0) + times);
    }
  }
  const sorted = [...reasons].toSorted(([, one], [, other]) => other - one);
  const linesOf = (found: readonly (readonly [string, number])[]): readonly string[] => [
    ...found
      .slice(0, MAX_REASONS)
      .map(([reason, times]) => `  ${count(times)} of ${count(all)}  ${terminalText(reason)}\n`),
    ...(found.length > MAX_REASONS
      ? [`  and ${counted(found.length - MAX_REASONS, 'further reason')}\n`]
      : []),
  ];
  const head = `${counted(all, 'recorded request')}; ${counted(checked, 'body', 'bodies')} checked against V2's schemas; ${counted(refused, 'request')} would be refused.\n`;
  const lines = [
    ...linesOf(sorted),
    ...(unchecked === 0 ? [] : [`${counted(unchecked, 'body', 'bodies')} could not be checked:\n`]),
    ...linesOf([...unusable].toSorted(([, one], [, other]) => other - one)),
  ];
  return {
    requests: all,
    checked,
    unchecked,
    refused,
    reasons: sorted.map(([reason, times]) => ({ reason, requests: times })),
    text: `${head}${lines.join('')}`,
  };
}

/**
 * What V2 refuses in a body. A schema can be none that a validator here reads: a `pattern` of another dialect than ECMA-262's, a
 * `$ref` that leads nowhere or round in a circle, an `$id` that moves its references. That is said, and ends no draft.
 */
function checkBody(
  schemas: BodySchemas,
  method: string,
  rest: string,
  body: string,
): { readonly faults: ReturnType<BodySchemas['faultsOf']> } | { readonly unusable: string } {
  try {
    return { faults: schemas.faultsOf(method, rest, readJsonText(body)) };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const isEndless = error instanceof RangeError;
    // Its messages can have many lines.
    const [line = ''] = error.message.split('\n');
    return { unusable: isEndless ? 'its references go round in a circle.' : line.replace(/[^.]$/, '$&.') };
  }
}
