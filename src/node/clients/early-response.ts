/** Bytes of a body that are still read after an early response, one that is complete before its request. */
export const SMALL_REST_BYTES = 1024 * 1024;

/** A request whose body has not arrived. */
interface PartialBody {
  /** Bytes of the body; `Infinity` where they are not known. */
  readonly length: number;
  readonly received: number;
  /** True for a client that waits for `100 Continue`: it may send no body at all. */
  readonly expectsContinue: boolean;
}

/** True when so much of a body may be missing that its connection closes after an early response (RFC 9112 §9.6). */
export function isFarFromComplete({ length, received, expectsContinue }: PartialBody): boolean {
  return expectsContinue || length - received > SMALL_REST_BYTES;
}
