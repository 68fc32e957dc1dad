import type { UpstreamFault } from '../../gateway/upstream.ts';
import type { PooledCall } from './pooled-call.ts';

/** The queue of calls that wait for a connection, in order of arrival; those without a client come last. */
export class WaitingCalls {
  private readonly list: PooledCall[] = [];

  get count(): number {
    return this.list.length;
  }

  /** Bytes that are held while they wait. */
  get heldBytes(): number {
    let bytes = 0;
    for (const call of this.list) bytes += call.heldBytes;
    return bytes;
  }

  at(index: number): PooledCall | undefined {
    return this.list[index];
  }

  add(call: PooledCall): void {
    const { list } = this;
    if (call.isBackground || list.at(-1)?.isBackground !== true) {
      list.push(call);
      return;
    }
    list.splice(
      list.findIndex(({ isBackground }) => isBackground),
      0,
      call,
    );
  }

  removeAt(index: number): void {
    if (index === 0) this.list.shift();
    else this.list.splice(index, 1);
  }

  remove(call: PooledCall): void {
    const at = this.list.indexOf(call);
    if (at >= 0) this.list.splice(at, 1);
  }

  /** Removes and returns the first one. */
  takeFirst(): PooledCall | undefined {
    return this.list.shift();
  }

  /** Fails all queued calls for which `faultOf` returns a fault; handlers may remove others meanwhile. */
  fail(faultOf: (call: PooledCall) => UpstreamFault | undefined): void {
    const { list } = this;
    const isOver = (call: PooledCall): boolean => faultOf(call) !== undefined;
    for (let at = list.findIndex(isOver); at >= 0; at = list.findIndex(isOver)) {
      const [call] = list.splice(at, 1);
      const fault = call && faultOf(call);
      if (fault !== undefined) call?.receiver.fail(fault);
    }
  }
}
