import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { concatBytes } from '../../src/http/byte-collector.ts';
import type { TextFormat } from '../../src/http/content.ts';
import { applyEdits } from '../../src/json/edit.ts';
import { unlimitedMemory } from '../../src/json/tape.ts';
import type { Plan } from '../../src/rewrite/plan.ts';
import type { Refusal } from '../../src/rewrite/records.ts';
import {
  MAX_STREAM_RECORDS,
  RequestTexts,
  ResponseTexts,
  rewriteWhole,
} from '../../src/rewrite/text-stream.ts';
import type { RequestRule } from '../../src/rules/rule.ts';
import { fuzzRuns } from '../support/fuzz.ts';
import { planOf } from '../support/plan-of.ts';
import { responsePlanOf, responseRule } from '../support/response-plan-of.ts';
import { bytesOf, textOf } from './notation.ts';

const RULES: readonly RequestRule[] = [
  { rule: 'unwrap', member: 'data' },
  { rule: 'rename', member: 'old', in: [], to: 'new' },
];

function streamOf(format: TextFormat, plan: Plan, limit = 1 << 20, room = Infinity): RequestTexts {
  let left = room;
  const rules = {
    limit,
    hold: (bytes: number) => (left -= bytes) >= 0,
    rewrite: (text: Uint8Array) => plan.rewrite(text, unlimitedMemory),
  };
  return new RequestTexts(format, rules, true);
}

/** What comes out, part by part; the last is that of the end. */
function outputs(stream: RequestTexts | ResponseTexts, parts: readonly string[]): readonly string[] {
  const all: string[] = [];
  for (const part of parts) {
    // Its memory is used again.
    const bytes = bytesOf(part);
    const { bytes: sent, refusal } = stream.push(bytes);
    all.push(refusal === undefined ? textOf(sent) : outcomeOf(refusal));
    bytes.fill(0x21);
    if (refusal !== undefined) return all;
  }
  const { bytes, refusal } = stream.end();
  return [...all, refusal === undefined ? textOf(bytes) : outcomeOf(refusal)];
}

function outcomeOf({ status, code, pointer, position }: Refusal): string {
  const at = position === undefined ? '-' : `${position.offset}:${position.line}:${position.column}`;
  return `${status} ${code} ${pointer ?? at}`;
}

describe('one text a line', () => {
  test.each<[name: string, parts: readonly string[], sent: readonly string[]]>([
    ['each goes on with its line feed', ['{"old":1}\n', '{"old":2}\n'], ['{"new":1}\n', '{"new":2}\n', '']],
    [
      'several in one part',
      ['{"old":1}\n{"old":2}\n{"ol'],
      ['{"new":1}\n{"new":2}\n', '400 malformed-json 24:3:5'],
    ],
    ['cut anywhere', ['{"o', 'ld":', '1}', '\n'], ['', '', '', '{"new":1}\n', '']],
    [
      'CRLF, blank lines and white space stay',
      ['\r\n {"old":1} \r\n\n\t\n'],
      ['\r\n {"new":1} \r\n\n\t\n', ''],
    ],
    ['the last may lack its line feed', ['{"old":1}\n{"old":2}'], ['{"new":1}\n', '{"new":2}']],
    ['wrapped and flat ones', ['{"data":{"old":1}}\n{"old":2}\n'], ['{"new":1}\n{"new":2}\n', '']],
    ['lists and scalars stay', ['[{"old":1}]\n1\n"old"\nnull\n'], ['[{"old":1}]\n1\n"old"\nnull\n', '']],
    ['nothing', [], ['']],
    ['no JSON', ['{"old":1}\n', 'old\n'], ['{"new":1}\n', '400 malformed-json 10:2:1']],
    ['a text over two lines', ['{"old":\n1}\n'], ['400 malformed-json 8:2:1']],
    ['a text that a rule refuses', ['{"old":1}\n{"data":3}\n'], ['422 wrapper-not-object /1/data']],
  ])('%s', (_, parts, sent) => {
    expect(outputs(streamOf('ndjson', planOf(RULES)), parts)).toEqual(sent);
  });
});

describe('a JSON text sequence', () => {
  test.each<[name: string, parts: readonly string[], sent: readonly string[]]>([
    [
      'each goes on with its line feed',
      ['\x1e{"old":1}\n', '\x1e{"old":2}\n'],
      ['\x1e{"new":1}\n', '\x1e{"new":2}\n', ''],
    ],
    ['texts of several lines', ['\x1e{\n"old":\n', '1}\n'], ['', '\x1e{\n"new":\n1}\n', '']],
    [
      'a brace, a quote and a separator in a string',
      ['\x1e{"a":"}\\"\\u001e","old":1}\n'],
      ['\x1e{"a":"}\\"\\u001e","new":1}\n', ''],
    ],
    ['without a line feed', ['\x1e{"old":1}', '\x1e{"old":2}'], ['', '\x1e{"new":1}', '\x1e{"new":2}']],
    ['separators of nothing', ['\x1e\x1e\n\x1e{"old":1}\n'], ['\x1e\x1e\n\x1e{"new":1}\n', '']],
    [
      'scalars, which may be truncated',
      ['\x1e12\x1etrue\n\x1e"a\\"b"\n'],
      ['\x1e12\x1etrue\n\x1e"a\\"b"\n', ''],
    ],
    ['a truncated text', ['\x1e{"old":1\x1e{"old":2}\n'], ['400 malformed-json 9:1:9']],
    ['no separator', ['{"old":1}\n'], ['400 malformed-json 0:1:1']],
  ])('%s', (_, parts, sent) => {
    expect(outputs(streamOf('json-seq', planOf(RULES)), parts)).toEqual(sent);
  });
});

describe('limits', () => {
  test('are those of one text, not of all', () => {
    const line = '{"old":1}\n';
    expect(outputs(streamOf('ndjson', planOf(RULES), line.length), [line.repeat(9)]).join('')).toBe(
      line.replace('old', 'new').repeat(9),
    );
    expect(outputs(streamOf('ndjson', planOf(RULES), 8), ['[]\n', line])).toEqual([
      '[]\n',
      '413 body-too-large -',
    ]);
    expect(outputs(streamOf('ndjson', planOf(RULES), 8), ['[]\n', '{"old', '":1', '}'])).toEqual([
      '[]\n',
      '',
      '',
      '413 body-too-large -',
    ]);
  });

  test('a text is refused if there is no memory for a part of it', () => {
    expect(outputs(streamOf('ndjson', planOf(RULES), 1 << 20, 10), ['[1]\n', '{"old'])).toEqual([
      '[1]\n',
      '503 buffer-full -',
    ]);
  });

  test('the memory of one text is used again for the next', () => {
    const parts = Array.from({ length: 50 }, () => ['{"old":', '1}\n']).flat();
    expect(outputs(streamOf('ndjson', planOf(RULES), 1 << 20, 1024), parts).join('')).toBe(
      '{"new":1}\n'.repeat(50),
    );
  });
});

test('edits name the text, the first of them, and then their number', () => {
  const stream = streamOf('ndjson', planOf(RULES));
  outputs(stream, ['{"data":{"old":1}}\n\n{"old":2}\n']);
  expect(stream.findings).toMatchObject({
    records: [
      { rule: 'unwrap', from: '/0/data' },
      { rule: 'rename', from: '/0/data/old', path: '/0/new' },
      { rule: 'unwrap', from: '/1', note: 'already-flat' },
      { rule: 'rename', from: '/1/old', path: '/1/new' },
    ],
    patch: [
      { op: 'move', from: '/0/data', path: '/0' },
      { op: 'move', from: '/0/old', path: '/0/new' },
      { op: 'move', from: '/1/old', path: '/1/new' },
    ],
    omitted: 0,
    isRewritten: true,
  });
  outputs(stream, ['{"old":2}\n'.repeat(200)]);
  const { records, patch, omitted } = stream.findings;
  expect([records.length, records.length + omitted, patch]).toEqual([MAX_STREAM_RECORDS, 404, []]);
});

describe('responses', () => {
  const plan = responsePlanOf([responseRule('rename new to old')]);
  const rewrite = (text: Uint8Array): ReturnType<typeof plan.rewrite> =>
    plan.rewrite(text, { status: 200, deprecated: [], isWrapped: false });
  const streamOfResponses = (format: TextFormat, limit = 1 << 20): ResponseTexts =>
    new ResponseTexts(format, { limit, hold: () => true, rewrite });

  test.each<[name: string, parts: readonly string[], sent: readonly string[], note: string | undefined]>([
    ['each goes on at once', ['{"new":1}\n', '{"new":2}\n'], ['{"old":1}\n', '{"old":2}\n', ''], undefined],
    [
      'an event that is not JSON crosses, and the next is rewritten',
      ['{"new":\n{"new":1}\n'],
      ['{"new":\n{"old":1}\n', ''],
      'response-malformed',
    ],
    [
      'a text beyond the limit crosses',
      ['{"new":"aaa', 'aaaaaaaaaaaaaaaaaaa', '"}\n{"new":1}\n'],
      ['', '{"new":"aaaaaaaaaaaaaaaaaaaaaa', '"}\n{"old":1}\n', ''],
      'response-too-large',
    ],
  ])('%s', (_, parts, sent, note) => {
    const stream = streamOfResponses('ndjson', 20);
    expect(outputs(stream, parts)).toEqual(sent);
    expect(stream.findings.note).toBe(note);
  });

  test('a truncated text of a sequence crosses, and the next is rewritten', () => {
    const stream = streamOfResponses('json-seq');
    expect(outputs(stream, ['\x1e{"new":1\x1e{"new":2}\n'])).toEqual(['\x1e{"new":1\x1e{"old":2}\n', '']);
    expect(stream.findings).toMatchObject({ note: 'response-malformed', isRewritten: true });
  });

  // WHATWG HTML §9.2.5 and §9.2.6.
  describe('of events', () => {
    test.each<[name: string, parts: readonly string[], sent: readonly string[], note?: string]>([
      [
        'each goes on with its empty line',
        ['data: {"new":1}\n\n', 'data:{"new":2}\n', '\n'],
        ['data: {"old":1}\n\n', '', 'data:{"old":2}\n\n', ''],
      ],
      [
        'several in one part',
        ['data: {"new":1}\n\ndata: {"new":2}\n\n'],
        ['data: {"old":1}\n\ndata: {"old":2}\n\n', ''],
      ],
      [
        'other fields stay',
        ['event: new\nid: 1\nretry:9\ndata: {"new":1}\nnew\n\n'],
        ['event: new\nid: 1\nretry:9\ndata: {"old":1}\nnew\n\n', ''],
      ],
      [
        'a comment goes on at once',
        [': {"new":1}\n', ':\n\n', 'data: {"new":1}\n:\n\n'],
        [': {"new":1}\n', ':\n\n', 'data: {"old":1}\n:\n\n', ''],
      ],
      [
        'text that is no JSON',
        ['data: new\n\ndata: [DONE]\n\ndata\n\ndata: 1\n\ndata:  {"new":1}\n\n'],
        ['data: new\n\ndata: [DONE]\n\ndata\n\ndata: 1\n\ndata:  {"old":1}\n\n', ''],
      ],
      [
        'an object that is incomplete',
        ['data: {"new":\n\ndata: {"new":1}\n\n'],
        ['data: {"new":\n\ndata: {"old":1}\n\n', ''],
        'response-malformed',
      ],
      [
        'lines that end with CR',
        ['data: {"new":1}\r\rdata: {"new":2}\r', '\r'],
        ['data: {"old":1}\r\r', 'data: {"old":2}\r\r', ''],
      ],
      [
        'lines that end with both',
        ['data: {"new":1}\r\n\r', '\ndata: {"new":2}\r', '\n\r\n'],
        ['data: {"old":1}\r\n\r', '\n', 'data: {"old":2}\r\n\r\n', ''],
      ],
      [
        'data in several lines',
        ['data: {\ndata:  "new":\ndata: 1}\n\n'],
        ['data: {\ndata:  "old":\ndata: 1}\n\n', ''],
      ],
      [
        'data with another field between',
        ['data: {"new":1,\nid: 7\r\ndata:"a":2}\n\n'],
        ['data: {"old":1,\nid: 7\r\ndata:"a":2}\n\n', ''],
      ],
      // The test's own decoder drops the mark, which is sent.
      ['a byte order mark', ['\ufeffdata: {"new":1}\n\n'], ['data: {"old":1}\n\n', '']],
      ['the last one without an empty line', ['data: {"new":1}'], ['', 'data: {"old":1}']],
      [
        'names that only begin so',
        ['datas: {"new":1}\n data: {"new":1}\nDATA: {"new":1}\n\n'],
        ['datas: {"new":1}\n data: {"new":1}\nDATA: {"new":1}\n\n', ''],
      ],
    ])('%s', (_, parts, sent, note) => {
      const stream = streamOfResponses('events');
      expect(outputs(stream, parts)).toEqual(sent);
      expect(stream.findings.note).toBe(note);
    });

    test('an event beyond the limit crosses, and the next is rewritten', () => {
      const long = `data: {"new":"${'a'.repeat(40)}"}`;
      const stream = streamOfResponses('events', 30);
      expect(outputs(stream, [`${long}\n`, '\ndata: {"new":1}\n\n'])).toEqual([
        `${long}\n`,
        '\ndata: {"old":1}\n\n',
        '',
      ]);
      expect(stream.findings.note).toBe('response-too-large');
    });

    test('however the bytes are cut and the lines end, a reader finds the same as in plain JSON', () => {
      const moving = responsePlanOf([
        responseRule('rename new to old'),
        responseRule('unnest a b from address'),
      ]);
      const apply = (one: Uint8Array): ReturnType<typeof moving.rewrite> =>
        moving.rewrite(one, { status: 200, deprecated: [], isWrapped: false });
      const value = fc.record(
        {
          new: fc.jsonValue({ maxDepth: 1 }),
          address: fc.record({ a: fc.string(), b: fc.nat(9), c: fc.boolean() }),
          z: fc.string(),
        },
        { requiredKeys: [] },
      );
      const event = fc.record({
        value,
        indent: fc.constantFrom(undefined, 1),
        end: fc.constantFrom('\n', '\r', '\r\n'),
        between: fc.constantFrom('', ':note', 'id: 3'),
      });
      fc.assert(
        fc.property(
          fc.array(event, { maxLength: 4 }),
          fc.array(fc.nat(400), { maxLength: 8 }),
          (events, cuts) => {
            const written = events.map(
              ({ value: one, indent, end, between }) =>
                JSON.stringify(one, undefined, indent)
                  .split('\n')
                  .flatMap((line) => (between === '' ? [`data: ${line}`] : [`data: ${line}`, between]))
                  .map((line) => line + end)
                  .join('') + end,
            );
            const body = bytesOf(written.join(''));
            const ends = [...new Set(cuts)]
              .filter((cut) => cut < body.length)
              .toSorted((one, other) => one - other);
            const stream = new ResponseTexts('events', { limit: 1 << 20, hold: () => true, rewrite: apply });
            const sent = [0, ...ends].map(
              (from, at) => new Uint8Array(stream.push(body.slice(from, ends[at] ?? body.length)).bytes),
            );
            const whole = textOf(concatBytes([...sent, stream.end().bytes]));
            const found = dataIn(whole).map((data): unknown => JSON.parse(data));
            const expected = events.map(({ value: one }): unknown => {
              const alone = apply(bytesOf(JSON.stringify(one)));
              return JSON.parse(alone.verdict === 'rewritten' ? textOf(alone.body) : JSON.stringify(one));
            });
            expect(found).toEqual(expected);
            expect(whole.split(/\r\n|\r|\n/).filter((line) => /^(?::note|id: 3)$/.test(line))).toHaveLength(
              written
                .join('')
                .split(/\r\n|\r|\n/)
                .filter((line) => /^(?::note|id: 3)$/.test(line)).length,
            );
          },
        ),
        { numRuns: fuzzRuns(300) },
      );
    });
  });
});

/** The data of the events that a reader finds (WHATWG HTML §9.2.6). */
function dataIn(stream: string): readonly string[] {
  const found: string[] = [];
  let lines: string[] = [];
  for (const line of stream.split(/\r\n|\r|\n/)) {
    if (line === '') {
      if (lines.length > 0) found.push(lines.join('\n'));
      lines = [];
    } else if (line.startsWith('data:')) lines.push(line.slice(line.startsWith('data: ') ? 6 : 5));
  }
  return found;
}

const space = fc.stringMatching(/^[ \t\r]{0,2}$/);
const text = fc.oneof(
  fc.json({ maxDepth: 2 }),
  fc
    .record({ data: fc.record({ old: fc.jsonValue({ maxDepth: 1 }), é: fc.string() }) })
    .map((value) => JSON.stringify(value)),
  fc.constant('{"old":1,"new":2}'),
);

/** A stream, with its texts. */
const streams = fc.constantFrom<TextFormat>('ndjson', 'json-seq').chain((format) =>
  fc.record({
    format: fc.constant(format),
    texts: fc.array(fc.tuple(space, text, space), { maxLength: 6 }),
    hasLast: fc.boolean(),
    cuts: fc.array(fc.nat(400), { maxLength: 12 }),
  }),
);

test('however the bytes are cut, each text is rewritten as it would be alone', () => {
  const plan = planOf(RULES);
  fc.assert(
    fc.property(streams, ({ format, texts, hasLast, cuts }) => {
      const start = format === 'ndjson' ? '' : '\x1e';
      const pieces = texts.map((piece, at) => ({
        before: start,
        text: piece.join(''),
        after: hasLast || at < texts.length - 1 ? '\n' : '',
      }));
      const body = bytesOf(pieces.map((piece) => piece.before + piece.text + piece.after).join(''));
      const expected = pieces.map(({ before, text: one, after }) => {
        const alone = plan.rewrite(bytesOf(one));
        if (alone.verdict === 'refused') throw new Error(alone.refusal.detail);
        return before + textOf(alone.body) + after;
      });
      const ends = [...new Set(cuts)]
        .filter((cut) => cut < body.length)
        .toSorted((one, other) => one - other);
      const stream = streamOf(format, plan);
      const sent = [0, ...ends].map((from, at) => {
        const part = body.slice(from, ends[at] ?? body.length);
        const copy = new Uint8Array(stream.push(part).bytes);
        part.fill(0);
        return copy;
      });
      expect(textOf(concatBytes([...sent, stream.end().bytes]))).toBe(expected.join(''));
      const whole = rewriteWhole(streamOf(format, plan), body);
      if (whole.verdict === 'refused') throw new Error(whole.refusal.detail);
      expect(textOf(whole.body)).toBe(expected.join(''));
      if (whole.verdict === 'rewritten')
        expect(applyEdits(body, whole.edits)).toEqual(new Uint8Array(whole.body));
      expect(stream.findings.records).toEqual(whole.records);
    }),
    { numRuns: fuzzRuns(500) },
  );
});
