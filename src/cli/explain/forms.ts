import { Scanner } from '../../json/scanner.ts';
import { parsedJson } from '../../rewrite-log/attributes.ts';

/** A field or a parameter. */
export type Field = readonly [name: string, value: string];

/** A JSON object. */
export type Json = Readonly<Record<string, unknown>>;

/** A value as text: numbers and booleans as in JSON, nothing for null, and JSON for objects and lists. */
export function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Parses JSON, perhaps after a byte order mark; undefined for anything else. */
export function parseJson(text: string): unknown {
  return parsedJson(text.replace(/^\uFEFF/, ''));
}

/** Describes the fault in text that is not JSON, without its values; undefined for JSON. */
export function faultOfJson(text: string): string | undefined {
  if (parseJson(text) !== undefined) return undefined;
  const bytes = new TextEncoder().encode(text.replace(/^\uFEFF/, ''));
  const fault = new Scanner({ depth: 1000, record: 0 }).scan(bytes, 0);
  if (fault === undefined) return 'This is not JSON.';
  return `This is not JSON: ${fault.message}, at line ${fault.line}, column ${fault.column}.`;
}

/** The value of the first field with a name in lower case. */
export function fieldOf(fields: readonly Field[], name: string): string | undefined {
  return fields.find(([field]) => field.toLowerCase() === name)?.[1];
}

/** Parameters as `application/x-www-form-urlencoded`, with `%20` for a space. */
export function formBody(parameters: readonly Field[]): string {
  const encoded = (text: string): string =>
    encodeURIComponent(text.toWellFormed()).replaceAll(
      /[!'()*]/g,
      (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
    );
  return parameters.map(([name, value]) => `${encoded(name)}=${encoded(value)}`).join('&');
}

export interface FormPart {
  readonly name: string;
  readonly content: string;
  readonly type?: string | undefined;
  readonly filename?: string | undefined;
}

/** A constant, so that the same form makes the same request. */
const BOUNDARY = 'capture-gateway-boundary';

/** Parts as `multipart/form-data` (RFC 7578). */
export function multipartBody(
  parts: readonly FormPart[],
  boundary = BOUNDARY,
): { readonly body: string; readonly boundary: string } {
  const quoted = (text: string): string =>
    text.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
  const texts = parts.map(({ name, content, type, filename }) => {
    const file = filename === undefined ? '' : `; filename="${quoted(filename)}"`;
    const media = type === undefined ? '' : `Content-Type: ${type}\r\n`;
    return `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(name)}"${file}\r\n${media}\r\n${content}\r\n`;
  });
  return { body: `${texts.join('')}--${boundary}--\r\n`, boundary };
}
