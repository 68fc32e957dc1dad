import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Diff, DiffMark } from '../../../src/inspector/api.ts';
import { makeDiff } from '../../../src/inspector/diff/diff.ts';
import { layOutJson } from '../../../src/inspector/diff/json-layout.ts';
import { anyDocument } from '../../rewrite/documents.ts';
import { bookOf, DEFAULT_POLICIES, planOf, SHIPPED } from '../../support/plan-of.ts';
import { fuzzRuns } from '../../support/fuzz.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

function diffOf(text: string): Diff {
  const body = encoder.encode(text);
  return makeDiff(body, planOf(SHIPPED).rewrite(body), bookOf(SHIPPED, DEFAULT_POLICIES));
}

/** The marked texts of both sides, lines joined. */
function marked(diff: Diff, mark: DiffMark | undefined): readonly [string, string] {
  const cut = (text: string | undefined, spans: DiffMark['before']): string =>
    spans.map(({ start, end }) => (text ?? '').slice(start, end).replaceAll(/\s+/g, ' ')).join(' … ');
  return [cut(diff.before, mark?.before ?? []), cut(diff.after, mark?.after ?? [])];
}

describe('a diff', () => {
  const diff = diffOf(
    '{"data":{"property":{"a":1,"suburb":"Enmore","postcode":"2042"},"transition_type":"x"},"source":"CRM"}',
  );
  const byFrom = (rule: string, name: string): DiffMark | undefined =>
    diff.marks.find((mark) => mark.rule === rule && marked(diff, mark)[0].includes(name));

  test('lays out both sides in the same way, one member a line', () => {
    expect(diff.before).toBe(
      '{\n  "data": {\n    "property": {\n      "a": 1,\n      "suburb": "Enmore",\n      "postcode": "2042"\n    },\n    "transition_type": "x"\n  },\n  "source": "CRM"\n}',
    );
    expect(diff.after).toContain('"address": {\n');
  });

  test('marks the wrapper by its opening and closing brackets', () => {
    expect(marked(diff, byFrom('unwrap', 'data'))).toEqual(['"data": { … }', '']);
  });

  test('marks a member that moved on both sides, and the object that was made with the first', () => {
    expect(marked(diff, byFrom('nest', 'suburb'))).toEqual([
      '"suburb": "Enmore"',
      '"address": { … "suburb": "Enmore" … }',
    ]);
    expect(marked(diff, byFrom('nest', 'postcode'))).toEqual(['"postcode": "2042"', '"postcode": "2042"']);
  });

  test('marks names where only the name changed, and dropped members on one side', () => {
    expect(marked(diff, byFrom('rename', 'transition_type'))).toEqual([
      '"transition_type"',
      '"highlight_type"',
    ]);
    expect(marked(diff, byFrom('strip', 'source'))).toEqual(['"source": "CRM"', '']);
  });

  test('gives each edit a sentence', () => {
    expect(byFrom('nest', 'suburb')?.reason).toContain('suburb moves into address.');
    expect(byFrom('strip', 'source')).toMatchObject({ note: 'sibling' });
    expect(byFrom('strip', 'source')?.reason).toContain('V1 ignores it');
  });

  test('points at the fault of a refusal, in JSON and in other bodies', () => {
    const twice = diffOf('{"data":{"property":{"suburb":1,"suburb":2}}}');
    expect(marked(twice, twice.marks[0])[0]).toBe('"suburb": 2');
    expect(twice).not.toHaveProperty('after');
    const broken = diffOf('{"data": ?}');
    expect(marked(broken, broken.marks[0])[0]).toBe('?');
  });

  test('has a mark for every record, with spans inside the texts, for any document', () => {
    const plan = planOf(SHIPPED);
    fc.assert(
      fc.property(anyDocument, (text) => {
        const body = encoder.encode(text);
        const outcome = plan.rewrite(body);
        const made = makeDiff(body, outcome, bookOf(SHIPPED));
        expect(made.marks).toHaveLength(outcome.verdict === 'refused' ? 1 : outcome.records.length);
        for (const { before, after } of made.marks) {
          for (const { start, end } of before)
            expect(0 <= start && start <= end && end <= made.before.length).toBe(true);
          for (const { start, end } of after)
            expect(start <= end && end <= (made.after ?? '').length).toBe(true);
        }
        if (outcome.verdict === 'refused') return;
        for (const [at, { from, note }] of outcome.records.entries()) {
          if (from !== undefined && note !== 'already-flat')
            expect(made.marks[at]?.before.length).toBeGreaterThan(0);
        }
      }),
      { numRuns: fuzzRuns(2000) },
    );
  });
});

describe('the layout', () => {
  test('changes white space only', () => {
    const bare = (text: string): string => text.replaceAll(/("(?:[^"\\]|\\.)*")|\s+/g, '$1');
    fc.assert(
      fc.property(anyDocument, (text) => {
        const layout = layOutJson(encoder.encode(text));
        expect(bare(layout?.text ?? '')).toBe(bare(text));
        const again = layOutJson(encoder.encode(layout?.text ?? ''));
        expect(again?.text).toBe(layout?.text);
      }),
      { numRuns: fuzzRuns(2000) },
    );
  });

  test('says where each value stands', () => {
    const layout = layOutJson(encoder.encode('{"é":[{"b":2}],"é":3}'));
    const texts = [...(layout?.places ?? [])].map(([pointer, places]) => [
      pointer,
      ...places.map(({ key, value }) =>
        layout?.text.slice(Math.min(key.start, value.start), value.end).replaceAll(/\s/g, ''),
      ),
    ]);
    expect(texts).toEqual([
      ['/é/0/b', '"b":2'],
      ['/é/0', '{"b":2}'],
      ['/é', '"é":[{"b":2}]', '"é":3'],
      ['', '{"é":[{"b":2}],"é":3}'],
    ]);
    expect(decoder.decode(encoder.encode(layout?.text))).toContain('"é"');
  });
});
