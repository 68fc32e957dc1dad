import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readTextCases } from '../../src/cli/cases/text-cases.ts';
import type { MigrationOptions } from '../../src/library/capture-gateway.ts';
import { hashBody } from '../../src/node/runtime.ts';
import type { CompiledRuleBook } from '../../src/rewrite/compiled-rule-book.ts';
import {
  type Played,
  throughFetch,
  throughGateway,
  throughListener,
  throughMigration,
  type Way,
} from '../support/migration-ways.ts';
import { ONE_OF_EACH, type OneOfEach, oneOfEachBook, oneOfEachModules } from '../support/one-of-each.ts';
import { compiledRuleBookIn } from '../support/shipped-rule-book.ts';

// One migration makes all of this, which test/migrate holds. Here it is held that each entry of the library drives it as the gateway does.

type Start = (rules: CompiledRuleBook, options: MigrationOptions) => Way | Promise<Way>;

const WAYS: Readonly<Record<string, Start>> = {
  createMigration: (rules, options) => throughMigration(rules, { ...options, hash: hashBody }),
  'capture-gateway/fetch': throughFetch,
  'capture-gateway/node with writeHead': (rules, options) => throughListener(rules, 'writeHead', options),
  'capture-gateway/node with setHeader': (rules, options) => throughListener(rules, 'setHeader', options),
};

/** Codings that the gateway decodes and a way does not: its `Accept-Encoding` says so. */
const CODINGS: Readonly<Record<string, string>> = {
  createMigration: 'identity',
  'capture-gateway/fetch': 'gzip, deflate',
};

/** A service that runs a module itself may see its error. */
const [UNTOLD, TOLD] = [
  'The gateway could not convert the request, and sent the service nothing.',
  'request of ./made.js threw Error at line 2',
];

const NOT_BY_FETCH: Readonly<Record<string, string>> = {
  'a digest of other bytes': 'Web Cryptography has MD5 on Workers alone',
  'a path that two read in two ways': 'a Request has a path without dot segments',
};

type Exchanges = readonly Pick<OneOfEach, 'title' | 'request' | 'response'>[];

async function playedBy(way: Way, exchanges: Exchanges = ONE_OF_EACH): Promise<ReadonlyMap<string, Played>> {
  const outcomes = new Map<string, Played>();
  for (const { title, request, response } of exchanges) outcomes.set(title, await way(request, response));
  return outcomes;
}

/** Expects the gateway's outcome of each exchange; of a way without verdicts, only its messages. */
function expectSame(
  name: string,
  played: ReadonlyMap<string, Played>,
  ofGateway: ReadonlyMap<string, Played>,
): void {
  for (const [title, one] of played) {
    const { sent, response, told } = ofGateway.get(title) ?? expect.fail(title);
    const expected = JSON.stringify({ title, sent, response, ...(one.told && { told }) })
      .replace('gzip, deflate, br', CODINGS[name] ?? '$&')
      .replace(UNTOLD, TOLD);
    expect({ title, ...one }).toEqual(JSON.parse(expected));
  }
}

/** The outcomes of the gateway, which plays the exchanges once for all ways. */
let ofGateway: ReadonlyMap<string, Played> = new Map();

test('the gateway gives the expected result for one exchange of each kind', async () => {
  ofGateway = await playedBy(await throughGateway(await oneOfEachBook()));
  for (const { title, sent, got } of ONE_OF_EACH) {
    const { sent: atV2, response, told } = ofGateway.get(title) ?? expect.fail(title);
    const reached = atV2 && [atV2.line, atV2.body];
    const body = told?.refusal === undefined ? response.body : told.refusal.trim();
    expect({ title, sent: reached, got: [response.line, body] }).toEqual({ title, sent, got });
  }
});

/** Folders of cases whose rule books decide which requests are V1's: an entry passes all others on to its service. */
const WHAT_IS_V1 = [
  'root/root',
  'root/below/below',
  'release/media/media',
  'release/query/query',
  'parameters/parameters',
  'errors/errors',
];

const ofFolders = new Map<string, ReadonlyMap<string, Played>>();

describe.each(Object.entries(WAYS))('%s', (name, start) => {
  test('gives the same results as the gateway', async () => {
    const way = await start(await oneOfEachBook(), { transforms: await oneOfEachModules() });
    const isPlayed = ({ title }: OneOfEach): boolean =>
      name !== 'capture-gateway/fetch' || !(title in NOT_BY_FETCH);
    const played = await playedBy(way, ONE_OF_EACH.filter(isPlayed));
    expect(played.size).toBeGreaterThan(14);
    expectSame(name, played, ofGateway);
  });

  test.each(WHAT_IS_V1)('recognises a V1 request as the gateway does: %s', async (file) => {
    const rules = await compiledRuleBookIn(new URL(`../cases/${dirname(file)}/rules.yaml`, import.meta.url));
    const cases = readTextCases(readFileSync(new URL(`../cases/${file}.txt`, import.meta.url), 'utf8'));
    const exchanges = cases.map((one) => ({ ...one, response: one.upstreamResponse }));
    const gateway = ofFolders.get(file) ?? (await playedBy(await throughGateway(rules), exchanges));
    ofFolders.set(file, gateway);
    const isV1 = ({ request }: (typeof exchanges)[number]): boolean =>
      name === 'createMigration' || rules.prefixes.versionOf(request.line.split(' ')[1] ?? '') === 'v1';
    const own = exchanges.filter(isV1);
    expect(own.length).toBeGreaterThan(cases.length / 2);
    expectSame(name, await playedBy(await start(rules, {}), own), gateway);
  });
});
