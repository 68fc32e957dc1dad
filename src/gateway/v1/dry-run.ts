import { ByteCollector } from '../../http/byte-collector.ts';
import type { Coding } from '../../http/content.ts';
import {
  bodyTooLarge,
  codingOf,
  editsOf,
  formatOf,
  makesBody,
  type MigrateDecision,
  streamedFormat,
  undecoded,
  verdictOf,
} from '../../migrate/decision.ts';
import type { DecodedBody } from '../../migrate/decode-web-body.ts';
import { type Failure, failure, failureOf } from '../../migrate/failure.ts';
import {
  queryOf,
  type TransformOutcome,
  transformRecords,
  type TransformResult,
  withQuery,
} from '../../migrate/transform.ts';
import type { BodySchemas, CheckedRequest } from '../../openapi/body-schemas.ts';
import { ObservationBudget } from '../../rewrite-log/attributes.ts';
import type { Would } from '../../rewrite-log/entry.ts';
import type { EditRecord, PatchOperation, Rewrite } from '../../rewrite/records.ts';
import type { BodyCheck } from '../../rollout/body-checks.ts';
import type { Operation } from '../../rules/rule-book.ts';
import type { WithoutEdits } from '../body-rewriter.ts';
import type { Body } from '../exchange.ts';

/** Outcome that a request's migration would have had. */
export interface DryRunOutcome {
  readonly would: Would;
  readonly edits: readonly EditRecord[];
  readonly patch?: readonly PatchOperation[];
  /** What a transform did to the body behind it. */
  readonly madePatch?: readonly PatchOperation[];
  /** Number of edits beyond those listed; there is no patch then. */
  readonly omitted?: number;
  readonly note?: string | undefined;
  /** Decoded body, if it was read. */
  readonly body?: Uint8Array;
  /** Body for V2 in JSON, or why it is not known; absent without a body. */
  readonly migrated?: Uint8Array | 'not-read';
  /** The target at V2, where a transform made its query. */
  readonly v2Target?: string;
}

/** Receives the error of a rewriter that has lost the body. */
type OnLost = (error: unknown) => void;

/** Dependencies of a dry run. */
export interface DryRunParts {
  /** Reserves bytes in the budget; false when they do not fit. */
  readonly take: (bytes: number) => boolean;
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
  /** Calls the transform of the operation for the JSON that rules made, if there is one; undefined for an operation without. */
  readonly transform?:
    | ((
        query: string,
        body: Uint8Array | 'not-read' | undefined,
        done: (outcome: TransformOutcome) => void,
      ) => void)
    | undefined;
  /** Called once, or never when the body could not be read. */
  readonly done: (outcome: DryRunOutcome) => void;
  /** Called when a body that was read is forwarded, or was before. */
  readonly over: () => void;
  /** Called when the body is lost before it was forwarded. */
  readonly lost: OnLost;
  /** Called when a copy of a body is lost. */
  readonly copyLost: OnLost;
}

/** Forwards a body untouched and migrates a copy as the decision says, which is all that delays the request. */
export class DryRun {
  private readonly decision: MigrateDecision;
  private readonly parts: DryRunParts;
  /** True while a whole body is decoded, rewritten or transformed. */
  isReading = false;

  constructor(decision: MigrateDecision, parts: DryRunParts) {
    this.decision = decision;
    this.parts = parts;
  }

  /** Runs on `body` and forwards it: at once when it is whole, chunk by chunk when it is streamed. */
  run(body: Body, forward: (body: Body) => void): void {
    const { body: decided, refusal } = this.decision;
    if (refusal !== undefined) {
      this.refused(refusal);
      forward(body);
      return;
    }
    if (body === null && makesBody(decided)) {
      this.read(new Uint8Array(), () => forward(null), this.parts.lost);
      return;
    }
    if (body === null || decided.action === 'forward' || decided.action === 'drop') {
      const isNoted = decided.action === 'forward' || decided.action === 'drop';
      const note = body !== null && isNoted ? decided.note : undefined;
      this.conclude({
        would: { verdict: verdictOf(this.decision, 'unchanged') },
        edits: editsOf(this.decision, []),
        ...(note === undefined ? {} : { note }),
        ...(body === null || decided.action === 'drop' ? {} : { migrated: 'not-read' }),
      });
      forward(body);
      return;
    }
    if (decided.action === 'refuse') {
      this.refused(decided.failure);
      forward(body);
      return;
    }
    if (!(body instanceof Uint8Array)) {
      const copied = this.copied(body);
      forward({
        [Symbol.asyncIterator]: () => copied,
        get trailers() {
          return body.trailers ?? [];
        },
      });
      return;
    }
    this.read(body, forward, this.parts.lost);
  }

  /** Forwards the chunks as they arrive and reads the copy after the last; a copy that grows too large is discarded. */
  private async *copied(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    const { bodyLimit } = this.decision;
    const copy = new ByteCollector();
    let isCopying = true;
    for await (const chunk of body) {
      if (isCopying) {
        const isTooLarge = copy.length + chunk.length > bodyLimit;
        isCopying = !isTooLarge && this.hold(copy, chunk);
        if (!isCopying) copy.take();
        if (isTooLarge) this.tooLarge(bodyLimit);
      }
      yield chunk;
    }
    if (isCopying) this.read(copy.take(), () => {}, this.parts.copyLost);
  }

  /** A body that would have been rewritten as it comes is not refused for its size: what became of it is not known. */
  private tooLarge(bodyLimit: number): void {
    if (streamedFormat(this.decision.body) === undefined) this.refused(bodyTooLarge(bodyLimit));
  }

  /** Copies a chunk, whose memory is used again once it is forwarded; false when the budget has no room for it. */
  private hold(copy: ByteCollector, chunk: Uint8Array): boolean {
    const taken = copy.add(chunk, true);
    return taken === 0 || this.parts.take(taken);
  }

  /** Reads a whole body, and passes it on as it was received. */
  private read(body: Uint8Array, onDone: (body: Uint8Array) => void, onLost: OnLost): void {
    const coding = codingOf(this.decision.body, body);
    if (coding === undefined) {
      this.migrate(body, onDone, onLost);
      return;
    }
    const { bodyLimit } = this.decision;
    this.isReading = true;
    this.parts.decode(coding, body, bodyLimit, (decoded) => {
      this.isReading = false;
      if (decoded instanceof Uint8Array) {
        this.migrate(decoded, () => onDone(body), onLost);
        return;
      }
      if (decoded !== 'buffer-full') this.refused(undecoded(decoded, bodyLimit));
      onDone(body);
      this.parts.over();
    });
  }

  private migrate(decoded: Uint8Array, onDone: (body: Uint8Array) => void, onLost: OnLost): void {
    this.isReading = true;
    const done = (outcome: WithoutEdits<Rewrite>, body: Uint8Array): void => {
      this.isReading = false;
      this.report(outcome, body);
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

  private report(outcome: WithoutEdits<Rewrite>, body: Uint8Array): void {
    if (outcome.verdict === 'refused') {
      const refused = failureOf(outcome.refusal);
      if (refused.code !== 'buffer-full') this.refused(refused, body);
      return;
    }
    this.conclude({
      would: { verdict: verdictOf(this.decision, outcome.verdict) },
      edits: editsOf(this.decision, outcome.records),
      body,
      ...(outcome.verdict === 'unchanged'
        ? { note: outcome.note, migrated: this.isJson ? body : 'not-read' }
        : { ...listed(outcome), migrated: this.isJson ? outcome.body : 'not-read' }),
    });
  }

  /** Calls the transform, if there is one: the client's request waits for it no longer. */
  private conclude(outcome: DryRunOutcome): void {
    const { transform } = this.parts;
    if (transform === undefined) {
      this.parts.done(outcome);
      return;
    }
    const { v2Target } = this.decision;
    const { migrated } = outcome;
    const query = queryOf(v2Target);
    this.isReading = true;
    transform(query, migrated?.length === 0 ? undefined : migrated, (made) => {
      this.isReading = false;
      if ('why' in made) this.refused(failure('transform-failed'), outcome.body);
      else this.parts.done(withTransform(outcome, made, query, v2Target));
      this.parts.over();
    });
  }

  /** V2's schemas are for JSON. */
  private get isJson(): boolean {
    return formatOf(this.decision.body) === 'json';
  }

  private refused({ code, pointer }: Failure, body?: Uint8Array): void {
    this.parts.done({
      would: { verdict: 'refused', failure: code, ...(pointer === undefined ? {} : { pointer }) },
      edits: [],
      ...(body === undefined ? {} : { body }),
    });
  }
}

/** The outcome with the result of a transform. */
function withTransform(
  outcome: DryRunOutcome,
  made: TransformResult,
  query: string,
  v2Target: string,
): DryRunOutcome {
  const records = transformRecords(made, query);
  if (records.length === 0) return outcome;
  return {
    ...outcome,
    would: { verdict: 'rewritten' },
    edits: [...outcome.edits, ...records],
    madePatch: made.patch,
    ...(made.body === undefined ? {} : { migrated: made.body }),
    v2Target: withQuery(v2Target, made.query),
  };
}

type Listed = Pick<DryRunOutcome, 'patch' | 'omitted'>;

/** A patch that lacks edits would be wrong, so the log has one or the number of those it lacks. */
function listed({ patch, omitted }: Required<Listed>): Listed {
  return omitted > 0 ? { omitted } : { patch };
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
