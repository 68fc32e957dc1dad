/**
 * @module-tag bun
 * @module-tag deno
 * @module-tag wrangler
 */
import { resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadScripts, referenceStage } from '../../src/cli/twin.ts';
import { loadRuleBook } from '../../src/node/rule-books.ts';
import {
  type SenderOptions,
  startRuntimeGateway,
  startTwinServices,
} from '../../src/node/twin/twin-services.ts';
import type { CompiledRuleBook } from '../../src/rewrite/compiled-rule-book.ts';
import { TwinTally } from '../../src/twin/play.ts';
import { certificate } from '../support/certificates.ts';
import { gatewayFor } from '../support/gateway.ts';
import { bundleWorkerWith, startWorkerd } from '../support/workerd.ts';
import { PROGRAM } from '../support/product.ts';

const ca = certificate({ name: 'private CA' });
const own = certificate({ name: 'gateway', hosts: ['localhost'], issuer: ca });

/** Starts a gateway in front of a V2, with the rule book at a path; returns its origin. */
type Start = (v2: string, rules: string) => Promise<string>;

const onRuntime =
  (name: 'bun' | 'deno'): Start =>
  async (v2, rules) => {
    const gateway = await startRuntimeGateway(name, PROGRAM, v2, rules);
    onTestFinished(() => gateway.stop());
    return gateway.origin;
  };

type Way = readonly [name: string, start: Start, wire: SenderOptions, notAlike: RegExp | undefined];

/** Ways to run the gateway beside the fast path on Node, on which `alike.test.ts` plays everything. */
const WAYS: readonly Way[] = [
  [
    'Node’s own server, over TLS',
    async (v2, rules) => {
      const parts = { clientTls: { cert: own.cert, key: own.key } };
      const { port } = await gatewayFor(v2, { rules: await compiled(rules), parts });
      return `https://localhost:${port}`;
    },
    { ca: ca.cert },
    undefined,
  ],
  [
    'Node’s own server, bodies in chunks',
    async (v2, rules) => (await gatewayFor(v2, { rules: await compiled(rules) })).origin,
    { isChunked: true },
    undefined,
  ],
  ['Bun', onRuntime('bun'), {}, undefined],
  ['Deno', onRuntime('deno'), {}, undefined],
  [
    'workerd',
    async (v2, rules) => {
      const variables = { GATEWAY_UPSTREAM: v2, GATEWAY_CLIENT_SECRET: 'a secret of the tests' };
      return `http://127.0.0.1:${(await startWorkerd(await bundleWorkerWith(rules), variables)).port}`;
    },
    {},
    // The platform closes a connection whose body the gateway has not read: a client that is still writing may not see the 413.
    /^a body beyond the limit/,
  ],
];

/** Reads, writes and mistakes of every kind that take a second; `npm run twin -- --on …` plays the others. */
const SCRIPTS: ReadonlySet<string> = new Set(['properties.txt', 'service.txt', 'writes.txt']);

test.each(WAYS)('%s: V1 and the gateway answer alike', async (name, start, wire, notAlike) => {
  const services = await startTwinServices();
  onTestFinished(() => services.close());
  const stage = referenceStage(services, await start(services.v2, resolve('config/rules.yaml')), wire);
  onTestFinished(() => stage.close());
  const loaded = loadScripts([], 'reference');
  const scripts = 'scripts' in loaded ? loaded.scripts.filter(({ title }) => SCRIPTS.has(title)) : [];
  const tally = new TwinTally();
  for (const script of scripts) {
    for await (const played of stage.play(script)) tally.add(played);
  }
  const isKnown = (one: { readonly name: string }): boolean => notAlike?.test(one.name) === true;
  const { different, chosen } = tally.report;
  expect(
    different.filter((one) => !isKnown(one)).map(({ name, differences }) => ({ name, differences })),
  ).toEqual([]);
  const joined = chosen.filter(({ choice }) => choice === 'ambiguous-head');
  expect(new Set(joined.map((one) => one.name.replace(/.*two keys/, 'two keys')))).toEqual(
    new Set(name === 'workerd' ? ['two keys in one field'] : []),
  );
  expect(tally.report.played).toBeGreaterThan(300);
});

async function compiled(rules: string): Promise<CompiledRuleBook> {
  const outcome = await loadRuleBook(rules);
  if ('faults' in outcome) throw new Error(outcome.faults.join('\n'));
  return outcome.rules;
}
