import { Refusal, type Fault } from './envelope.ts';

/** The requested range of a collection; pages count from 1. */
export interface Page {
  readonly page: number;
  readonly perPage: number;
}

/** Default and maximum entries per page. */
export const PER_PAGE_DEFAULT = 25;
export const PER_PAGE_MOST = 100;

/** Reads `page` and `per_page`; throws a 422 that names each one out of range. */
export function readPage(query: URLSearchParams): Page {
  const faults: Fault[] = [];
  const read = (parameter: string, fallback: number, max: number): number => {
    const text = query.get(parameter);
    if (text === null) return fallback;
    const value = /^\d{1,9}$/.test(text) ? Number(text) : 0;
    if (value >= 1 && value <= max) return value;
    faults.push({ detail: `${parameter} must be a whole number from 1 to ${max}.`, source: { parameter } });
    return fallback;
  };
  const page = read('page', 1, PAGE_MOST);
  const perPage = read('per_page', PER_PAGE_DEFAULT, PER_PAGE_MOST);
  if (faults.length > 0) throw new Refusal(422, faults);
  return { page, perPage };
}

const PAGE_MOST = 999_999_999;
