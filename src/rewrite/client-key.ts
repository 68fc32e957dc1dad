import { type HeaderList, headerValues } from '../http/header-list.ts';
import { queryParts, valueOf } from '../http/target.ts';
import { headerKindOf, queryKindOf } from '../rules/kinds/kinds.ts';
import type { Change, ClientField, RuleBook } from '../rules/rule-book.ts';

/** The place of a client's key in one version, with the text around it. */
interface KeyPlace {
  readonly field: ClientField;
  /** The text around the key, with braces in its place; undefined if the value is only the key. */
  readonly as: string | undefined;
}

/** The parts of a request's head that a key is read from. */
export interface KeyedHead {
  readonly authorization: string | undefined;
  readonly forwardedHeaders: HeaderList;
}

/** The parts of a rule book that say where a key is. */
interface KeyBook extends Pick<RuleBook, 'client'> {
  readonly changes: readonly Partial<Pick<Change, 'headers' | 'query'>>[];
}

const AUTHORIZATION: ClientField = { header: 'Authorization' };

/** Finds the keys of clients in the places that a rule book defines. */
export class ClientKeys {
  private readonly v1: KeyPlace;
  private readonly v2: KeyPlace;

  constructor(field: ClientField, book: Pick<RuleBook, 'changes'>) {
    this.v1 = { field, as: undefined };
    this.v2 = placeAtV2(field, book);
  }

  /**
   * Returns the key of a request with this raw target; undefined if there is none. For V2's own clients, it is in the place to which
   * rules move it.
   */
  of(head: KeyedHead, target: string, isV2: boolean): string | undefined {
    const { field, as } = isV2 ? this.v2 : this.v1;
    const [value] = valuesAt(field, head.forwardedHeaders, target);
    return value === undefined || value === '' ? undefined : withoutFrame(value, as);
  }

  /** True for a V1 request with two keys: two services could use different ones. */
  isAmbiguous(headers: HeaderList, target: string): boolean {
    return new Set(valuesAt(this.v1.field, headers, target)).size > 1;
  }
}

/** How people and fields name the place of a key: `X-Api-Key`, or `?api_key`. */
export function printClientField(field: ClientField): string {
  return 'header' in field ? field.header : `?${field.query}`;
}

/** The place of a key in V1 requests; Authorization by default. */
export function clientField({ client }: Pick<RuleBook, 'client'>): ClientField {
  return client ?? AUTHORIZATION;
}

/** The place of a key in V2 requests. */
export function clientFieldAtV2(book: KeyBook): ClientField {
  return placeAtV2(clientField(book), book).field;
}

/** The header field that sends `key` to V2, with V2's name and surrounding text; undefined if V2 reads the key from the query. */
export function keyFieldAtV2(
  book: Pick<RuleBook, 'client' | 'changes'>,
  key: string,
): readonly [name: string, value: string] | undefined {
  const { field, as } = placeAtV2(clientField(book), book);
  return 'header' in field ? headerWith(field.header, key, as) : undefined;
}

/** The header field in which V1's clients send `key`; undefined if they send it in the query. */
export function keyFieldAtV1(
  book: Pick<RuleBook, 'client'> | undefined,
  key: string,
): readonly [name: string, value: string] | undefined {
  const field = clientField(book ?? {});
  return 'header' in field ? headerWith(field.header, key, undefined) : undefined;
}

function headerWith(name: string, key: string, as: string | undefined): readonly [string, string] {
  const isBearer = as === undefined && name.toLowerCase() === 'authorization';
  return [name, (isBearer ? 'Bearer {}' : (as ?? '{}')).replace('{}', () => key)];
}

/** Follows the rules that move the credential; the last of them decides. */
function placeAtV2(field: ClientField, { changes }: Pick<KeyBook, 'changes'>): KeyPlace {
  let place: KeyPlace = { field, as: undefined };
  for (const rule of changes.flatMap(({ headers = [] }) => headers))
    for (const { from, to, as } of headerKindOf(rule).moves?.(rule) ?? [])
      if (to !== undefined && isSamePlace(from, place.field)) place = { field: { header: to }, as };
  for (const rule of changes.flatMap(({ query = [] }) => query)) {
    const renamed = queryKindOf(rule).renames?.(rule);
    if (renamed !== undefined && isSamePlace({ query: renamed.from }, place.field))
      place = { field: { query: renamed.to }, as: undefined };
  }
  return place;
}

function isSamePlace(one: ClientField, other: ClientField): boolean {
  if ('header' in one) return 'header' in other && one.header.toLowerCase() === other.header.toLowerCase();
  return 'query' in other && one.query === other.query;
}

function valuesAt(field: ClientField, headers: HeaderList, target: string): readonly string[] {
  if ('header' in field) return headerValues(headers, field.header.toLowerCase());
  const mark = target.indexOf('?');
  if (mark === -1) return [];
  return queryParts(target.slice(mark + 1))
    .filter(({ name }) => name === field.query)
    .flatMap((part) => valueOf(part) ?? []);
}

function withoutFrame(value: string, as: string | undefined): string {
  const [before = '', after = ''] = as?.split('{}') ?? [];
  const isFramed = value.startsWith(before) && value.endsWith(after);
  return isFramed ? value.slice(before.length, value.length - after.length) : value;
}
