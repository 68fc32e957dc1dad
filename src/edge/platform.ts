/** The interfaces used here that Workers add to the web standards. */
interface Platform {
  /** An identity stream with a declared length: without it workerd sends a chunked body. */
  readonly FixedLengthStream?: new (bytes: number) => TransformStream<Uint8Array, Uint8Array>;
}

const platform: typeof globalThis & Platform = globalThis;

/** Creates an identity stream for exactly `length` bytes. */
export function fixedLength(bytes: number): TransformStream<Uint8Array, Uint8Array> {
  const { FixedLengthStream } = platform;
  return FixedLengthStream === undefined ? new TransformStream() : new FixedLengthStream(bytes);
}
