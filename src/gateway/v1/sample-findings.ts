import type { MigrateDecision } from '../../migrate/decision.ts';
import { migrateBody } from '../../migrate/migrate-body.ts';
import type { CompiledRuleBook } from '../../rewrite/compiled-rule-book.ts';
import type { EditRecord } from '../../rewrite/rewrite.ts';
import type { ResponseDifference } from '../../rewrite-log/entry.ts';
import { MovedMembers } from '../../rewrite-log/moved-member.ts';
import type { OpenEntry } from '../../rewrite-log/open-entry.ts';
import {
  deprecatedMembers,
  errorPointers,
  responseObject,
  unechoedMembers,
} from '../../rewrite-log/response-findings.ts';
import { isRewritten } from '../../rules/rewritten-methods.ts';
import type { ResponseSample } from './response-sample.ts';

/** Maximum differences of one response. */
const MAX_DIFFERENCES = 64;

/** Adds the findings of a service's own response to the entry of its exchange, for census and report. */
export function addFindings(
  entry: OpenEntry,
  sample: ResponseSample,
  rules: CompiledRuleBook,
  decision: MigrateDecision,
): void {
  const body = sample.takeBody();
  const response = body === undefined ? undefined : responseObject(body);
  if (body === undefined || response === undefined) return;
  const { status } = sample;
  const { attributes } = entry;
  if (status >= 400 && status < 500) {
    const pointers = errorPointers(response);
    if (pointers.length > 0) entry.errorPointers = pointers;
    return;
  }
  if (status < 200 || status >= 300 || !isRewritten(entry.method) || attributes === undefined) return;
  if (entry.origin === undefined) {
    entry.unechoed = unechoedMembers(response, attributes, entry.edits);
    return;
  }
  const deprecated = deprecatedMembers(response, attributes, new MovedMembers(entry.edits).wrapper);
  if (deprecated.length > 0) entry.deprecated = deprecated;
  const { operation } = decision;
  const outcome = operation && migrateBody(rules.requestPlan(operation), body, decision.bodyLimit);
  if (outcome !== undefined && outcome.verdict !== 'refused')
    entry.responseWould = differences(outcome.records);
}

/** V2's response wraps its resource like V1's, so that only the edits inside the wrapper tell a difference. */
function differences(records: readonly EditRecord[]): ResponseDifference[] {
  const { wrapper } = new MovedMembers(records);
  return records
    .filter(({ rule, note }) => rule !== 'unwrap' && note === undefined)
    .slice(0, MAX_DIFFERENCES)
    .flatMap(({ change, rule, from, path }) =>
      from === undefined
        ? []
        : [
            {
              change,
              ...(rule === 'map' ? { rule } : {}),
              path: from,
              ...(path === undefined ? {} : { from: `${wrapper}${path}` }),
            },
          ],
    );
}
