import type { Coding } from '../../http/content-coding.ts';
import type { EditRecord, PatchOperation } from '../../rewrite/rewrite.ts';
import type { Operation } from '../../rules/rule-book.ts';
import type { Would } from '../../rewrite-log/entry.ts';
import type { ReceivedRequest } from '../received-request.ts';
import type { Body } from '../exchange.ts';
import type { Decoded } from '../gateway.ts';
import type { CompiledRuleBook } from '../../rewrite/compiled-rule-book.ts';
import { decideBody } from '../../migrate/decide-body.ts';

/** What migrating a request would have come to. */
export interface DryRunOutcome {
  readonly would: Would;
  readonly edits: readonly EditRecord[];
  readonly patch?: readonly PatchOperation[];
  readonly note?: string | undefined;
  /** The body, decoded, where it was looked at. */
  readonly body?: Uint8Array;
}

/** What a dry run is given. */
export interface DryRunParts {
  /** Takes bytes from the budget; false when they are not there. */
  readonly take: (bytes: number) => boolean;
  readonly decode: (coding: Coding, body: Uint8Array, done: (outcome: Decoded) => void) => void;
  /** Told once, or never when a body could not be looked at. */
  readonly done: (outcome: DryRunOutcome) => void;
}

/** Looks at a body that crosses untouched: the same plan as for a migrated one, and nobody waits for it longer than that. */
export class DryRun {
  private readonly received: ReceivedRequest;
  private readonly inForce: CompiledRuleBook;
  private readonly operation: Operation | undefined;
  private readonly limit: number;
  private readonly parts: DryRunParts;

  constructor(
    received: ReceivedRequest,
    inForce: CompiledRuleBook,
    operation: Operation | undefined,
    limit: number,
    parts: DryRunParts,
  ) {
    this.received = received;
    this.inForce = inForce;
    this.operation = operation;
    this.limit = limit;
    this.parts = parts;
  }

  /** Looks at the body, and hands it on: at once when it is whole, part by part when it comes so. */
  run(body: Body, forward: (body: Body) => void): void {
    const judged = decideBody(this.received, this.inForce.ruleBook.policies, this.limit);
    if (body === null || judged.action === 'forward') {
      this.parts.done({
        would: { verdict: 'unchanged' },
        edits: [],
        ...(judged.action === 'forward' && body !== null ? { note: judged.note } : {}),
      });
      forward(body);
      return;
    }
    if (judged.action === 'refuse') {
      this.refused(judged.failure.code);
      forward(body);
      return;
    }
    const { coding } = judged;
    if (!(body instanceof Uint8Array)) {
      forward(this.watched(body, coding));
      return;
    }
    this.read(body, coding, () => forward(body));
  }

  /** The parts as they come, looked at once the last has gone; a body that is too large is given up on the way. */
  private async *watched(
    body: AsyncIterable<Uint8Array>,
    coding: Coding | undefined,
  ): AsyncGenerator<Uint8Array> {
    let chunks: Uint8Array[] = [];
    let bytes = 0;
    let isWatching = true;
    for await (const chunk of body) {
      bytes += chunk.length;
      if (isWatching && bytes <= this.limit && this.parts.take(chunk.length)) {
        chunks.push(chunk.slice());
      } else if (isWatching) {
        isWatching = false;
        chunks = [];
        if (bytes > this.limit) this.refused('body-too-large');
      }
      yield chunk;
    }
    if (isWatching) this.read(joined(chunks, bytes), coding, () => {});
  }

  private read(body: Uint8Array, coding: Coding | undefined, then: () => void): void {
    if (coding === undefined) {
      this.rewrite(body);
      then();
      return;
    }
    this.parts.decode(coding, body, (decoded) => {
      if (decoded instanceof Uint8Array) this.rewrite(decoded);
      else this.refused(decoded === 'too-large' ? 'body-too-large' : 'undecodable-body');
      then();
    });
  }

  private rewrite(body: Uint8Array): void {
    const outcome = this.inForce.plans.of(this.operation).rewrite(body);
    if (outcome.verdict === 'refused') {
      this.refused(outcome.refusal.code, body);
      return;
    }
    this.parts.done({
      would: { verdict: outcome.verdict },
      edits: outcome.records,
      body,
      ...(outcome.verdict === 'rewritten' ? { patch: outcome.patch } : { note: outcome.note }),
    });
  }

  private refused(failure: string, body?: Uint8Array): void {
    this.parts.done({
      would: { verdict: 'refused', failure },
      edits: [],
      ...(body === undefined ? {} : { body }),
    });
  }
}

function joined(chunks: readonly Uint8Array[], bytes: number): Uint8Array {
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}
