/** What Workers have beside the web's own interfaces, as far as it is used here. */
interface Platform {
  /** An identity stream whose bytes are announced: without it workerd sends chunks. */
  readonly FixedLengthStream?: new (bytes: number) => TransformStream<Uint8Array, Uint8Array>;
}

const platform: typeof globalThis & Platform = globalThis;

/** A pipe for so many bytes. */
export function fixedLength(bytes: number): TransformStream<Uint8Array, Uint8Array> {
  const { FixedLengthStream } = platform;
  return FixedLengthStream === undefined ? new TransformStream() : new FixedLengthStream(bytes);
}
