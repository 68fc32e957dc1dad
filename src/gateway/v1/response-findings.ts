import { type HeaderList, headerValue } from '../../http/header-list.ts';
import type { MigrateDecision } from '../../migrate/decision.ts';
import type { ResponseDifference } from '../../rewrite-log/entry.ts';
import type { OpenEntry } from '../../rewrite-log/observer.ts';
import {
  deprecatedMembers,
  errorPointers,
  MovedMembers,
  responseObject,
  unechoedMembers,
} from '../../rewrite-log/response-findings.ts';
import type { CompiledRuleBook } from '../../rewrite/compiled-rule-book.ts';
import type { EditRecord } from '../../rewrite/records.ts';
import { resourcePath } from '../../rules/inverse.ts';
import { isRewritten } from '../../rules/rule-book.ts';
import { changesValue, isUnwrapping } from '../../rules/kinds/kinds.ts';
import type { ResponseCopy } from '../response-copy.ts';

/**
 * Maximum bytes of a response to keep, of a success and of an error: longer ones are lists of resources, which say nothing about a
 * request. Together with the limited number of captured exchanges per second, this limits the work.
 */
const MAX_BYTES = 32 * 1024;
const MAX_ERROR_BYTES = 8 * 1024;

/** Maximum bytes to keep of a JSON response as the service sent it; undefined if its head declares more. */
export function keptForFindings(status: number, headers: HeaderList): number | undefined {
  const limit = status >= 400 ? MAX_ERROR_BYTES : MAX_BYTES;
  return Number(headerValue(headers, 'content-length')) > limit ? undefined : limit;
}

/** Maximum differences of one response. */
const MAX_DIFFERENCES = 64;

/** Adds the findings from a service's own response to the entry of its exchange, for the census and the report. */
export function addFindings(
  entry: OpenEntry,
  sample: ResponseCopy,
  rules: CompiledRuleBook,
  decision: MigrateDecision,
): void {
  const { outcome } = sample;
  if (outcome === undefined || typeof outcome === 'string') return;
  const { status, body } = outcome;
  const response = responseObject(body);
  if (response === undefined) return;
  const { attributes } = entry;
  if (status >= 400 && status < 500) {
    const pointers = errorPointers(response);
    if (pointers.length > 0) entry.errorPointers = pointers;
    return;
  }
  if (status < 200 || status >= 300 || !isRewritten(entry.method) || attributes === undefined) return;
  if (entry.origin === undefined) {
    const resource = resourcePath(decision.operation, rules.ruleBook.resource);
    entry.unechoed = unechoedMembers(response, attributes, entry.edits, resource);
    return;
  }
  const deprecated = deprecatedMembers(response, attributes, new MovedMembers(entry.edits).wrapper);
  if (deprecated.length > 0) entry.deprecated = deprecated;
  const { operation } = decision;
  const rewrite = operation && rules.requestPlan(operation).rewrite(body);
  if (rewrite !== undefined && rewrite.verdict !== 'refused')
    entry.responseWould = differences(rewrite.records);
}

/** V2 wraps the resource of a response like V1, so that only edits inside the wrapper are differences. */
function differences(records: readonly EditRecord[]): ResponseDifference[] {
  const { wrapper } = new MovedMembers(records);
  return records
    .filter(({ rule, note }) => !isUnwrapping(rule) && note === undefined)
    .slice(0, MAX_DIFFERENCES)
    .flatMap(({ change, rule, from, path }) =>
      from === undefined
        ? []
        : [
            {
              change,
              ...(rule !== 'transform' && changesValue(rule) ? { rule } : {}),
              path: from,
              ...(path === undefined ? {} : { from: `${wrapper}${path}` }),
            },
          ],
    );
}
