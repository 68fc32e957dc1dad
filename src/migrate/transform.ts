import { percentDecoded } from '../http/target.ts';
import { bytesOfText, textOfBytes } from '../json/names.ts';
import { isJsonObject } from '../json/values.ts';
import type { EditRecord, PatchOperation } from '../rewrite/records.ts';
import { pointerToken } from '../json/pointer.ts';
import { isTransformed, type Operation, type RuleBook } from '../rules/rule-book.ts';
import { valueWords } from '../rules/rule-book-fault.ts';
import { plainSpelling } from '../rules/rule.ts';
import { hasByteOrderMark } from '../json/document.ts';

/** Milliseconds for a transform, unless `limits.transform` of the rule book sets others. */
export const TRANSFORM_BUDGET_MS = 50;

/** The part of an exchange that its transform sees. */
export interface TransformContext {
  /** The id of the operation. */
  readonly operation: string;
  readonly method: string;
  /** The decoded parameters of the path, by their names in the operation's template. */
  readonly path: Readonly<Record<string, string>>;
  /** For a request the query after the rules, for a response the client's. */
  readonly query: URLSearchParams;
  /** The status of V2's response; undefined for a request. */
  readonly status: number | undefined;
}

/** The result of a transform's `request`: absent parts stay as they are, byte for byte. */
export interface TransformedRequest {
  readonly body?: unknown;
  readonly query?: URLSearchParams | string | Readonly<Record<string, string>>;
}

/** The result of a transform's `response`: absent parts stay as they are. */
export interface TransformedResponse {
  readonly body?: unknown;
  readonly status?: number;
}

/**
 * A module that a rule book names for an operation: `transform: ./pages.js`. A body is the parsed JSON value, undefined if there
 * is no body that rules read.
 */
export interface TransformModule {
  readonly request?: (
    body: unknown,
    context: TransformContext,
  ) => TransformedRequest | Promise<TransformedRequest>;
  readonly response?: (
    body: unknown,
    context: TransformContext,
  ) => TransformedResponse | Promise<TransformedResponse>;
}

/** One call of a transform, as data. */
export interface TransformJob extends Omit<TransformContext, 'query'> {
  readonly direction: 'request' | 'response';
  /** The module, as the rule book names it. */
  readonly module: string;
  /** Without its question mark. */
  readonly query: string;
  /** JSON; undefined if there is no body that rules read. */
  readonly body: Uint8Array | undefined;
  /** True for a request whose client sent a body that is not read as JSON: a form, or another media type. */
  readonly isUnread?: boolean;
}

export interface TransformResult {
  /** Undefined if it stays. */
  readonly body: Uint8Array | undefined;
  /** Without its question mark; undefined if it stays. */
  readonly query: string | undefined;
  readonly status: number | undefined;
  /** From the body before the transform to the one after it. */
  readonly patch: readonly PatchOperation[];
}

/** Why there is no result. */
export interface TransformFailure {
  /** What happened, without values: for the log. */
  readonly why: string;
  /** The same with the error's message, which may contain values of the body: for trying a rule book, never for the log. */
  readonly detail: string;
}

/** The outcome of a call. */
export type TransformOutcome = TransformResult | TransformFailure;

/** Calls the transforms of a rule book, within its budget. Never rejects because of a transform. */
export type RunTransform = (job: TransformJob) => Promise<TransformOutcome>;

/** Calls a transform and reads its result. An error that it throws is an outcome. */
export async function callTransform(module: TransformModule, job: TransformJob): Promise<TransformOutcome> {
  try {
    const { before, returned } = calledWith(module, job);
    return readReturned(job, before, await returned);
  } catch (error) {
    return failureOfError(job, error);
  }
}

/**
 * Calls a transform in this thread, within a budget: at once, unless it returns a promise. It cannot end a transform that never returns;
 * one that returns late counts as failed.
 */
export function callWithin(
  module: TransformModule,
  job: TransformJob,
  budgetMs: number,
): TransformOutcome | Promise<TransformOutcome> {
  const began = Date.now();
  try {
    const { before, returned } = calledWith(module, job);
    if (returned instanceof Promise) return settledWithin(returned, before, job, budgetMs);
    const outcome = readReturned(job, before, returned);
    return Date.now() - began > budgetMs ? tookTooLong(job, budgetMs) : outcome;
  } catch (error) {
    return failureOfError(job, error);
  }
}

async function settledWithin(
  returned: Promise<unknown>,
  before: unknown,
  job: TransformJob,
  budgetMs: number,
): Promise<TransformOutcome> {
  const { promise: late, resolve } = Promise.withResolvers<TransformFailure>();
  const timer = setTimeout(() => resolve(tookTooLong(job, budgetMs)), budgetMs);
  const outcome = returned
    .then((value) => readReturned(job, before, value))
    .catch((error: unknown) => failureOfError(job, error));
  try {
    return await Promise.race([outcome, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The outcome for a transform that returned a promise to a call that cannot wait. */
export function isAsynchronous(job: TransformJob): TransformFailure {
  return failed(job, 'returned a promise, and this call does not wait');
}

/** The call of an operation's transform; `rest` is the path below the prefix, and `query` has no question mark. */
export function transformJob(
  direction: TransformJob['direction'],
  { id, template, transform = '' }: Operation,
  {
    method,
    rest,
    query,
    status,
    body,
    isUnread = false,
  }: Pick<TransformJob, 'method' | 'query' | 'status' | 'body' | 'isUnread'> & { readonly rest: string },
): TransformJob {
  return {
    direction,
    module: transform,
    operation: id,
    method,
    path: pathParameters(template, rest),
    query,
    status,
    body,
    isUnread,
  };
}

/** True if the gateway transforms a response with that status. Errors have another shape, which the rules for errors handle. */
export function transformsStatus(book: RuleBook, operation: Operation | undefined, status: number): boolean {
  return status >= 200 && status < 300 && isTransformed(book, operation, 'response');
}

/** The query of a target, without its question mark. */
export function queryOf(target: string): string {
  const mark = target.indexOf('?');
  return mark === -1 ? '' : target.slice(mark + 1);
}

/** A target with the query of a transform; the target itself if the query stays. */
export function withQuery(target: string, query: string | undefined): string {
  if (query === undefined) return target;
  const [path = ''] = target.split('?', 1);
  return query === '' ? path : `${path}?${query}`;
}

/** The outcome of a call that took longer than its budget. */
export function tookTooLong(job: TransformJob, budgetMs: number): TransformFailure {
  return failed(job, `took longer than ${budgetMs} ms (limits: { transform })`);
}

/** Returns the parameters of a path below the prefix, decoded, by their names in the template. */
function pathParameters(template: string, rest: string): Readonly<Record<string, string>> {
  const [path = ''] = rest.split('?', 1);
  const segments = path.split('/');
  const named = template.split('/').flatMap((segment, at): (readonly [string, string])[] => {
    const isParameter = segment.startsWith('{') && segment.endsWith('}');
    return isParameter ? [[segment.slice(1, -1), parameterValue(segments[at] ?? '')]] : [];
  });
  return Object.fromEntries(named);
}

function parameterValue(segment: string): string {
  return percentDecoded(segment) ?? plainSpelling(segment);
}

/** The value before the call, and the transform's result, possibly a promise. */
interface Called {
  readonly before: unknown;
  readonly returned: unknown;
}

function calledWith(module: TransformModule, job: TransformJob): Called {
  const text = job.body === undefined ? undefined : textOfBytes(withoutMark(job.body));
  const { operation, method, path, query, status } = job;
  const context: TransformContext = { operation, method, path, query: new URLSearchParams(query), status };
  // Parsed twice, because the transform may change its argument.
  const before = valueOf(text);
  return { before, returned: module[job.direction]?.(valueOf(text), context) };
}

function valueOf(text: string | undefined): unknown {
  // oxlint-disable-next-line no-restricted-properties -- a transform is the one place where a body is a value: rule books say so
  return text === undefined ? undefined : JSON.parse(text);
}

function withoutMark(body: Uint8Array): Uint8Array {
  return hasByteOrderMark(body) ? body.subarray(3) : body;
}

const KEYS = { request: ['body', 'query'], response: ['body', 'status'] } as const;

function readReturned(job: TransformJob, before: unknown, value: unknown): TransformOutcome {
  if (!isJsonObject(value)) {
    return failed(
      job,
      `returned ${valueWords(value)}; it returns an object with ${KEYS[job.direction].join(', ')}, all optional`,
    );
  }
  const unknown = Object.keys(value).find((key) => !KEYS[job.direction].some((known) => known === key));
  if (unknown !== undefined)
    return failed(
      job,
      `returned a member that is none of ${KEYS[job.direction].join(', ')}`,
      JSON.stringify(unknown),
    );
  // Only its own members: a module with a prototype pollution bug would add others to every later object.
  const made: Readonly<Record<string, unknown>> = { __proto__: null, ...value };
  const { body: after, status } = made;
  const query = queryText(made['query']);
  if (query === null)
    return failed(job, 'returned a query that is not a URLSearchParams, a text or an object of texts');
  if (status !== undefined && !isFinalStatus(status))
    return failed(job, 'returned a status outside 200 to 599');
  if (after === undefined) return { body: undefined, query, status, patch: [] };
  if (job.isUnread === true)
    return failed(job, 'returned a body in place of one that it did not get, because that one is not JSON');
  const text: unknown = JSON.stringify(after);
  if (typeof text !== 'string') return failed(job, 'returned a body that JSON cannot express');
  const patch: PatchOperation[] = [];
  addDifferences(before, valueOf(text), '', patch);
  if (before !== undefined && patch.length === 0) return { body: undefined, query, status, patch: [] };
  return { body: bytesOfText(text), query, status, patch };
}

function isFinalStatus(status: unknown): status is number {
  return typeof status === 'number' && Number.isInteger(status) && status >= 200 && status <= 599;
}

/** Undefined if the query stays, null for a value that is not a query. */
function queryText(query: unknown): string | undefined | null {
  if (query === undefined) return undefined;
  if (query instanceof URLSearchParams) return query.toString();
  if (typeof query === 'string') return new URLSearchParams(query).toString();
  if (typeof query !== 'object' || query === null) return null;
  const made = new URLSearchParams();
  for (const entry of Object.entries(query)) {
    const [name, value]: [string, unknown] = entry;
    if (value === undefined || value === null) continue;
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return null;
    made.append(name, String(value));
  }
  return made.toString();
}

/** Adds the RFC 6902 operations that turn one JSON value into another: for the innermost differences, but whole lists. */
function addDifferences(before: unknown, after: unknown, path: string, patch: PatchOperation[]): void {
  if (Object.is(before, after)) return;
  if (isJsonObject(before) && isJsonObject(after)) {
    for (const name of Object.keys(before))
      if (!Object.hasOwn(after, name)) patch.push({ op: 'remove', path: `${path}/${pointerToken(name)}` });
    for (const [name, value] of Object.entries(after)) {
      const inside = `${path}/${pointerToken(name)}`;
      if (Object.hasOwn(before, name)) addDifferences(before[name], value, inside, patch);
      else patch.push({ op: 'add', path: inside, value });
    }
    return;
  }
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    for (const [at, value] of after.entries()) addDifferences(before[at], value, `${path}/${at}`, patch);
    return;
  }
  patch.push({ op: before === undefined ? 'add' : 'replace', path, value: after });
}

/** `words` may contain values of the body. */
function failed(job: TransformJob, what: string, words = ''): TransformFailure {
  const why = `${job.direction} of ${job.module} ${what}`;
  return { why, detail: words === '' ? why : `${why}: ${words}` };
}

/** The names of errors of the language and the platform. A module may make other names from values. */
const ERROR_NAMES: ReadonlySet<string> = new Set([
  'Error',
  'TypeError',
  'RangeError',
  'SyntaxError',
  'ReferenceError',
  'EvalError',
  'URIError',
  'AggregateError',
  'AbortError',
  'DataCloneError',
  'InvalidCharacterError',
  'TimeoutError',
]);

/** An error's message may contain values of the body, and so may its name or stack if the module has set them. */
function failureOfError(job: TransformJob, error: unknown): TransformFailure {
  if (!(error instanceof Error))
    return failed(
      job,
      `threw ${typeof error}`,
      wordsOf(() => String(error)),
    );
  // Any property of an error may be a getter that throws.
  const name = wordsOf(() => error.name);
  const words = wordsOf(() => error.message);
  const line = lineOf(
    wordsOf(() => error.stack ?? ''),
    words,
  );
  const known = ERROR_NAMES.has(name) ? name : 'an error of another name';
  const ownName = known === name || name === '' ? '' : `${name}: `;
  return failed(job, `threw ${known}${line === undefined ? '' : ` at line ${line}`}`, `${ownName}${words}`);
}

function wordsOf(read: () => unknown): string {
  try {
    return String(read());
  } catch {
    return '';
  }
}

/** The first line of the module in a stack, after the text of its error: that of the transform, which is the innermost frame. */
export function lineOf(stack: string, words = ''): string | undefined {
  const head = stack.indexOf(words);
  const frames = head === -1 ? '' : stack.slice(head + words.length);
  return /(?:data:[^\s:]+|\.[cm]?js):(\d{1,7}):\d/.exec(frames)?.[1];
}

/**
 * Returns the edits that a transform made, for people: one for a changed body, and one for each name of a changed query parameter.
 * `query` is the query before the transform; undefined for a response.
 */
export function transformRecords(
  result: TransformResult,
  query: string | undefined,
): readonly (EditRecord & { readonly rule: 'transform' })[] {
  const rule = { change: 'transform', rule: 'transform' } as const;
  const ofBody = result.body === undefined ? [] : [{ ...rule, from: '', path: '' }];
  if (query === undefined || result.query === undefined) return ofBody;
  const before = new URLSearchParams(query);
  const after = new URLSearchParams(result.query);
  const names = [...new Set([...before.keys(), ...after.keys()])].filter((name) => name !== '');
  const ofQuery = names.flatMap((name) => {
    if (before.getAll(name).join('&') === after.getAll(name).join('&')) return [];
    return [
      {
        ...rule,
        ...(before.has(name) ? { from: `?${name}` } : {}),
        ...(after.has(name) ? { path: `?${name}` } : {}),
      },
    ];
  });
  return [...ofQuery, ...ofBody];
}
