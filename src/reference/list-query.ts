import type { Dialect } from './dialect.ts';
import { Refusal, type Fault } from './envelope.ts';
import type { Resource } from './resources.ts';
import { spelledName } from './spelling.ts';
import type { Attributes } from './store.ts';

/** The query of a list: a range, and the attributes that entries must have. */
export interface ListQuery {
  /** Counts from 1. */
  readonly page: number;
  readonly perPage: number;
  /** In V1's spelling. */
  readonly where: Attributes;
}

/** Default and maximum entries per page. */
export const PER_PAGE_DEFAULT = 25;
export const PER_PAGE_MOST = 100;

/** A query parameter that filters a list. */
export interface Filter {
  /** The name of the parameter: that of the attribute in the edition's spelling. */
  readonly parameter: string;
  /** The attribute in V1's spelling. */
  readonly attribute: string;
  readonly isNumber: boolean;
}

/** The filters of a collection. */
export function filtersOf({ kind, filters }: Resource, { spelling }: Dialect): readonly Filter[] {
  return filters.map((attribute) => ({
    parameter: spelledName(spelling, kind, attribute),
    attribute,
    isNumber: attribute.endsWith('_id'),
  }));
}

/** Reads a query; throws a 422 that names each parameter out of range. Other parameters are ignored, as is all but the first of a name. */
export function readListQuery(query: URLSearchParams, filters: readonly Filter[]): ListQuery {
  const faults: Fault[] = [];
  const read = (parameter: string, fallback: number, max: number): number => {
    const text = query.get(parameter);
    if (text === null) return fallback;
    const value = /^\d{1,16}$/.test(text) ? Number(text) : 0;
    if (value >= 1 && value <= max) return value;
    faults.push({ detail: `${parameter} must be a whole number from 1 to ${max}.`, source: { parameter } });
    return fallback;
  };
  const page = read('page', 1, PAGE_MOST);
  const perPage = read('per_page', PER_PAGE_DEFAULT, PER_PAGE_MOST);
  const where = Object.fromEntries(
    filters
      .filter(({ parameter }) => query.has(parameter))
      .map(({ parameter, attribute, isNumber }) => [
        attribute,
        isNumber ? read(parameter, 0, Number.MAX_SAFE_INTEGER) : query.get(parameter),
      ]),
  );
  if (faults.length > 0) throw new Refusal(422, faults);
  return { page, perPage, where };
}

const PAGE_MOST = 999_999_999;
