import { pointerOf } from '../json/json-pointer.ts';
import { JsonWalker } from '../json/json-walk.ts';
import type { TextSpan } from './api.ts';

/** Where a value stands in a laid out text. `key` is empty for what is no member. */
export interface Place {
  readonly key: TextSpan;
  readonly value: TextSpan;
}

/** A JSON text printed for people, and where everything in it stands. */
export interface JsonLayout {
  readonly text: string;
  /** By RFC 6901 pointer; more than one where a name is repeated. */
  readonly places: ReadonlyMap<string, readonly Place[]>;
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * Prints a JSON text with two spaces a level and one member a line. Only white space changes: numbers, escapes, order and
 * repeated names are those of the bytes. Undefined when it is not JSON.
 */
export function layOutJson(bytes: Uint8Array): JsonLayout | undefined {
  const places = new Map<string, Place[]>();
  const opened: { readonly pointer: string; readonly key: TextSpan; readonly start: number }[] = [];
  let text = '';
  const keep = (pointer: string, key: TextSpan, start: number): void => {
    const place = { key, value: { start, end: text.length } };
    const known = places.get(pointer);
    if (known === undefined) places.set(pointer, [place]);
    else known.push(place);
  };
  const isJson = new JsonWalker().walk(bytes, {
    enter: ({ kind, keyStart, keyEnd, start, end, path, first }) => {
      if (path.length > 0) text += `${first ? '' : ','}\n${'  '.repeat(path.length)}`;
      const keyAt = text.length;
      text += decoder.decode(bytes.subarray(keyStart, keyEnd));
      const key = { start: keyAt, end: text.length };
      if (keyEnd > keyStart) text += ': ';
      const at = text.length;
      const pointer = pointerOf(path);
      if (kind === 'object' || kind === 'array') {
        text += kind === 'object' ? '{' : '[';
        opened.push({ pointer, key, start: at });
        return;
      }
      text += decoder.decode(bytes.subarray(start, end));
      keep(pointer, key, at);
    },
    leave: ({ kind, path }) => {
      const container = opened.pop();
      if (container === undefined) return;
      const isEmpty = text.length === container.start + 1;
      text += `${isEmpty ? '' : `\n${'  '.repeat(path.length)}`}${kind === 'object' ? '}' : ']'}`;
      keep(container.pointer, container.key, container.start);
    },
  });
  return isJson ? { text, places } : undefined;
}
