import { ByteCollector } from '../http/byte-collector.ts';
import type { HeaderList } from '../http/header-list.ts';
import type { ResponseHead } from '../http/response-head.ts';
import type { UpstreamFault, UpstreamReceiver } from './upstream.ts';

/** A response that only the gateway reads. */
export interface CollectedResponse {
  readonly status: number;
  readonly headers: HeaderList;
  readonly body: Uint8Array;
}

/** Why a response was not copied. */
export type CopyFault = UpstreamFault['kind'] | 'too-large';

/** A response that was copied, or why there is none. */
export type CopyOutcome = CollectedResponse | CopyFault;

/** The part of a response's head that a copy needs. */
type CopiedHead = Pick<ResponseHead, 'status' | 'headers'>;

/** How much of a response is copied, and who gets the copy. */
export interface CopyRules {
  /** Maximum bytes of the body of this response; undefined if it is not copied. */
  readonly limit: (head: CopiedHead) => number | undefined;
  /** Reserves bytes in the budget; false when they do not fit. */
  readonly take?: (bytes: number) => boolean;
  /** Called once with the outcome. */
  readonly done?: (outcome: CopyOutcome) => void;
}

/**
 * Copies one response, while its parts are forwarded or instead of forwarding them: all of it, or nothing. Takes memory only for a
 * response that is copied.
 */
export class ResponseCopy implements UpstreamReceiver {
  readonly borrowsParts = true;
  /** Status of the response; 0 before it arrives. */
  status = 0;
  /** Undefined until it has arrived or failed. */
  outcome: CopyOutcome | undefined = undefined;
  private readonly rules: CopyRules;
  private limit = 0;
  private headers: HeaderList = [];
  private body: ByteCollector | undefined = undefined;

  constructor(rules: CopyRules) {
    this.rules = rules;
  }

  /** True while parts of the body are copied. */
  get isTaken(): boolean {
    return this.body !== undefined;
  }

  information(): void {}

  head(head: CopiedHead): void {
    this.status = head.status;
    this.headers = head.headers;
    const limit = this.rules.limit(head);
    if (limit === undefined) return;
    this.limit = limit;
    this.body = new ByteCollector();
  }

  data(chunk: Uint8Array): void {
    const { body, limit } = this;
    if (body === undefined) return;
    const taken = body.length + chunk.length > limit ? undefined : body.add(chunk, true);
    const isHeld = taken !== undefined && (taken === 0 || this.rules.take?.(taken) !== false);
    if (!isHeld) this.finish('too-large');
  }

  end(): void {
    const { body, status, headers } = this;
    this.finish(body === undefined ? 'too-large' : { status, headers, body: body.take() });
  }

  fail(fault: UpstreamFault): void {
    this.finish(fault.kind);
  }

  private finish(outcome: CopyOutcome): void {
    if (this.outcome !== undefined) return;
    this.outcome = outcome;
    this.body = undefined;
    this.rules.done?.(outcome);
  }
}
