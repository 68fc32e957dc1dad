import { ByteCollector } from '../../http/byte-collector.ts';
import type { Coding } from '../../http/content.ts';
import { bodyTooLarge, codingOf, streamedFormat } from '../../migrate/decision.ts';
import type { DecodedBody } from '../../migrate/decode-web-body.ts';
import type { Failure } from '../../migrate/failure.ts';
import type { RequestEnd, RequestMigration, WithoutEdits, Work } from '../../migrate/migration.ts';
import type { TransformJob, TransformOutcome } from '../../migrate/transform.ts';
import type { Would } from '../../rewrite-log/entry.ts';
import type { Rewrite } from '../../rewrite/records.ts';
import type { Body } from '../exchange.ts';
import type { CheckableBody } from './checks.ts';

/** Receives the error of a rewriter that lost the body. */
type OnLost = (error: unknown) => void;

export interface DryRunParts {
  /** Reserves bytes in the budget; false when they do not fit. */
  readonly take: (bytes: number) => boolean;
  /** Checks the digests of a body, and calls `next`. */
  readonly judge: (body: Uint8Array, next: () => void) => void;
  /** Decodes a body up to `limit` bytes. */
  readonly decode: (
    coding: Coding,
    body: Uint8Array,
    limit: number,
    done: (decoded: DecodedBody) => void,
  ) => void;
  /** Rewrites a decoded body, possibly into other memory. */
  readonly rewrite: (
    body: Uint8Array,
    done: (outcome: WithoutEdits<Rewrite>, body: Uint8Array) => void,
    lost: OnLost,
  ) => void;
  readonly transform: (job: TransformJob, done: (outcome: TransformOutcome) => void) => void;
  /** Called once with the end of the migration and the decoded body, if there was one; never if the body could not be read. */
  readonly done: (end: RequestEnd, read: Uint8Array | undefined) => void;
  /** Called after a body that was read has been forwarded. */
  readonly over: () => void;
  /** Called if the body is lost before it was forwarded. */
  readonly lost: OnLost;
  /** Called if a copy of a body is lost. */
  readonly copyLost: OnLost;
}

/** The verdict of a dry run in the log. */
export function wouldOf(end: RequestEnd): Would {
  if (end.verdict !== 'refused') return { verdict: end.verdict };
  const { code, pointer } = end.failure;
  return { verdict: 'refused', failure: code, ...(pointer === undefined ? {} : { pointer }) };
}

/** Forwards a body untouched and migrates a copy. Only the copying delays the request, not a transform. */
export class DryRun {
  private readonly migration: RequestMigration;
  private readonly parts: DryRunParts;
  /** True while a whole body is checked, decoded, rewritten or transformed. */
  isReading = false;
  /** The body for V2, if it will be checked against V2's description. */
  checkable: CheckableBody | undefined = undefined;

  constructor(migration: RequestMigration, parts: DryRunParts) {
    this.migration = migration;
    this.parts = parts;
  }

  /** Runs on `body` and forwards it: at once if it is complete, chunk by chunk if it is streamed. */
  run(body: Body, forward: (body: Body) => void): void {
    const { migration } = this;
    const step = migration.begin(body !== null);
    if (step.action !== 'rewrite') {
      if (step.action === 'refuse') this.refused(step.failure);
      else this.goOn(migration.finish(body === null ? undefined : 'unread'));
      forward(body);
    } else if (body === null) this.read(new Uint8Array(), () => forward(null), this.parts.lost);
    else if (body instanceof Uint8Array) this.read(body, forward, this.parts.lost);
    else {
      const copied = this.copied(body);
      forward({
        [Symbol.asyncIterator]: () => copied,
        get trailers() {
          return body.trailers ?? [];
        },
      });
    }
  }

  /** Forwards the chunks as they arrive and reads the copy after the last; a copy that grows too large is discarded. */
  private async *copied(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    const { bodyLimit, body: decided } = this.migration.decision;
    const copy = new ByteCollector();
    let isCopying = true;
    for await (const chunk of body) {
      if (isCopying) {
        const isTooLarge = copy.length + chunk.length > bodyLimit;
        isCopying = !isTooLarge && this.hold(copy, chunk);
        if (!isCopying) copy.take();
        // A migration would rewrite a body in this format while it arrives, of any size; the dry run then has no result.
        if (isTooLarge && streamedFormat(decided) === undefined) this.refused(bodyTooLarge(bodyLimit));
      }
      yield chunk;
    }
    if (isCopying) this.read(copy.take(), () => {}, this.parts.copyLost);
  }

  /** Copies a chunk, whose memory is reused after it is forwarded; false if the budget has no room for it. */
  private hold(copy: ByteCollector, chunk: Uint8Array): boolean {
    const taken = copy.add(chunk, true);
    return taken === 0 || this.parts.take(taken);
  }

  /** Reads a whole body, and forwards it as received. */
  private read(body: Uint8Array, onDone: (body: Uint8Array) => void, onLost: OnLost): void {
    this.isReading = true;
    this.parts.judge(body, () => {
      this.isReading = false;
      this.decode(body, onDone, onLost);
    });
  }

  private decode(body: Uint8Array, onDone: (body: Uint8Array) => void, onLost: OnLost): void {
    const { bodyLimit, body: decided } = this.migration.decision;
    const coding = codingOf(decided, body);
    if (coding === undefined) {
      this.migrate(body, onDone, onLost);
      return;
    }
    this.isReading = true;
    this.parts.decode(coding, body, bodyLimit, (decoded) => {
      this.isReading = false;
      if (decoded instanceof Uint8Array) {
        this.migrate(decoded, () => onDone(body), onLost);
        return;
      }
      this.goOn(this.migration.finish(decoded));
      onDone(body);
      this.parts.over();
    });
  }

  private migrate(decoded: Uint8Array, onDone: (body: Uint8Array) => void, onLost: OnLost): void {
    this.isReading = true;
    const done = (outcome: WithoutEdits<Rewrite>, body: Uint8Array): void => {
      this.isReading = false;
      this.goOn(this.migration.ruled(outcome), body);
      onDone(body);
      if (!this.isReading) this.parts.over();
    };
    const lost: OnLost = (error) => {
      this.isReading = false;
      onLost(error);
      this.parts.over();
    };
    try {
      this.parts.rewrite(decoded, done, lost);
    } catch (error) {
      this.isReading = false;
      throw error;
    }
  }

  /** Continues with a step. The client's request does not wait for a transform. */
  private goOn(step: Work | RequestEnd, read?: Uint8Array): void {
    if ('transform' in step) {
      this.isReading = true;
      this.parts.transform(step.transform, (made) => {
        this.isReading = false;
        this.goOn(this.migration.transformed(made), read);
        this.parts.over();
      });
      return;
    }
    // Without memory the body was not read. At another time a migration would have read it, so there is no result.
    const isUnknown = 'rules' in step || (step.verdict === 'refused' && step.failure.code === 'buffer-full');
    if (!isUnknown) this.parts.done(step, read);
  }

  private refused(failed: Failure): void {
    this.parts.done({ verdict: 'refused', failure: failed, cause: undefined }, undefined);
  }
}
