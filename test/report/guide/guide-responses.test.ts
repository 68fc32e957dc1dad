import fc from 'fast-check';
import { expect, test } from 'vitest';
import { responseWould } from '../../../src/gateway/v1/response-findings.ts';
import type { GuideCall } from '../../../src/report/guide/guide-document.ts';
import { Guide } from '../../../src/report/guide/guide.ts';
import { CompiledRuleBook } from '../../../src/rewrite/compiled-rule-book.ts';
import type { Entry } from '../../../src/rewrite-log/entry.ts';
import { bytesOf } from '../../rewrite/notation.ts';
import { bookIn } from '../../rules/reading.ts';
import { sampleEntry } from '../../support/sample-entries.ts';

/** How a member of V1 is called in V2, as a rule of requests; `[v1, v2]` are its places inside the resource. */
const KINDS = [
  {
    rule: (name: string) => `{ rename: ${name}, to: ${name}_of_v2 }`,
    v2: (name: string) => [`${name}_of_v2`],
  },
  {
    rule: (name: string) => `{ move: ${name}, to: ${name}_at.${name} }`,
    v2: (name: string) => [`${name}_at`, name],
  },
  {
    rule: (name: string) => `{ nest: [${name}], under: ${name}_in }`,
    v2: (name: string) => [`${name}_in`, name],
  },
  { rule: () => '', v2: (name: string) => [name] },
] as const;

const NAMES = ['id', 'number', 'branch', 'title', 'note'];

interface Case {
  readonly members: readonly { readonly name: string; readonly kind: number }[];
  /** Whether V2's responses have the wrapper of V1, and whether requests and V1's responses have it. */
  readonly isWrapped: boolean;
  readonly isEnvelope: boolean;
}

const CASES: fc.Arbitrary<Case> = fc.record({
  members: fc.uniqueArray(
    fc.record({ name: fc.constantFrom(...NAMES), kind: fc.nat({ max: KINDS.length - 1 }) }),
    { selector: ({ name }) => name, minLength: 1 },
  ),
  isWrapped: fc.boolean(),
  isEnvelope: fc.boolean(),
});

/** The rule book as `init` drafts it: with V1's wrapper alone, each member of a response moves into it. */
async function worldOf({ members, isWrapped, isEnvelope }: Case) {
  const rules = members
    .flatMap(({ name, kind }) => KINDS[kind]?.rule(name) ?? [])
    .filter((rule) => rule !== '');
  const changes = [
    ...(isEnvelope ? ['{ id: wrapper, summary: W., on: [make], request: [{ unwrap: data }] }'] : []),
    ...rules.map(
      (rule, at) => `{ id: c${at}, summary: S., on: [make], request: [${rule}], response: inverse }`,
    ),
    ...(isEnvelope && !isWrapped
      ? [
          `{ id: envelope, summary: E., on: [make], response: [${members.map(({ name }) => `{ move: ${name}, to: data.${name} }`).join(', ')}] }`,
        ]
      : []),
  ];
  const resource = isEnvelope && isWrapped ? 'data' : "''";
  const book = await bookIn(
    `{ operations: { make: { match: POST /things, resource: ${resource} } }, changes: [${changes.join(', ')}] }`,
  );
  const resourceAtV2: Record<string, unknown> = {};
  for (const { name, kind } of members) {
    const [first = '', second] = KINDS[kind]?.v2(name) ?? [];
    resourceAtV2[first] = second === undefined ? 1 : { [second]: 1 };
  }
  const v2 = isEnvelope && isWrapped ? { data: resourceAtV2 } : resourceAtV2;
  const compiled = new CompiledRuleBook(book);
  const [operation] = book.operations;
  if (operation === undefined) throw new Error('the book has an operation');
  const served = compiled
    .responsePlan(operation, 'POST')
    .rewrite(bytesOf(JSON.stringify(v2)), compiled.responseContext(201, []));
  const v1: unknown = JSON.parse(new TextDecoder().decode(served.body));
  const would = responseWould(compiled, operation, { status: 201, body: served.body });
  const edits = served.verdict === 'rewritten' ? served.records : [];
  return { book, v1, v2, edits, would };
}

function callOf(
  book: Awaited<ReturnType<typeof worldOf>>['book'],
  entries: readonly Partial<Entry>[],
): GuideCall {
  const guide = new Guide('3fa9');
  for (const more of entries) {
    const sample = sampleEntry(1, Date.UTC(2026, 10, 21));
    guide.add({
      ...sample,
      client: '3fa90000',
      operation: 'make',
      status: 201,
      ruleBook: book.hash,
      ...more,
    });
  }
  const [call] = guide.document(book).calls;
  if (call === undefined) throw new Error('the guide has a call');
  return call;
}

function leavesOf(value: unknown, at = ''): readonly string[] {
  if (typeof value !== 'object' || value === null) return [at];
  return Object.entries(value).flatMap(([name, inside]) => leavesOf(inside, `${at}/${name}`));
}

function shownBy({ read }: GuideCall): {
  readonly before: readonly string[];
  readonly after: readonly string[];
} {
  const leaves = (text = '{}'): readonly string[] => leavesOf(JSON.parse(text)).toSorted();
  return { before: leaves(read?.before), after: leaves(read?.after) };
}

test('the responses in a guide have the members of V1 and V2 that differ, and no others', async () => {
  await fc.assert(
    fc.asyncProperty(CASES, async (one) => {
      const { book, v1, v2, edits, would } = await worldOf(one);
      const observed: Partial<Entry> = { origin: 'v1', responseWould: would };
      const migrated: Partial<Entry> = { responseEdits: edits };
      const [ofV1, ofV2] = [leavesOf(v1), leavesOf(v2)];
      const differing = {
        before: ofV1.filter((leaf) => !ofV2.includes(leaf)).toSorted(),
        after: ofV2.filter((leaf) => !ofV1.includes(leaf)).toSorted(),
      };
      // Before V2 has served any request, while it serves some, and when it serves all.
      for (const entries of [[observed], [observed, migrated], [migrated]])
        expect(shownBy(callOf(book, entries))).toEqual(differing);
    }),
  );
});

test('a log that placed members of V2 by the wrapper of V1 says nothing against what V2 sent', async () => {
  const book = await bookIn(
    "{ operations: { make: { match: POST /things, resource: '' } }, changes: [{ id: c, summary: S., on: [make], request: [{ move: a, to: o.a }], response: inverse }] }",
  );
  const call = callOf(book, [
    {
      origin: 'v1',
      responseWould: [
        { change: 'c', path: '/data/a', from: '/data/o/a' },
        { change: 'c', path: '/data/note' },
      ],
    },
    { responseEdits: [{ change: 'c', rule: 'move', from: '/o/a', path: '/data/a' }] },
  ]);
  // V2 has no note; its place of `a` is that of its own response.
  expect(shownBy(call)).toEqual({ before: ['/data/a', '/data/note'], after: ['/o/a'] });
});

test('a response whose way back is not known is not made up', async () => {
  const book = await bookIn(
    "{ operations: { make: { match: POST /things, resource: '' } }, changes: [{ id: w, summary: S., on: [make], request: [{ unwrap: data }, { rename: a, to: b }], response: [{ move: b, to: other }] }] }",
  );
  const compiled = new CompiledRuleBook(book);
  const [operation] = book.operations;
  if (operation === undefined) throw new Error('the book has an operation');
  const would = responseWould(compiled, operation, { status: 201, body: bytesOf('{"data":{"a":1,"c":2}}') });
  expect(would).toBeUndefined();
  const call = callOf(book, [{ origin: 'v1', responseWould: would }]);
  expect(call).toMatchObject({ responses: [], responsesUnknown: true });
});
