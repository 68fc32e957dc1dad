import type { Addresses } from './addresses.ts';
import { IdleLimit } from './idle-limit.ts';
import type { UpstreamConnection } from './upstream-connection.ts';

/** The free connections, the most recently used at the end: the others grow old, and close. */
export class IdleConnections {
  readonly idleLimit = new IdleLimit();
  private readonly addresses: Addresses;
  private readonly list: UpstreamConnection[] = [];

  constructor(addresses: Addresses) {
    this.addresses = addresses;
  }

  get count(): number {
    return this.list.length;
  }

  add(connection: UpstreamConnection): void {
    this.list.push(connection);
  }

  remove(connection: UpstreamConnection): void {
    const at = this.list.indexOf(connection);
    if (at >= 0) this.list.splice(at, 1);
  }

  /** The connection that has been idle for longest. */
  takeOldest(): UpstreamConnection | undefined {
    return this.list.shift();
  }

  /**
   * The connection for a request: the most recently used one of the next address. Undefined where there is none, and for a
   * request that must not be sent twice where V2 may be about to close the connection.
   */
  take(isRepeatable: boolean, now: number): UpstreamConnection | undefined {
    const { list, addresses } = this;
    if (addresses.count > 1) this.moveLeastUsedToEnd();
    for (let last = list.at(-1); last !== undefined; last = list.at(-1)) {
      if (last.isFree(now)) {
        if (!this.suits(last, isRepeatable, now)) return undefined;
        list.pop();
        if (last.address !== undefined) addresses.took(last.address);
        return last;
      }
      list.pop();
      last.destroy();
    }
    return undefined;
  }

  /** True when some connection could be used. */
  serves(isRepeatable: boolean, now: number): boolean {
    const last = this.list.at(-1);
    return last !== undefined && this.suits(last, isRepeatable, now);
  }

  destroyAll(): void {
    for (const connection of this.list) connection.destroy();
  }

  private suits(connection: UpstreamConnection, isRepeatable: boolean, now: number): boolean {
    return now - connection.idleSince <= this.idleLimit.ms || isRepeatable;
  }

  /** Moves a connection of the least used address to the end. */
  private moveLeastUsedToEnd(): void {
    const { list } = this;
    let best = list.length - 1;
    for (let at = best - 1; at >= 0; at -= 1) {
      if (turnOf(list[at]) < turnOf(list[best])) best = at;
    }
    list.push(...list.splice(best, 1));
  }
}

function turnOf(connection: UpstreamConnection | undefined): number {
  return connection?.address?.turn ?? 0;
}
