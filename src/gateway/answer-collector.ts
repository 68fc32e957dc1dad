import type { Coding } from '../http/content-coding.ts';
import type { HeaderList } from '../http/header-list.ts';
import type { AnswerRewrite } from '../rewrite/answer-rewrite.ts';
import { headersOfRewritten } from './answer-headers.ts';
import type { Decoded } from './gateway.ts';
import type { UpstreamFault, UpstreamReceiver } from './upstream.ts';

/** Why an answer that a rule applies to is left as it is, as the log says it. */
export type AnswerNote =
  | 'answer-too-large'
  | 'answer-undecodable'
  | 'answer-buffer-full'
  | 'answer-malformed'
  | 'answer-partial';

/** The exchange that an answer is collected for: it is told of the answer as if it came from V2 in one piece. */
export interface AnswerOwner extends UpstreamReceiver {
  /** True once nobody waits for the answer. */
  readonly isOver: boolean;
  /** Bytes of an answer that are rewritten, at the most, decoded. */
  readonly answerLimit: number;
  /** How the answer with this head is to be rewritten; undefined leaves it to stream. */
  planAnswer(status: number, headers: HeaderList): { readonly coding: Coding | undefined } | undefined;
  /** Takes bytes from the budget; false when they are not there. */
  takeAnswer(bytes: number): boolean;
  decodeAnswer(coding: Coding, body: Uint8Array, done: (outcome: Decoded) => void): void;
  rewriteAnswer(status: number, body: Uint8Array): AnswerRewrite;
  /** Says in the log why the answer is left as it is. */
  noteAnswer(note: AnswerNote): void;
  /** Shows V2's own body to whoever observes. */
  observeAnswer(body: Uint8Array): void;
}

interface Held {
  readonly status: number;
  readonly reason: string;
  readonly headers: HeaderList;
  readonly coding: Coding | undefined;
  readonly chunks: Uint8Array[];
  bytes: number;
}

/** Collects the answers that response rules apply to, and lets all others stream. */
export class AnswerCollector implements UpstreamReceiver {
  readonly #owner: AnswerOwner;
  #held: Held | undefined;

  constructor(owner: AnswerOwner) {
    this.#owner = owner;
  }

  information(status: number, headers: HeaderList): void {
    this.#owner.information(status, headers);
  }

  head(status: number, reason: string, headers: HeaderList): void {
    const plan = this.#owner.planAnswer(status, headers);
    if (plan === undefined) this.#owner.head(status, reason, headers);
    else this.#held = { status, reason, headers, coding: plan.coding, chunks: [], bytes: 0 };
  }

  data(chunk: Uint8Array): void {
    const held = this.#held;
    if (held === undefined) {
      this.#owner.data(chunk);
      return;
    }
    // Copied, for it may be a view of a buffer that is used again.
    held.chunks.push(chunk.slice());
    held.bytes += chunk.length;
    if (held.bytes > this.#owner.answerLimit) this.#letGo(held, 'answer-too-large');
    else if (!this.#owner.takeAnswer(chunk.length)) this.#letGo(held, 'answer-buffer-full');
  }

  end(trailers: HeaderList): void {
    const held = this.#held;
    if (held === undefined) {
      this.#owner.end(trailers);
      return;
    }
    this.#held = undefined;
    const { coding } = held;
    const body = joined(held);
    if (coding === undefined || body.length === 0) {
      this.#rewrite(held, body, body, trailers);
      return;
    }
    this.#owner.decodeAnswer(coding, body, (decoded) => {
      if (this.#owner.isOver) return;
      if (decoded instanceof Uint8Array && this.#owner.takeAnswer(decoded.length)) {
        this.#rewrite(held, body, decoded, trailers);
        return;
      }
      this.#owner.noteAnswer(typeof decoded === 'string' ? notes[decoded] : 'answer-buffer-full');
      this.#tell(held, held.headers, body, trailers);
    });
  }

  /** What came of the answer goes out before the break, so that the client sees a broken one and not a failure. */
  fail(fault: UpstreamFault): void {
    const held = this.#held;
    if (held !== undefined) this.#letGo(held, undefined);
    this.#owner.fail(fault);
  }

  #rewrite(held: Held, original: Uint8Array, body: Uint8Array, trailers: HeaderList): void {
    const outcome = this.#owner.rewriteAnswer(held.status, body);
    if (outcome.verdict === 'unchanged') {
      if (outcome.note === 'answer-malformed') this.#owner.noteAnswer(outcome.note);
      this.#tell(held, held.headers, original, trailers);
      return;
    }
    this.#owner.observeAnswer(body);
    this.#tell(held, headersOfRewritten(held.headers, outcome.body.length), outcome.body, []);
  }

  #tell({ status, reason }: Held, headers: HeaderList, body: Uint8Array, trailers: HeaderList): void {
    this.#owner.head(status, reason, headers);
    if (body.length > 0) this.#owner.data(body);
    this.#owner.end(trailers);
  }

  /** From here on the answer streams, as it came. */
  #letGo(held: Held, note: AnswerNote | undefined): void {
    this.#held = undefined;
    if (note !== undefined) this.#owner.noteAnswer(note);
    this.#owner.head(held.status, held.reason, held.headers);
    for (const chunk of held.chunks) this.#owner.data(chunk);
  }
}

const notes = { 'too-large': 'answer-too-large', undecodable: 'answer-undecodable' } as const;

function joined({ chunks, bytes }: Held): Uint8Array {
  const [first] = chunks;
  if (chunks.length === 1 && first !== undefined) return first;
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}
