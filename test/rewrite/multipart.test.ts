import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { concatBytes, latin1Bytes } from '../../src/http/byte-collector.ts';
import { applyEdits } from '../../src/json/edit.ts';
import { FormPlan } from '../../src/rewrite/form.ts';
import { MultipartStream } from '../../src/rewrite/multipart.ts';
import type { Policies } from '../../src/rules/rule-book.ts';
import type { RequestRule } from '../../src/rules/rule.ts';
import { fuzzRuns } from '../support/fuzz.ts';
import { bookOf, planOf, rewriteParts } from '../support/plan-of.ts';
import { bytesOf, textOf } from './notation.ts';
import { words } from '../support/rows.ts';

const RULES: readonly RequestRule[] = [
  { rule: 'unwrap', member: 'data' },
  { rule: 'rename', member: 'old', in: [], to: 'new' },
  { rule: 'nest', members: ['street', 'suburb'], in: ['property'], under: 'address' },
  { rule: 'strip', members: ['legacy'], in: [] },
];
const ADD: RequestRule = {
  rule: 'default',
  member: 'currency',
  in: [],
  json: '"AUD"',
  value: 'AUD',
} as never;

type Part = readonly [header: string, content: string];
const field = (name: string, content: string): Part => [
  `Content-Disposition: form-data; name="${name}"`,
  content,
];
const file = (name: string, content: string): Part => [
  `Content-Disposition: form-data; name="${name}"; filename="a.bin"\r\nContent-Type: application/octet-stream`,
  content,
];
const json = (name: string, content: string): Part => [
  `Content-Disposition: form-data; name="${name}"\r\nContent-Type: application/json`,
  content,
];
const bodyOf = (...parts: readonly Part[]): string =>
  `${parts.map(([header, content]) => `--B\r\n${header}\r\n\r\n${content}\r\n`).join('')}--B--\r\n`;

interface Settings {
  readonly rules?: readonly RequestRule[];
  readonly policies?: Partial<Policies>;
  readonly boundary?: string;
  readonly limit?: number;
  readonly heldFileBytes?: number;
}

function partsOf({
  rules = RULES,
  policies = {},
  boundary = 'B',
  limit = 1 << 20,
  heldFileBytes = 1 << 18,
}: Settings = {}) {
  const book = bookOf(rules, policies);
  const forms = new FormPlan(book, book.changes);
  return { json: planOf(rules, policies), rules: { boundary, forms, limit, heldFileBytes } };
}

function outcomeOf(body: string, settings?: Settings): string {
  const { rules, json: plan } = partsOf(settings);
  const bytes = bytesOf(body);
  const outcome = rewriteParts(rules, plan, bytes);
  if (outcome.verdict === 'refused')
    return `${outcome.refusal.status} ${outcome.refusal.code} ${outcome.refusal.reason ?? outcome.refusal.pointer ?? outcome.refusal.detail}`;
  if (outcome.verdict === 'rewritten')
    expect(textOf(applyEdits(bytes, outcome.edits))).toBe(textOf(outcome.body));
  return textOf(outcome.body);
}

/** What comes out of a body in parts: bytes, then the code of a refusal. */
function streamed(
  body: string,
  cuts: readonly number[],
  settings?: Settings,
): readonly [sent: string, refusal: string | undefined] {
  const { rules, json: plan } = partsOf(settings);
  const stream = new MultipartStream({
    ...rules,
    hold: () => true,
    rewriteJson: (text) => plan.rewrite(text),
  });
  const bytes = bytesOf(body);
  const sent: Uint8Array[] = [];
  const ends = [...new Set(cuts)].filter((cut) => cut < bytes.length).toSorted((one, other) => one - other);
  for (const [at, from] of [0, ...ends].entries()) {
    const { bytes: ready, refusal } = stream.push(bytes.slice(from, ends[at] ?? bytes.length));
    if (refusal !== undefined) return [textOf(concatBytes(sent)), refusal.detail];
    sent.push(ready);
  }
  const { bytes: last, refusal } = stream.end();
  return [textOf(concatBytes([...sent, last])), refusal?.detail];
}

describe('fields are those of a form', () => {
  test.each<[name: string, before: string, after: string]>([
    [
      'a wrapper and names',
      bodyOf(field('data[old]', '1'), field('data[a][b]', 'é\r\n\r\nx')),
      bodyOf(field('new', '1'), field('a[b]', 'é\r\n\r\nx')),
    ],
    ['nested', bodyOf(field('data[property][street]', 's')), bodyOf(field('property[address][street]', 's'))],
    [
      'dropped',
      bodyOf(field('legacy[x]', '1'), field('a', ''), field('legacy[y]', '2')),
      bodyOf(field('a', '')),
    ],
    ['all of them', bodyOf(field('legacy', '1')), '--B--\r\n'],
    ['siblings of the wrapper', bodyOf(field('data[a]', '1'), field('b', '2')), bodyOf(field('a', '1'))],
    ['nothing to do', bodyOf(field('a', '1')), bodyOf(field('a', '1'))],
    [
      'preamble, epilogue and padding stay',
      `before\r\n--B \t\r\n${field('old', '1').join('\r\n\r\n')}\r\n--B--after\r\n--B\r\n`,
      `before\r\n--B \t\r\n${field('new', '1').join('\r\n\r\n')}\r\n--B--after\r\n--B\r\n`,
    ],
    [
      'the last line may lack its end',
      bodyOf(field('old', '1')).slice(0, -2),
      bodyOf(field('new', '1')).slice(0, -2),
    ],
    [
      'other header fields, in any case and folded',
      '--B\r\nX: 1\r\ncontent-disposition:form-data;\r\n name=old\r\n\r\n1\r\n--B--',
      '--B\r\nX: 1\r\ncontent-disposition:form-data;\r\n name="new"\r\n\r\n1\r\n--B--',
    ],
    ['nothing', '', ''],
  ])('%s', (_, before, after) => {
    expect(outcomeOf(before)).toBe(after);
  });

  test('a value that a rule makes stands behind all others', () => {
    expect(outcomeOf(bodyOf(field('a', '1'), file('f', 'x')), { rules: [ADD] })).toBe(
      bodyOf(field('a', '1'), file('f', 'x'), field('currency', 'AUD')),
    );
    expect(outcomeOf(bodyOf(file('f', 'x'), field('currency', 'NZD')), { rules: [ADD] })).toBe(
      bodyOf(file('f', 'x'), field('currency', 'NZD')),
    );
  });
});

describe('files and JSON', () => {
  const JSON_PART = 'Content-Type: application/json';
  const part = (header: string, content: string): string =>
    bodyOf([`Content-Disposition: form-data; name="x"${header}`, content]);

  test.each<[name: string, before: string, after: string]>([
    [
      'a rule gives a file its name, and drops none',
      bodyOf(field('data[a]', '1'), ...['data[old]', 'b', 'legacy', 'data'].map((name) => file(name, 'x'))),
      bodyOf(field('a', '1'), ...['new', 'b', 'legacy', 'data'].map((name) => file(name, 'x'))),
    ],
    [
      'a part of JSON is rewritten like a whole body',
      bodyOf(json('data', '{"data":{"old":1}}'), field('old', '2')),
      bodyOf(json('data', '{"new":1}'), field('new', '2')),
    ],
    [
      'a Blob of JSON',
      part(`; filename="blob"\r\n${JSON_PART}`, '{"old":1}'),
      part(`; filename="blob"\r\n${JSON_PART}`, '{"new":1}'),
    ],
  ])('%s', (_, before, after) => {
    expect(outcomeOf(before)).toBe(after);
  });

  test.each([
    ['a file', bodyOf(file('f', '\r\n-\r\n--\r\nold --B\0'))],
    ['a file of JSON', part(`; filename="x.json"\r\n${JSON_PART}`, '{"old":1}')],
    [
      'an image without a file name',
      part('\r\nContent-Type: image/png\r\nContent-Transfer-Encoding: base64', 'eA=='),
    ],
  ])('%s keeps its bytes', (_, body) => {
    expect(outcomeOf(body)).toBe(body);
  });
});

const FIELD = 'Content-Disposition: form-data; name="old"';

// RFC 7578 §4.2, §4.4, §4.7 and §5.1.1.
test.each<readonly [header: string, isField: boolean]>([
  [FIELD, true],
  ['content-disposition : FORM-DATA ;NAME=old', true],
  ['X: 1\r\nContent-Disposition: form-data;\r\n name="old"', true],
  [`${FIELD}\r\nContent-Type: text/plain; charset="UTF-8"`, true],
  [`${FIELD}\r\nContent-Type:`, true],
  ...words`US-ASCII us-ascii utf-8 UTF8 "utf-8" 'utf-8' ISO-8859-1 iso-8859-15 latin1 windows-1252 CP1252 windows-1251 KOI8-R Shift_JIS GBK EUC-KR`.map(
    (charset): [string, boolean] => [`${FIELD}\r\nContent-Type: text/plain; charset=${charset}`, true],
  ),
  [`${FIELD}\r\nContent-Type: TEXT/PLAIN ; format=flowed;charset = iso-8859-1 ;`, true],
  [`${FIELD}\r\nContent-Type: text/plain; charset`, true],
  [`${FIELD}\r\nContent-Type: text/plain; charset=utf-8; charset=UTF-8`, true],
  [`${FIELD}\r\nContent-Type: text/plain; charset=latin1\r\nContent-Transfer-Encoding: 8bit`, true],
  [`${FIELD}; filename=a.txt\r\nContent-Type: text/plain; charset=utf-16`, false],
  ...words`text/html text/csv text/xml TEXT/Markdown;charset=latin1`.map((type): [string, boolean] => [
    `${FIELD}\r\nContent-Type: ${type}`,
    true,
  ]),
  [`${FIELD}; filename=a.html\r\nContent-Type: text/html`, false],
  [`${FIELD}\r\nContent-Transfer-Encoding: 8bit`, true],
  [`${FIELD}; filename=a.txt\r\nContent-Transfer-Encoding: base64`, false],
  [`${FIELD}; filename=blob`, false],
  [`${FIELD}; filename*=UTF-8''x`, false],
])('a part with %j has its value rewritten: %s', (header, isField) => {
  const [from, to] = [
    { isString: true, text: 'x' },
    { isString: true, text: 'v_x' },
  ];
  const rules: readonly RequestRule[] = [{ rule: 'map', member: 'old', in: [], values: [{ from, to }] }];
  const after = bodyOf([header, isField ? 'v_x' : 'x']);
  expect(outcomeOf(bodyOf([header, 'x']), { rules })).toBe(after);
});

describe('a part of binary data without a file name', () => {
  const types = words`application/octet-stream image/png application/xml text */* multipart/mixed application/x-protobuf`;
  const bytes = (name: string, type: string): string =>
    bodyOf([`Content-Disposition: form-data; name="${name}"\r\nContent-Type: ${type}`, 'x']);
  const values = [{ from: { isString: true, text: 'a' }, to: { isString: true, text: 'b' } }];
  const aboutValue: readonly RequestRule[] = [
    { rule: 'map', member: 'old', in: [], values },
    { rule: 'set', member: 'old', in: [], json: '1', value: 1 },
    { rule: 'split', member: 'old', in: [], to: ['one', 'two'], with: ' ', at: 'first' },
    {
      rule: 'prefix',
      member: 'old',
      in: [],
      conversion: { rule: 'prefix', with: 'v' },
      isOfTexts: true,
    },
  ];
  test.each(types)('of type %s is renamed, and refused where a rule is about its value', (type) => {
    expect(outcomeOf(bytes('data[old]', type))).toBe(bytes('new', type));
    for (const rule of aboutValue) {
      expect(outcomeOf(bytes('old', type), { rules: [rule] })).toMatch(/^400 malformed-form/);
    }
    const rename: RequestRule = { rule: 'rename', member: 'other', in: [], to: 'new' };
    expect(outcomeOf(bytes('other', type), { rules: [rename, ...aboutValue.slice(0, 1)] })).toBe(
      bytes('new', type),
    );
  });
});

test.each(['-Xr_qhW/dc2hip09', "a'()+_,-./:=?z", 'a b', '=_?:'])('the boundary may be %j', (boundary) => {
  const body = bodyOf(field('data[old]', '1'), file('data[legacy]', '--B'), field('legacy', '2'));
  const withBoundary = (text: string): string =>
    text.replaceAll('--B\r\n', `--${boundary}\r\n`).replace('--B--', `--${boundary}--`);
  expect(outcomeOf(withBoundary(body), { boundary })).toBe(withBoundary(outcomeOf(body)));
});

test.each([
  'Content-Disposition: attachment; name=old',
  "Content-Disposition: form-data; name*=UTF-8''old",
  'X: 1',
])('a part with %j has no name that rules know', (header) => {
  const body = bodyOf([header, 'x']);
  expect(outcomeOf(body)).toBe(body);
});

describe('what two readers could read differently is refused', () => {
  const plain = bodyOf(field('a', '1'));
  const named = 'Content-Disposition: form-data; name=a';
  const CUT = 'the body ends without its last boundary';
  const LINE = 'a boundary is not followed by CR and LF: another reader might not take it for one';
  const BARE = 'a bare line feed precedes a boundary';
  const UNREAD = 'the header of a part cannot be read';
  const HEADER_LINE = 'a line of a part’s header ends without CR and LF';
  const EMPTY = 'a part has no content';
  const NO_START = 'there is no boundary where the first part should begin';
  const LONG = 'the header of a part is longer than 16384 bytes';
  test.each<[name: string, body: string, outcome: string, settings?: Settings]>([
    ['without its last boundary', plain.replace('--B--', ''), CUT],
    ['another boundary', plain.replaceAll('--B', '--C'), CUT],
    ['line feeds alone', plain.replaceAll('\r', ''), LINE],
    ['a line feed alone before a boundary', plain.replace('1\r\n', '1\n'), BARE],
    ['a longer boundary', plain.replace('--B\r\n', '--Bx\r\n'), LINE],
    ['two names', bodyOf([`${named}; name=b`, '']), UNREAD],
    ['two dispositions', bodyOf([`${named}\r\n${named.replace('=a', '=b')}`, '']), UNREAD],
    ['a part without content', `--B\r\n${named}\r\n\r\n--B--\r\n`, EMPTY],
    ['a line feed alone before the first boundary', `preamble\n${plain}`, BARE],
    ['a line feed alone behind a file', bodyOf(file('a', '1')).replace('1\r\n', '1\n'), BARE],
    ['a line feed alone in a header', bodyOf([`X: 1\n${named}`, '']), HEADER_LINE],
    ['a line feed alone behind a header', plain.replace('\r\n\r\n1', '\r\n\n1'), HEADER_LINE],
    ['a line without a colon', bodyOf([`X\r\n${named}`, '']), UNREAD],
    ['something behind the name', bodyOf(['Content-Disposition: form-data; name="a"b', '']), UNREAD],
    ['a preamble of 16 KiB', `${'x'.repeat(16_383)}\r\n${plain}`, NO_START],
    ['a preamble without an end', 'x'.repeat(17_000), NO_START],
    ['a long header', bodyOf([`X: ${'x'.repeat(16_384)}`, '']), LONG],
    ['a header without an end', `--B\r\nX: ${'x'.repeat(17_000)}`, LONG],
    ['a padded boundary', plain.replace('--B\r\n', `--B${' '.repeat(65)}\r\n`), LINE],
    ['a file without content', `--B\r\n${named}; filename=b\r\n\r\n--B--\r\n`, EMPTY],
  ])('%s', (_, body, reason, settings) => {
    expect(outcomeOf(body, settings)).toBe(`400 malformed-form ${reason}`);
    expect(outcomeOf(body, { ...settings, policies: { malformed: 'forward' } })).toBe(body);
  });

  test.each<[name: string, body: string, outcome: string]>([
    ['a wrapper that is a value', bodyOf(field('data', '1')), '422 wrapper-not-object /data'],
    ['a wrapper in JSON', bodyOf(json('x', '{"data":1}')), '422 wrapper-not-object /x/data'],
    ['a repeated field', bodyOf(field('old', '1'), field('old', '2')), '400 duplicate-member /old'],
  ])('by a rule: %s', (_, body, outcome) => {
    expect(outcomeOf(body)).toBe(outcome);
  });

  const LATIN = 'Content-Type: text/plain; charset=latin1';
  test.each([
    'Content-Transfer-Encoding: base64',
    'Content-Transfer-Encoding: quoted-printable',
    'Content-Type: text/plain; charset=utf-16',
    'Content-Type: text/plain; charset=UTF-7',
    'Content-Type: text/plain; charset=iso-2022-jp',
    'Content-Type: text/plain; charset=x-unknown',
    'Content-Type: text/plain; charset=utf-8; charset=latin1',
    'Content-Type: text/plain; charset="latin1',
    'Content-Type: text/plain charset=latin1',
    'Content-Type: text / plain',
    'Content-Type: application/json; charset=utf-16',
    'Content-Type: application/json, text/plain',
    'Content-Type: application/json\r\nContent-Transfer-Encoding: base64',
  ])('a part whose text cannot be read, with %j: no part is rewritten', (header) => {
    const body = bodyOf(field('data[old]', '1'), [`${named.replace('=a', '=old')}\r\n${header}`, '1']);
    const reason = 'the text of a part is in a charset or a transfer encoding that the gateway does not read';
    expect(outcomeOf(body)).toBe(`400 malformed-form ${reason}`);
    expect(outcomeOf(body, { policies: { malformed: 'forward' } })).toBe(body);
  });

  test('two types of one part', () => {
    const body = bodyOf([`${named}\r\n${LATIN}\r\n${LATIN.replace('latin1', 'utf-8')}`, '']);
    expect(outcomeOf(body)).toBe(`400 malformed-form ${UNREAD}`);
  });

  test('a text that is not UTF-8', () => {
    const [before = '', behind = ''] = bodyOf(field('old', '|')).split('|');
    const body = concatBytes([bytesOf(before), new Uint8Array([0xe4]), bytesOf(behind)]);
    const { rules, json: plan } = partsOf();
    expect(rewriteParts(rules, plan, body)).toMatchObject({
      verdict: 'refused',
      refusal: { status: 400, code: 'malformed-form', reason: 'the text of a part is not UTF-8' },
    });
  });

  test('fields for which there is no memory', () => {
    const { rules, json: plan } = partsOf();
    const outcome = rewriteParts(rules, plan, bytesOf(plain), () => false);
    expect(outcome).toMatchObject({ verdict: 'refused', refusal: { status: 503, code: 'buffer-full' } });
  });

  test('fields beyond the limit', () => {
    expect(outcomeOf(bodyOf(field('a', 'x'.repeat(99))), { limit: 64 })).toContain('413 body-too-large');
    expect(streamed(bodyOf(file('a', 'x'.repeat(999))), [], { limit: 128 })[1]).toBeUndefined();
  });

  test('parts beyond ten thousand', () => {
    const many = (count: number): string =>
      bodyOf(...Array.from({ length: count }, (_, at) => field(`a${at}`, '')));
    expect(outcomeOf(many(10_000))).toBe(many(10_000));
    expect(outcomeOf(many(10_001))).toContain('413 body-too-large');
  });

  test('a value that rules join cannot end its part', () => {
    const rules: readonly RequestRule[] = [
      {
        rule: 'map',
        member: 'a',
        in: [],
        values: [{ from: { isString: true, text: '1' }, to: { isString: true, text: '\r\n--B--' } }],
      },
    ];
    expect(outcomeOf(bodyOf(field('a', '1')), { rules })).toBe(
      '400 malformed-form A value that the rules make contains the boundary of the body.',
    );
  });
});

describe('a part in its own charset', () => {
  const RULES_OF_WORDS: readonly RequestRule[] = [
    { rule: 'unwrap', member: 'data' },
    { rule: 'rename', member: 'old', in: [], to: 'new' },
    { rule: 'strip', members: ['legacy'], in: [] },
    ...[
      ['day', 'caf\u00e9'],
      ['gr\u00fcn', 'green'],
      ['euro', '\u20ac'],
      ['\u0416', '\u0416\u0416'],
      ['japan', '\u65e5'],
    ].map(([from = '', to = '']): RequestRule => ({
      rule: 'map',
      member: 'new',
      in: [],
      values: [{ from: { isString: true, text: from }, to: { isString: true, text: to } }],
    })),
  ];
  const inBytes = (...parts: readonly (string | readonly number[])[]): Uint8Array =>
    concatBytes(parts.map((part) => (typeof part === 'string' ? bytesOf(part) : new Uint8Array(part))));
  const rewritten = (
    type: string,
    name: string,
    content: string | readonly number[],
  ): Uint8Array | string => {
    const { rules, json: plan } = partsOf({ rules: RULES_OF_WORDS });
    const [before = '', behind = ''] = bodyOf(field('legacy', '1'), [
      `Content-Disposition: form-data; name="${name}"\r\nContent-Type: ${type}`,
      '|',
    ]).split('|');
    const outcome = rewriteParts(rules, plan, inBytes(before, content, behind));
    return outcome.verdict === 'refused' ? (outcome.refusal.reason ?? outcome.refusal.detail) : outcome.body;
  };
  const part = (type: string, name: string, content: string | readonly number[]): Uint8Array => {
    const header = `--B\r\nContent-Disposition: form-data; name="${name}"\r\nContent-Type: ${type}\r\n\r\n`;
    return inBytes(header, content, '\r\n--B--\r\n');
  };
  const codes = (text: string): readonly number[] => [...latin1Bytes(text)];

  test.each<[charset: string, from: readonly number[], to: readonly number[]]>([
    ['iso-8859-1', codes('day'), codes('caf\u00e9')],
    ['ISO-8859-1', codes('gr\u00fcn'), codes('green')],
    ['iso-8859-1', codes('\u00e4\u00ff'), codes('\u00e4\u00ff')],
    ['us-ascii', codes('day'), [...bytesOf('caf\u00e9')]],
    ['windows-1252', codes('euro'), [0x80]],
    ['iso-8859-15', codes('euro'), [0xa4]],
    ['windows-1251', [0xc6], [0xc6, 0xc6]],
    ['koi8-r', [0xf6], [0xf6, 0xf6]],
  ])('is read and written in %s: %j becomes %j', (charset, from, to) => {
    const type = `text/plain; charset=${charset}`;
    expect(rewritten(type, 'data[old]', from)).toEqual(part(type, 'new', to));
    const json = `application/json;charset=${charset}`;
    const before = [...codes('{"data":{"old":"'), ...from, ...codes('"}}')];
    const after = [...codes('{"new":"'), ...to, ...codes('"}')];
    expect(rewritten(json, 'x', before)).toEqual(part(json, 'x', after));
  });

  test.each([
    ['iso-8859-1', 'japan', 'A value that the rules make cannot be written in the charset of its part.'],
    ['shift_jis', 'japan', 'A value that the rules make cannot be written in the charset of its part.'],
    ['shift_jis', '\u00ff', 'the text of a part is not in its charset'],
    ['iso-8859-3', '\u00a5', 'the text of a part is not in its charset'],
    ['us-ascii', '\u00e4', 'the text of a part is not UTF-8'],
  ])('is never half rewritten: %s, %j', (charset, text, reason) => {
    expect(rewritten(`text/plain; charset=${charset}`, 'data[old]', codes(text))).toBe(reason);
  });

  test('stays as it is where no rule changes its value', () => {
    const type = 'text/plain; charset=shift_jis';
    expect(rewritten(type, 'data[old]', [0x93, 0xfa])).toEqual(part(type, 'new', [0x93, 0xfa]));
  });

  test('is refused where JSON is not in its charset', () => {
    expect(rewritten('application/json; charset=shift_jis', 'x', [0x22, 0xff])).toBe(
      'the text of a part is not in its charset',
    );
  });
});

test('a field after a large file is treated as before it, or the body breaks off', () => {
  const large = file('f', 'x'.repeat(200));
  const settings = { heldFileBytes: 100 };
  expect(streamed(bodyOf(field('data[old]', '1'), large, field('data[a]', '2')), [], settings)).toEqual([
    bodyOf(field('new', '1'), large, field('a', '2')),
    undefined,
  ]);
  expect(streamed(bodyOf(field('b', '1'), large, field('data[a]', '2')), [], settings)[1]).toMatch(
    /send all fields before the files/,
  );
  expect(streamed(bodyOf(field('b', '1'), large, field('data[a]', '2')), [])[1]).toBeUndefined();
});

const names = fc.constantFrom(
  ...words`a old data[old] data[property][street] property[suburb] data[legacy] data[x][] legacy`,
);
const contents = fc.oneof(fc.string(), fc.constantFrom('\r\n', '--', '\r\n--', '-B', '\n', ''));
const parts = fc.oneof(
  fc.tuple(names, contents).map(([name, content]) => field(name, content)),
  fc.tuple(names, contents).map(([name, content]) => file(name, content)),
  fc.tuple(names, fc.json()).map(([name, content]) => json(name, content)),
);

test('the result does not depend on how the bytes are cut, and files and their order stay', () => {
  fc.assert(
    fc.property(
      fc.array(parts, { maxLength: 6 }),
      fc.array(fc.nat(600), { maxLength: 12 }),
      fc.constantFrom(0, 20, 1 << 18),
      (all, cuts, heldFileBytes) => {
        const body = bodyOf(...all);
        const whole = outcomeOf(body);
        const [sent, refusal] = streamed(body, cuts, { heldFileBytes });
        const isFile = ([header]: Part): boolean => header.includes('filename');
        // Fields before a file that is not held back are decided without later ones, so a later wrapper does not help.
        const isRefusedBefore = (at: number): boolean =>
          /^4\d\d /.test(outcomeOf(bodyOf(...all.slice(0, at))));
        if (refusal === undefined) {
          expect(sent).toBe(whole);
          let at = 0;
          for (const [, content] of all.filter(isFile)) {
            at = sent.indexOf(`\r\n\r\n${content}\r\n--B`, at);
            expect(at).not.toBe(-1);
            at += 1;
          }
        } else if (heldFileBytes === 1 << 18) expect(whole).toMatch(/^4\d\d /);
        else if (!all.some((part, at) => at > 0 && isFile(part) && isRefusedBefore(at)))
          expect(`${whole} ${refusal}`).toMatch(/^4\d\d |send all fields before the files/);
      },
    ),
    { numRuns: fuzzRuns(400) },
  );
});
