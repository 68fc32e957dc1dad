import type { Declared, DeclaredBack, DeclaredNames, Place, SourcePath } from './kinds/book.ts';
import type { RuleBookSource, RuleForms, WrittenForms } from './rule-book-source.ts';
import { type Change, isRewritten, type Operation } from './rule-book.ts';
import type {
  HeaderRule,
  InverseRule,
  QueryRule,
  RequestRule,
  ResponseHeaderRule,
  ResponseRule,
  StatusPattern,
} from './rule.ts';

/** A request rule and its position in the source. */
export type DeclaredRule = Declared<RequestRule>;

/** A query rule and its position in the source. */
export type DeclaredQueryRule = DeclaredNames<QueryRule>;

/** A header rule of a request or a response, and its position in the source. */
export interface DeclaredHeaderRule extends DeclaredNames<HeaderRule> {
  /** The statuses of responses that it applies to; undefined for all, and for requests. */
  readonly status: readonly StatusPattern[] | undefined;
}

/** A response rule and its position in the source. */
export interface DeclaredResponseRule extends DeclaredBack<ResponseRule> {
  readonly path: SourcePath;
}

/** A change and the positions of its parts in the source. */
export interface DeclaredChange {
  readonly change: Change;
  readonly path: SourcePath;
  readonly request: readonly DeclaredRule[];
  readonly query: readonly DeclaredQueryRule[];
  readonly headers: readonly DeclaredHeaderRule[];
  readonly responseHeaders: readonly DeclaredHeaderRule[];
  readonly response: readonly DeclaredResponseRule[];
  /** False if the source has no rules of any kind, not even an empty list. */
  readonly hasRules: boolean;
}

type ChangeSource = RuleBookSource['changes'][number];

const INVERSE: InverseRule = { rule: 'inverse', status: ['2xx'] };

/** The source of a rule book as written, and the forms of its rules. */
export interface Written extends Pick<Place, 'json' | 'number'> {
  readonly forms: RuleForms;
}

/** Converts the source of a change; `index` is its position in the source. */
export function declareChange(source: ChangeSource, index: number, written: Written): DeclaredChange {
  const path = ['changes', index];
  const { forms } = written;
  const request = declared(source.request, [...path, 'request'], forms.request, written);
  const response = declareResponse(source.response, [...path, 'response'], written);
  const query = declared(source.query, [...path, 'query'], forms.query, written).filter(
    ({ parts }) => parts.length > 0,
  );
  const headers = declareHeaders(source.headers, [...path, 'headers'], undefined, written);
  const responseHeaders = declareResponseHeaders(source.response, [...path, 'response'], written);
  const change: Change = {
    id: source.id,
    summary: source.summary,
    on: source.on,
    request: request.map(({ rule }) => rule),
    ...(query.length === 0 ? {} : { query: query.map(({ rule }) => rule) }),
    ...(headers.length === 0 ? {} : { headers: headers.map(({ rule }) => rule) }),
    ...(responseHeaders.length === 0 ? {} : { responseHeaders: responseHeaders.flatMap(ofResponse) }),
    response: response.map(({ rule }) => rule),
    policies: source.policies ?? {},
    assumed: source.assumed ?? false,
  };
  const hasRules = [source.request, source.query, source.headers, source.response].some(
    (rules) => rules !== undefined,
  );
  return { change, path, request, query, headers, responseHeaders, response, hasRules };
}

/** The rules of a list, each read by the form for its name. */
function declared<Rule>(
  sources: readonly object[] = [],
  path: SourcePath,
  forms: WrittenForms<Rule>,
  { json, number }: Written,
): readonly Rule[] {
  return sources.flatMap((source, at) =>
    read(source, forms, { path: [...path, at], status: [], json, number }),
  );
}

function read<Rule>(source: object, forms: WrittenForms<Rule>, place: Place): readonly Rule[] {
  const [, form] = [...forms].find(([word]) => Object.hasOwn(source, word)) ?? [];
  return form?.read(source, place) ?? [];
}

/** `inverse` may be the whole value, or an element of the list. */
function declareResponse(
  source: ChangeSource['response'] = [],
  path: SourcePath,
  { json, number, forms }: Written,
): readonly DeclaredResponseRule[] {
  if (source === 'inverse') return [{ rule: INVERSE, path }];
  return source.flatMap((written, index): readonly DeclaredResponseRule[] => {
    const at = [...path, index];
    if (written === 'inverse') return [{ rule: INVERSE, path: at }];
    if (Object.hasOwn(written, 'inverse')) {
      const hasNulls = Reflect.get(written, 'members') === null;
      return [{ rule: hasNulls ? { ...INVERSE, members: 'null' } : INVERSE, path: at }];
    }
    const [, form] = [...forms.response].find(([word]) => Object.hasOwn(written, word)) ?? [];
    if (form === undefined) return [];
    const status = statusesOf(written) ?? form.usual ?? ['2xx'];
    return form.read(written, { path: at, status, json, number }).map((rule) => ({ ...rule, path: at }));
  });
}

function declareHeaders(
  sources: readonly object[] | undefined,
  path: SourcePath,
  status: readonly StatusPattern[] | undefined,
  written: Written,
): readonly DeclaredHeaderRule[] {
  return declared(sources, path, written.forms.headers, written).map((rule) => ({ ...rule, status }));
}

function declareResponseHeaders(
  source: ChangeSource['response'] = [],
  path: SourcePath,
  written: Written,
): readonly DeclaredHeaderRule[] {
  if (source === 'inverse') return [];
  return source.flatMap((listed, at) => {
    const rules: unknown = listed === 'inverse' ? undefined : Reflect.get(listed, 'headers');
    if (listed === 'inverse' || !Array.isArray(rules)) return [];
    const own = rules.filter((rule) => typeof rule === 'object' && rule !== null);
    return declareHeaders(own, [...path, at, 'headers'], statusesOf(listed), written);
  });
}

/** The statuses of a response rule in the source; undefined if it names none. */
function statusesOf(source: object): readonly StatusPattern[] | undefined {
  const status: unknown = Reflect.get(source, 'status');
  return status === undefined ? undefined : [status].flat().filter(isStatus);
}

function isStatus(value: unknown): value is StatusPattern {
  return typeof value === 'number' || value === '2xx' || value === '4xx' || value === '5xx';
}

/** No response rule is for a query: the schema allows none. */
function ofResponse({ rule, status }: DeclaredHeaderRule): readonly ResponseHeaderRule[] {
  return 'parameter' in rule ? [] : [{ rule, status }];
}

/** Requests to which the same changes apply: those of some operations, or all others, to which only `every` applies. */
export interface OperationContext<Declared> {
  /** Empty for requests to which only `every` applies. */
  readonly operations: readonly string[];
  /** In the order of the rule book. */
  readonly changes: readonly Declared[];
}

/** Groups requests by the changes that apply to them; `on: every` is POST and PATCH only. */
export function operationContexts<Declared extends { readonly change: Change }>(
  changes: readonly Declared[],
  operations: readonly Operation[],
): readonly OperationContext<Declared>[] {
  const every = changes.flatMap(({ change }, index) => (change.on === 'every' ? [index] : []));
  const byOperation = new Map<string, number[]>();
  for (const [index, { change }] of changes.entries()) {
    for (const id of change.on === 'every' ? [] : new Set(change.on)) {
      const indexes = byOperation.get(id) ?? [];
      byOperation.set(id, indexes);
      indexes.push(index);
    }
  }
  // Ten thousand operations with the same changes form one context, checked once.
  const byIndexes = new Map<string, { operations: string[]; indexes: readonly number[] }>();
  byIndexes.set('', { operations: [], indexes: every });
  for (const { id, method } of operations) {
    const specific = byOperation.get(id);
    if (specific === undefined) continue;
    const isWrite = isRewritten(method);
    const key = `${isWrite ? '*' : ''} ${specific.join(' ')}`;
    const context = byIndexes.get(key) ?? {
      operations: [],
      indexes: isWrite ? merged(every, specific) : specific,
    };
    byIndexes.set(key, context);
    context.operations.push(id);
  }
  return [...byIndexes.values()].map((context) => ({
    operations: context.operations,
    changes: context.indexes.flatMap((index) => changes[index] ?? []),
  }));
}

function merged(one: readonly number[], other: readonly number[]): readonly number[] {
  return [...one, ...other].sort((a, b) => a - b);
}
