import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { BUNDLES, makeBundle } from '../../config/bundle-sizes.ts';
import { compiledShippedRuleBook } from '../support/shipped-rule-book.ts';

const limited = BUNDLES.flatMap(({ limit, ...bundle }) =>
  limit === undefined ? [] : [{ ...bundle, limit }],
);

describe.each(limited)('$name', (bundle) => {
  test(`is at most ${bundle.limit} bytes gzipped, without YAML and zod`, async () => {
    const { ruleBook } = await compiledShippedRuleBook();
    const { text, gzipped } = await makeBundle(bundle, ruleBook);
    expect(text.length).toBeGreaterThan(10_000);
    expect(gzipped).toBeLessThanOrEqual(bundle.limit);
    expect(text).not.toMatch(/ZodError|YAMLParseError/);
  });
});

test('YAML and zod come with readRuleBook, so that the check above can fail', async () => {
  const source = `export { readRuleBook } from './library/capture-gateway.ts';`;
  const { text } = await makeBundle({ name: '', source }, undefined);
  expect(text).toMatch(/ZodError/);
  expect(text).toMatch(/YAMLParseError/);
});

test('docs/library.md names the limits', () => {
  const page = readFileSync(new URL('../../docs/library.md', import.meta.url), 'utf8');
  expect(limited).toHaveLength(3);
  for (const { limit } of limited) expect(page).toContain(`${limit / 1000} kB`);
});
