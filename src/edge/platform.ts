/** The interfaces used here that Workers add to the web standards. */
interface Platform {
  /** An identity stream with a declared length: without it workerd sends a chunked body. */
  readonly FixedLengthStream?: new (bytes: number) => TransformStream<Uint8Array, Uint8Array>;
  /** Its write is over when the bytes were read: the writer may use their memory again. */
  readonly IdentityTransformStream?: new () => TransformStream<Uint8Array, Uint8Array>;
}

const platform: typeof globalThis & Platform = globalThis;

/** True where a stream of the platform reads into the memory that it is given, and a write is over when its bytes were read. */
export const reusesMemory: boolean = platform.IdentityTransformStream !== undefined;

/** Creates an identity stream for any number of bytes. */
export function identity(): TransformStream<Uint8Array, Uint8Array> {
  const { IdentityTransformStream } = platform;
  return IdentityTransformStream === undefined ? new TransformStream() : new IdentityTransformStream();
}

/** Creates an identity stream for exactly `length` bytes. */
export function fixedLength(bytes: number): TransformStream<Uint8Array, Uint8Array> {
  const { FixedLengthStream } = platform;
  return FixedLengthStream === undefined ? new TransformStream() : new FixedLengthStream(bytes);
}
