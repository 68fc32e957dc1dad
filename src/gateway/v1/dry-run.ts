import { ByteCollector } from '../../http/byte-collector.ts';
import type { Coding } from '../../http/content.ts';
import { bodyTooLarge, codingOf, streamedFormat } from '../../migrate/decision.ts';
import type { DecodedBody } from '../../migrate/decode-web-body.ts';
import type { Failure } from '../../migrate/failure.ts';
import type { RequestEnd, RequestMigration, WithoutEdits, Work } from '../../migrate/migration.ts';
import type { TransformJob, TransformOutcome } from '../../migrate/transform.ts';
import type { BodySchemas, CheckedRequest } from '../../openapi/body-schemas.ts';
import { ObservationBudget } from '../../rewrite-log/attributes.ts';
import type { Would } from '../../rewrite-log/entry.ts';
import type { Rewrite } from '../../rewrite/records.ts';
import type { BodyCheck } from '../../rollout/body-checks.ts';
import type { Operation } from '../../rules/rule-book.ts';
import type { Body } from '../exchange.ts';

/** Receives the error of a rewriter that has lost the body. */
type OnLost = (error: unknown) => void;

/** Dependencies of a dry run. */
export interface DryRunParts {
  /** Reserves bytes in the budget; false when they do not fit. */
  readonly take: (bytes: number) => boolean;
  /** Judges the digests that came with a body, and calls `next`. */
  readonly judge: (body: Uint8Array, next: () => void) => void;
  /** Decodes a body up to `limit` bytes. */
  readonly decode: (
    coding: Coding,
    body: Uint8Array,
    limit: number,
    done: (decoded: DecodedBody) => void,
  ) => void;
  /** Rewrites a decoded body, which may then be in other memory. */
  readonly rewrite: (
    body: Uint8Array,
    done: (outcome: WithoutEdits<Rewrite>, body: Uint8Array) => void,
    lost: OnLost,
  ) => void;
  readonly transform: (job: TransformJob, done: (outcome: TransformOutcome) => void) => void;
  /** Called once with the end of the migration and the decoded body, if it was read; never when the body could not be read. */
  readonly done: (end: RequestEnd, read: Uint8Array | undefined) => void;
  /** Called when a body that was read is forwarded, or was before. */
  readonly over: () => void;
  /** Called when the body is lost before it was forwarded. */
  readonly lost: OnLost;
  /** Called when a copy of a body is lost. */
  readonly copyLost: OnLost;
}

/** The verdict that a log has of a dry run. */
export function wouldOf(end: RequestEnd): Would {
  if (end.verdict !== 'refused') return { verdict: end.verdict };
  const { code, pointer } = end.failure;
  return { verdict: 'refused', failure: code, ...(pointer === undefined ? {} : { pointer }) };
}

/** Forwards a body untouched and migrates a copy, which is all that delays the request; a transform does not. */
export class DryRun {
  private readonly migration: RequestMigration;
  private readonly parts: DryRunParts;
  /** True while a whole body is judged, decoded, rewritten or transformed. */
  isReading = false;
  /** The body for V2, where it is to be checked against V2's description. */
  checkable: CheckableBody | undefined = undefined;

  constructor(migration: RequestMigration, parts: DryRunParts) {
    this.migration = migration;
    this.parts = parts;
  }

  /** Runs on `body` and forwards it: at once when it is whole, chunk by chunk when it is streamed. */
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
        // A body that would have been rewritten as it comes is not refused for its size: what became of it is not known.
        if (isTooLarge && streamedFormat(decided) === undefined) this.refused(bodyTooLarge(bodyLimit));
      }
      yield chunk;
    }
    if (isCopying) this.read(copy.take(), () => {}, this.parts.copyLost);
  }

  /** Copies a chunk, whose memory is used again once it is forwarded; false when the budget has no room for it. */
  private hold(copy: ByteCollector, chunk: Uint8Array): boolean {
    const taken = copy.add(chunk, true);
    return taken === 0 || this.parts.take(taken);
  }

  /** Reads a whole body, and passes it on as it was received. */
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

  /** Calls the transform, if there is one: the client's request waits for it no longer. */
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
    // What was not read for want of memory would have been migrated at another time.
    const isUnknown = 'rules' in step || (step.verdict === 'refused' && step.failure.code === 'buffer-full');
    if (!isUnknown) this.parts.done(step, read);
  }

  private refused(failed: Failure): void {
    this.parts.done({ verdict: 'refused', failure: failed, cause: undefined }, undefined);
  }
}

/** Maximum bytes of a body to check. The steps of one check are bounded by {@link BodySchemas}, all of them by the budget. */
const MAX_BYTES = 16 * 1024;

/** A body for V2, or the reason why there is none. */
export type CheckableBody = Uint8Array | 'not-read' | 'too-large';

/** Request schemas of V2; `unread` while its description could not be read yet, undefined when none is configured. */
export type V2Schemas = BodySchemas | 'unread' | undefined;

/** Checks bodies that V2 did not get against V2's description, as many as the observation budget allows, failures first. */
export class BodyChecks {
  private readonly budget: ObservationBudget;
  private readonly schemas: () => V2Schemas;

  /** `now` is a monotonic clock, in milliseconds. */
  constructor(now: () => number, schemas: () => V2Schemas) {
    this.budget = new ObservationBudget(now);
    this.schemas = schemas;
  }

  /** True when a description of V2 is configured. */
  get isOn(): boolean {
    return this.schemas() !== undefined;
  }

  /** Sentences about what is not checked of the bodies of a rule book's operations. */
  warnings(operations: readonly Operation[]): readonly string[] {
    const schemas = this.schemas();
    return schemas === undefined || schemas === 'unread' ? [] : schemas.warnings(operations);
  }

  /** What to keep of a body until it can be checked; undefined when there is nothing to check. */
  keep(body: Uint8Array | 'not-read' | undefined): CheckableBody | undefined {
    if (body === undefined || body.length === 0 || !this.isOn) return undefined;
    return body !== 'not-read' && body.length > MAX_BYTES ? 'too-large' : body;
  }

  /** Checks a body for the path `rest` below the version; beyond the budget of the second it is unknown. */
  check(
    method: string,
    rest: string,
    body: CheckableBody,
    isFailure: boolean,
    request: CheckedRequest,
  ): BodyCheck | undefined {
    const schemas = this.schemas();
    if (schemas === undefined) return undefined;
    if (typeof body === 'string') return { v2: 'unknown', why: body };
    if (schemas === 'unread') return { v2: 'unknown', why: 'no-description' };
    const check = this.budget.run(body.length, isFailure, () =>
      schemas.verdictOf(method, rest, body, request),
    );
    if (check === undefined) return { v2: 'unknown', why: 'budget' };
    return check.v2 === 'invalid' ? { ...check, at: shortened(check.at) } : check;
  }
}

/** Maximum characters of a pointer: its names are the client's. */
const MAX_POINTER = 256;

/** The innermost place on the way to a pointer that is short enough. */
function shortened(pointer: string): string {
  if (pointer.length <= MAX_POINTER) return pointer;
  return pointer.slice(0, pointer.lastIndexOf('/', MAX_POINTER));
}
