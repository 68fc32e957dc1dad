import { expect, test } from 'vitest';
import { JsonDocument } from '../../src/json/document.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The verdict of the platform's parser. */
function isJson(bytes: Uint8Array): boolean {
  try {
    JSON.parse(decoder.decode(bytes));
    return true;
  } catch {
    return false;
  }
}

/** A text in which every part is a string: as a value, as a name, and as the last bytes of the text. */
const TEXTS: readonly ((string: string) => string)[] = [
  (string) => string,
  (string) => `[${string}, 1]`,
  (string) => `{${string}: 1}`,
  (string) => `{"a": {"b": ${string}, "c": ${string}}}`,
];

test('each byte at each place of a string is taken or refused as by a strict parser', () => {
  const differing: string[] = [];
  let valid = 0;
  for (const text of TEXTS) {
    // Around a word of eight bytes where the string is all; its surroundings change nothing about that.
    const longest = text === TEXTS[0] ? 11 : 5;
    for (let length = 1; length <= longest; length += 1) {
      const bytes = encoder.encode(text(JSON.stringify('x'.repeat(length))));
      const first = bytes.indexOf(0x78);
      for (let place = 0; place < length; place += 1) {
        for (let byte = 0; byte < 256; byte += 1) {
          bytes[first + place] = byte;
          const isValid = isJson(bytes);
          if (isValid) valid += 1;
          if (JsonDocument.read(bytes) instanceof JsonDocument !== isValid)
            differing.push(`${byte} at ${place} of ${length}`);
        }
        bytes[first + place] = 0x78;
      }
    }
  }
  expect(differing).toEqual([]);
  expect(valid).toBeGreaterThan(1000);
});

test('a string ends at its first quote, wherever the text begins in its memory', () => {
  for (let offset = 0; offset < 9; offset += 1) {
    for (let length = 0; length < 9; length += 1) {
      const text = encoder.encode(`{"a":"${'y'.repeat(length)}","b":"z"}`);
      const memory = new Uint8Array(offset + text.length + 3).fill(0x22);
      memory.set(text, offset);
      const document = JsonDocument.read(memory.subarray(offset, offset + text.length));
      if (!(document instanceof JsonDocument)) throw new Error(document.message);
      const values = [...document.childrenOf(document.root)].map((node) =>
        decoder.decode(document.valueOf(node)),
      );
      expect(values).toEqual([`"${'y'.repeat(length)}"`, '"z"']);
    }
  }
});
