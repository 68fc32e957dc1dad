import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { generatedTexts } from '../../config/schemas.ts';

const read = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');

test.each(await generatedTexts(read))('%s is current (npm run generate)', (file, text) => {
  expect(read(file)).toBe(text);
});
