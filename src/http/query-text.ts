/** One part of a raw query between ampersands: a parameter, or nothing. */
export interface QueryPart {
  /** As spelled by the sender. */
  readonly raw: string;
  /** The decoded name; empty for an empty part. */
  readonly name: string;
}

/** Splits a raw query, without its question mark, at each ampersand; joining the raw parts gives the query again. */
export function queryParts(query: string): QueryPart[] {
  return query.split('&').map((raw) => ({ raw, name: decodeQueryText(raw.slice(0, nameLength(raw))) }));
}

/** Returns the decoded value of a part; undefined without an equals sign. */
export function valueOf({ raw }: QueryPart): string | undefined {
  const length = nameLength(raw);
  return length === raw.length ? undefined : decodeQueryText(raw.slice(length + 1));
}

/** Gives a part another name; its equals sign and value keep their characters. */
export function withName({ raw }: QueryPart, name: string): QueryPart {
  const length = nameLength(raw);
  return { raw: encodedLike(raw.slice(0, length), name) + raw.slice(length), name };
}

/** Gives a part another value; its name keeps its characters. */
export function withValue({ raw, name }: QueryPart, value: string): QueryPart {
  return { raw: `${raw.slice(0, nameLength(raw))}=${encodeURIComponent(value)}`, name };
}

function nameLength(raw: string): number {
  const equals = raw.indexOf('=');
  return equals === -1 ? raw.length : equals;
}

/**
 * Decodes a name or a value as servers do (application/x-www-form-urlencoded): a plus sign is a space, and a percent sign without
 * two hexadecimal digits stands for itself.
 */
export function decodeQueryText(text: string): string {
  if (!/[%+]/.test(text)) return text;
  return text.replaceAll('+', ' ').replaceAll(/(?:%[0-9a-f]{2})+/gi, (encoded) => {
    const bytes = encoded.slice(1).split('%');
    return decoder.decode(Uint8Array.from(bytes, (digits) => Number.parseInt(digits, 16)));
  });
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Brackets stay brackets where the sender did not encode them, although RFC 3986 §3.4 does not allow them in a query. */
function encodedLike(raw: string, name: string): string {
  const encoded = encodeURIComponent(name);
  return raw.includes('[') ? encoded.replaceAll('%5B', '[').replaceAll('%5D', ']') : encoded;
}
