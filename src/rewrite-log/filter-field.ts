import type { Entry } from './entry.ts';

/**
 * The fields of the filter language, with a short description. `client:3fa9 op:order_floor_plan change:property-address
 * status:4xx verdict:refused`
 */
export const FILTER_FIELDS = {
  client: 'first digits of the client hash; - for none',
  op: 'operation; a trailing * matches any ending; - for none',
  change: 'id of a change that made an edit',
  rule: 'unwrap, nest, rename, strip, only or map',
  status: '404, 4xx, 400-451 or >=500',
  verdict: 'rewritten, unchanged, refused or passed',
  route: 'migrate, pass or none; v1 and v2 work too',
  method: 'HTTP method of the request',
  path: 'part of the V1 or V2 path',
  failure: 'code of the failure; * for any',
  note: 'part of a note of the entry or of an edit',
  version: 'the x-api-version sent, or why: absent, invalid, client, pin',
  id: 'first characters of the request id or trace id',
  ms: 'total duration: >250, 10-20',
  edits: 'number of edits: 0, >3',
} as const;

/** Name of a filter field. */
export type FilterField = keyof typeof FILTER_FIELDS;

/** Returns whether an entry matches. */
export type FilterTest = (entry: Entry) => boolean;

/** An invalid value of a field, explained in a sentence. */
export interface ValueFault {
  readonly message: string;
}

/** True for the lower-case name of a filter field. */
export function isFilterField(name: string): name is FilterField {
  return Object.hasOwn(FILTER_FIELDS, name);
}

/** Makes the test of one value of a field. `value` is in lower case. */
export function fieldTest(field: FilterField, value: string): FilterTest | ValueFault {
  switch (field) {
    case 'client':
      return value === '-'
        ? (entry) => entry.client === undefined
        : (entry) => entry.client?.startsWith(value) === true;
    case 'op':
      return value === '-'
        ? (entry) => entry.operation === undefined
        : (entry) => isLike(entry.operation, value);
    case 'change':
      return (entry) => entry.edits.some((edit) => isLike(edit.change, value));
    case 'rule':
      return (entry) => entry.edits.some((edit) => edit.rule === value);
    case 'verdict':
      return (entry) => isLike(entry.verdict, value);
    case 'route':
      return (entry) => entry.route === (ROUTES[value] ?? value);
    case 'method':
      return (entry) => entry.method.toLowerCase() === value;
    case 'path':
      return pathTest(value);
    case 'failure':
      return (entry) => isLike(entry.failure, value);
    case 'note':
      return (entry) => contains(entry.note, value) || entry.edits.some((edit) => contains(edit.note, value));
    case 'version':
      return ({ apiVersion }) => apiVersion?.why === value || apiVersion?.sent.startsWith(value) === true;
    case 'id':
      return (entry) =>
        entry.requestId.toLowerCase().startsWith(value) || entry.traceId?.startsWith(value) === true;
    case 'status':
      return /^[1-5]xx$/.test(value)
        ? (entry) => Math.floor(entry.status / 100) === Number(value[0])
        : amount(field, value, (entry) => entry.status);
    case 'ms':
      return amount(field, value, (entry) => entry.totalMs);
    case 'edits':
      return amount(field, value, (entry) => entry.edits.length);
  }
}

const ROUTES: Readonly<Record<string, string>> = { v1: 'migrate', v2: 'pass' };

function isLike(text: string | undefined, value: string): boolean {
  if (text === undefined) return false;
  const lower = text.toLowerCase();
  return value.endsWith('*') ? lower.startsWith(value.slice(0, -1)) : lower === value;
}

function contains(text: string | undefined, value: string): boolean {
  return text?.toLowerCase().includes(value) === true;
}

/** Matches a part of the V1 or V2 path, case-insensitively. */
export function pathTest(value: string): FilterTest {
  const lower = value.toLowerCase();
  return (entry) => contains(entry.path, lower) || contains(entry.upstreamPath, lower);
}

function amount(field: FilterField, value: string, of: (entry: Entry) => number): FilterTest | ValueFault {
  const match =
    /^(?:(?<sign>[<>]=?)(?<bound>\d+(?:\.\d+)?)|(?<low>\d+(?:\.\d+)?)(?:-(?<high>\d+(?:\.\d+)?))?)$/.exec(
      value,
    );
  if (match?.groups === undefined)
    return { message: `${field}: wants ${FILTER_FIELDS[field]}, not ${value}.` };
  const { sign, bound, low, high } = match.groups;
  const limit = Number(bound);
  if (sign === '>') return (entry) => of(entry) > limit;
  if (sign === '>=') return (entry) => of(entry) >= limit;
  if (sign === '<') return (entry) => of(entry) < limit;
  if (sign === '<=') return (entry) => of(entry) <= limit;
  return (entry) => of(entry) >= Number(low) && of(entry) <= Number(high ?? low);
}
