import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { BUNDLES, makeBundle } from '../../config/bundle-sizes.ts';
import { compiledShippedRuleBook } from '../support/shipped-rule-book.ts';

const limited = BUNDLES.flatMap(({ limit, ...bundle }) =>
  limit === undefined ? [] : [{ ...bundle, limit }],
);

/** Each is made once. */
const made = new Map<string, ReturnType<typeof makeBundle>>();

async function bundled(bundle: Parameters<typeof makeBundle>[0]): ReturnType<typeof makeBundle> {
  const { ruleBook } = await compiledShippedRuleBook();
  const making = made.get(bundle.name) ?? makeBundle(bundle, ruleBook);
  made.set(bundle.name, making);
  return making;
}

describe.each(limited)('$name', (bundle) => {
  test(`is at most ${bundle.limit} bytes gzipped, without YAML and zod`, async () => {
    const { text, gzipped } = await bundled(bundle);
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

test('docs/library.md lists the size of each bundle and its limit', async () => {
  const page = readFileSync(new URL('../../docs/library.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(/^\| (.+) \| ([\d.]+) kB \| (?:([\d.]+) kB|none) \|$/gm)];
  const entries = BUNDLES.filter(({ name }) => !name.startsWith('edge worker'));
  expect(rows.map(([, name, , limit = '0']) => [name, Number(limit) * 1000])).toEqual(
    entries.map(({ name, limit = 0 }) => [name, limit]),
  );
  for (const [at, bundle] of entries.entries()) {
    const { gzipped } = await bundled(bundle);
    const told = Number(rows[at]?.[2]);
    expect([bundle.name, Math.abs(gzipped / 1000 - told) < told / 20 ? told : gzipped / 1000]).toEqual([
      bundle.name,
      told,
    ]);
  }
});

test.each([
  ['the routes of operators', /serves only GET and POST \/rollout/],
  ['the derivation of descriptions', /discriminator/],
  ['the rules for forms', /The body is not a valid form/],
  ['dry runs and comparisons of responses', /not-json/],
  ["a client's own report", /frame-ancestors/],
  ['webhooks', /StandardWebhooks/],
  ['the state of a rollout that isolates share', /rollout-without-v1/],
])('an isolate loads this code only on demand: %s', async (_, sign) => {
  const texts = await Promise.all(
    BUNDLES.filter(({ modules }) => modules !== undefined).map(
      async (bundle) => (await bundled(bundle)).text,
    ),
  );
  expect(texts.map((text) => sign.test(text))).toEqual([false, true]);
});
