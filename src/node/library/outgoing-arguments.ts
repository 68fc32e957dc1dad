import { Buffer } from 'node:buffer';
import type { ServerResponse } from 'node:http';

/** The arguments of `write` and `end`, in any of their forms. */
export interface WriteArguments {
  readonly chunk: Uint8Array | undefined;
  readonly callback: ((...outcome: unknown[]) => void) | undefined;
}

/** Reads the arguments of `write` or `end`: a chunk, an encoding and a callback, each of which may be absent. */
export function readWriteArguments(given: readonly unknown[]): WriteArguments {
  const [chunk, encoding] = given;
  const last = given.findLast((argument) => typeof argument === 'function');
  const callback =
    last === undefined ? undefined : (...outcome: unknown[]) => void Reflect.apply(last, undefined, outcome);
  if (chunk instanceof Uint8Array) return { chunk, callback };
  if (typeof chunk !== 'string') return { chunk: undefined, callback };
  const isNamed = typeof encoding === 'string' && Buffer.isEncoding(encoding);
  return { chunk: Buffer.from(chunk, isNamed ? encoding : 'utf8'), callback };
}

/** Applies the arguments of `writeHead` to the response: a status, a reason, and fields as an object or a flat list. */
export function applyHead(outgoing: ServerResponse, given: readonly unknown[]): void {
  const [status, second, third] = given;
  outgoing.statusCode = Number(status);
  if (typeof second === 'string') outgoing.statusMessage = second;
  const fields = typeof second === 'string' ? third : second;
  if (Array.isArray(fields)) setFields(outgoing, fields.map(String));
  else if (typeof fields === 'object' && fields !== null) {
    for (const [name, value] of Object.entries(fields)) {
      if (value !== undefined)
        outgoing.setHeader(name, Array.isArray(value) ? value.map(String) : String(value));
    }
  }
}

/** Sets fields from a flat list; repeated ones stay apart, and those that have their value already keep their spelling. */
export function setFields(outgoing: ServerResponse, list: readonly string[]): void {
  const byName = new Map<string, { readonly name: string; readonly values: string[] }>();
  for (let at = 0; at < list.length; at += 2) {
    const name = list[at] ?? '';
    const value = list[at + 1] ?? '';
    const known = byName.get(name.toLowerCase());
    if (known === undefined) byName.set(name.toLowerCase(), { name, values: [value] });
    else known.values.push(value);
  }
  for (const { name, values } of byName.values()) {
    const isSet = linesOf(outgoing, name).join('\n') === values.join('\n');
    if (!isSet) outgoing.setHeader(name, values.length === 1 ? (values[0] ?? '') : values);
  }
}

/** The fields that were set so far, as a flat list. */
export function fieldsOf(outgoing: ServerResponse): string[] {
  return outgoing.getHeaderNames().flatMap((name) => linesOf(outgoing, name).flatMap((line) => [name, line]));
}

function linesOf(outgoing: ServerResponse, name: string): readonly string[] {
  const value = outgoing.getHeader(name);
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [String(value)];
}
