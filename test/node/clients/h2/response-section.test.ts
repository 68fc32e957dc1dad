import * as fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { areFieldLines } from '../../../../src/http/field-lines.ts';
import { FieldBlocks } from '../../../../src/node/clients/http2/hpack.ts';
import { writeBlock } from '../../../../src/node/clients/http2/stream.ts';
import { fuzzRuns, fuzzTime } from '../../../support/fuzz.ts';

const MEMORY_BYTES = 16 * 1024;

/** Reads what is written, on a connection that has read other blocks before; undefined when nothing is written. */
function written(
  status: number | undefined,
  fields: readonly string[],
  connection = new FieldBlocks(),
  write = writeBlock,
): string[] | undefined {
  const block = write(status, fields);
  if (block === undefined) return undefined;
  const read: string[] = [];
  const invalid: string[] = [];
  const isRead = connection.read(block, 0, block.length, {
    field: (name, value, isValid) => {
      read.push(name, value);
      if (!isValid) invalid.push(name);
    },
  });
  expect({ isRead, invalid }).toEqual({ isRead: true, invalid: [] });
  return read;
}

const CONNECTION_FIELDS = [
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
];

test.each([100, 103, 200, 201, 204, 206, 301, 304, 400, 404, 418, 431, 500, 503, 599])(
  'the status %i stands in front',
  (status) => {
    expect(written(status, ['A', 'b'])).toEqual([':status', String(status), 'a', 'b']);
  },
);

test('trailers have no status, and there may be none', () => {
  expect(written(undefined, ['A', 'b'])).toEqual(['a', 'b']);
  expect(written(undefined, [])).toEqual([]);
  expect(written(undefined, ['Connection', 'close'])).toEqual([]);
});

test.each(CONNECTION_FIELDS)('%s is left out, in any case', (name) => {
  const fields = ['a', 'b', name, 'c', name.toUpperCase(), 'd', `${name}s`, 'e'];
  expect(written(200, fields)).toEqual([':status', '200', 'a', 'b', `${name}s`, 'e']);
});

test('fields that both sides know keep their values, whatever those are', () => {
  const fields = [
    'accept-encoding',
    'gzip, deflate',
    'accept-encoding',
    'br',
    'Set-Cookie',
    'a',
    'set-cookie',
    '',
  ];
  expect(written(404, fields)).toEqual([':status', '404', ...fields.map((text) => text.toLowerCase())]);
});

describe('what cannot be written', () => {
  test.each(['', ' ', 'a b', 'a:', ':status', 'a\r\nb', 'a\0', 'a\x7f', '\xe9', '\u0100', '\u20ac'])(
    'the name %j',
    (name) => {
      expect(writeBlock(200, ['a', 'b', name, 'c'])).toBeUndefined();
      expect(writeBlock(undefined, [name, 'c'])).toBeUndefined();
    },
  );

  test.each(['\r', '\n', 'a\r\nb: c', '\0', '\x1b', '\x7f', '\u0100', '\u20ac', '\u010a', '\ud83d\ude00'])(
    'the value %j',
    (value) => {
      expect(writeBlock(200, ['a', 'b', 'c', value])).toBeUndefined();
      expect(writeBlock(undefined, ['content-type', value])).toBeUndefined();
    },
  );

  test('keeps nothing else from being written', () => {
    expect(writeBlock(200, ['a', 'x'.repeat(100_000), 'b', '\0'])).toBeUndefined();
    expect(written(200, ['a', 'b'])).toEqual([':status', '200', 'a', 'b']);
  });
});

test('names and values of any length survive', () => {
  const lengths = [0, 1, 14, 15, 126, 127, 128, 254, 255, 16_383, 16_384, 16_511, 16_512, 100_000, 3_000_000];
  for (const length of lengths) {
    const fields = [
      'x',
      'y'.repeat(length),
      `z${'-'.repeat(length)}`,
      '1',
      'server',
      'y'.repeat(length),
      'a',
      'b',
    ];
    expect(written(200, fields)).toEqual([':status', '200', ...fields]);
  }
});

test('sections just as large as the memory for them survive', async () => {
  for (let spare = 0; spare < 64; spare += 1) {
    // Memory that has become larger stays so.
    vi.resetModules();
    const { writeBlock } = await import('../../../../src/node/clients/http2/stream.ts');
    const fields = ['x'.repeat(300), 'y'.repeat(MEMORY_BYTES - 300 - spare), 'a', 'b', 'server', 'c'];
    expect(written(302, fields, new FieldBlocks(), writeBlock)).toEqual([':status', '302', ...fields]);
  }
});

test('many fields survive', () => {
  const fields = Array.from({ length: 20_000 }, (_, at) => (at % 2 === 0 ? `name-${at}` : `value ${at}`));
  expect(written(200, fields)).toEqual([':status', '200', ...fields]);
});

test('what can be written as lines of HTTP/1.1 comes back, in lower case and in order', fuzzTime(), () => {
  const characters = (codes: fc.Arbitrary<number>): fc.Arbitrary<string> =>
    codes.map((code) => String.fromCharCode(code));
  const names = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.string({
        unit: fc.constantFrom(..."aZ09!#$%&'*+-.^_`|~".split('')),
        minLength: 1,
        maxLength: 30,
      }),
    },
    {
      weight: 4,
      arbitrary: fc.constantFrom('Content-Type', 'ETag', 'date', 'SET-COOKIE', 'Via', 'x-request-id'),
    },
    { weight: 1, arbitrary: fc.constantFrom(...CONNECTION_FIELDS, 'Connection', 'Transfer-Encoding') },
  );
  const values = fc
    .oneof(
      fc.string({ unit: characters(fc.integer({ min: 0x20, max: 0x7e })) }),
      fc.string({ unit: characters(fc.constantFrom(0x09, 0x20, 0x21, 0x7e, 0x80, 0xa0, 0xff)) }),
      fc.nat(20_000).map((length) => 'v'.repeat(length)),
    )
    // White space around a value is no part of it, and nobody who reads HTTP/1.1 keeps it.
    .map((value) => value.replaceAll(/^[\t ]+|[\t ]+$/g, ''));
  const faults = fc.string({ unit: characters(fc.integer({ min: 0, max: 0x180 })), maxLength: 4 });
  const fields = fc.oneof(
    { weight: 20, arbitrary: fc.tuple(names, values) },
    {
      weight: 1,
      arbitrary: fc.tuple(
        names,
        faults.map((fault) => `x${fault}x`),
      ),
    },
    { weight: 1, arbitrary: fc.tuple(faults, values) },
  );
  const statuses = fc.option(fc.integer({ min: 100, max: 599 }), { nil: undefined });
  const sections = fc.array(fc.tuple(statuses, fc.array(fields, { maxLength: 8 })), { maxLength: 4 });
  const runs = fuzzRuns(500);
  let accepted = 0;
  fc.assert(
    fc.property(sections, (list) => {
      const connection = new FieldBlocks();
      for (const [status, section] of list) {
        const read = written(status, section.flat(), connection);
        expect(read !== undefined).toBe(areFieldLines(section.flat()));
        if (read === undefined) continue;
        accepted += 1;
        const own = section
          .map(([name, value]) => [name.toLowerCase(), value] as const)
          .filter(([name]) => !CONNECTION_FIELDS.includes(name));
        expect(read).toEqual([...(status === undefined ? [] : [':status', String(status)]), ...own.flat()]);
      }
    }),
    { numRuns: runs },
  );
  expect(accepted).toBeGreaterThan(runs / 2);
});
