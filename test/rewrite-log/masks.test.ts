import fc from 'fast-check';
import { expect, test } from 'vitest';
import { JsonWalker } from '../../src/json/document.ts';
import { pointerOf, pointerSteps } from '../../src/json/pointer.ts';
import { movedPointer, ValueMasks } from '../../src/rewrite-log/masks.ts';
import type { EditRecord } from '../../src/rewrite/records.ts';
import { anyDocument } from '../rewrite/documents.ts';
import { bytesOf, textOf } from '../rewrite/notation.ts';
import { fuzzRuns } from '../support/fuzz.ts';

const step = fc.constantFrom('a', 'b', 'c', 'data', 'd', '*', '0', '1', '');
const pointer = fc.array(step, { minLength: 1, maxLength: 4 }).map(pointerOf);
const mask = fc.oneof(pointer, fc.constantFrom('a', 'b', 'name'));
const record: fc.Arbitrary<EditRecord> = fc.record({
  change: fc.constant('c'),
  rule: fc.constant('rename' as const),
  from: fc.oneof(pointer, fc.constant('')),
  path: fc.oneof(pointer, fc.constant('')),
});

test('apply to the values at their positions in the V1 body and in the V2 body', () => {
  const walker = new JsonWalker();
  fc.assert(
    fc.property(
      fc.array(mask, { minLength: 1, maxLength: 4 }),
      fc.array(record, { maxLength: 4 }),
      anyDocument,
      (masks, records, text) => {
        const masked = new ValueMasks(masks).ofRequest(walker, bytesOf(text), records);
        expect(textOf(masked ?? new Uint8Array())).toBe(naivelyMasked(walker, masks, records, text));
      },
    ),
    { numRuns: fuzzRuns(3000) },
  );
});

/** As the contract says, pointer by pointer, without regard to cost. */
function naivelyMasked(
  walker: JsonWalker,
  masks: readonly string[],
  records: readonly EditRecord[],
  text: string,
): string {
  const body = bytesOf(text);
  let out = '';
  let copied = 0;
  let maskedUntil = 0;
  const isJson = walker.walk(body, {
    enter: ({ kind, path, start, end }) => {
      const here = pointerOf(path);
      const isNamed = masks.some((one) =>
        one.startsWith('/')
          ? isAt(one, here) || isAt(one, movedPointer(here, records))
          : String(path.at(-1)) === one,
      );
      if (path.length > 0 && start >= maskedUntil && isNamed) maskedUntil = end;
      if (start >= maskedUntil || kind === 'object' || kind === 'array') return;
      out += `${textOf(body.subarray(copied, start))}"…"`;
      copied = end;
    },
  });
  return isJson ? out + textOf(body.subarray(copied)) : '';
}

function isAt(mask: string, pointed: string): boolean {
  const [wanted, steps] = [pointerSteps(mask), pointerSteps(pointed)];
  return wanted.length === steps.length && wanted.every((each, at) => each === '*' || each === steps[at]);
}

// Attack: a body nested 500 deep again and again, so that each value costs a pointer of its depth.
test('a body of up to 20,000 values is masked at any depth, a larger one is withheld', () => {
  const walker = new JsonWalker(undefined, 20_000);
  const masks = new ValueMasks(['/data/*/a/secret', 'secret']);
  const nested = `${'{"a":'.repeat(500)}{"secret":1}${'}'.repeat(500)}`;
  const body = (count: number): Uint8Array =>
    bytesOf(`[${Array.from({ length: count }, () => nested).join(',')}]`);
  expect(textOf(masks.ofRequest(walker, body(39), []) ?? new Uint8Array())).not.toContain('"secret":1');
  expect(masks.ofRequest(walker, body(50), [])).toBeUndefined();
});
