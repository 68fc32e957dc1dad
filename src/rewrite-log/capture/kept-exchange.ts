import type { ShownHeader } from './mask-headers.ts';

/** A kept body: masked before it is stored, so that secret values are not even in memory. */
export interface KeptBody {
  readonly state: 'values' | 'structure' | 'withheld' | 'none';
  readonly bytes?: Uint8Array;
  /** Reason for `withheld`: a sentence. */
  readonly note?: string;
}

/** The kept head of a request. */
export interface KeptHead {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly ShownHeader[];
}

/** A kept response. */
export interface KeptResponse {
  readonly status: number;
  /** Bytes of the observed body, before masking. */
  readonly bodyBytes: number;
  readonly headers: readonly ShownHeader[];
  readonly body: KeptBody;
}

/**
 * The kept content of one exchange. The V2 body is not stored: the plan makes it again from the V1 body, masked or not, whenever
 * it is displayed.
 */
export interface KeptExchange {
  readonly v1Request: KeptHead & { readonly body: KeptBody };
  readonly v2Request?: KeptHead;
  readonly v2Response?: KeptResponse;
  readonly clientResponse?: KeptResponse;
}
