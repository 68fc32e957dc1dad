import type * as edits from '../edits/records.ts';
import type { DeprecatedAttribute, PatchOperation, Refusal } from '../edits/records.ts';
import type { Edit } from '../json/edit.ts';
import { pointerSteps, tokenName } from '../json/pointer.ts';
import type { JsonFault } from '../json/scanner.ts';
import { isUnwrapping, lensNamed } from '../rules/kinds/kinds.ts';
import type { RequestRuleName } from '../rules/rule.ts';

export type { DeprecatedAttribute, PatchOperation, Refusal } from '../edits/records.ts';

/**
 * One edit, for people: its change and rule, and its place before and after. For a request, these are V1 and V2; for a response, V2 and
 * the client. Never contains a value.
 */
export interface EditRecord<Rule extends string = RequestRuleName> {
  readonly change: string;
  /** `transform` for the module of the operation. */
  readonly rule: Rule | 'transform';
  /** RFC 6901 pointer into the body before; for a query parameter a question mark and its name. Absent if the gateway made the value, or changed a text in its place. */
  readonly from?: string;
  /** RFC 6901 pointer into the body after, or the name of a parameter like `from`; absent if the member is not in it. */
  readonly path?: string;
  /**
   * The header field as its sender named it, for an edit of the header section, which has no pointers; the new name for a field that a
   * rule added.
   */
  readonly header?: string;
  /** The header field as its recipient gets it; absent if the recipient does not get it, and for any other edit. */
  readonly to?: string;
  /**
   * The reason for a special case: `conflict`, `sibling`, `duplicate`, `value` (it could not be converted), `unmapped`, `more` (of a list,
   * only the first is left), `already-flat`, `byte-order-mark`.
   */
  readonly note?: string;
}

/** The effect of the rules on a request's body. */
export type Records = edits.Records<RequestRuleName>;

/** The id in edits of a moved operation, in place of a change's. */
export const MOVED = 'moved-operation';

/** The id in edits that drop the name of another method, in place of a change's. */
export const METHOD_OVERRIDE = 'method-override';

/** True for an edit of the query, whose places are parameters. */
export function isOfQuery({ from, path }: Pick<EditRecord, 'from' | 'path'>): boolean {
  return (from ?? path)?.startsWith('?') === true;
}

/** True for an edit of the body, whose places are pointers. */
export function isOfBody(record: Pick<EditRecord, 'from' | 'path' | 'header'>): boolean {
  return record.header === undefined && !isOfQuery(record);
}

/** The places of an edit, before and after, as shown to people: a field name ends with its colon. */
export function placesOfEdit({
  from,
  path,
  header,
  to,
}: Pick<EditRecord, 'from' | 'path' | 'header' | 'to'>): { readonly from?: string; readonly path?: string } {
  if (header === undefined)
    return { ...(from === undefined ? {} : { from }), ...(path === undefined ? {} : { path }) };
  return { from: from ?? `${header}:`, ...(to === undefined ? {} : { path: `${to}:` }) };
}

/** The outcome of rewriting one body. `body` is for V2; if `unchanged`, it is the argument itself. */
export type Rewrite =
  | {
      readonly verdict: 'rewritten';
      readonly body: Uint8Array;
      /** Byte edits against the V1 body, in order, not overlapping. */
      readonly edits: readonly Edit[];
      readonly records: readonly EditRecord[];
      readonly patch: readonly PatchOperation[];
      /** Edits applied in addition to the recorded ones; if there are any, the patch is empty. */
      readonly omitted: number;
    }
  | {
      readonly verdict: 'unchanged';
      readonly body: Uint8Array;
      readonly records: readonly EditRecord[];
      /** The reason, such as the policy `flat: forward`. */
      readonly note?: string;
    }
  | { readonly verdict: 'refused'; readonly refusal: Refusal };

/** Refuses a body that is not JSON in UTF-8, or is nested deeper than `depth` levels. */
export function malformed(fault: JsonFault, depth: number): Refusal {
  const { offset, line, column, message } = fault;
  const found = { status: 400, position: { offset, line, column }, reason: message };
  if (fault.code === 'depth') return { ...tooDeep(depth), ...found };
  const detail =
    fault.code === 'utf-8'
      ? 'The body is not UTF-8: send JSON in UTF-8.'
      : 'The body is not valid JSON: send one JSON object.';
  return { code: 'malformed-json', detail, ...found };
}

/** True for the outcome for a body that is not JSON in UTF-8, or is nested too deeply, under any policy. */
export function isMalformed(outcome: Rewrite): boolean {
  if (outcome.verdict === 'rewritten') return false;
  const code = outcome.verdict === 'refused' ? outcome.refusal.code : outcome.note;
  return code === 'malformed-json' || code === 'too-deep';
}

/** Refuses a body that is nested deeper than `depth` levels. */
export function tooDeep(depth: number): Refusal {
  return { code: 'too-deep', status: 400, detail: `The body is nested too deep: at most ${depth} levels.` };
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

/** The result of one of several steps of rewriting a body. */
interface PatchedStep {
  readonly verdict?: string;
  readonly records?: readonly Pick<EditRecord, 'from' | 'path' | 'header' | 'note'>[] | undefined;
  readonly patch?: readonly PatchOperation[] | undefined;
  readonly omitted?: number | undefined;
}

/** The patch for several steps in order; empty if one of them has none, because the others then do not apply. */
export function joinedPatch(steps: readonly PatchedStep[]): readonly PatchOperation[] {
  const areSaid = steps.every(
    ({ records = [], patch = [], omitted = 0 }) =>
      omitted === 0 &&
      (patch.length > 0 ||
        records.every((record) => !isOfBody(record) || QUIET_NOTES.has(record.note ?? ''))),
  );
  return areSaid ? steps.flatMap(({ patch = [] }) => patch) : [];
}

/** Notes of edits that no patch contains, because the value stays the same. */
const QUIET_NOTES: ReadonlySet<string> = new Set(['already-flat', 'byte-order-mark', 'duplicate', 'value']);

/**
 * Returns the patch without the values that reveal something of the V1 body; the same list if there are none. Similar requests share
 * their patches, so the results are cached.
 */
export function withoutValues(patch: readonly PatchOperation[]): readonly PatchOperation[] {
  return patch.some(({ op }) => op === 'replace')
    ? patch.map((operation) =>
        operation.op === 'replace' ? { op: 'replace', path: operation.path } : operation,
      )
    : patch;
}

/** Returns the deprecated attributes in a request with these records, each once, in the order of the rules. */
export const deprecatedAttributes = /* @__PURE__ */ listedOnce(isAttribute);

/** Returns the attributes that V1 itself had deprecated: those that are stripped. Others only have another name or place in V2. */
export const deprecatedInV1 = /* @__PURE__ */ listedOnce(isStripped);

/** Whether the request had the wrapper, so that its pointers begin with it. */
export function isWrapped(records: readonly EditRecord[]): boolean {
  return wrapperOf(records) !== '';
}

/** Similar requests share their records, so each list is created once. */
function listedOnce(
  isListed: (record: EditRecord) => boolean,
): (records: readonly EditRecord[]) => readonly DeprecatedAttribute[] {
  const lists = new WeakMap<readonly EditRecord[], readonly DeprecatedAttribute[]>();
  return (records) => {
    const list = lists.get(records) ?? listOf(records, isListed);
    lists.set(records, list);
    return list;
  };
}

function isStripped(record: EditRecord): boolean {
  return lensNamed(record.rule)?.isDeprecating === true && isAttribute(record);
}

/** The name of another method in a form is not an attribute of V1. */
function isAttribute({ change }: EditRecord): boolean {
  return change !== METHOD_OVERRIDE;
}

function listOf(
  records: readonly EditRecord[],
  isListed: (record: EditRecord) => boolean,
): readonly DeprecatedAttribute[] {
  const wrapper = wrapperOf(records);
  const messages = new Map<string, string>();
  for (const record of records) {
    if (!isListed(record)) continue;
    const change = changeOf(record);
    if (change === undefined || record.from === undefined) continue;
    const attribute = dottedName(record.from.slice(wrapper.length));
    if (!messages.has(attribute)) messages.set(attribute, `${attribute} is deprecated: it ${change} in V2.`);
  }
  return [...messages].map(([attribute, message]) => ({ attribute, message }));
}

function wrapperOf(records: readonly EditRecord[]): string {
  const unwrapped = records.find(({ rule, note }) => isUnwrapping(rule) && note !== 'already-flat');
  return unwrapped?.from ?? '';
}

/** The change of the member in words; undefined for records that do not concern a deprecated attribute, such as those of the query. */
function changeOf(record: EditRecord): string | undefined {
  const { rule, path, note } = record;
  // A member that was dropped for another reason was not in its expected place.
  if (!isOfBody(record) || (path === undefined && note !== undefined)) return undefined;
  return lensNamed(rule)?.became?.(path?.split('/').slice(1).map(tokenName));
}

function dottedName(pointer: string): string {
  return pointerSteps(pointer).join('.');
}
