import { codingOf } from '../../migrate/decide-body.ts';
import { editsOf, migratedTarget, verdictOf } from '../../migrate/decision.ts';
import { bufferFull, failureOf } from '../../migrate/failure.ts';
import { bodyTooLarge, undecoded } from '../../migrate/migrate-body.ts';
import type { EditRecord, Rewrite } from '../../rewrite/rewrite.ts';
import type { WithoutEdits } from '../body-rewriter.ts';
import type { Body } from '../exchange.ts';
import { V1Exchange } from './v1-exchange.ts';

/** Migrates a V1 request to V2: its target, its version header and, where rules apply, its body. */
export class MigrateExchange extends V1Exchange {
  override start(): void {
    const { decision, received } = this;
    if (!received.exchange.hasBody) {
      this.onBody(null);
      return;
    }
    switch (decision.body.action) {
      case 'refuse':
        // A body of unknown length may be empty: an empty one is forwarded, whatever its head says.
        if ((received.head.contentLength ?? 0) > 0) return this.refuse(decision.body.failure);
        return received.exchange.collect(this.memory);
      case 'forward':
        return received.exchange.open('exchange');
      case 'rewrite':
        return received.exchange.collect(this.memory);
    }
  }

  override acceptChunk(bytes: number): boolean {
    const { bodyLimit, body: decided } = this.decision;
    if (decided.action === 'refuse' && bytes > 0) {
      this.refuse(decided.failure);
      return false;
    }
    if (this.received.exchange.bytesIn > bodyLimit) {
      this.refuse(bodyTooLarge(bodyLimit));
      return false;
    }
    return this.take(bytes);
  }

  override onWholeBody(body: Uint8Array): void {
    const { bodyLimit, body: decided } = this.decision;
    if (decided.action === 'refuse') {
      this.onBody(null);
      return;
    }
    const coding = codingOf(this.decision.body, body);
    if (coding === undefined) {
      this.migrate(body, undefined);
      return;
    }
    this.decodeBody(coding, body, bodyLimit, (decoded) => {
      // The decoder may still be at work on the body in its thread.
      if (typeof decoded === 'string') this.memory.abandon();
      if (this.isSettled) return;
      if (typeof decoded === 'string') this.refuse(undecoded(decoded, bodyLimit));
      else this.migrate(decoded, body);
    });
  }

  /** Forwards the body unchanged. */
  override onBody(body: Body): void {
    const { body: decided } = this.decision;
    if (body !== null && decided.action === 'forward') this.entry.note = decided.note;
    this.noteEdits('unchanged', NO_EDITS);
    this.forward(body);
  }

  private take(bytes: number): boolean {
    if (this.reserve(bytes)) return true;
    this.refuse(bufferFull());
    return false;
  }

  /** Migrates a decoded body; `received` is the one with its content coding, if it has one. */
  private migrate(decoded: Uint8Array, received: Uint8Array | undefined): void {
    const { now } = this.gateway.parts;
    const before = now();
    this.rewriteRequest(decoded, (outcome, body) => {
      if (this.isSettled) return;
      this.entry.rewriteMs = now() - before;
      if (body.length > 0) this.recorder?.recordRequestBody(body);
      this.settle(outcome, received ?? body);
    });
  }

  private settle(outcome: WithoutEdits<Rewrite>, original: Uint8Array): void {
    const { entry } = this;
    if (outcome.verdict === 'refused') {
      this.refuse(failureOf(outcome.refusal));
      return;
    }
    this.noteEdits(outcome.verdict, outcome.records);
    if (outcome.verdict === 'unchanged') {
      entry.note = outcome.note;
      this.forward(original.length === 0 ? null : original);
      return;
    }
    if (outcome.omitted > 0) entry.editsOmitted = outcome.omitted;
    else entry.patch = this.loggedPatch(outcome.patch);
    this.forward(outcome.body, true);
  }

  /** Logs the verdict on the request, and the edits of its query and body. */
  private noteEdits(body: 'rewritten' | 'unchanged', edits: readonly EditRecord[]): void {
    const { decision, entry } = this;
    entry.edits = editsOf(decision, edits);
    entry.verdict = verdictOf(decision, body);
  }

  private forward(body: Body, isRewritten = false): void {
    this.upstreamTarget = migratedTarget(this.decision);
    this.send(this.v2Request(this.origin.path + this.upstreamTarget, body, isRewritten));
  }
}

const NO_EDITS: readonly EditRecord[] = [];
