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
import { generalPointer, leafPointers, pointerToken } from '../../json/pointer.ts';
import { isInverse, resourcePath } from '../../rules/inverse.ts';
import { isRewritten, isTransformed, type Operation, type RuleBook } from '../../rules/rule-book.ts';
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

const [decoder, encoder] = [new TextDecoder(), new TextEncoder()];

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
  if (operation !== undefined) entry.responseWould = responseWould(rules, operation, outcome);
}

/**
 * The members of a V1 response that V2's would have elsewhere: its resource is made V2's like that of a request. Undefined if that is not
 * known, because a program makes the response, or the response rules do not lead back to V1's members.
 */
export function responseWould(
  rules: CompiledRuleBook,
  operation: Operation,
  { status, body }: { readonly status: number; readonly body: Uint8Array },
): ResponseDifference[] | undefined {
  const rewrite = rules.requestPlan(operation).rewrite(body);
  if (rewrite.verdict === 'refused' || isTransformed(rules.ruleBook, operation, 'response')) return undefined;
  const { records } = rewrite;
  const { wrapper } = new MovedMembers(records);
  const resource = resourcePath(operation, rules.ruleBook.resource);
  const at = resource.map((name) => `/${pointerToken(name)}`).join('');
  const isNamed = (operation.resource ?? rules.ruleBook.resource) !== undefined;
  // Without a place for the resource in the rule book, V2 wraps it like V1.
  if (!hasDeclaredRules(rules.ruleBook, operation)) return differences(records, isNamed ? at : wrapper);
  const v1 = namesOf(body);
  const v2 = encoder.encode(
    [
      ...resource.map((name) => `{${JSON.stringify(name)}:`),
      decoder.decode(rewrite.body),
      '}'.repeat(resource.length),
    ].join(''),
  );
  const back = rules.responsePlan(operation, operation.method).rewrite(v2, rules.responseContext(status, []));
  if (v1 === undefined || back.verdict !== 'rewritten' || back.omitted > 0) return undefined;
  const requested = differences(records, at);
  const known = new Set(back.records.map(({ path }) => path));
  // What only the rules of requests change stays as V2 has it.
  const left = requested.filter(({ path }) => !known.has(path));
  const isOf = (places: readonly (string | undefined)[], name: string): boolean =>
    places.some((place) => place !== undefined && isWithin(name, generalPointer(place)));
  const now = namesOf(back.body);
  const sources = left.map(({ path }) => path);
  const targets = left.map(({ from }) => from);
  const isSame =
    now !== undefined &&
    v1.every((name) => now.includes(name) || isOf(sources, name)) &&
    now.every((name) => v1.includes(name) || isOf(targets, name));
  if (!isSame) return undefined;
  const undone = back.records.flatMap(({ change, rule, from, path, note }) =>
    path === undefined || note !== undefined
      ? []
      : [
          {
            change,
            ...(rule !== 'transform' && changesValue(rule) ? { rule } : {}),
            path,
            ...(from === undefined ? {} : { from }),
          },
        ],
  );
  return [...undone, ...left].slice(0, MAX_DIFFERENCES);
}

/** Whether a change has response rules for the operation that do not follow from those of requests. */
function hasDeclaredRules({ changes }: RuleBook, { id }: Operation): boolean {
  return changes.some(
    (change) =>
      change.response.length > 0 && !isInverse(change) && (change.on === 'every' || change.on.includes(id)),
  );
}

/** The places of the values of a JSON body, without an index; undefined for another body. */
function namesOf(body: Uint8Array): readonly string[] | undefined {
  const value = responseObject(body);
  return value && [...new Set(leafPointers(value).map(generalPointer))];
}

function isWithin(place: string, outer: string): boolean {
  return place === outer || place.startsWith(`${outer}/`);
}

/** The edits inside the resource, whose place in V2's response is `at`. */
function differences(records: readonly EditRecord[], at: string): ResponseDifference[] {
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
              ...(path === undefined ? {} : { from: `${at}${path}` }),
            },
          ],
    );
}
