import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { isVisible } from '../../src/http/header-list.ts';

test('is what a pattern of visible ASCII accepts', () => {
  const likely = fc.string({
    unit: fc.constantFrom('!', '~', '/', 'a', ' ', '\u007f', '\n', 'é'),
    maxLength: 5,
  });
  fc.assert(
    fc.property(fc.oneof(likely, fc.string()), (text) => {
      expect(isVisible(text)).toBe(/^[!-~]*$/.test(text) && !text.endsWith('\n'));
    }),
  );
});
