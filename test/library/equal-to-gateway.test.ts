import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CompiledRuleBook } from '../../src/rewrite/compiled-rule-book.ts';
import {
  type Played,
  throughFetch,
  throughGateway,
  throughListener,
  throughMigration,
  type Way,
} from '../support/migration-ways.ts';
import { requestRulesBook } from '../support/request-rules-book.ts';
import { responseRulesBook } from '../support/response-rules-book.ts';
import { compiledRuleBookIn, compiledShippedRuleBook } from '../support/shipped-rule-book.ts';
import { readTextCases, type TextCase } from '../../src/cli/cases/text-cases.ts';
import { exchanges } from './arbitrary-exchange.ts';
import { fuzzRuns } from '../support/fuzz.ts';

const WAYS: Readonly<Record<string, (rules: CompiledRuleBook) => Way | Promise<Way>>> = {
  createMigration: throughMigration,
  'capture-gateway/fetch': throughFetch,
  'capture-gateway/node with writeHead': (rules) => throughListener(rules, 'writeHead'),
  'capture-gateway/node with setHeader': (rules) => throughListener(rules, 'setHeader'),
};

/** Codings that the gateway decodes and a way does not: its `Accept-Encoding` says so. */
const CODINGS: Readonly<Record<string, string>> = {
  createMigration: 'identity',
  'capture-gateway/fetch': 'gzip, deflate',
};

/** What a way that tells nothing can be compared with. */
function comparable({ sent, response, told }: Played, name: string): Played {
  return name === 'createMigration' && told !== undefined ? { sent, response, told } : { sent, response };
}

const read = (file: string): readonly TextCase[] =>
  readTextCases(readFileSync(new URL(`../cases/${file}`, import.meta.url), 'utf8'));

/** The adapters leave all other requests to the service. */
const isV1 = ({ request }: TextCase, { prefixes }: CompiledRuleBook): boolean =>
  prefixes.versionOf(request.line.split(' ')[1] ?? '') === 'v1';

/** Plays cases in one way; returns the outcomes by title. */
async function playedBy(way: Way, cases: readonly TextCase[]): Promise<Record<string, Played>> {
  const outcomes: Record<string, Played> = {};
  for (const { title, request, upstreamResponse } of cases)
    outcomes[title] = await way(request, upstreamResponse);
  return outcomes;
}

/** What the gateway does with cases, by file or title: it plays them once, whatever ways they are compared with. */
const gatewayDoes = new Map<string, Record<string, Played>>();

describe.each(Object.entries(WAYS))('%s', (name, start) => {
  /** Plays cases in both ways; returns their outcomes by title. */
  async function playBoth(
    source: string,
    rules: CompiledRuleBook,
    cases: readonly TextCase[],
  ): Promise<readonly [way: object, gateway: object]> {
    const gateway = gatewayDoes.get(source) ?? (await playedBy(await throughGateway(rules), cases));
    gatewayDoes.set(source, gateway);
    const own = cases.filter((textCase) => name === 'createMigration' || isV1(textCase, rules));
    expect(own.length).toBeGreaterThan(cases.length / 2);
    return [
      await playedBy(await start(rules), own),
      Object.fromEntries(
        own.flatMap(({ title }) => {
          const played = gateway[title];
          return played === undefined ? [] : [[title, comparable(played, name)]];
        }),
      ),
    ];
  }

  test.each([
    ['requests.txt', compiledShippedRuleBook],
    ['responses.txt', compiledShippedRuleBook],
    ['request-rules/rules.txt', requestRulesBook],
    [
      'headers/headers.txt',
      () => compiledRuleBookIn(new URL('../cases/headers/rules.yaml', import.meta.url)),
    ],
    ['moved/moved.txt', () => compiledRuleBookIn(new URL('../cases/moved/rules.yaml', import.meta.url))],
    ['root/root.txt', () => compiledRuleBookIn(new URL('../cases/root/rules.yaml', import.meta.url))],
    [
      'release/media/media.txt',
      () => compiledRuleBookIn(new URL('../cases/release/media/rules.yaml', import.meta.url)),
    ],
    [
      'release/query/query.txt',
      () => compiledRuleBookIn(new URL('../cases/release/query/rules.yaml', import.meta.url)),
    ],
    [
      'root/below/below.txt',
      () => compiledRuleBookIn(new URL('../cases/root/below/rules.yaml', import.meta.url)),
    ],
  ])('does with all cases of %s what the gateway does', async (file, book) => {
    const cases = read(file);
    expect(cases.length).toBeGreaterThan(3);
    const [way, gateway] = await playBoth(file, await book(), cases);
    const expected = JSON.stringify(gateway).replace('gzip, deflate, br', CODINGS[name] ?? '$&');
    expect(way).toEqual(JSON.parse(expected));
  });

  test('does with all cases of response-rules/rules.txt what the gateway does', async () => {
    const cases = read('response-rules/rules.txt');
    expect(cases.length).toBeGreaterThan(9);
    for (const textCase of cases) {
      const [way, gateway] = await playBoth(textCase.title, responseRulesBook(textCase), [textCase]);
      expect(way).toEqual(gateway);
    }
  });

  test.each([
    ['fields and a file', '--B\r\nContent-Disposition: form-data; name="data[name]"\r\n\r\nA\r\n', 'sent'],
    [
      'a wrapper that is a value',
      '--B\r\nContent-Disposition: form-data; name="data"\r\n\r\nA\r\n',
      'refused',
    ],
    ['a line that two readers read differently', '--B\n', 'refused'],
  ])('does with multipart/form-data what the gateway does: %s', async (title, parts, outcome) => {
    const file =
      '--B\r\nContent-Disposition: form-data; name="data[plan]"; filename="a"\r\n\r\ndata[name]\r\n--B--\r\n';
    const request = {
      line: 'POST /api/v1/clients',
      headers: [['content-type', 'multipart/form-data; boundary="B"']] as const,
      body: parts + file,
    };
    const upstreamResponse = {
      line: '200',
      headers: [['content-type', 'application/json']] as const,
      body: '{}',
    };
    const [way, gateway] = await playBoth(title, await compiledShippedRuleBook(), [
      { title, request, upstreamResponse } as unknown as TextCase,
    ]);
    expect(way).toEqual(gateway);
    expect(JSON.stringify(way).includes('name=\\"name\\"')).toBe(outcome === 'sent');
  });
});

test('each way does with random requests and responses what the gateway does', async () => {
  const books = await Promise.all(
    [await requestRulesBook(), await compiledShippedRuleBook()].map(async (book) => ({
      gateway: await throughGateway(book),
      ways: await Promise.all(
        Object.entries(WAYS).map(async ([name, start]) => ({ name, way: await start(book) })),
      ),
    })),
  );
  const verdicts = { sent: 0, refused: 0 };
  await fc.assert(
    fc.asyncProperty(exchanges, async ({ request, response }) => {
      for (const { gateway, ways } of books) {
        const expected = await gateway(request, response);
        for (const { name, way } of ways)
          expect(await way(request, response)).toEqual(comparable(expected, name));
        verdicts[expected.sent === undefined ? 'refused' : 'sent'] += 1;
      }
    }),
    { numRuns: fuzzRuns(500) },
  );
  expect(verdicts.sent).toBeGreaterThan(fuzzRuns(300));
  expect(verdicts.refused).toBeGreaterThan(fuzzRuns(5));
});
