import { expect, test } from 'vitest';
import { hasCloseOption } from '../../src/http/fields.ts';

test.each([
  'close',
  'CLOSE',
  ' close\t',
  'x, Close',
  'close ,x',
  ',close,',
  'keep-alive,\tclose',
  'a,,close',
])('%j closes the connection', (value) => {
  expect(hasCloseOption(value)).toBe(true);
});

test.each(['', 'keep-alive', 'closed', 'x-close', 'not close', 'close x', 'x\tclose', 'close;x', '"close"'])(
  '%j does not',
  (value) => {
    expect(hasCloseOption(value)).toBe(false);
  },
);
