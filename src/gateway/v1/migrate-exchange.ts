import type { Coding } from '../../http/content-coding.ts';
import { withoutFields } from '../../http/header-list.ts';
import type { Body } from '../exchange.ts';
import { failure, failureOf } from '../../migrate/failure.ts';
import type { Decoded } from '../gateway.ts';
import { decideBody } from '../../migrate/decide-body.ts';
import { V1Exchange } from './v1-exchange.ts';

/** A V1 request on its way to V2: its target, its version header and, where rules apply, its body change. */
export class MigrateExchange extends V1Exchange {
  private coding: Coding | undefined = undefined;

  override start(): void {
    const { exchange } = this.received;
    if (!exchange.hasBody) {
      this.onBody(null);
      return;
    }
    const judged = decideBody(
      this.received,
      this.rules.ruleBook.policies,
      this.bodyLimit,
      this.gateway.parts.codings,
    );
    switch (judged.action) {
      case 'refuse':
        return this.refuse(judged.failure);
      case 'forward':
        this.facts.note = judged.note;
        return exchange.open();
      case 'rewrite':
        this.coding = judged.coding;
        return exchange.collect();
    }
  }

  override acceptChunk(bytes: number): boolean {
    if (this.received.exchange.bytesIn > this.bodyLimit) {
      this.refuse(failure('body-too-large', `The body is larger than ${this.bodyLimit} bytes.`));
      return false;
    }
    return this.take(bytes);
  }

  override onWholeBody(body: Uint8Array): void {
    if (this.coding === undefined || body.length === 0) {
      this.rewrite(body, body);
      return;
    }
    this.gateway.parts.decode(this.coding, body, this.bodyLimit, (decoded) =>
      this.guarded(() => this.decoded(body, decoded)),
    );
  }

  /** The body crosses as it came. */
  override onBody(body: Body): void {
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

  private decoded(original: Uint8Array, decoded: Decoded): void {
    if (decoded === 'too-large') {
      this.refuse(failure('body-too-large', `The decoded body is larger than ${this.bodyLimit} bytes.`));
      return;
    }
    if (decoded === 'undecodable') {
      this.refuse(failure('undecodable-body'));
      return;
    }
    if (this.take(decoded.length)) this.rewrite(original, decoded);
  }

  private rewrite(original: Uint8Array, body: Uint8Array): void {
    if (body.length === 0) {
      this.forward(this.v2Headers(), original.length === 0 ? null : original);
      return;
    }
    const { now } = this.gateway.parts;
    const before = now();
    const outcome = this.rules.plans.of(this.operation).rewrite(body);
    this.facts.rewriteMs = now() - before;
    this.recorder?.clientBody(body);
    if (outcome.verdict === 'refused') {
      this.refuse(failureOf(outcome.refusal));
      return;
    }
    this.facts.edits = outcome.records;
    if (outcome.verdict === 'unchanged') {
      this.facts.note = outcome.note;
      this.forward(this.v2Headers(), original);
      return;
    }
    this.facts.verdict = 'rewritten';
    if (outcome.omitted > 0) this.facts.editsOmitted = outcome.omitted;
    else this.facts.patch = outcome.patch;
    this.forward(withoutFields(this.v2Headers(), BODY_FIELDS), outcome.body);
  }

  private forward(headers: string[], body: Body): void {
    const { exchange, head } = this.received;
    this.upstreamTarget = `/api/v2${this.target.rest}${this.target.query}`;
    this.send({
      method: exchange.method,
      target: this.origin.path + this.upstreamTarget,
      headers,
      body,
      length: head.contentLength,
    });
  }
}

/** What was said of the bytes that the client sent is not true of those that are sent on (RFC 9530 §6.2). */
const BODY_FIELDS: ReadonlySet<string> = new Set([
  'content-encoding',
  'content-md5',
  'content-digest',
  'digest',
  'repr-digest',
]);
