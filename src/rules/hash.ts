import { DEFAULT_PREFIXES } from '../http/target.ts';
import { printScalar } from '../json/names.ts';
import type { Conversion } from './kinds/convert.ts';
import { parametersIn } from './move.ts';
import {
  type Change,
  movesLinks,
  type Operation,
  type Policies,
  type RuleBook,
  type RuleBookLimits,
} from './rule-book.ts';
import {
  type HeaderRule,
  type MappedValue,
  type RequestRule,
  type ResponseRule,
  templateShape,
} from './rule.ts';

/** Digits of a hash, and those of them that are the same for two books with the same rules. */
const DIGITS = 16;
const RULE_DIGITS = 8;

/**
 * Computes the 16 hex digits that identify a rule book's effect, from SHA-256. Summaries, assumptions, the order of operations and the
 * names of path parameters have no effect, so they do not change the hash. Modes and the dates of V1's end change only its second half:
 * see {@link rulesHash}.
 */
export async function hashRuleBook(book: Omit<RuleBook, 'hash'>): Promise<string> {
  const { rollout: _, ...rules } = book;
  const own = await digestOfMeaning(rules);
  return book.rollout === undefined
    ? own
    : own.slice(0, RULE_DIGITS) + (await digestOfMeaning(book)).slice(0, DIGITS - RULE_DIGITS);
}

/** The part of a rule book's hash that identifies what it does to requests: what was learned from dry runs holds as long as it is the same. */
export function rulesHash(hash: string): string {
  return hash.slice(0, RULE_DIGITS);
}

async function digestOfMeaning(book: Omit<RuleBook, 'hash'>): Promise<string> {
  const meaning = JSON.stringify([
    book.version ?? null,
    book.operations
      .map((operation): readonly [id: string, ...meaning: unknown[]] => [
        operation.id,
        operation.method,
        templateShape(operation.template),
        ...(operation.embeds === undefined ? [] : [operation.embeds]),
        ...moveMeaning(operation),
        ...(operation.gone === undefined ? [] : [{ gone: operation.gone }]),
        ...(operation.resource === undefined ? [] : [{ resource: operation.resource }]),
        // A transform reads the parameters by their names.
        ...(operation.transform === undefined ? [] : [operation.transform, operation.template]),
      ])
      .sort(byFirst),
    book.changes.map((change) => meaningOf(change, book.policies)),
    [
      book.policies.malformed,
      book.policies.unsupported,
      ...(book.policies.forms === 'rewrite' ? [] : ['forms']),
      ...(book.policies.media === 'known' ? [] : [{ media: book.policies.media }]),
      ...(book.policies['half-close'] === 'abort' ? [] : ['half-close']),
      ...(book.policies.signed === 'forward' ? [] : ['signed']),
      ...(book.policies.future === 'forward' ? [] : ['future']),
    ],
    [book.limits.depth, book.limits.body, book.limits.response],
    ...(book.rollout === undefined ? [] : [book.rollout]),
    ...(book.versionField === undefined ? [] : [{ version: book.versionField }]),
    ...(['errors', 'client', 'refusals', 'cors', 'resource'] as const).flatMap((name) =>
      book[name] === undefined ? [] : [{ [name]: book[name] }],
    ),
    ...webhookMeaning(book),
    ...targetMeaning(book),
    ...(book.limits.transform === undefined ? [] : [{ transform: book.limits.transform }]),
    ...lookupMeaning(book.limits),
    ...(book.modules === undefined ? [] : [{ modules: book.modules }]),
  ]);
  return digestOf(new TextEncoder().encode(meaning), DIGITS / 2);
}

function lookupMeaning(limits: RuleBookLimits): readonly unknown[] {
  const { 'lookup-requests': requests, 'lookup-parallel': parallel, 'lookup-time': time } = limits;
  const set = [requests, parallel, time];
  return set.every((limit) => limit === undefined) ? [] : [{ lookups: set.map((limit) => limit ?? null) }];
}

/** The names of parameters matter here: they say which one goes where. */
function moveMeaning({ template, query, to, status }: Operation): readonly unknown[] {
  // With a query or steps, names occur in several places.
  if (query !== undefined || to?.steps !== undefined) return [{ template, query, to, status }];
  if (to === undefined && status === undefined) return [];
  const names = parametersIn(template);
  const places =
    to &&
    [...to.path, ...to.query.map(({ value }) => value)].map(({ before, parameter, after }) => [
      before,
      parameter === undefined ? null : names.indexOf(parameter),
      after,
    ]);
  return [[to?.method, places, to?.query.map(({ name }) => name), status]];
}

/** Nothing for a book with the default prefixes, so that its hash is the same as before prefixes could be configured. */
function targetMeaning({
  from,
  alsoFrom = [],
  to,
  other,
  override,
  followsBodyLinks,
  linkFields,
  operations,
}: Omit<RuleBook, 'hash'>): readonly unknown[] {
  const isUsual =
    from === DEFAULT_PREFIXES.v1 && alsoFrom.length === 0 && to === DEFAULT_PREFIXES.v2 && other === 'refuse';
  // The operation that a link leads back to may depend on their order.
  const order = operations.some((operation) => operation.to !== undefined) && operations.map(({ id }) => id);
  const drops = override === 'drop' ? [{ override }] : [];
  const links =
    followsBodyLinks === movesLinks({ from, to, operations, ...(alsoFrom.length > 0 && { alsoFrom }) })
      ? []
      : [{ followsBodyLinks }];
  return [
    ...drops,
    ...links,
    ...(linkFields === undefined
      ? []
      : [{ linkFields: linkFields.map((name) => name.toLowerCase()).toSorted() }]),
    ...(isUsual ? [] : [{ from, ...(alsoFrom.length === 0 ? {} : { alsoFrom }), to, other }]),
    ...(order === false ? [] : [{ order }]),
  ];
}

function webhookMeaning({ webhooks }: Omit<RuleBook, 'hash'>): readonly unknown[] {
  if (webhooks === undefined) return [];
  const all = Object.entries(webhooks).map(([name, { to, as, gateway, sign }]) => {
    const links = gateway === undefined ? [] : [gateway];
    return [name, to, as ?? null, sign.scheme, sign.verify, sign.with, ...links] as const;
  });
  return [{ webhooks: all.toSorted(byFirst) }];
}

function byFirst(
  one: readonly [id: string, ...unknown[]],
  other: readonly [id: string, ...unknown[]],
): number {
  return one[0] < other[0] ? -1 : 1;
}

function meaningOf(change: Change, policies: Policies): unknown {
  const { flat, siblings, conflict, duplicate, wrapper, value } = { ...policies, ...change.policies };
  return [
    change.id,
    change.on === 'every' ? change.on : change.on.toSorted(),
    change.request.map(requestMeaning),
    change.response.map(responseMeaning),
    [flat, siblings, conflict, duplicate, wrapper, ...(value === 'refuse' ? [] : [value])],
    ...(change.query === undefined ? [] : [change.query.map((rule) => partsOf(rule, QUERY_PARTS))]),
    ...(change.headers === undefined && change.responseHeaders === undefined
      ? []
      : [
          {
            headers: change.headers?.map(headerMeaning),
            response: change.responseHeaders?.map(({ rule, status }) => [
              headerMeaning(rule),
              status ?? null,
            ]),
          },
        ]),
  ];
}

const REQUEST_PARTS =
  /* @__PURE__ */ 'rule member members in under to with at json values conversion elements'.split(' ');
const QUERY_PARTS = /* @__PURE__ */ 'rule parameter parameters to text values with sign conversion'.split(
  ' ',
);
const RESPONSE_PARTS =
  /* @__PURE__ */ 'rule members path as to with at json values conversion elements status address take absent'.split(
    ' ',
  );

/** The parts of a rule that it has, in this order, and then any others. The decoded value adds nothing to `json`. */
function partsOf(
  rule: {
    readonly rule: string;
    readonly values?: readonly MappedValue[];
    readonly conversion?: Conversion;
  },
  names: readonly string[],
): readonly unknown[] {
  const values = rule.values && valuesMeaning(rule.values);
  const conversion = rule.conversion && conversionMeaning(rule.conversion);
  const parts = new Map<string, unknown>(Object.entries({ ...rule, values, conversion }));
  const others = [...parts.keys()].filter((name) => name !== 'value' && !names.includes(name)).toSorted();
  return [...names, ...others].map((name) => parts.get(name)).filter((part) => part !== undefined);
}

function requestMeaning(rule: RequestRule): unknown {
  if ('from' in rule) return [rule.rule, [...rule.in, ...rule.from], [...rule.in, ...rule.to]];
  return partsOf(rule, REQUEST_PARTS);
}

function conversionMeaning(conversion: Conversion): unknown {
  // The forms of a date follow from their names.
  return Object.entries(conversion)
    .filter(([part]) => part !== 'forms')
    .sort(byFirst);
}

function headerMeaning(rule: HeaderRule): unknown {
  return 'values' in rule ? [rule.rule, rule.field, valuesMeaning(rule.values)] : rule;
}

function valuesMeaning(values: readonly MappedValue[]): unknown {
  return values.map(({ from, to }) => [printScalar(from), printScalar(to)] as const).sort(byFirst);
}

function responseMeaning(rule: ResponseRule): unknown {
  if (rule.rule === 'inverse')
    return [rule.rule, rule.status, ...(rule.members === undefined ? [] : [rule.members])];
  if ('details' in rule) return [rule.rule, Object.entries(rule.details).toSorted(byFirst), rule.status];
  if ('from' in rule)
    return [rule.rule, [...rule.path, ...rule.from], [...rule.path, ...rule.to], rule.status];
  // Marks a sub-object whose members all move.
  if ('members' in rule && !('to' in rule)) return [rule.rule, rule.path, rule.members ?? null, rule.status];
  return partsOf(rule, RESPONSE_PARTS);
}

/** The first `length` bytes of the SHA-256 of `bytes`, in hex. The runtime computes it off the event loop. */
export async function digestOf(bytes: Uint8Array, length: number): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new Uint8Array(bytes));
  return hexOf(new Uint8Array(digest, 0, length));
}

/** Bytes in lower-case hex. */
export function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
