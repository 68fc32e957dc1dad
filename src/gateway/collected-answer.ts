import type { HeaderList } from '../http/header-list.ts';
import type { UpstreamFault, UpstreamReceiver } from './upstream.ts';

/** An answer that nobody but the gateway reads. */
export interface CollectedAnswer {
  readonly status: number;
  readonly headers: HeaderList;
  readonly body: Uint8Array;
}

/** Why an answer was not collected. */
export type CollectFault = UpstreamFault['kind'] | 'too-large';

/** Collects one answer, up to `limit` bytes of its body, and tells of it once. */
export class AnswerCopy implements UpstreamReceiver {
  readonly #limit: number;
  readonly #take: (bytes: number) => boolean;
  readonly #done: (outcome: CollectedAnswer | CollectFault) => void;
  #status = 0;
  #headers: HeaderList = [];
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #isOver = false;

  /** `take` takes bytes from the budget; false when they are not there. */
  constructor(
    limit: number,
    take: (bytes: number) => boolean,
    done: (outcome: CollectedAnswer | CollectFault) => void,
  ) {
    this.#limit = limit;
    this.#take = take;
    this.#done = done;
  }

  information(): void {}

  head(status: number, _reason: string, headers: HeaderList): void {
    this.#status = status;
    this.#headers = headers;
  }

  data(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    if (this.#isOver) return;
    if (this.#bytes <= this.#limit && this.#take(chunk.length)) this.#chunks.push(chunk.slice());
    else this.#tell('too-large');
  }

  end(): void {
    const body = new Uint8Array(this.#bytes);
    let at = 0;
    for (const chunk of this.#chunks) {
      body.set(chunk, at);
      at += chunk.length;
    }
    this.#tell({ status: this.#status, headers: this.#headers, body });
  }

  fail(fault: UpstreamFault): void {
    this.#tell(fault.kind);
  }

  #tell(outcome: CollectedAnswer | CollectFault): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#chunks = [];
    this.#done(outcome);
  }
}
