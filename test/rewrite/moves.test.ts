import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeQueryText, queryParts, valueOf } from '../../src/http/target.ts';
import { Moves } from '../../src/rewrite/moves.ts';
import { readDestination } from '../../src/rules/move.ts';
import type { Operation } from '../../src/rules/rule-book.ts';
import { fuzzRuns } from '../support/fuzz.ts';
import { words } from '../support/rows.ts';

function operation(match: string, to?: string, id = match): Operation {
  const [method = '', template = ''] = match.split(' ');
  return { id, method, template, assumed: false, ...(to !== undefined && { to: readDestination(to) }) };
}

function split(target: string): { readonly path: string; readonly query: string } {
  const mark = target.indexOf('?');
  return mark === -1
    ? { path: target, query: '' }
    : { path: target.slice(0, mark), query: target.slice(mark) };
}

/** The target at V2, with the names of the parameters that were dropped. */
function sent(match: string, to: string, target: string): string {
  const moved = operation(match, to);
  const { path, query, records } = new Moves([moved]).forward(moved, split(target)) ?? expect.unreachable();
  return [path + query, ...records.map(({ from }) => from)].join(' ');
}

test.each<[match: string, to: string, target: string, expected: string]>([
  ['POST /bills', 'POST /invoices', '/bills', '/invoices'],
  ['POST /bills', 'POST /invoices', '/bills/', '/invoices/'],
  ['POST /bills', 'POST /invoices', '/bills.json?', '/invoices.json?'],
  ['POST /bills', 'POST /invoices', '/%62ills%2Ejson?a=%20&&b', '/invoices.json?a=%20&&b'],
  ['GET /', 'GET /status', '', '/status'],
  ['GET /a', 'GET /', '/a?x', '/?x'],
  ['GET /bills/{id}', 'GET /invoices/inv_{id}.v2', '/bills/%2F%7e+&', '/invoices/inv_%2F%7e+&.v2'],
  ['GET /b/{x}/{y}', 'GET /c/{y}/d/{x}', '/b/1/2', '/c/2/d/1'],
  ['GET /b/{x}/l', 'GET /l?b={x}', '/b/a&b+c;d=e%26/l', '/l?b=a%26b%2Bc%3Bd=e%26'],
  ['GET /b/{x}/l', 'GET /l?b=id:{x}&kind=bill', '/b/1/l?b=2&c&kind=3', '/l?b=id:1&kind=bill&c ?b ?kind'],
  ['GET /b/{x}/l', 'GET /l?f[b]={x}', '/b/1/l?f%5Bb%5D=2&f[b][]=3&f[c]=4', '/l?f[b]=1&f[c]=4 ?f[b] ?f[b][]'],
  // Read as a service reads it that merges slashes and drops parameters of the path.
  ['GET /b/{x}/l', 'GET /l/{x}', '//b/1;v=2/l', '/l/1'],
])('%s to %s: %s becomes %s', (match, to, target, expected) => {
  expect(sent(match, to, target)).toBe(expected);
});

const BOOK = [
  operation('POST /bills', 'POST /invoices'),
  operation('POST /bills/{id}/close', 'PATCH /invoices/inv_{id}'),
  operation('GET /bills/{id}', 'GET /invoices/inv_{id}'),
  operation('GET /bills/{id}/copy', 'GET /invoices/inv_{id}'),
  operation('GET /bills/latest', 'GET /invoices/latest'),
  operation('GET /bills/{id}/lines', 'GET /lines?invoice={id}'),
  operation('GET /bills/{id}/notes', 'GET /lines?kind=note&invoice={id}'),
  operation('GET /all/{any}', 'GET /everything'),
  operation('GET /clients/{id}'),
  operation('POST /clients/{id}/merge', 'PUT /clients/{id}'),
];

describe('links', () => {
  const moves = new Moves(BOOK);

  test.each<[link: string, expected: string | undefined]>([
    ['/invoices', '/bills'],
    ['/invoices/?page=2', '/bills/?page=2'],
    ['/invoices/inv_7', '/bills/7'],
    ['/invoices/%69nv_7%2F8.json', '/bills/7%2F8.json'],
    ['/invoices/latest', '/bills/latest'],
    ['/invoices/8', undefined],
    ['/invoices/inv_', undefined],
    ['/invoices/inv_7/lines', undefined],
    ['/lines?invoice=7&page=2', '/bills/7/lines?page=2'],
    ['/lines?page=2&invoice=a%26b+c/d', '/bills/a%26b%20c%2Fd/lines?page=2'],
    ['/lines?x&kind=note&invoice=7', '/bills/7/notes?x'],
    ['/lines?invoice=', undefined],
    ['/lines?invoice=..', undefined],
    ['/lines?invoice=%2e', undefined],
    ['/lines', undefined],
    // What GET reads there has not moved.
    ['/clients/5', undefined],
    // A part of V1's path is missing.
    ['/everything', undefined],
  ])('%s leads back to %s', (link, expected) => {
    const back = moves.back(split(link));
    expect(back && back.path + back.query).toBe(expected);
  });
});

// A Location leads to what can be read; an action is nothing that can be.
test.each<[match: string, to: string, link: string, expected: string | undefined]>([
  ['POST /loans/{id}/return', 'PATCH /loans/{id}', '/loans/7', undefined],
  ['POST /loans/{id}/return', 'DELETE /books/{id}', '/books/7', undefined],
  ['PUT /loans/{id}/state', 'PATCH /loans/{id}', '/loans/7', undefined],
  ['DELETE /loans/{id}', 'POST /loans/{id}/end', '/loans/7/end', undefined],
  ['POST /returns/{id}', 'PATCH /loans/{id}', '/loans/7', '/returns/7'],
  ['PATCH /bills/{id}', 'PATCH /invoices/{id}', '/invoices/7', '/bills/7'],
  ['POST /bills', 'POST /invoices', '/invoices', '/bills'],
  ['POST /bills/{id}/close', 'POST /invoices/{id}/end', '/invoices/7/end', '/bills/7/close'],
  ['GET /loans/{id}/state', 'GET /loans/{id}', '/loans/7', '/loans/7/state'],
])('%s, which is %s: %s leads back to %s', (match, to, link, expected) => {
  expect(new Moves([operation(match, to)]).back(split(link))?.path).toBe(expected);
});

const literal = fc.stringMatching(/^[a-z]{1,3}$/);
const affix = fc.constantFrom('', '', 'inv_', 'x-', '%7B');
/** A raw segment that is no dot segment and does not end like a suffix. */
const rawSegment = fc
  .array(fc.constantFrom(...words`a 7 - . ~ ! ' ( , = : @ & + ; %20 %2F %26 %25 %C3%A9`), {
    minLength: 1,
    maxLength: 6,
  })
  .map((parts) => `${parts.join('')}z`);

const template = fc
  .record({
    shape: fc.array(fc.oneof(literal, fc.constant(undefined)), { minLength: 1, maxLength: 4 }),
    end: literal,
    affixes: fc.array(fc.tuple(affix, affix), { minLength: 5, maxLength: 5 }),
    order: fc.array(fc.nat(9), { minLength: 5, maxLength: 5 }),
    places: fc.array(fc.boolean(), { minLength: 5, maxLength: 5 }),
  })
  .map(({ shape, end, affixes, order, places }) => {
    const parts = [...shape, end];
    const names = parts.flatMap((part, at) => (part === undefined ? [`p${at}`] : []));
    const shuffled = names.toSorted(
      (one, other) => (order[names.indexOf(one)] ?? 0) - (order[names.indexOf(other)] ?? 0),
    );
    const match = `/${parts.map((part, at) => part ?? `{p${at}}`).join('/')}`;
    const spelled = shuffled.map((name, at) => `${affixes[at]?.[0] ?? ''}{${name}}${affixes[at]?.[1] ?? ''}`);
    const inPath = spelled.filter((_, at) => places[at] === true);
    const inQuery = spelled.filter((_, at) => places[at] !== true).map((text, at) => `q${at}=${text}`);
    const to = `/to${inPath.map((text) => `/${text}`).join('')}${inQuery.length > 0 ? `?${inQuery.join('&')}` : ''}`;
    return { match: `GET ${match}`, to: `GET ${to}` };
  });

/** What a form decoder reads of a raw segment that came back: the meaning of a parameter. */
function meaning(path: string): string {
  return decodeURIComponent(path);
}

test('a link to where a request went leads back to the request', () => {
  fc.assert(
    fc.property(
      template,
      fc.array(rawSegment, { minLength: 5, maxLength: 5 }),
      fc.constantFrom('', '?page=2', '?a&b=%20&', '?q9=1'),
      fc.constantFrom('', '/', '.json', '.json/'),
      ({ match, to }, segments, query, suffix) => {
        const moved = operation(match, to);
        const moves = new Moves([moved]);
        let next = 0;
        const path = moved.template.replaceAll(/\{\w+\}/g, () => segments[next++] ?? 'z') + suffix;
        const there = moves.forward(moved, { path, query }) ?? expect.unreachable();
        const back = moves.back(there) ?? expect.unreachable();
        expect(meaning(back.path)).toBe(meaning(path));
        expect(back.query).toBe(query);
        // V2 reads each parameter as V1 read it.
        const received = queryParts(there.query.slice(1)).map((part) => valueOf(part) ?? '');
        const read = there.path.split('/').map(decodeURIComponent);
        for (const segment of segments.slice(0, next)) {
          const text = decodeURIComponent(segment);
          expect([...received, ...read].some((value) => value.includes(text))).toBe(true);
        }
        expect(decodeQueryText(back.query)).toBe(decodeQueryText(query));
      },
    ),
    { numRuns: fuzzRuns(10_000) },
  );
});
