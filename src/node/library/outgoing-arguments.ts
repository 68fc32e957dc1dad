import { Buffer } from 'node:buffer';
import type { ServerResponse } from 'node:http';
import { isFieldValue } from '../../http/field-characters.ts';

/** The arguments of `write` and `end`, in any of their forms. */
export interface WriteArguments {
  /** The bytes of a chunk, if there is one. */
  readonly bytes: Uint8Array | undefined;
  readonly callback: ((...outcome: unknown[]) => void) | undefined;
}

/** True for a chunk of a body as Node takes it. */
export function isChunk(chunk: unknown): chunk is string | Uint8Array {
  return typeof chunk === 'string' || chunk instanceof Uint8Array;
}

/** Reads the arguments of `write` or `end`: a chunk, an encoding and a callback, each of which may be absent. */
export function readWriteArguments(given: readonly unknown[]): WriteArguments {
  const [chunk, encoding] = given;
  const last = given.findLast((argument) => typeof argument === 'function');
  const callback =
    last === undefined ? undefined : (...outcome: unknown[]) => void Reflect.apply(last, undefined, outcome);
  if (chunk instanceof Uint8Array) return { bytes: chunk, callback };
  if (typeof chunk !== 'string') return { bytes: undefined, callback };
  const isNamed = typeof encoding === 'string' && Buffer.isEncoding(encoding);
  return { bytes: Buffer.from(chunk, isNamed ? encoding : 'utf8'), callback };
}

/**
 * Applies the arguments of `writeHead`: a status, a reason that may be absent, and fields as an object, a flat list or pairs. Returns
 * false for those that Node refuses, but for names and values, which throw.
 */
export function applyHead(outgoing: ServerResponse, [code, second, third]: readonly unknown[]): boolean {
  const status = Math.trunc(Number(code));
  const reason = typeof second === 'string' ? second : undefined;
  const fields = pairsOf(reason === undefined ? (third ?? second) : third);
  const isTaken = status >= 100 && status <= 999 && isFieldValue(reason ?? '');
  if (!isTaken || fields === undefined) return false;
  outgoing.statusCode = status;
  if (reason !== undefined) outgoing.statusMessage = reason;
  setFields(outgoing, fields);
  return true;
}

/** A field as a service gives it to Node: its value may be a number, or the values of several lines. */
export type GivenField = readonly [name: string, value: unknown];

/** Returns fields in any form that Node takes as pairs; undefined for a list that ends with a name. */
export function pairsOf(fields: unknown): readonly GivenField[] | undefined {
  if (typeof fields !== 'object' || fields === null) return [];
  if (!Array.isArray(fields)) return Object.entries(fields);
  const list: readonly unknown[] = fields.every(Array.isArray) ? fields.flat() : fields;
  if (list.length % 2 !== 0) return undefined;
  return list.flatMap((name, at): GivenField[] => (at % 2 === 0 ? [[String(name), list[at + 1]]] : []));
}

/** Sets fields; repeated ones stay apart, and those that have their value already keep their spelling. */
export function setFields(outgoing: ServerResponse, fields: readonly GivenField[]): void {
  // Node refuses what is no value.
  const setter: { setHeader(name: string, value: unknown): unknown } = outgoing;
  const byName = new Map<string, { readonly name: string; readonly values: unknown[] }>();
  for (const [name, value] of fields) {
    const values: readonly unknown[] = Array.isArray(value) ? value : [value];
    const known = byName.get(name.toLowerCase());
    if (known === undefined) byName.set(name.toLowerCase(), { name, values: [...values] });
    else known.values.push(...values);
  }
  for (const { name, values } of byName.values()) {
    const lines = linesOf(outgoing, name);
    const isSet = lines.length === values.length && lines.every((line, at) => line === values[at]);
    if (!isSet) setter.setHeader(name, values.length === 1 ? values[0] : values);
  }
}

/** The fields that were set so far, as a flat list. */
export function fieldsOf(outgoing: ServerResponse): string[] {
  return outgoing.getHeaderNames().flatMap((name) => linesOf(outgoing, name).flatMap((line) => [name, line]));
}

function linesOf(outgoing: ServerResponse, name: string): readonly string[] {
  const value = outgoing.getHeader(name);
  if (value === undefined) return [];
  return Array.isArray(value) ? value.map(String) : [String(value)];
}
