import type { RuleBook } from './rule-book.ts';

/** The size of a rule book, in counts, and its unconfirmed assumptions. */
export interface RuleBookSummary {
  readonly version: string;
  readonly hash: string;
  readonly operations: number;
  readonly changes: number;
  readonly requestRules: number;
  readonly responseRules: number;
  /** Operations and changes that are marked as assumed, in the order of the book, as text for people. */
  readonly assumptions: readonly string[];
}

/** Counts the parts of a rule book and lists its assumptions. */
export function summarizeRuleBook(book: RuleBook): RuleBookSummary {
  const { version, hash, operations, changes } = book;
  return {
    version,
    hash,
    operations: operations.length,
    changes: changes.length,
    requestRules: changes.reduce(
      (count, { request, query = [] }) => count + request.length + query.length,
      0,
    ),
    responseRules: changes.reduce((count, { response }) => count + response.length, 0),
    assumptions: [
      ...operations
        .filter(({ assumed }) => assumed)
        .map(({ id, method, template }) => `operation ${id}: ${method} ${template}`),
      ...changes.filter(({ assumed }) => assumed).map(({ id, summary }) => `change ${id}: ${summary}`),
    ],
  };
}
