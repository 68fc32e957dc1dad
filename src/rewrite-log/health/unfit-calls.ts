import { callName } from '../entry.ts';

/** Milliseconds after its last request within which a call keeps its place. */
const KEPT_MS = 24 * 3_600_000;

interface LastCall {
  /** A hash. */
  readonly ruleBook: string;
  readonly time: number;
}

/** Calls that no operation fitted, with the time of the last one and its rule book; the latest call is last. */
export class UnfitCalls {
  private readonly calls: Map<string, LastCall>;

  constructor(calls: Iterable<readonly [call: string, last: LastCall]> = []) {
    this.calls = new Map(calls);
  }

  /** The calls with their last ones, from which the same can be made again. */
  toJSON(): readonly (readonly [call: string, last: LastCall])[] {
    return [...this.calls];
  }

  get size(): number {
    return this.calls.size;
  }

  /** Notes a call by its name (`callName`). */
  add(call: string, ruleBook: string | undefined, time: number): void {
    this.calls.delete(call);
    this.calls.set(call, { ruleBook: ruleBook ?? '', time });
  }

  delete(call: string): void {
    this.calls.delete(call);
  }

  /** Forgets a call that was not made for a day before `time`, and returns it; undefined if there is none. */
  forget(time: number): string | undefined {
    const [[call, last] = []] = this.calls;
    if (call === undefined || last === undefined || time - last.time < KEPT_MS) return undefined;
    this.calls.delete(call);
    return call;
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
    return (this.calls.get(call)?.ruleBook ?? ruleBook) === ruleBook ? undefined : call;
  }
}
