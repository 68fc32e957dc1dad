import fc from 'fast-check';
import { words } from '../support/rows.ts';

const NAMES = words`data property address street_address suburb lat transition_type highlight_type legacy`;
const OTHERS = ['x', 'y', '0', '10', '', 'é', '__proto__', 'a/b', 'a~b', 'constructor'];
const space = fc.constantFrom('', '', '', ' ', '\n', '\t ', ' \r\n  ');
const number = fc.constantFrom(...words`0 -0 1 12345678901234567890 10.50 1E400 1e-7 -1.0e+2 0.1`);
const string = fc.constantFrom(
  ...words`"" "x" "é" "\u00e9" "\/" "\ud800" "\udc00\ud800"`,
  '"😀"',
  '"\\"\\\\"',
  '"{\\"data\\":1}"',
);
const scalar = fc.oneof(number, string, fc.constantFrom('true', 'false', 'null'));

/** Spells a member name: mostly as it is, sometimes with an escape. */
const key = (names: readonly string[]): fc.Arbitrary<string> =>
  fc.tuple(fc.constantFrom(...names), fc.boolean(), fc.boolean()).map(([name, isEscaped, isUpper]) => {
    if (!isEscaped || name === '') return JSON.stringify(name);
    const code = name.charCodeAt(0).toString(16).padStart(4, '0');
    return `"\\u${isUpper ? code.toUpperCase() : code}${JSON.stringify(name.slice(1)).slice(1)}`;
  });

function document(names: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const { value } = fc.letrec<{ value: string; object: string; array: string }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 5, withCrossShrink: true },
      scalar,
      tie('object'),
      tie('object'),
      tie('array'),
    ),
    object: fc
      .array(fc.tuple(space, names, space, space, tie('value'), space), { maxLength: 7 })
      .map((members) => `{${members.map(([a, k, b, c, v, d]) => `${a}${k}${b}:${c}${v}${d}`).join(',')}}`),
    array: fc
      .array(fc.tuple(space, tie('value'), space), { maxLength: 4 })
      .map((items) => `[${items.map((item) => item.join('')).join(',')}]`),
  }));
  return value;
}

/** Random JSON texts with odd numbers, strings, names and white space; names repeat, and rules are likely to meet them. */
export const anyDocument: fc.Arbitrary<string> = fc
  .tuple(space, document(key([...NAMES, ...NAMES, ...OTHERS])), space)
  .map((parts) => parts.join(''));

/** Like `anyDocument`, but deep: arrays and objects around it. */
export const deepDocument: fc.Arbitrary<string> = fc
  .tuple(anyDocument, fc.nat({ max: 300 }), fc.boolean())
  .map(([text, depth, isArray]) =>
    isArray ? '['.repeat(depth) + text + ']'.repeat(depth) : '{"x":'.repeat(depth) + text + '}'.repeat(depth),
  );

/** A text that is almost a document: some bytes are cut, doubled or replaced. */
export const brokenDocument: fc.Arbitrary<Uint8Array> = fc
  .tuple(anyDocument, fc.nat(), fc.nat({ max: 255 }), fc.nat({ max: 2 }))
  .map(([text, seed, byte, how]) => {
    const bytes = new TextEncoder().encode(text);
    const at = seed % Math.max(1, bytes.length);
    if (how === 0) return bytes.slice(0, at);
    const copy = bytes.slice();
    if (how === 1) copy[at] = byte;
    else copy.copyWithin(at, at + 1);
    return copy;
  });

/** Rules of this kind, with these parts. */
export function ruleOf<const Kind extends string, Parts>(
  rule: Kind,
  parts: { readonly [Part in keyof Parts]: fc.Arbitrary<Parts[Part]> },
): fc.Arbitrary<{ rule: Kind } & Parts> {
  return fc.record({ rule: fc.constant(rule), ...parts }) as fc.Arbitrary<{ rule: Kind } & Parts>;
}
