import type { HeaderList } from '../http/header-list.ts';

/** Header fields as pairs of name and value, in order, with repeated fields apart. `new Headers(fields)` takes them. */
export type HeaderFields = [name: string, value: string][];

/**
 * Header fields in any common form: pairs (`Headers`, `Map`, an array), an object, or a flat list of names and values such as
 * Node's `rawHeaders`. Values have one character for each byte.
 */
export type HeadersLike =
  | Iterable<readonly [name: string, value: string]>
  | readonly string[]
  | Readonly<Record<string, string | number | readonly string[] | undefined>>;

/** Converts header fields to a raw list. */
export function headerListOf(headers: HeadersLike): string[] {
  if (!isIterable(headers)) return Object.entries(headers).flatMap(([name, value]) => linesOf(name, value));
  const list: string[] = [];
  for (const field of headers) {
    if (typeof field === 'string') list.push(field);
    else list.push(field[0], field[1]);
  }
  return list;
}

/** Converts a raw list to pairs. */
export function headerFieldsOf(list: HeaderList): HeaderFields {
  const fields: HeaderFields = [];
  for (let at = 0; at < list.length; at += 2) fields.push([list[at] ?? '', list[at + 1] ?? '']);
  return fields;
}

function isIterable(
  headers: HeadersLike,
): headers is Iterable<readonly [name: string, value: string]> | readonly string[] {
  return Symbol.iterator in headers;
}

function linesOf(name: string, value: string | number | readonly string[] | undefined): readonly string[] {
  if (value === undefined) return [];
  if (typeof value === 'object') return value.flatMap((line) => [name, line]);
  return [name, String(value)];
}
