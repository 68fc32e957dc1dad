const MEBIBYTE = 2 ** 20;

/** JSON of objects within objects, `depth` levels, again and again until there are `bytes` of it. */
export function deepJson(bytes: number, depth: number): string {
  const one = `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
  const count = Math.max(1, Math.floor((bytes - 32) / (one.length + 1)));
  return `{"data":{"list":[${Array.from({ length: count }, () => one).join(',')}]}}`;
}

/** JSON of many small objects. */
export function smallObjects(bytes: number): string {
  return `{"data":{"list":[${Array.from({ length: Math.floor(bytes / 11) }, () => '{"abc":12}').join(',')}]}}`;
}

/** JSON with one long string, of a number of bytes in all. */
export function longString(bytes: number): string {
  return `{"data":{"name":"${'x'.repeat(Math.max(0, bytes - 20))}"}}`;
}

/** A body of chunks of one byte each, in pieces to write. */
export function* oneByteChunks(bytes: number): Generator<Uint8Array> {
  const text = longString(bytes);
  for (let at = 0; at < text.length; at += 10_000) {
    yield Buffer.from(text.slice(at, at + 10_000).replaceAll(/./g, '1\r\n$&\r\n'), 'latin1');
  }
  yield Buffer.from('0\r\n\r\n');
}

/** Pieces of a mebibyte each. */
export function* mebibytes(count: number): Generator<Uint8Array> {
  const piece = Buffer.alloc(MEBIBYTE, 'x');
  for (let k = 0; k < count; k += 1) yield piece;
}
