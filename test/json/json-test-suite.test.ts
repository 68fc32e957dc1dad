import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { applyEdits } from '../../src/json/edit.ts';
import { Scanner } from '../../src/json/scanner.ts';
import { planOf } from '../support/plan-of.ts';

const suite = new URL('suite/', import.meta.url);
const names = readdirSync(suite).filter((name) => name.endsWith('.json'));
const read = (name: string): Uint8Array =>
  new Uint8Array(readFileSync(new URL(encodeURIComponent(name), suite)));
const identity = planOf([]);

/** Parsers are free to accept or refuse these (RFC 8259); what this gateway does, and why, is decided here once. */
const DECIDED: readonly [pattern: RegExp, accepted: boolean, reason: string][] = [
  [
    /^i_number_/,
    true,
    'the grammar has no limit of range or precision, and the digits are not read but copied',
  ],
  [
    /surrogate|1st_surrogate|surrogates/i,
    true,
    'an escape of a lone surrogate is within the grammar, and is copied as spelled',
  ],
  [/^i_structure_500_nested_arrays/, true, 'within the default depth of 512'],
  [
    /^i_structure_UTF-8_BOM/,
    true,
    'a byte order mark may be ignored (section 8.1): it is dropped, and the log says so',
  ],
  [/utf-?16|UTF-16/i, false, 'JSON between systems is UTF-8 (section 8.1)'],
  [
    /invalid|truncated|overlong|iso_latin|continuation|not_in_unicode/i,
    false,
    'the bytes are not UTF-8 (RFC 3629)',
  ],
];
const RAW_SURROGATE = 'i_string_UTF8_surrogate_U+D800.json';

function decision(name: string): boolean {
  if (name === RAW_SURROGATE) return false; // A surrogate as three raw bytes is not UTF-8 (RFC 3629 section 3).
  const spelled = name.replace(/invalid_(lonely_)?surrogate|valid_surrogate_2nd_invalid/, 'surrogate');
  const row = DECIDED.find(([pattern]) => pattern.test(spelled));
  if (row === undefined) throw new Error(`${name} is not decided`);
  return row[1];
}

test('all parsing cases are here', () => {
  expect(names.filter((name) => name.startsWith('y_'))).toHaveLength(95);
  expect(names.filter((name) => name.startsWith('n_'))).toHaveLength(188);
  expect(names.filter((name) => name.startsWith('i_'))).toHaveLength(35);
});

test.each(names.filter((name) => name.startsWith('y_')))('%s is accepted and reproduced', (name) => {
  const bytes = read(name);
  expect(new Scanner({ depth: 512, record: 512 }).scan(bytes, 0)).toBeUndefined();
  expect(applyEdits(bytes, [])).toEqual(bytes);
  const outcome = identity.rewrite(bytes);
  expect(outcome).toMatchObject({ verdict: 'unchanged' });
  expect('body' in outcome && outcome.body).toBe(bytes);
});

test.each(names.filter((name) => name.startsWith('n_')))('%s is refused', (name) => {
  const bytes = read(name);
  expect(new Scanner({ depth: 512, record: 512 }).scan(bytes, 0)).toBeDefined();
  // An empty body is no JSON text, but a request may have one: it is forwarded (rewriting contract, section 2).
  const verdict = bytes.length === 0 ? 'unchanged' : 'refused';
  expect(identity.rewrite(bytes).verdict).toBe(verdict);
});

test.each(names.filter((name) => name.startsWith('i_')))(
  '%s is accepted or refused as listed here',
  (name) => {
    expect(identity.rewrite(read(name)).verdict !== 'refused').toBe(decision(name));
  },
);
