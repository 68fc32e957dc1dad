import type { UpstreamFault } from '../../gateway/upstream.ts';
import type { StreamCall } from './stream-call.ts';
import { WholeCall } from './whole-call.ts';

/** What waits for a connection. */
export type WaitingCall = WholeCall | StreamCall;

/** The calls that wait for a connection, in the order in which they came; those that no client waits for come last. */
export class WaitingCalls {
  private readonly list: WaitingCall[] = [];

  get count(): number {
    return this.list.length;
  }

  /** Bytes that are held while they wait. */
  get heldBytes(): number {
    let bytes = 0;
    for (const call of this.list) bytes += call.heldBytes;
    return bytes;
  }

  /** How many wait for a connection that others may have used. */
  get wholeCount(): number {
    let count = 0;
    for (const call of this.list) if (call instanceof WholeCall) count += 1;
    return count;
  }

  at(index: number): WaitingCall | undefined {
    return this.list[index];
  }

  add(call: WaitingCall): void {
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

  /** A call comes back whose connection could not be made. */
  addFirst(call: WaitingCall): void {
    this.list.unshift(call);
  }

  removeAt(index: number): void {
    if (index === 0) this.list.shift();
    else this.list.splice(index, 1);
  }

  remove(call: WaitingCall): void {
    const at = this.list.indexOf(call);
    if (at >= 0) this.list.splice(at, 1);
  }

  /** Takes out the first one whose body is whole. */
  takeWhole(): WholeCall | undefined {
    const at = this.list.findIndex((call) => call instanceof WholeCall);
    const call = this.list[at];
    if (!(call instanceof WholeCall)) return undefined;
    this.removeAt(at);
    return call;
  }

  /** Ends the waiting of all that have a fault; from within what is told, others may leave. */
  fail(faultOf: (call: WaitingCall) => UpstreamFault | undefined): void {
    const { list } = this;
    const isOver = (call: WaitingCall): boolean => faultOf(call) !== undefined;
    for (let at = list.findIndex(isOver); at >= 0; at = list.findIndex(isOver)) {
      const [call] = list.splice(at, 1);
      const fault = call && faultOf(call);
      if (fault !== undefined) call?.receiver.fail(fault);
    }
  }
}
