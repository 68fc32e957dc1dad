import type { UpstreamFault } from '../../gateway/upstream.ts';
import type { PooledCall } from './pooled-call.ts';

/**
 * A queue of calls that wait for a connection, in order of arrival; those without a client come last. The calls themselves are linked:
 * each leaves in the same time however many wait, when clients go or deadlines pass for thousands of them at once.
 */
export class WaitingCalls {
  /** Number of calls. */
  count = 0;
  /** Number of those whose body arrives in parts. */
  streamed = 0;
  /** Bytes that they hold while they wait. */
  heldBytes = 0;
  first: PooledCall | undefined = undefined;
  private last: PooledCall | undefined = undefined;

  /** The call that so many others come before. */
  at(index: number): PooledCall | undefined {
    let call = this.first;
    for (let before = 0; before < index; before += 1) call = call?.next;
    return call;
  }

  add(call: PooledCall): void {
    let previous = this.last;
    if (!call.isBackground) while (previous?.isBackground === true) previous = previous.previous;
    this.link(previous, call, previous === undefined ? this.first : previous.next);
  }

  /** Adds a call that has waited elsewhere: it comes before all that arrived later. */
  addByAge(call: PooledCall): void {
    let next = this.first;
    while (next !== undefined && !next.isBackground && next.since <= call.since) ({ next } = next);
    this.link(next === undefined ? this.last : next.previous, call, next);
  }

  /** Removes a call, if it waits here. */
  remove(call: PooledCall): void {
    if (call.queue !== this) return;
    const { previous, next } = call;
    if (previous === undefined) this.first = next;
    else previous.next = next;
    if (next === undefined) this.last = previous;
    else next.previous = previous;
    call.previous = undefined;
    call.next = undefined;
    call.queue = undefined;
    this.count -= 1;
    if (call.parts !== undefined) this.streamed -= 1;
    this.heldBytes -= call.heldBytes;
  }

  /** Removes and returns the first one. */
  takeFirst(): PooledCall | undefined {
    const { first } = this;
    if (first !== undefined) this.remove(first);
    return first;
  }

  /** Fails all queued calls for which `faultOf` returns a fault; handlers may remove others meanwhile. */
  fail(faultOf: (call: PooledCall) => UpstreamFault | undefined): void {
    const failed: [PooledCall, UpstreamFault][] = [];
    for (let call = this.first; call !== undefined; call = call.next) {
      const fault = faultOf(call);
      if (fault !== undefined) failed.push([call, fault]);
    }
    for (const [call, fault] of failed) {
      if (call.queue !== this) continue;
      this.remove(call);
      call.receiver.fail(fault);
    }
  }

  private link(previous: PooledCall | undefined, call: PooledCall, next: PooledCall | undefined): void {
    call.previous = previous;
    call.next = next;
    if (previous === undefined) this.first = call;
    else previous.next = call;
    if (next === undefined) this.last = call;
    else next.previous = call;
    call.queue = this;
    this.count += 1;
    if (call.parts !== undefined) this.streamed += 1;
    this.heldBytes += call.heldBytes;
  }
}
