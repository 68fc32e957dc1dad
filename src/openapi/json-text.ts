/**
 * Reads a JSON text; undefined if it is invalid. A number that a double cannot hold, such as the limits of int64, keeps its text
 * and is printed unchanged.
 */
export function readJsonText(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ''), exactNumber);
    return value;
  } catch {
    return undefined;
  }
}

/** Prints a value, on one line or with two spaces per level. */
export function printJsonText(value: unknown, indent: 0 | 2 = 0): string {
  return JSON.stringify(value, undefined, indent);
}

/** Keeps the text of an integer beyond the range of a double; any other value is returned as it is. */
export function exactInteger(text: string): unknown {
  const rawJson: unknown = Reflect.get(JSON, 'rawJSON');
  return typeof rawJson === 'function' ? Reflect.apply(rawJson, JSON, [text]) : Number(text);
}

/** A reviver (ECMA-262 §25.5.1); `source` is the text of a scalar, on runtimes that provide it. */
function exactNumber(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  const source = context?.source;
  if (typeof value !== 'number' || source === undefined || Number.isSafeInteger(value)) return value;
  return String(value) === source || !/^-?\d+$/.test(source) ? value : exactInteger(source);
}
