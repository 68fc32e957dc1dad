import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { testRuleBook } from '../support/rule-book.ts';
import { digests } from '../../src/report/guide/guide-text.ts';
import { guideSkill } from '../../src/report/guide/skill.ts';
import { Guide } from '../../src/report/guide/guide.ts';
import type { GuideCall } from '../../src/report/guide/guide-document.ts';
import { makeReport } from '../../src/report/report.ts';
import { Tally } from '../../src/report/tally/tally.ts';
import { reportCsv } from '../../src/report/report-text.ts';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import { CompiledRuleBook } from '../../src/rewrite/compiled-rule-book.ts';
import { bookIn } from '../rules/reading.ts';
import { fuzzRuns, fuzzTime } from '../support/fuzz.ts';
import { inspected } from '../support/inspected.ts';
import { exchange } from '../support/raw-client.ts';

// Every row that a report, digest or guide has about members says "X becomes Y" of bodies. Here real bodies go through a real
// gateway under random rule books, and each printed row is held against the bytes that client and V2 sent and received.

/** Changes of which each has names of its own, so that any of them are sound together, in any order. */
const CHANGES = {
  rename: change('a', 'request: [{ rename: a1, to: a2 }]', 'inverse'),
  'rename-inside': change('b', 'request: [{ rename: b1, in: p, to: b2 }]', 'inverse'),
  'rename-element': change('c', 'request: [{ rename: c1, in: l.*, to: c2 }]', 'inverse'),
  nest: change('d', 'request: [{ nest: [d1, d2], under: dn }]', 'inverse'),
  'nest-inside': change('e', 'request: [{ nest: [e1, e2], in: p, under: en }]', 'inverse'),
  strip: change('f', 'request: [{ strip: [f1, p.f2] }]'),
  only: change('h', 'request: [{ only: [h1, h2], in: o }]'),
  map: change('m', 'request: [{ map: { x: y, 1: two }, of: m1 }]', 'inverse'),
  'rename-map': change(
    'n',
    'request: [{ rename: n1, to: n2 }, { map: { x: y, 1: two }, of: n2 }]',
    'inverse',
  ),
  'map-rename': change(
    'q',
    'request: [{ map: { x: y, 1: two }, of: q1 }, { rename: q1, to: q2 }]',
    'inverse',
  ),
  'map-nest': change('r', 'request: [{ map: { x: y }, of: r1 }, { nest: [r1], under: rn }]', 'inverse'),
  'map-element': change('s', 'request: [{ map: { x: y }, of: l.*.s1 }]', 'inverse'),
  alias: change('t', 'request: [{ rename: t1, to: t2 }]', '[{ alias: data.t2, as: t1 }]'),
  flatten: change('u', 'request: [{ nest: [u1], under: un }]', '[{ flatten: data.un }]'),
  'response-rename': change('v', 'request: []', '[{ rename: data.v2, to: v1 }]'),
  'response-unnest': change('w', 'request: []', '[{ unnest: data.wn, members: [w1] }]'),
  'response-map': change('x', 'request: []', '[{ map: { y: x, two: 1 }, of: data.x1 }]'),
  query: change('y', 'query: [{ rename: qa, to: qb }, { strip: [qs] }, { map: { x: y }, of: qm }]'),
} as const;

function change(id: string, rules: string, response?: string): string {
  return `  - id: change-${id}\n    summary: ${id} changes.\n    on: [write]\n    ${rules}\n${response === undefined ? '' : `    response: ${response}\n`}`;
}

function bookText(names: readonly (keyof typeof CHANGES)[], isWrapped: boolean): string {
  const wrapper = `  - id: wrapper\n    summary: No wrapper.\n    on: every\n    request: [{ unwrap: data }]\n`;
  return `version: 2025-01-01\noperations: { write: POST /things, read: 'GET /things/{id}' }\nchanges:\n${isWrapped ? wrapper : ''}${names.map((name) => CHANGES[name]).join('')}`;
}

type Json = null | boolean | number | string | readonly Json[] | JsonObject;
interface JsonObject {
  readonly [name: string]: Json;
}

/** Stands for what an empty container has. */
const EMPTY = '(empty)';

/** A leaf; a `?` becomes a value that occurs once in its body, so that it can be found again wherever it went. */
const leaf = fc.constantFrom<Json>('?', '?', '?', 'x', 'y', 'two', 1, { k: '?' });

function members(
  names: readonly string[],
  more: Record<string, fc.Arbitrary<Json>> = {},
): fc.Arbitrary<Json> {
  const own = Object.fromEntries(names.map((name) => [name, leaf]));
  return fc.record<Record<string, Json>>({ ...own, ...more }, { requiredKeys: [] }).map((some) => {
    return Object.fromEntries(
      Object.entries(some).flatMap(([name, one]) => (one === undefined ? [] : [[name, one]])),
    );
  });
}

/** The names of both versions: V1 clients send few of V2's, and V2 has few of V1's. */
const V1_BODY = members('a1 d1 d2 f1 m1 n1 q1 r1 t1 u1 v1 w1 x1 other a/b c~d'.split(' '), {
  p: members('b1 e1 e2 f2 other'.split(' ')),
  l: fc.array(members('c1 s1 other'.split(' ')), { maxLength: 3 }),
  o: members('h1 h2 h3'.split(' ')),
  a2: leaf,
  dn: members(['d1', 'z']),
});
const V2_RESOURCE = members('id a2 m1 n2 q2 t2 v2 x1 other a/b c~d a1'.split(' '), {
  dn: members('d1 d2 z'.split(' ')),
  rn: members(['r1']),
  un: members(['u1']),
  wn: members('w1 z'.split(' ')),
  p: members('b2 other'.split(' '), { en: members('e1 e2'.split(' ')) }),
  l: fc.array(members('c2 s1 other'.split(' ')), { maxLength: 3 }),
});

const run = fc.record({
  names: fc.shuffledSubarray(Object.keys(CHANGES) as (keyof typeof CHANGES)[], { minLength: 3 }),
  isWrapped: fc.boolean(),
  exchanges: fc.array(
    fc.record({
      method: fc.constantFrom('POST', 'POST', 'GET'),
      query: fc.constantFrom('', '?qa=1&keep=2', '?qs=1&qm=x', '?qa=1&qb=2&qm=z'),
      body: V1_BODY,
      isWrapped: fc.boolean(),
      resource: V2_RESOURCE,
      isList: fc.boolean(),
    }),
    { minLength: 4, maxLength: 8 },
  ),
});

/** One exchange as all sides saw it. */
interface Seen {
  readonly entry: Entry;
  readonly v1Request: Json;
  readonly v2Request: Json;
  readonly v1Target: string;
  readonly v2Target: string;
  readonly v2Response: Json;
  readonly clientResponse: Json;
}

/** A statement about responses, as structured data or read from a printed row. */
interface Row {
  readonly v1: string;
  readonly v2: string | undefined;
  readonly hasOtherValues: boolean;
}

describe('each row about members is true of the bytes', () => {
  test(
    'in guide, digest, report and CSV, under random rule books in both directions',
    fuzzTime(),
    async () => {
      const kinds = new Map<string, number>();
      for (const { names, isWrapped, exchanges } of fc.sample(run, Math.max(25, fuzzRuns(25)))) {
        const book = new CompiledRuleBook(await bookIn(bookText(names, isWrapped)));
        let response = '';
        const all: Seen[] = [];
        const gateway = await inspected({}, () => response, undefined, book, 200);
        for (const [at, one] of exchanges.entries()) {
          const resource = numbered(one.resource);
          response = JSON.stringify({ data: one.isList ? [resource, numbered(one.resource)] : resource });
          const inner = numbered(one.body);
          const v1Request: Json = one.isWrapped ? { data: inner } : inner;
          const v1Target = `/api/v1/things${one.method === 'GET' ? '/1' : ''}${one.query}`;
          const body = one.method === 'GET' ? '' : JSON.stringify(v1Request);
          const { text } = await exchange(
            gateway.port,
            `${one.method} ${v1Target} HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer k\r\n${body === '' ? '' : 'Content-Type: application/json\r\n'}Content-Length: ${body.length}\r\n\r\n${body}`,
          );
          const received =
            gateway.v2.received
              .join('')
              .split(/(?=(?:POST|GET) \/api\/v2)/)
              .at(-1) ?? '';
          const seen: Seen = {
            entry: await gateway.entry(at + 1),
            v1Request: body === '' ? null : v1Request,
            v2Request: JSON.parse(bodyOf(received) || 'null') as Json,
            v1Target,
            v2Target: received.split(' ')[1] ?? '',
            v2Response: JSON.parse(response) as Json,
            clientResponse: JSON.parse(bodyOf(text)) as Json,
          };
          all.push(seen);
          for (const kind of expectTrue(seen, names)) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
        }
        expectTogether(all, names);
        await gateway.stop();
      }
      for (const kind of ['moved', 'values', 'values elsewhere', 'left out', 'request move', 'query'])
        expect([kind, kinds.has(kind)]).toEqual([kind, true]);
    },
  );
});

function hold(isHeld: boolean, message: string): void {
  if (!isHeld) throw new Error(message);
}

/** Holds every row of every printer for one exchange; returns what kinds of rows there were. */
function expectTrue(seen: Seen, names: readonly string[]): readonly string[] {
  const { entry } = seen;
  const said = (row: unknown): string =>
    `${JSON.stringify(row)}\nunder ${names.join(', ')}\nof ${JSON.stringify(seen)}`;
  const guide = new Guide(entry.client ?? '');
  guide.add(entry);
  const document = guide.document({ ...testRuleBook(), changes: [] });
  const [call] = document.calls;
  if (call === undefined) throw new Error('there is no call');
  const tally = new Tally();
  tally.add(entry);
  const report = makeReport(tally, { now: new Date(Date.parse(entry.time) + 1000).toISOString() });
  const rows = call.responses.map(rowOf);
  for (const row of rows) hold(isTrue(row, rows, seen), said(row));
  expectCovered(rows, seen, said);
  // The printers say the same, row by row.
  const key = ({ v1, v2, hasOtherValues }: Row): string => `${v1} ${v2 ?? '-'} ${hasOtherValues}`;
  const expected = rows.map(key).sort();
  const sentences = digests(report, [])[0]?.sentences ?? [];
  // These name the change of each row; a guide has one row for what several do to a member.
  expect(together(sentences.flatMap(rowOfSentence)).map(key).sort()).toEqual(expected);
  expect(
    together(rowsOfCsv(reportCsv(report)))
      .map(key)
      .sort(),
  ).toEqual(expected);
  const calls = guideSkill(document).find(({ path }) => path === 'calls.md')?.text ?? '';
  const table = calls.slice(calls.indexOf('| read today | read in V2 |'));
  expect(
    rowsOfTable(table, /^\| `(\/[^`|]*)` \| (.*) \|$/gm)
      .map(key)
      .sort(),
  ).toEqual(expected);
  expectSketches(call, rows);
  return [
    ...rows.map(({ v1, v2, hasOtherValues }) =>
      hasOtherValues ? (v1 === v2 ? 'values' : 'values elsewhere') : v2 === undefined ? 'gone' : 'moved',
    ),
    ...expectMoves(call, seen, said),
  ];
}

/** The sketches of a letter have the places of all rows, and no others. */
function expectSketches({ read }: GuideCall, rows: readonly Row[]): void {
  if (rows.length === 0) return expect(read).toBeUndefined();
  const inside = (sketch = 'null'): ReadonlySet<string> =>
    new Set(leavesOf(JSON.parse(sketch) as Json).map(([path]) => generalOf(path)));
  const outermost = (places: readonly string[]): ReadonlySet<string> =>
    new Set(places.filter((place) => !places.some((other) => other.startsWith(`${place}/`))));
  expect(inside(read?.before)).toEqual(outermost(rows.map(({ v1 }) => v1)));
  const after = rows.flatMap(({ v2 }) => v2 ?? []);
  if (after.length > 0) expect(inside(read?.after)).toEqual(outermost(after));
}

/** Rows about the same two places as one. */
function together(rows: readonly Row[]): readonly Row[] {
  const all = new Map<string, Row>();
  for (const row of rows) {
    const place = `${row.v1} ${row.v2 ?? '-'}`;
    const hasOtherValues = row.hasOtherValues || all.get(place)?.hasOtherValues === true;
    all.set(place, { ...row, hasOtherValues });
  }
  return [...all.values()];
}

/** The guide of all exchanges: each of its rows is true of one of them at least. */
function expectTogether(all: readonly Seen[], names: readonly string[]): void {
  const guide = new Guide(all[0]?.entry.client ?? '');
  for (const { entry } of all) guide.add(entry);
  for (const { name, responses } of guide.document({ ...testRuleBook(), changes: [] }).calls) {
    const rows = responses.map(rowOf);
    const seen = all.filter(({ entry }) => entry.operation === name);
    for (const row of rows)
      hold(
        seen.some((one) => isTrue(row, rows, one)),
        `${JSON.stringify(row)} under ${names.join(', ')}`,
      );
  }
}

function rowOf({ v1, v2, hasOtherValues }: GuideCall['responses'][number]): Row {
  return { v1, v2, hasOtherValues: hasOtherValues === true };
}

function isTrue({ v1, v2, hasOtherValues }: Row, rows: readonly Row[], seen: Seen): boolean {
  const client = valuesAt(seen.clientResponse, v1);
  if (v2 === undefined) {
    const own = new Set(valuesAt(seen.v2Response, v1).map(([path]) => path));
    return client.length > 0 && client.every(([path]) => !own.has(path));
  }
  const own = valuesAt(seen.v2Response, v2);
  const isMapped = rows.some((row) => row.hasOtherValues && row.v1 === v1);
  return client.some(([, one]) =>
    own.some(([, other]) => {
      if (hasOtherValues) return isPair(one, other);
      return isContainer(one) ? isContainer(other) : one === other || (isMapped && isPair(one, other));
    }),
  );
}

/** V1's and V2's value of a map. */
function isPair(v1: Json, v2: Json): boolean {
  return (v1 === 'x' && v2 === 'y') || (v1 === 1 && v2 === 'two');
}

/** The other way round: each leaf that the client reads elsewhere than V2 has it, or with another value, has its row. */
function expectCovered(rows: readonly Row[], seen: Seen, said: (row: unknown) => string): void {
  const own = new Map(leavesOf(seen.v2Response));
  for (const [path, value] of leavesOf(seen.clientResponse)) {
    if (value === EMPTY || (own.has(path) && own.get(path) === value)) continue;
    const general = generalOf(path);
    const isTold = rows.some(({ v1 }) => general === v1 || general.startsWith(`${v1}/`));
    hold(isTold, said({ 'no row for': path }));
  }
}

function expectMoves(call: GuideCall, seen: Seen, said: (row: unknown) => string): readonly string[] {
  const kinds: string[] = [];
  const v2Text = JSON.stringify(seen.v2Request);
  for (const { moves, after } of call.bodies) {
    for (const move of moves) {
      const { from, to, remark } = move;
      if (from.startsWith('?')) {
        kinds.push('query');
        hold(hasParameter(seen.v1Target, from), said(move));
        if (to !== undefined) hold(hasParameter(seen.v2Target, to), said(move));
        else hold(!hasParameter(seen.v2Target, from) || remark !== '', said(move));
        continue;
      }
      const before = valuesAt(seen.v1Request, from);
      hold(before.length > 0, said(move));
      if (to === undefined) {
        kinds.push('left out');
        const lost = before.flatMap(([, value]) => leavesOf(value)).filter(([, value]) => isUnique(value));
        for (const [, value] of lost) hold(!v2Text.includes(JSON.stringify(value)), said(move));
        continue;
      }
      kinds.push('request move');
      const [, value] = before[0] ?? ['', null];
      const [found] = valuesAt(seen.v2Request, to === '/' ? '' : to);
      hold(found !== undefined, said(move));
      const isMapped = moves.some(
        (other) => other.from === from && other.remark.includes('the value changes'),
      );
      if (isMapped) hold(isPair(value, found?.[1] ?? null), said(move));
      else if (isContainer(value)) hold(isContainer(found?.[1] ?? null), said(move));
      else hold(found?.[1] === value, said(move));
    }
    if (call.bodies.length === 1 && seen.v2Request !== null && !after.includes('"…": "…"')) {
      const sketch = after.slice(after.indexOf('\n\n') + 2);
      if (sketch.startsWith('{')) expectAlike(JSON.parse(sketch) as Json, seen.v2Request, said(after));
    }
  }
  return kinds;
}

/** A sketch has a place for each value of the body, and none that the body lacks. */
function expectAlike(sketch: Json, body: Json, message: string): void {
  for (const [path] of leavesOf(sketch))
    hold(valuesAt(body, generalOf(path)).length > 0, `${path} of ${message}`);
  for (const [path, value] of leavesOf(body))
    if (value !== EMPTY) hold(valuesAt(sketch, generalOf(path)).length > 0, `${path} of ${message}`);
}

function rowOfSentence(sentence: string): readonly Row[] {
  const moved = /^Read (\S+) instead of (\S+) in responses\.$/.exec(sentence);
  if (moved !== null) return [{ v1: moved[2] ?? '', v2: moved[1], hasOtherValues: false }];
  const gone = /^Responses of V2 have no (\S+)\.$/.exec(sentence);
  if (gone !== null) return [{ v1: gone[1] ?? '', v2: undefined, hasOtherValues: false }];
  const values = /^Expect V2's own values of (\S+?)(?:, in (\S+),)? in responses\.$/.exec(sentence);
  return values === null ? [] : [{ v1: values[1] ?? '', v2: values[2] ?? values[1], hasOtherValues: true }];
}

function rowsOfCsv(csv: string): readonly Row[] {
  const words = [
    ...csv.matchAll(/(\/data\S*) (is gone|is (\S+)(?: with other values)?|has other values) \d+×/g),
  ];
  return words.map(([, v1 = '', what = '', place]) => ({
    v1,
    v2: what === 'is gone' ? undefined : (place ?? v1),
    hasOtherValues: what.endsWith('other values'),
  }));
}

function rowsOfTable(text: string, pattern: RegExp): readonly Row[] {
  return [...text.matchAll(pattern)].map(([, v1 = '', what = '']) => {
    const place = what.replaceAll('`', '').replace(', with other values', '');
    return {
      v1,
      v2: what === 'gone' ? undefined : place,
      hasOtherValues: what.includes('with other values'),
    };
  });
}

function hasParameter(target: string, name: string): boolean {
  return new RegExp(`[?&]${name.slice(1)}=`).test(target);
}

function bodyOf(message: string): string {
  return message.slice(message.indexOf('\r\n\r\n') + 4);
}

let unique = 0;

function numbered(value: Json): Json {
  return JSON.parse(JSON.stringify(value).replaceAll('"?"', () => `"u${(unique += 1)}u"`)) as Json;
}

function isUnique(value: Json): boolean {
  return typeof value === 'string' && /^u\d+u$/.test(value);
}

function isContainer(value: Json): boolean {
  return typeof value === 'object' && value !== null;
}

function generalOf(path: string): string {
  return path.replaceAll(/\/\d+(?=\/|$)/g, '/*');
}

function leavesOf(value: Json, path = ''): readonly (readonly [path: string, value: Json])[] {
  if (typeof value !== 'object' || value === null) return [[path, value]];
  const inside = Object.entries(value);
  if (inside.length === 0) return [[path, EMPTY]];
  return inside.flatMap(([name, one]) =>
    leavesOf(one, `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`),
  );
}

/** The values at a pointer, in which `*` is any element. */
function valuesAt(root: Json, pointer: string): readonly (readonly [path: string, value: Json])[] {
  let found: readonly (readonly [string, Json])[] = [['', root]];
  for (const step of pointer.split('/').slice(1)) {
    found = found.flatMap(([path, value]) => {
      if (typeof value !== 'object' || value === null) return [];
      const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
      const inside = Object.entries(value);
      return inside
        .filter(([own]) => (step === '*' && Array.isArray(value)) || own === name)
        .map(([own, one]): readonly [string, Json] => [`${path}/${own}`, one]);
    });
  }
  return found;
}
