import { codingOf } from '../../migrate/decide-body.ts';
import { editsOf, migratedTarget } from '../../migrate/decision.ts';
import type { DecodedBody } from '../../migrate/decoded-body.ts';
import { failure } from '../../migrate/failure.ts';
import { bodyTooLarge, migrateBody } from '../../migrate/migrate-body.ts';
import type { EditRecord } from '../../rewrite/rewrite.ts';
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
        return this.refuse(decision.body.failure);
      case 'forward':
        this.facts.note = decision.body.note;
        return received.exchange.open();
      case 'rewrite':
        return received.exchange.collect();
    }
  }

  override acceptChunk(bytes: number): boolean {
    const { bodyLimit } = this.decision;
    if (this.received.exchange.bytesIn > bodyLimit) {
      this.refuse(bodyTooLarge(bodyLimit));
      return false;
    }
    return this.take(bytes);
  }

  override onWholeBody(body: Uint8Array): void {
    const coding = codingOf(this.decision.body, body);
    if (coding === undefined) {
      this.migrate(body, body);
      return;
    }
    this.gateway.parts.decode(coding, body, this.decision.bodyLimit, (decoded) =>
      this.guarded(() => {
        if (typeof decoded === 'string' || this.take(decoded.length)) this.migrate(body, decoded);
      }),
    );
  }

  /** Forwards the body unchanged. */
  override onBody(body: Body): void {
    this.noteEdits(NO_EDITS);
    this.forward(this.v2Headers(), body);
  }

  private take(bytes: number): boolean {
    if (!this.gateway.budget.take(bytes)) {
      this.refuse(failure('buffer-full', undefined, ['Retry-After', '1']));
      return false;
    }
    this.bufferedBytes += bytes;
    return true;
  }

  private migrate(original: Uint8Array, decoded: DecodedBody): void {
    const { decision, rules, facts } = this;
    const { now } = this.gateway.parts;
    const before = now();
    const outcome = migrateBody(rules.requestPlan(decision.operation), decoded, decision.bodyLimit);
    facts.rewriteMs = now() - before;
    if (typeof decoded !== 'string' && decoded.length > 0) this.recorder?.clientBody(decoded);
    if (outcome.verdict === 'refused') {
      this.refuse(outcome.failure);
      return;
    }
    this.noteEdits(outcome.records);
    if (outcome.verdict === 'unchanged') {
      facts.note = outcome.note;
      this.forward(this.v2Headers(), original.length === 0 ? null : original);
      return;
    }
    facts.verdict = 'rewritten';
    if (outcome.omitted > 0) facts.editsOmitted = outcome.omitted;
    else facts.patch = this.loggedPatch(outcome.patch);
    this.forward(this.v2Headers(true), outcome.body);
  }

  /** Logs the edits of the query and of the body. */
  private noteEdits(body: readonly EditRecord[]): void {
    const { decision, facts } = this;
    facts.edits = editsOf(decision, body);
    if (decision.query.records.length > 0) facts.verdict = 'rewritten';
  }

  private forward(headers: string[], body: Body): void {
    const { exchange, head } = this.received;
    this.upstreamTarget = migratedTarget(this.decision);
    this.send({
      method: exchange.method,
      target: this.origin.path + this.upstreamTarget,
      headers,
      body,
      length: head.contentLength,
    });
  }
}

const NO_EDITS: readonly EditRecord[] = [];
