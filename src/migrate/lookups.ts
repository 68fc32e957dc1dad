import { kindOfName } from '../http/fields.ts';
import { printedParameter, queryParts, valueOf } from '../http/target.ts';
import { type HeaderList, withoutFields } from '../http/header-list.ts';
import { JsonDocument } from '../json/document.ts';
import { stringText, textOfBytes } from '../json/names.ts';
import { clientFieldAtV2 } from '../rewrite/client-key.ts';
import type { CompiledRuleBook } from '../rewrite/compiled-rule-book.ts';
import type { ResponseContext } from '../rewrite/response-rules.ts';
import { resourcePath } from '../rules/inverse.ts';
import { type Asked, printAddress } from '../rules/rule.ts';

type Ask = Asked['asks'][number];

/** The limits for the lookups of one response, unless the rule book sets others. */
export const LOOKUP_LIMITS = { requests: 100, parallel: 6, timeMs: 5000 } as const;

/** Maximum bytes of a response to a lookup, decoded: it is an object, or a page of them. */
const MAX_ANSWER_BYTES = 1024 * 1024;

/** Maximum characters of an address with many keys; more keys take several requests. */
const MAX_TARGET = 4096;

/** A GET request to V2. */
export interface LookupRequest {
  /** With V2's prefix. */
  readonly target: string;
  /** The address without a key, for messages and the log. */
  readonly address: string;
  readonly asks: readonly Ask[];
}

/** The requests that a driver makes for a migration that looks something up. */
export interface LookupJob {
  /** Each address only once. */
  readonly requests: readonly LookupRequest[];
  /** Maximum concurrent requests. */
  readonly parallel: number;
  /** Milliseconds for all of them. */
  readonly timeMs: number;
  /** Maximum bytes of a response, received and decoded. */
  readonly limit: number;
}

/** The result of one request. */
export interface LookupResult {
  /** Undefined without a response. */
  readonly status: number | undefined;
  /** The decoded body of a 2xx response; undefined if there is none. */
  readonly body: Uint8Array | undefined;
  /** Why there is no body, in a few words. */
  readonly cause?: string | undefined;
  readonly ms: number;
}

/** The requests for one address with the same result, for the log, without keys. */
export interface LookupSummary {
  readonly address: string;
  readonly status?: number;
  readonly cause?: string;
  readonly count: number;
  /** The time of the slowest request. */
  readonly ms: number;
  readonly bytes: number;
}

/** The cause where the driver does not ask V2. */
export const NOT_ASKED = 'not asked';

/** The results from a driver that does not ask V2: each lookup fails. */
export function skipLookups({ requests }: LookupJob): readonly LookupResult[] {
  return requests.map(() => ({ status: undefined, body: undefined, cause: NOT_ASKED, ms: 0 }));
}

/** Request fields that describe a body, or ask for less than a whole response without a coding. */
const NOT_OF_LOOKUPS =
  /^(?:accept-encoding|(?:if|content|want)-.*|range|expect|trailer|idempotency-key|(?:repr-)?digest)$/i;

/** The fields of a lookup: those of the migrated request, with the credentials of its client. */
export function lookupFields(headers: HeaderList): string[] {
  const has = (name: string): boolean => NOT_OF_LOOKUPS.test(name) || kindOfName(name) === 'method-override';
  return [...withoutFields(headers, { has }), 'Accept-Encoding', 'identity'];
}

/** The lookups of one response: makes requests for the keys in its rules, and reads V2's responses. */
export class Lookups {
  private readonly rules: CompiledRuleBook;
  /** Query parameters of every request: a client key in the query, and V2's release. */
  private readonly parameters: readonly string[];
  private readonly answers = new Map<string, Uint8Array | undefined>();
  private readonly counted = new Map<string, LookupSummary>();
  private job: LookupJob | undefined = undefined;
  private left: number;

  /** `query` is the client's, without its question mark. */
  constructor(rules: CompiledRuleBook, query: string) {
    this.rules = rules;
    this.parameters = [...keyParameters(rules, query), ...releaseParameters(rules)];
    this.left = rules.ruleBook.limits['lookup-requests'] ?? LOOKUP_LIMITS.requests;
  }

  /** The lookups so far, for the log. */
  get counts(): readonly LookupSummary[] {
    return [...this.counted.values()];
  }

  /** True if the driver does not ask V2. */
  get isUnasked(): boolean {
    const { counts } = this;
    return counts.length > 0 && counts.every(({ cause }) => cause === NOT_ASKED);
  }

  /** Why an object is missing: the first cause or status of a failed request. */
  get why(): string {
    const blamed = this.counts.find(({ status, cause }) => cause !== undefined || status !== 200);
    return blamed === undefined
      ? 'lookup: V2 has no such object'
      : `lookup of ${blamed.address}: ${blamed.cause ?? blamed.status}`;
  }

  /** The requests for objects that were not looked up yet; undefined if there are none. */
  jobFor({ asks }: Asked): LookupJob | undefined {
    const { rules, answers } = this;
    const all = this.requestsFor(asks.filter(({ id }) => !answers.has(id)));
    const requests = all.slice(0, this.left);
    for (const { address, asks: beyond } of all.slice(this.left)) {
      for (const { id } of beyond) answers.set(id, undefined);
      this.count(address, { status: undefined, body: undefined, cause: 'too many', ms: 0 });
    }
    if (requests.length === 0) return undefined;
    this.left -= requests.length;
    const { limits } = rules.ruleBook;
    this.job = {
      requests,
      parallel: limits['lookup-parallel'] ?? LOOKUP_LIMITS.parallel,
      timeMs: limits['lookup-time'] ?? LOOKUP_LIMITS.timeMs,
      limit: Math.min(MAX_ANSWER_BYTES, limits.response),
    };
    return this.job;
  }

  /** Takes the results of the requests, in their order; returns the objects for the rules. */
  take(results: readonly LookupResult[]): Pick<ResponseContext, 'answers'> {
    for (const [at, request] of (this.job?.requests ?? []).entries()) {
      const result = results[at] ?? { status: undefined, body: undefined, cause: NOT_ASKED, ms: 0 };
      const document = result.body && JsonDocument.read(result.body, this.rules.ruleBook.limits.depth);
      const isRead = document instanceof JsonDocument;
      for (const ask of request.asks)
        this.answers.set(ask.id, isRead ? this.found(document, ask) : undefined);
      this.count(
        request.address,
        document === undefined || isRead ? result : { ...result, cause: 'not JSON' },
      );
    }
    this.job = undefined;
    return { answers: this.answers };
  }

  private requestsFor(asks: readonly Ask[]): readonly LookupRequest[] {
    const requests = new Map<string, LookupRequest & { readonly asks: Ask[] }>();
    const add = (target: string, ask: Ask): void => {
      const known = requests.get(target) ?? { target, address: this.addressOf(ask.address), asks: [] };
      known.asks.push(ask);
      requests.set(target, known);
    };
    const groups = new Map<string, Ask[]>();
    for (const ask of asks) {
      const { before, after, by } = ask.address;
      if (by === undefined) {
        add(this.target(before + encodeURIComponent(ask.key) + after), ask);
        continue;
      }
      const group = `${before}{}${after}`;
      const known = groups.get(group);
      if (known === undefined) groups.set(group, [ask]);
      else known.push(ask);
    }
    for (const group of groups.values()) {
      for (const part of inParts(group)) {
        const [first] = part;
        if (first === undefined) continue;
        const keys = [...new Set(part.map(({ key }) => encodeURIComponent(key)))].join(',');
        const target = this.target(first.address.before + keys + first.address.after);
        for (const ask of part) add(target, ask);
      }
    }
    return [...requests.values()];
  }

  private addressOf(address: Ask['address']): string {
    return this.rules.ruleBook.to + printAddress(address);
  }

  private target(address: string): string {
    const { parameters } = this;
    const whole = this.rules.ruleBook.to + address;
    if (parameters.length === 0) return whole;
    return `${whole}${whole.includes('?') ? '&' : '?'}${parameters.join('&')}`;
  }

  /** The requested object in a response, in its own memory; undefined if it is missing. */
  private found(document: JsonDocument, { address, key }: Ask): Uint8Array | undefined {
    const path = address.resource ?? resourcePath(undefined, this.rules.ruleBook.resource);
    let node: number | undefined = document.root;
    for (const name of path) node = node === undefined ? undefined : document.find(node, name).at(-1);
    if (node === undefined) return undefined;
    const { by } = address;
    if (by !== undefined) {
      if (document.kindOf(node) !== 'array') return undefined;
      node = indexOf(document, node, by).get(key);
    }
    if (node === undefined || document.kindOf(node) !== 'object') return undefined;
    return new Uint8Array(document.valueOf(node));
  }

  private count(address: string, { status, body, cause, ms }: LookupResult): void {
    const key = `${address} ${status ?? ''} ${cause ?? ''}`;
    const known = this.counted.get(key);
    this.counted.set(key, {
      address,
      ...(status === undefined ? {} : { status }),
      ...(cause === undefined ? {} : { cause }),
      count: (known?.count ?? 0) + 1,
      ms: Math.max(known?.ms ?? 0, Math.round(ms)),
      bytes: (known?.bytes ?? 0) + (body?.length ?? 0),
    });
  }
}

const indexes = new WeakMap<JsonDocument, Map<string, ReadonlyMap<string, number>>>();

/** The items of a list by the text of their member `by`; the first of several with the same key. */
function indexOf(document: JsonDocument, list: number, by: string): ReadonlyMap<string, number> {
  const ofDocument = indexes.get(document) ?? new Map<string, ReadonlyMap<string, number>>();
  indexes.set(document, ofDocument);
  const name = `${list} ${by}`;
  const known = ofDocument.get(name);
  if (known !== undefined) return known;
  const index = new Map<string, number>();
  for (const item of document.childrenOf(list)) {
    const member = document.find(item, by).at(-1);
    if (member === undefined) continue;
    const text = textOfBytes(document.valueOf(member));
    const key = text.startsWith('"') ? stringText(text.slice(1, -1)) : text;
    if (!index.has(key)) index.set(key, item);
  }
  ofDocument.set(name, index);
  return index;
}

/** Splits a list of keys into parts that fit into an address. */
function inParts(asks: readonly Ask[]): readonly (readonly Ask[])[] {
  const parts: Ask[][] = [];
  let length = Infinity;
  for (const ask of asks) {
    const own = encodeURIComponent(ask.key).length + 1;
    if (length + own > MAX_TARGET) {
      parts.push([]);
      length = 0;
    }
    parts.at(-1)?.push(ask);
    length += own;
  }
  return parts;
}

/** The key of a client that V2 reads from the query; keys in other places are header fields. */
function keyParameters({ ruleBook }: CompiledRuleBook, query: string): readonly string[] {
  const { client } = ruleBook;
  if (client === undefined || !('query' in client)) return [];
  const place = clientFieldAtV2(ruleBook);
  if (!('query' in place)) return [];
  return queryParts(query)
    .filter(({ name }) => name === client.query)
    .map((part) => printedParameter(place.query, valueOf(part) ?? ''));
}

function releaseParameters({ releaseParameter, ruleBook }: CompiledRuleBook): readonly string[] {
  if (releaseParameter === undefined || ruleBook.version === undefined) return [];
  return [printedParameter(releaseParameter, ruleBook.version)];
}
