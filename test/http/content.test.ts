import { expect, test } from 'vitest';
import {
  boundaryOf,
  formatOfType,
  isForm,
  isStreamed,
  methodsWithout,
  preferredType,
  readCoding,
  readFormat,
  readJsonType,
  looksLikeJson,
  readResponseType,
  takesCoding,
  withoutMethods,
} from '../../src/http/content.ts';

const FORM = 'application/x-www-form-urlencoded';

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
  ['application/x-ndjson; foo', 'ndjson'],
  ['application/x-ndjson; foo="', 'ambiguous'],
  ['image/png', 'other'],
  ['text/event-stream', 'events'],
  ['Text/Event-Stream ; charset=UTF-8', 'events'],
  ['text/event-stream;charset=latin1', 'charset'],
  ['text/event-streams', 'hidden'],
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
  ['text/event-stream; charset=utf-8', 'events', 'events'],
  ['multipart/mixed; boundary=x', 'other', 'other'],
])('strictly, Content-Type %s of a response is %s, and by its first byte %s', (value, strict, sniffed) => {
  expect(readResponseType(value, 'strict')).toBe(strict);
  expect(readResponseType(value, 'sniff')).toBe(value === 'text/json' ? 'json' : sniffed);
});

test.each([
  ['{', true],
  ['\ufeff \r\n\t[ {', true],
  ['[[', true],
  ['[]', true],
  ['[INFO]', false],
  ['[1', false],
  ['[', undefined],
  ['"text"', false],
  ['1', false],
  ['<html>{', false],
  ['', undefined],
  [' \n', undefined],
])('a body that begins with %j looks like JSON: %s', (text, looks) => {
  expect(looksLikeJson(new TextEncoder().encode(text))).toBe(looks);
});

// A parser that can read a separator in two ways never ends here: with 40 of `; ` the process never responded again.
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
  ['multipart/form-data', '; ', '!'],
  ['multipart/form-data', ' ', '!'],
  ['multipart/form-data', '; a = ', '"'],
  ['multipart/form-data; a="', String.raw`\"`, ''],
  ['multipart ', ' ', '!'],
  [FORM, ';a=b ', '!'],
])('a type of %s and thousands of %j, ended by %j, is read in one pass', (start, separator, end) => {
  const type = start + separator.repeat(16_000) + end;
  expect(['other', 'ambiguous']).toContain(readJsonType(type));
  expect(['malformed', undefined]).toContain(readFormat(type));
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

// RFC 2046 §5.1.1, RFC 6902, RFC 7396, RFC 7464, RFC 8091; the names of lines are registered nowhere.
test.each([
  [FORM, 'form'],
  [`${FORM} ; charset=UTF-8`, 'form'],
  [`${FORM};charset=latin1`, 'charset'],
  [`${FORM}x`, undefined],
  ['application/x-ndjson', 'ndjson'],
  ['Application/JSONL;charset=utf-8', 'ndjson'],
  ['text/x-ndjson; charset=latin1', 'charset'],
  ['application/stream+json', 'ndjson'],
  ['application/vnd.acme-lines+json', 'ndjson'],
  ['text/stream+json', undefined],
  ['application/json;stream=watch', 'ndjson'],
  ['application/vnd.k8s+json; a=b; STREAM=watch', 'ndjson'],
  ['application/json;streams=1', undefined],
  ['application/json', undefined],
  ['application/json-seq', 'json-seq'],
  ['application/geo+json-seq', 'json-seq'],
  ['application/a+b+json-seq', undefined],
  ['multipart/form-data; boundary=x', 'multipart;x'],
  ['Multipart/Form-Data;Boundary="a \\"b"', 'multipart;a "b'],
  ['multipart/form-data; boundary="a "', 'malformed'],
  ['multipart/form-data; boundary=x; boundary=y', 'malformed'],
  ['multipart/form-data', 'malformed'],
  [`multipart/form-data; boundary=${'x'.repeat(200)}`, `multipart;${'x'.repeat(200)}`],
  [`multipart/form-data; boundary=${'x'.repeat(201)}`, 'malformed'],
  // As clients write them: with characters that stand in no token, blanks around `=`, parameters without a value.
  ['multipart/form-data; boundary=-Xr_qhW/dc2hip09', 'multipart;-Xr_qhW/dc2hip09'],
  ["multipart/form-data;boundary=a'()+_,-./:=?z", "multipart;a'()+_,-./:=?z"],
  ['multipart/form-data; boundary==_?:/(@)[]{}<>=', 'multipart;=_?:/(@)[]{}<>='],
  ['multipart/form-data; boundary = x ; charset = UTF-8', 'multipart;x'],
  ['multipart/form-data; charset; boundary=x;', 'multipart;x'],
  ['multipart/form-data;; ;boundary=x; foo=; bar', 'multipart;x'],
  ['multipart/form-data ;\tboundary="x/y"', 'multipart;x/y'],
  ['multipart/form-data; boundary=x; BOUNDARY="x"', 'multipart;x'],
  [`${FORM}; charset`, 'form'],
  [`${FORM}; charset=`, 'form'],
  [`${FORM};; boundary=a/b ;`, 'form'],
  [`${FORM}; charset = 'utf-8'`, 'form'],
  [`${FORM}; charset=utf-8/latin1`, 'charset'],
  ['application/x-ndjson; foo', 'ndjson'],
  ['application/x-ndjson; profile=https://a.example/b', 'ndjson'],
  ['application/x-ndjson; charset = latin1', 'charset'],
  // Parsers find different boundaries, or none.
  ['multipart/form-data; boundary', 'malformed'],
  ['multipart/form-data; boundary=; boundary=x', 'malformed'],
  ['multipart/form-data; boundary=""', 'malformed'],
  ['multipart/form-data; boundary=a b', 'malformed'],
  ['multipart/form-data; boundary=a charset=utf-8', 'malformed'],
  ['multipart/form-data; boundary="a" charset=utf-8', 'malformed'],
  ['multipart/form-data; boundary="a"b', 'malformed'],
  ['multipart/form-data; boundary="a', 'malformed'],
  ['multipart/form-data; boundary=a"b', 'malformed'],
  ['multipart/form-data; boundary=a, multipart/form-data; boundary=b', 'malformed'],
  ["multipart/form-data; boundary*=utf-8''x", 'malformed'],
  ['multipart/form-data; boundary=x; boundary*0=y', 'malformed'],
  ['multipart/form-data boundary=x', 'malformed'],
  ['multipart/form-data, boundary=x', 'malformed'],
  ['multipart/form-data: boundary=x', 'malformed'],
  ['multipart / form-data; boundary=x', 'malformed'],
  ['multipart/form-data; =x; boundary=y', 'malformed'],
  ['multipart/form-data; boundary=x\u00e9', 'malformed'],
  [`${FORM}; charset="utf-8`, 'malformed'],
  [`${FORM} charset=utf-8`, 'malformed'],
  [`${FORM}, ${FORM}`, 'malformed'],
  [`${FORM}; a b`, 'malformed'],
  ['application/x-ndjson; foo="', 'ambiguous'],
  ['application/x-ndjson; foo bar', 'ambiguous'],
  ['multipart/mixed; boundary=x', undefined],
  ['text/event-stream', undefined],
  ['multipart/form-datax; boundary=x', undefined],
  ['no type', undefined],
  [undefined, undefined],
])('a body of the type %s has the format %s', (value, format) => {
  expect(readFormat(value)).toBe(format);
  // Where fields are not read, texts still are.
  const isOfFields = value?.startsWith(FORM) === true || /^multipart/i.test(value ?? '');
  expect(readFormat(value, false)).toBe(isOfFields ? undefined : format);
});

test.each([
  ['application/json', 'json'],
  [undefined, 'json'],
  ['application/json-patch+json', 'json-patch'],
  ['Application/Merge-Patch+JSON ;a=b', 'merge-patch'],
  ['application/merge-patch+jsonx', 'json'],
  [FORM, 'form'],
  [`${FORM};charset=latin1`, 'json'],
  ['multipart/form-data', 'json'],
  ['application/json-seq', 'json-seq'],
])('a body that was read of the type %s has the format %s', (value, format) => {
  expect(formatOfType(value)).toBe(format);
});

test('only fields name methods, and a format knows its boundary, its methods and whether it is streamed', () => {
  const methods = ['PUT', 'PATCH'];
  const form = withoutMethods('form', methods);
  const parts = withoutMethods('multipart;a;b', methods);
  expect([form, parts]).toEqual(['form/PUT,PATCH', 'multipart/PUT,PATCH;a;b']);
  for (const kept of ['json', 'ndjson', 'merge-patch'] as const)
    expect(withoutMethods(kept, methods)).toBe(kept);
  expect([withoutMethods('form', []), withoutMethods('multipart;x', [])]).toEqual(['form', 'multipart;x']);
  expect([boundaryOf('multipart;a;b'), boundaryOf('multipart/PUT;a;b')]).toEqual(['a;b', 'a;b']);
  expect([methodsWithout('form/PUT,PATCH'), methodsWithout('multipart/PUT,PATCH;a;b')]).toEqual([
    methods,
    methods,
  ]);
  expect([methodsWithout('form'), methodsWithout('multipart;x')]).toEqual([[], []]);
  expect([isForm('form'), isForm(form), isForm('multipart;x'), isForm('json')]).toEqual([
    true,
    true,
    false,
    false,
  ]);
  expect(
    (['json', 'json-patch', 'merge-patch', 'form', form, 'ndjson', 'json-seq', parts] as const).map(
      isStreamed,
    ),
  ).toEqual([false, false, false, false, false, true, true, true]);
});

// RFC 9110 §12.5.3.
test.each([
  [undefined, false],
  ['gzip', true],
  ['br, GZIP;q=0.1', true],
  ['x-gzip', true],
  ['br', false],
  ['*', true],
  ['*;q=0', false],
  ['*, gzip;q=0', false],
  ['', false],
  ['br;q=1, gzip;q=0.5', true],
  ['identity;q=0.5, *;q=0.1', true],
  ['gzip;q=0.0', false],
  ['identity', false],
])('a client with Accept-Encoding: %s takes gzip: %s', (accepted, isTaken) => {
  expect(takesCoding(accepted, 'gzip')).toBe(isTaken);
});
