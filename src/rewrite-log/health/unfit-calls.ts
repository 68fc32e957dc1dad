import { callName } from '../entry.ts';

/** Calls that no operation fitted, with the hash of the rule book under which each was made last. */
export class UnfitCalls {
  private readonly ruleBooks: Map<string, string>;

  constructor(ruleBooks: Iterable<readonly [call: string, ruleBook: string]> = []) {
    this.ruleBooks = new Map(ruleBooks);
  }

  /** The calls with their rule books, from which the same can be made again. */
  toJSON(): readonly (readonly [call: string, ruleBook: string])[] {
    return [...this.ruleBooks];
  }

  get size(): number {
    return this.ruleBooks.size;
  }

  /** Notes a call by its name (`callName`). */
  add(call: string, ruleBook = ''): void {
    this.ruleBooks.set(call, ruleBook);
  }

  /** The noted call that a request makes, if an operation of another rule book fits it now: what failed before is over. */
  fittedBy({
    operation,
    method,
    path,
    ruleBook = '',
  }: {
    readonly [Member in 'operation' | 'method' | 'path' | 'ruleBook']?: string | undefined;
  }): string | undefined {
    // Most gateways have none, and a name takes some time.
    if (this.size === 0 || operation === undefined || path === undefined) return undefined;
    const call = callName(undefined, method, path);
    return (this.ruleBooks.get(call) ?? ruleBook) === ruleBook ? undefined : call;
  }
}
