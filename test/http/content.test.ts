import { expect, test } from 'vitest';
import {
  preferredType,
  readCoding,
  readJsonType,
  looksLikeJson,
  readResponseType,
} from '../../src/http/content.ts';

test.each([
  [undefined, 'application/json'],
  ['', 'application/json'],
  ['*/*', 'application/json'],
  ['text/html', 'text/html'],
  ['TEXT/HTML; charset=utf-8', 'text/html'],
  ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'text/html'],
  ['text/html;q=0.5, application/json;q=0.4', 'text/html'],
  ['text/*, application/json;q=0.9', 'text/html'],
  ['*/*;q=0.5, application/json;q=0', 'text/html'],
  ['text/html;q=0, */*;q=0.1', 'application/json'],
  ['text/html;q=2', 'application/json'],
  ['image/png', 'application/json'],
  [`${'a/b,'.repeat(60)}text/html`, 'application/json'],
])('Accept: %s gets %s', (accept, type) => {
  expect(preferredType(accept, ['application/json', 'text/html'])).toBe(type);
});

test.each([
  [undefined, 'other'],
  ['', 'other'],
  ['text/plain', 'other'],
  ['text/json', 'other'],
  ['application/jsonp', 'other'],
  ['multipart/form-data; boundary="application/json"', 'other'],
  ['application/json', 'json'],
  ['Application/JSON', 'json'],
  ['application/vnd.api+json', 'json'],
  ['application/json;charset=utf-8', 'json'],
  ['application/json ; charset="UTF-8" ; x=y', 'json'],
  ['application/json ;', 'json'],
  ['application/json; charset=us-ascii', 'json'],
  ["application/json; charset='utf-8'", 'json'],
  ["application/json; charset='latin1'", 'charset'],
  ['application/stream+json', 'other'],
  ['application/vnd.amadeus-stream+json; v=1', 'other'],
  ['application/upstream+json', 'json'],
  ['application/json; charset=iso-8859-1', 'charset'],
  ['application/json; charset=utf-8; charset=utf-16', 'charset'],
  ['application/json; charset="utf-16"', 'charset'],
  ['application/json, text/plain', 'ambiguous'],
  ['multipart/related; boundary=b; type=application/json', 'other'],
  ['text/plain; x=/, application/json', 'ambiguous'],
  ['application/vnd.api+json; x=/', 'ambiguous'],
  ['application/json x', 'ambiguous'],
  ['application/json; charset', 'ambiguous'],
  ['application /json', 'ambiguous'],
])('Content-Type %s is %s', (value, reading) => {
  expect(readJsonType(value)).toBe(reading);
});

test.each([
  ['text/json', 'json'],
  ['Application/x-json; charset=utf-8', 'json'],
  ['text/x-json;charset=latin1', 'charset'],
  ['text/jsonp', 'hidden'],
  ['text/plain', 'guess'],
  [undefined, 'guess'],
  ['text/html; charset=utf-8', 'hidden'],
  ['application/x-ndjson', 'ndjson'],
  ['image/png', 'other'],
  ['text/event-stream', 'other'],
])('Content-Type %s of a response is %s', (value, reading) => {
  expect(readResponseType(value, 'known')).toBe(reading);
});

test.each([
  ['text/json', 'hidden', 'guess'],
  ['text/plain', 'hidden', 'guess'],
  [undefined, 'hidden', 'guess'],
  ['text/html', 'hidden', 'guess'],
  ['application/octet-stream', 'hidden', 'guess'],
  ['application/json', 'json', 'json'],
  ['application/problem+json', 'json', 'json'],
  ['application/stream+json', 'ndjson', 'ndjson'],
  ['text/event-stream; charset=utf-8', 'other', 'other'],
  ['multipart/mixed; boundary=x', 'other', 'other'],
])('strictly, Content-Type %s of a response is %s, and by its first byte %s', (value, strict, sniffed) => {
  expect(readResponseType(value, 'strict')).toBe(strict);
  expect(readResponseType(value, 'sniff')).toBe(value === 'text/json' ? 'json' : sniffed);
});

test.each([
  ['{', true],
  ['\ufeff \r\n\t[1', true],
  ['"text"', false],
  ['1', false],
  ['<html>{', false],
  ['', undefined],
  [' \n', undefined],
])('a body that begins with %j looks like JSON: %s', (text, looks) => {
  expect(looksLikeJson(new TextEncoder().encode(text))).toBe(looks);
});

// A parser that can read a separator in two ways never ends here: with 40 of `; ` the process answered nobody again.
test.each([
  ['a/b', '; ', ';!'],
  ['a/b', ' ;', '!'],
  ['a/b', ';', '!'],
  ['a/b', ' ', '!'],
  ['a/b', '\t; \t', ','],
  ['a/b', ';a=b ', '!'],
  ['a/b;a="', String.raw`\"`, ''],
  ['application/', 'json+', ','],
  ['application/', '+json ', ','],
  ['application/json', ' ;', ','],
])('a type of %s and thousands of %j, ended by %j, is read in one pass', (start, separator, end) => {
  expect(['other', 'ambiguous']).toContain(readJsonType(start + separator.repeat(16_000) + end));
});

test.each([
  [undefined, undefined],
  ['', undefined],
  ['identity', undefined],
  ['gzip', 'gzip'],
  ['X-GZIP', 'gzip'],
  [' br ', 'br'],
  ['deflate,', 'deflate'],
  ['UTF-8', undefined],
  ['none', undefined],
  ['binary', undefined],
  ['gzip, utf-8', 'gzip'],
  ['zstd', 'unsupported'],
  ['gzip, br', 'unsupported'],
  ['gzip, gzip', 'unsupported'],
])('Content-Encoding %s is %s', (value, coding) => {
  expect(readCoding(value)).toBe(coding);
});
