/** The interfaces used here that Workers add to the web standards. */
interface Platform {
  /** An identity stream with a declared length: without it workerd sends a chunked body. */
  readonly FixedLengthStream?: new (bytes: number) => TransformStream<Uint8Array, Uint8Array>;
  /** An identity stream that copies what is written into what is read, as the one with a length does. */
  readonly IdentityTransformStream?: new () => TransformStream<Uint8Array, Uint8Array>;
}

const platform: typeof globalThis & Platform = globalThis;

/** Creates an identity stream for exactly `length` bytes. */
export function fixedLength(bytes: number): TransformStream<Uint8Array, Uint8Array> {
  const { FixedLengthStream } = platform;
  return FixedLengthStream === undefined ? new TransformStream() : new FixedLengthStream(bytes);
}

/** Creates an identity stream, for exactly `length` bytes where that is known: memory may be used again once it is written. */
export function copyingPipe(length: number | undefined): TransformStream<Uint8Array, Uint8Array> {
  const { FixedLengthStream, IdentityTransformStream } = platform;
  if (FixedLengthStream !== undefined && length !== undefined) return new FixedLengthStream(length);
  if (IdentityTransformStream !== undefined) return new IdentityTransformStream();
  return new TransformStream({
    transform: (chunk, controller) => controller.enqueue(chunk.slice()),
  });
}
