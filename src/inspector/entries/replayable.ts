import type { KeptBody, KeptExchange } from '../../rewrite-log/capture/kept-exchange.ts';
import type { CompiledRuleBook } from '../../rewrite/compiled-rule-book.ts';
import type { Rewrite } from '../../rewrite/rewrite.ts';
import type { Entry } from '../../rewrite-log/entry.ts';
import { placeholders } from './curl.ts';

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const encoder = new TextEncoder();

/** Returns a kept body as text for display: bytes that are none are replaced; of a structure with placeholders of the right types. Undefined without one. */
export function bodyText({ state, bytes }: KeptBody): string | undefined {
  if (bytes === undefined) return undefined;
  const text = decoder.decode(bytes);
  return state === 'structure' ? placeholders(text) : text;
}

/** Returns a kept body as bytes; of a structure with placeholders of the right types. Undefined without one. */
export function bodyBytes(body: KeptBody): Uint8Array | undefined {
  return body.state === 'structure' ? encoder.encode(bodyText(body) ?? '') : body.bytes;
}

/** Rewrites a kept V1 body by the plan of its exchange; undefined when no plan applies to it. */
export function rewriteAgain(
  entry: Entry,
  { v1Request }: KeptExchange,
  rules: CompiledRuleBook | undefined,
): Rewrite | undefined {
  const bytes = bodyBytes(v1Request.body);
  if (entry.route !== 'migrate' || bytes === undefined || rules === undefined) return undefined;
  if (entry.note === 'media-type' || entry.note === 'unsupported: forward') return undefined;
  const operation = rules.ruleBook.operations.find(({ id }) => id === entry.operation);
  return rules.requestPlan(operation).rewrite(bytes);
}
