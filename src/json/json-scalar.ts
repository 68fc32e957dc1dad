/** A JSON string, or a number, `true`, `false` or `null`. */
export interface JsonScalar {
  readonly isString: boolean;
  /** The decoded text of a string; otherwise the JSON text: `1.0` and `1` are two scalars. */
  readonly text: string;
}

/** Returns the scalar of a decoded value; a number has its shortest JSON text. */
export function scalarOf(value: string | number | boolean | null): JsonScalar {
  return { isString: typeof value === 'string', text: String(value) };
}

/**
 * Reads a scalar from a text that is not JSON, such as a key: the text of a number, `true`, `false` or `null` is that, everything
 * else a string. Double quotes around a text make it a string: `"1"`.
 */
export function readScalar(text: string): JsonScalar {
  if (TOKEN.test(text)) return { isString: false, text };
  const isQuoted = text.length > 1 && text.startsWith('"') && text.endsWith('"');
  return { isString: true, text: isQuoted ? text.slice(1, -1) : text };
}

/** Returns the JSON text of a scalar. */
export function printScalar({ isString, text }: JsonScalar): string {
  return isString ? JSON.stringify(text) : text;
}

/** Returns the decoded value of a scalar; a number as close as a double comes to it. */
export function scalarValue({ isString, text }: JsonScalar): string | number | boolean | null {
  if (isString) return text;
  if (text === 'null') return null;
  return text === 'true' || text === 'false' ? text === 'true' : Number(text);
}

/** A number as RFC 8259 §6 writes it, or a literal. */
const TOKEN = /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)$/;
