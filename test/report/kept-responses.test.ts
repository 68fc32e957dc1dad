import { expect, test } from 'vitest';
import { KeptResponses } from '../../src/report/kept-responses.ts';
import type { KeptBody, KeptExchange } from '../../src/rewrite-log/capture.ts';
import { sampleEntry } from '../support/sample-entries.ts';

const bodyOf = (value: unknown): KeptBody => ({
  state: 'values',
  bytes: new TextEncoder().encode(JSON.stringify(value)),
});

/** The responses to one operation: those of V1, and those of V2 as its clients got them. */
function responsesOf(v1: readonly unknown[], v2: readonly unknown[]): KeptResponses {
  const responses = new KeptResponses();
  for (const [origin, bodies] of [['v1', v1] as const, [undefined, v2] as const])
    for (const value of bodies) {
      const { failure: _, ...entry } = sampleEntry(1, 0);
      const kept = { clientResponse: { status: 200, headers: [], body: bodyOf(value) } };
      responses.add({ ...entry, status: 200, origin }, kept as unknown as KeptExchange);
    }
  return responses;
}

const times = (count: number, value: unknown): readonly unknown[] =>
  Array.from({ length: count }, () => value);
const [OLD, NEW] = [
  { id: 1, phone: 'a', hours: { opens: 1 } },
  { id: 1, hours: { opens: 1 } },
];

test.each<
  [
    what: string,
    v1: readonly unknown[],
    v2: readonly unknown[],
    named: readonly string[] | undefined,
    lacking: readonly string[],
  ]
>([
  ['V1 always had it, V2 never', times(3, OLD), times(5, NEW), undefined, ['/phone']],
  [
    'in elements of a list',
    times(3, { data: [OLD, OLD] }),
    times(5, { data: [NEW] }),
    undefined,
    ['/data/*/phone'],
  ],
  [
    'an object with all that is in it, once',
    times(3, OLD),
    times(5, { id: 1 }),
    undefined,
    ['/phone', '/hours'],
  ],
  ['V2 has it at times', times(3, OLD), [...times(5, NEW), OLD], undefined, []],
  ['V1 has it at times', [...times(3, OLD), NEW], times(5, NEW), undefined, []],
  [
    'some elements of a list of V1 have it',
    times(3, { data: [OLD, NEW] }),
    times(5, { data: [NEW] }),
    undefined,
    [],
  ],
  ['a list with all that is in it, once', times(3, { id: 1, data: [OLD] }), [], ['id'], ['/data']],
  ['V2 has been seen too seldom', times(3, OLD), times(4, NEW), undefined, []],
  ['V1 has been seen too seldom', times(2, OLD), times(5, NEW), undefined, []],
  ['V2 has empty lists only', times(3, { data: [OLD] }), times(5, { data: [] }), undefined, []],
  [
    'V2 does not describe it, before it has responded',
    times(3, OLD),
    [],
    ['id', 'hours', 'opens'],
    ['/phone'],
  ],
  ['V2 describes it', times(3, OLD), [], ['id', 'hours', 'opens', 'phone'], []],
])('a member that V2 lacks: %s', (_, v1, v2, named, lacking) => {
  expect(responsesOf(v1, v2).lacking(named && new Set(named))).toEqual(lacking);
});

test('one response of V2 lacks what each response of V1 has', () => {
  const responses = responsesOf(times(3, { data: [OLD] }), []);
  expect(responses.lackingIn(bodyOf({ data: [NEW] }))).toEqual(['/data/*/phone']);
  expect(responses.lackingIn(bodyOf({ data: [OLD] }))).toEqual([]);
  expect(responses.lackingIn(bodyOf({ data: [] }))).toEqual([]);
});
