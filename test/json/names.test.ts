import fc from 'fast-check';
import { expect, test } from 'vitest';
import { JsonDocument } from '../../src/json/document.ts';
import { bytesOf, textOf } from '../rewrite/notation.ts';
import { planOf } from '../support/plan-of.ts';

/** One character of a key, spelled plainly or with an escape. */
const spelled = fc
  .tuple(fc.constantFrom('\ufeff', 'd', 'a', 't', 'é', '\u{1f600}'), fc.boolean())
  .map(([character, isEscaped]) =>
    isEscaped
      ? Array.from({ length: character.length }, (_, at) => character.charCodeAt(at))
          .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
          .join('')
      : character,
  );

test('a key is read as a JSON parser reads it, also after byte order marks and with escapes', () => {
  fc.assert(
    fc.property(fc.array(spelled, { maxLength: 6 }), (key) => {
      const text = `{"${key.join('')}":1}`;
      const document = JsonDocument.read(bytesOf(text));
      if (!(document instanceof JsonDocument)) throw new Error(document.message);
      const [member = -1] = document.childrenOf(document.root);
      expect([document.nameOf(member)]).toEqual(Object.keys(JSON.parse(text) as object));
    }),
  );
});

// Attack: a member that V1 never read as the wrapper is unwrapped, so that V2 takes another order than V1 did.
test('a byte order mark in front of an escaped name makes another name', () => {
  const plan = planOf([{ rule: 'unwrap', member: 'data' }]);
  const marked = plan.rewrite(bytesOf('{"\ufeffd\\u0061ta":{"a":1}}'));
  expect(marked).toMatchObject({ verdict: 'unchanged', records: [{ note: 'already-flat' }] });
  const beside = plan.rewrite(bytesOf('{"\ufefffoo":1,"data":{"a":1}}'));
  if (beside.verdict !== 'rewritten') throw new Error(beside.verdict);
  expect(textOf(beside.body)).toBe('{"a":1}');
  expect(beside.records.map(({ from }) => from)).toContain('/\ufefffoo');
});
