import { decodeQueryText, valuesInQuery } from '../http/target.ts';
import type { RulePolicies } from '../edits/run.ts';
import type { Destination, DestinationParameter, StatusMapping } from './move.ts';
import type { RefusalForm } from './refusal-form.ts';
import type { Rollout } from './rollout.ts';
import {
  type HeaderRule,
  looseSpelling,
  type Path,
  plainSpelling,
  type QueryRule,
  readTemplate,
  type RequestRule,
  type ResponseHeaderRule,
  type ResponseRule,
} from './rule.ts';
import type { ErrorForm } from './kinds/errors.ts';

/** A V1 operation: a method and a path template below V1's prefix, such as `PATCH /properties/{id}`. */
export interface Operation {
  readonly id: string;
  readonly method: string;
  readonly template: string;
  /** Parameters of the query that a request must have to be this operation; absent for none. */
  readonly query?: readonly DestinationParameter[];
  /** V2's place of the operation, if it moved; absent if V2 has it at the same path. */
  readonly to?: Destination;
  /** Statuses that V1 clients get instead of V2's; absent for none. */
  readonly status?: readonly StatusMapping[];
  /** The message of the 410 for V1 clients, if V2 does not have the operation; absent if V2 has it. */
  readonly gone?: string;
  /** True if neither the specification nor the documentation shows it. */
  readonly assumed: boolean;
  /** The path to the resource in its responses, empty for the body itself; absent for that of the rule book. */
  readonly resource?: Path;
  /** Other resources that responses of this operation's resource contain; absent for none. */
  readonly embeds?: readonly Embedding[];
  /** The module for conversions that no rule can describe, as a path from the rule book's folder; absent for none. */
  readonly transform?: string;
}

/** A place where the responses of one resource contain another. */
export interface Embedding {
  /** The path from the resource to the embedded one, or to each of a list of them. */
  readonly path: Path;
  /** The id of an operation that writes the embedded resource. */
  readonly operation: string;
}

/** A module that operations name as their `transform`. */
export interface TransformSource {
  /** The functions that it exports. */
  readonly exports: readonly TransformDirection[];
  /** Its text; absent if it is linked or bundled. */
  readonly text?: string;
}

/** The functions that a transform may export. */
export type TransformDirection = 'request' | 'response';

/** How to handle cases where the specification leaves a choice. */
export interface Policies extends RulePolicies {
  /** Not JSON, not UTF-8, or nested deeper than the limit. */
  readonly malformed: 'refuse' | 'forward';
  /** A charset or content coding that the gateway cannot read. */
  readonly unsupported: 'refuse' | 'forward';
  /** Forms: rewritten by the request rules like JSON, or forwarded unchanged. */
  readonly forms: 'rewrite' | 'forward';
  /**
   * Whether JSON of V2 under another media type is rewritten: never, under types that often hide JSON, or under any type, by the first
   * byte.
   */
  readonly media: 'strict' | 'known' | 'sniff';
  /** Whether a request that its client signed is forwarded, although the gateway changes what was signed, or refused. */
  readonly signed: 'forward' | 'refuse';
  /** Whether a client that closes its side of the connection after its request counts as gone, or gets its response. */
  readonly 'half-close': 'abort' | 'answer';
  /** Whether V2 gets an `x-api-version` with a day in the future, or the release of the rule book instead. */
  readonly future: 'forward' | 'replace';
}

/** Limits for rewriting bodies. */
export interface RuleBookLimits {
  /** Maximum levels of nesting. */
  readonly depth: number;
  /** Maximum bytes of a request body to rewrite, after decoding. */
  readonly body: number;
  /** Maximum bytes of a response body to rewrite, after decoding. */
  readonly response: number;
  /** Maximum milliseconds of a transform; 50 when absent. */
  readonly transform?: number;
  /** Limits of the lookups of one response: requests in total and at a time, and milliseconds for all; see `LOOKUP_LIMITS`. */
  readonly 'lookup-requests'?: number;
  readonly 'lookup-parallel'?: number;
  readonly 'lookup-time'?: number;
}

/** A named change from V1 to V2: the unit of the log, the inspector, the metrics and the docs. */
export interface Change {
  readonly id: string;
  /** What changes, in one sentence. */
  readonly summary: string;
  /**
   * `every` is any POST or PATCH with a JSON body, whether or not its operation is listed, and for header rules any request; otherwise
   * operation ids.
   */
  readonly on: 'every' | readonly string[];
  readonly request: readonly RequestRule[];
  /** Absent without query rules. */
  readonly query?: readonly QueryRule[];
  /** Absent without header rules. Here, `every` means any V1 request, with any method. */
  readonly headers?: readonly HeaderRule[];
  /** Absent without header rules for responses; does not contain the inverse ones. */
  readonly responseHeaders?: readonly ResponseHeaderRule[];
  readonly response: readonly ResponseRule[];
  /** Policies for the rules of this change only, which override those of the rule book. */
  readonly policies: Partial<Policies>;
  readonly assumed: boolean;
}

/** Deliveries from V2 to a subscriber that was built for V1. */
export interface Webhook {
  /** The address of the subscriber. */
  readonly to: string;
  /** The id of the operation whose rules for responses rewrite the body; absent if it stays as V2 wrote it. */
  readonly as?: string;
  /** Scheme and host at which the subscriber reaches V1; absent for the one that V2 posts to. */
  readonly gateway?: string;
  readonly sign: {
    readonly scheme: 'standard-webhooks';
    /** Names of environment variables with the secrets of V2's signatures. */
    readonly verify: readonly string[];
    /** The same for the subscriber, which gets one signature for each. */
    readonly with: readonly string[];
  };
}

/** The path below which V2 posts deliveries to the gateway, followed by the name of the webhook. */
export const WEBHOOK_PATH = '/webhooks';

/** The header field that names V2's release by default. */
export const VERSION_HEADER = 'x-api-version';

/** How requests to V2 name its release. */
export interface VersionField {
  /** The name of the header field, in lower case; absent if the release is named elsewhere. */
  readonly header?: string;
  /** The query parameter, decoded; absent if the release is named elsewhere. */
  readonly query?: string;
  /** The media types in Accept and Content-Type, with {} for the release; absent if the release is named elsewhere. */
  readonly accept?: string;
  /** `date` for a day; with `text`, any value of the client is valid. */
  readonly form: 'date' | 'text';
  /** The values that V1's clients send: V2's own clients send none of them, and V2 gets none. Absent if the book lists none. */
  readonly v1?: readonly string[];
}

/** The place of a client's key in V1 requests: a header field, as the book spells it, or a query parameter, decoded. */
export type ClientField = { readonly header: string } | { readonly query: string };

/** True if V2's links differ from V1's: the prefix or a path changes. */
export function movesLinks({
  from,
  alsoFrom,
  to,
  operations,
}: Pick<RuleBook, 'from' | 'alsoFrom' | 'to' | 'operations'>): boolean {
  return from !== to || alsoFrom !== undefined || operations.some((operation) => operation.to !== undefined);
}

/** A complete, checked rule book: every rule in it can take effect. */
export interface RuleBook {
  /** V1's prefix, such as `/api/v1`, the first of several: no slash at its end, and empty at the root. */
  readonly from: string;
  /** V1's other prefixes; absent for none. */
  readonly alsoFrom?: readonly string[];
  /** V2's prefix, empty at the root; one of V1's if only a header field tells the versions apart. */
  readonly to: string;
  /** How to handle requests under neither prefix: with a 404, or by forwarding them to V2 unchanged. */
  readonly other: 'refuse' | 'pass';
  /** True if the gateway converts links in the bodies of responses to V1, like those in header fields. */
  readonly followsBodyLinks: boolean;
  /** The service's own response fields that the gateway converts to V1 like `Location`. */
  readonly linkFields?: readonly string[];
  /** How to handle a POST that asks for another method: apply the rules for that method, as V2 does, or hide it from V2. */
  readonly override: 'follow' | 'drop';
  /** The V2 release that the rules target, a day (`YYYY-MM-DD`) unless `versionField` says otherwise; undefined if no field names it. */
  readonly version: string | undefined;
  /** The field that names it; absent for a day in `x-api-version`. */
  readonly versionField?: VersionField;
  /** The only form of V2's errors to read; absent for `json-api` and errors of any other shape. */
  readonly errors?: ErrorForm;
  /** The form of the gateway's own errors, as V1 clients read them; absent for `json-api`. */
  readonly refusals?: RefusalForm;
  /** Pages that can read the gateway's own responses before V2 has allowed it. */
  readonly cors?: CorsOrigins;
  /** The place in V1 requests of the key that identifies their client; absent for Authorization. */
  readonly client?: ClientField;
  /** The path to the resource in responses, empty for the body itself; absent for `data`. */
  readonly resource?: Path;
  readonly operations: readonly Operation[];
  readonly changes: readonly Change[];
  /** Deliveries from V2 in V1's form, by name; absent for none. */
  readonly webhooks?: Readonly<Record<string, Webhook>>;
  readonly policies: Policies;
  readonly limits: RuleBookLimits;
  /** The time zone of plans for the end of V1, such as `Australia/Sydney`; absent for the machine's. */
  readonly zone?: string;
  /** How V1 clients are moved to V2 until V1 ends; absent when the book does not configure it. */
  readonly rollout?: Rollout;
  /** The modules that operations name as their `transform`, by path; absent for none, and until they are loaded. */
  readonly modules?: Readonly<Record<string, TransformSource>>;
  /** 16 hex digits of the book's meaning (SHA-256), regardless of comments, order of keys and spelling; the first 8 are those of its rules. */
  readonly hash: string;
}

const SLASH = 0x2f;

/** The year of the first day that `x-api-version` can name. */
const FIRST_YEAR = 2025;

/** Finds the operation of a request. The cost grows with the segments of the path, not with the number of operations. */
export class OperationTable {
  private readonly roots = new Map<string, Branch>();

  constructor(operations: readonly Operation[]) {
    for (const operation of operations) {
      let branch = this.roots.get(operation.method) ?? newBranch();
      this.roots.set(operation.method, branch);
      for (const segment of readTemplate(operation.template)) branch = addSegment(branch, segment);
      if (operation.query === undefined) branch.operation = operation;
      else branch.byQuery = [...(branch.byQuery ?? []), operation].toSorted(moreOfQuery);
    }
  }

  /**
   * Returns the operation for `method` and the raw path below V1's prefix. Ignores one trailing slash, a `.json` suffix of the
   * last segment and the encoding of unreserved characters, so that no spelling evades a rule. If a path matches no operation as
   * sent, it is matched again as read by a service that decodes or merges slashes or drops path parameters. A literal segment of
   * a template takes precedence over a parameter, and an operation that names more of the raw query over one that names less.
   */
  match(method: string, path: string, query = ''): Operation | undefined {
    const root = this.roots.get(method);
    if (root === undefined) return undefined;
    const plain = plainSpelling(path);
    const found = matchPlain(root, plain, query);
    if (found !== undefined) return found;
    const loose = looseSpelling(plain);
    return loose === plain ? undefined : matchPlain(root, loose, query);
  }
}

function matchPlain(root: Branch, plain: string, query: string): Operation | undefined {
  let end = plain.length;
  if (plain.charCodeAt(end - 1) === SLASH) end -= 1;
  if (plain.endsWith('.json', end)) end -= '.json'.length;
  return findBelow(root, plain, 0, end, query);
}

interface Branch {
  /** Absent at the last segment: most branches are leaves, and an empty map takes much memory. */
  literals: Map<string, Branch> | undefined;
  parameter: Branch | undefined;
  operation: Operation | undefined;
  /** Operations that name query parameters, those with the most first. */
  byQuery: readonly Operation[] | undefined;
}

function moreOfQuery(one: Operation, other: Operation): number {
  return (other.query?.length ?? 0) - (one.query?.length ?? 0);
}

/** True for a query that has each parameter of an operation once, with its value, or with one that a path segment can contain. */
function hasQueryOf({ query = [] }: Operation, received: string): boolean {
  return query.every(({ name, value }) => {
    const [text, other] = valuesInQuery(received, decodeQueryText(name));
    if (text === undefined || other !== undefined) return false;
    return value.parameter === undefined ? text === decodeQueryText(value.before) : !/^\.{0,2}$/.test(text);
  });
}

function newBranch(): Branch {
  return { literals: undefined, parameter: undefined, operation: undefined, byQuery: undefined };
}

function addSegment(branch: Branch, segment: string | undefined): Branch {
  if (segment === undefined) return (branch.parameter ??= newBranch());
  branch.literals ??= new Map();
  const next = branch.literals.get(segment) ?? newBranch();
  branch.literals.set(segment, next);
  return next;
}

/** Descends from `at`, where a slash must be; never deeper than the deepest template, for a path of any length. */
function findBelow(
  branch: Branch,
  path: string,
  at: number,
  end: number,
  query: string,
): Operation | undefined {
  if (at >= end) return branch.byQuery?.find((one) => hasQueryOf(one, query)) ?? branch.operation;
  if (path.charCodeAt(at) !== SLASH) return undefined;
  const slash = path.indexOf('/', at + 1);
  const next = slash === -1 || slash > end ? end : slash;
  if (next === at + 1) return undefined;
  const literal = branch.literals?.get(path.slice(at + 1, next));
  const found = literal === undefined ? undefined : findBelow(literal, path, next, end, query);
  if (found !== undefined || branch.parameter === undefined) return found;
  return findBelow(branch.parameter, path, next, end, query);
}

/** Finds the changes that apply to an operation. The cost grows with their number, not with the size of the rule book. */
export class ChangeIndex {
  private readonly changes: readonly Change[];
  /** Positions in the rule book, in order. */
  private readonly every: number[] = [];
  private readonly named = new Map<string, number[]>();

  constructor(changes: readonly Change[]) {
    this.changes = changes;
    for (const [index, { on }] of changes.entries()) {
      if (on === 'every') {
        this.every.push(index);
        continue;
      }
      for (const id of new Set(on)) {
        const indexes = this.named.get(id) ?? [];
        indexes.push(index);
        this.named.set(id, indexes);
      }
    }
  }

  /** Returns the changes of the operation with this id, in the order of the rule book; those `on: every` only if `isEvery`. */
  of(id: string | undefined, isEvery: boolean): readonly Change[] {
    const named = (id === undefined ? undefined : this.named.get(id)) ?? [];
    const indexes = isEvery ? [...named, ...this.every].sort((one, other) => one - other) : named;
    return indexes.flatMap((index) => this.changes[index] ?? []);
  }
}

/**
 * True for a method that changes `on: every` apply to, named as an operation or not. That is a promise of the rules and not a property of
 * HTTP, where PUT has a body as well.
 */
export function isRewritten(method: string): boolean {
  return method === 'POST' || method === 'PATCH';
}

/** The rule book without its transforms, for code that runs no modules. */
export function withoutTransforms(ruleBook: RuleBook): RuleBook {
  const operations = ruleBook.operations.map((operation) => {
    const { transform, ...rest } = operation;
    return transform === undefined ? operation : rest;
  });
  return { ...ruleBook, operations };
}

/** True if the module that the operation names has a function for that direction. */
export function isTransformed(
  { modules }: RuleBook,
  operation: Operation | undefined,
  direction: TransformDirection,
): boolean {
  if (operation?.transform === undefined) return false;
  return modules?.[operation.transform]?.exports.includes(direction) === true;
}

/**
 * True for a method whose bodies can have request rules if a change names an operation with it: some services read bodies of DELETE and
 * GET, although HTTP does not define their meaning, and of QUERY.
 */
export function mayHaveRules(method: string): boolean {
  return method !== 'HEAD' && method !== 'OPTIONS' && method !== 'TRACE';
}

/** True for a method whose body is written to a resource. */
export function canBeRewritten(method: string): boolean {
  return isRewritten(method) || method === 'PUT';
}

/** The header field, in lower case, with V2's release in requests; undefined if there is none. */
export function versionHeader({
  version,
  versionField,
}: Pick<RuleBook, 'version' | 'versionField'>): string | undefined {
  if (version === undefined || versionField?.query !== undefined || versionField?.accept !== undefined)
    return undefined;
  return versionField?.header ?? VERSION_HEADER;
}

/** The place of V2's release in requests, for people and logs: a header field in lower case, or a query parameter after a question mark. */
export function versionPlace({ versionField }: Pick<RuleBook, 'versionField'>): string {
  const { header = VERSION_HEADER, query, accept } = versionField ?? {};
  if (query !== undefined) return `?${query}`;
  return accept === undefined ? header : 'accept';
}

/**
 * True for a calendar day that exists, `YYYY-MM-DD`; in `x-api-version` not before V2's first dated release. Other fields belong
 * to other services, whose first release is unknown.
 */
export function isReleaseDate(text: string, field = VERSION_HEADER): boolean {
  if (text.length !== 10 || text[4] !== '-' || text[7] !== '-') return false;
  const year = digits(text, 0, 4);
  const month = digits(text, 5, 7);
  const day = digits(text, 8, 10);
  const firstYear = field === VERSION_HEADER ? FIRST_YEAR : 1;
  return year >= firstYear && month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month);
}

/** The parts of a rule book that decide about the releases in requests. */
export type ReleaseParts = Pick<RuleBook, 'from' | 'alsoFrom' | 'to' | 'version' | 'versionField'>;

/**
 * True for a release that V1's clients name: one that the book lists for V1. If both versions have one prefix and there is no list, any
 * release except V2's, and days from V2's on: a V1 client's request must never reach V2 unmigrated.
 */
export function isReleaseOfV1(
  release: string,
  { from, alsoFrom, to, version, versionField }: ReleaseParts,
): boolean {
  const { query, accept, form = 'date', v1 } = versionField ?? {};
  if (v1 !== undefined) return release === '' || v1.includes(release);
  const isShared = from === to || alsoFrom?.includes(to) === true;
  const place = versionField === undefined ? VERSION_HEADER : versionPlace({ versionField });
  // The parameter or media type only names a version: under V1's prefix, that is one of V1's.
  const isOwn = query !== undefined || accept !== undefined;
  if (!(isShared || isOwn) || version === undefined) return false;
  return form === 'text' ? release !== version : !isReleaseDate(release, place) || release < version;
}

/** The number in decimal digits there; `NaN` if there is any other character. */
function digits(text: string, from: number, to: number): number {
  let value = 0;
  for (let at = from; at < to; at += 1) {
    const digit = text.charCodeAt(at) - 0x30;
    if (digit < 0 || digit > 9) return Number.NaN;
    value = value * 10 + digit;
  }
  return value;
}

/** The number of days in a month; months count from 1. */
function daysIn(year: number, month: number): number {
  if (month !== 2) return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
}

/** Origins of pages, as an operator allows them. */
export interface CorsOrigins {
  /** As browsers write them, or `*`. */
  readonly origins: readonly string[];
  /** True if their requests may have cookies. */
  readonly credentials: boolean;
}

/** The names of clients by hash: those of the rule book, and `given` ones, which take precedence. */
export function clientNames(
  { rollout }: Pick<RuleBook, 'rollout'>,
  given: Iterable<readonly [hash: string, name: string]> = [],
): ReadonlyMap<string, string> {
  return new Map([...Object.entries(rollout?.clients ?? {}), ...given]);
}
