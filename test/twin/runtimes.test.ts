import { expect, onTestFinished, test } from 'vitest';
import { loadScripts } from '../../src/cli/twin-scripts.ts';
import { referenceStage } from '../../src/cli/twin-stage.ts';
import type { SenderOptions } from '../../src/node/twin/http-sender.ts';
import { startTwinServices } from '../../src/node/twin/twin-services.ts';
import { TwinTally } from '../../src/twin/tally.ts';
import { certificate } from '../support/certificates.ts';
import { gatewayFor } from '../support/gateway.ts';
import { runtimes } from '../support/runtimes.ts';
import { compiledShippedRuleBook } from '../support/shipped-rule-book.ts';

const ca = certificate({ name: 'private CA' });
const own = certificate({ name: 'gateway', hosts: ['localhost'], issuer: ca });

/** Starts a gateway in front of a V2; returns its origin. */
type Start = (v2: string) => Promise<string>;

const onRuntime =
  (name: 'bun' | 'deno' | 'workerd'): Start =>
  async (v2) =>
    `http://127.0.0.1:${(await runtimes[name](v2)).port}`;

/** Ways to run the gateway beside the fast path on Node, on which `alike.test.ts` plays everything. */
const WAYS: readonly (readonly [name: string, start: Start, wire: SenderOptions])[] = [
  [
    'Node’s own server, over TLS',
    async (v2) => {
      const rules = await compiledShippedRuleBook();
      const gateway = await gatewayFor(v2, { rules, parts: { clientTls: { cert: own.cert, key: own.key } } });
      return `https://localhost:${gateway.port}`;
    },
    { ca: ca.cert },
  ],
  [
    'Node’s own server, bodies in chunks',
    async (v2) => (await gatewayFor(v2, { rules: await compiledShippedRuleBook() })).origin,
    { isChunked: true },
  ],
  ['Bun', onRuntime('bun'), {}],
  ['Deno', onRuntime('deno'), {}],
  ['workerd', onRuntime('workerd'), {}],
];

/** Reads, writes and mistakes of every kind that take a second; `npm run twin -- --on …` plays the others. */
const SCRIPTS = ['properties.txt', 'service.txt', 'writes.txt', 'reads.txt'];

test.each(WAYS)('%s: V1 and the gateway answer alike', async (_, start, wire) => {
  const services = await startTwinServices();
  onTestFinished(() => services.close());
  const stage = referenceStage(services, await start(services.v2), wire);
  onTestFinished(() => stage.close());
  const loaded = loadScripts([], 'reference');
  const scripts = 'scripts' in loaded ? loaded.scripts.filter(({ title }) => SCRIPTS.includes(title)) : [];
  const tally = new TwinTally();
  for (const script of scripts) {
    for await (const played of stage.play(script)) tally.add(played);
  }
  expect(tally.report.different).toEqual([]);
  expect(tally.report.played).toBeGreaterThan(400);
});
