import type { ShownHeader } from './mask-headers.ts';

/** A body as it is kept: masked already, so that what must not be shown is not in memory either. */
export interface KeptBody {
  readonly state: 'values' | 'structure' | 'withheld' | 'none';
  readonly bytes?: Uint8Array;
  /** Why it is withheld: a sentence. */
  readonly note?: string;
}

/** The head of a request as it is kept. */
export interface KeptHead {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly ShownHeader[];
}

/** A response as it is kept. */
export interface KeptResponse {
  readonly status: number;
  /** Of the body as far as it was seen, before masking. */
  readonly bodyBytes: number;
  readonly headers: readonly ShownHeader[];
  readonly body: KeptBody;
}

/**
 * What is kept of one exchange. The V2 body is not: the plan makes it again from the V1 body, masked or not, whenever somebody
 * looks.
 */
export interface KeptExchange {
  readonly v1Request: KeptHead & { readonly body: KeptBody };
  readonly v2Request?: KeptHead;
  readonly v2Response?: KeptResponse;
  readonly clientResponse?: KeptResponse;
}
