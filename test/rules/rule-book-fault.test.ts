import { expect, test } from 'vitest';
import { valueWords, withArticle } from '../../src/rules/rule-book-fault.ts';

test.each([
  ['types', 'a string, a number, a boolean, an object, an array, an integer, a list'],
  ['methods', 'a GET, a HEAD, a POST, a PUT, a PATCH, a DELETE, an OPTIONS, a QUERY'],
  ['vowels', 'an order, an id, an email, an account, an id_2, an _id, an API, an uncle, an upload, an ulid'],
  ['consonants', 'a house, a year, a data, a V1, an 8, a 名前'],
  ['u as in use', 'a user, a usage, a unit_price, a union, a uuid, a uri, a URL, a utility, a UTC, a ui'],
  ['other u', 'an unidentified, an uninstalled, an urgent, an usher'],
  ['other consonants at the start', 'a europe, a one_off, an onerous'],
  ['a silent h', 'an hour, an honour'],
  ['abbreviations that are spelled', 'an SMS, an XML body, an HTML, an FTP, an MLS, a CSV, a PDF'],
])('withArticle: %s', (_, words) => {
  for (const one of words.split(', ')) expect(withArticle(one.slice(one.indexOf(' ') + 1))).toBe(one);
});

test.each([
  [undefined, 'nothing'],
  [null, 'null'],
  [[], 'a list'],
  [{}, 'an object'],
  ['', 'a string'],
  [0, 'a number'],
  [false, 'a boolean'],
  [1n, 'a bigint'],
  [() => 0, 'a function'],
])('%o is %s', (value, words) => {
  expect(valueWords(value)).toBe(words);
});
