import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadScripts } from '../../src/cli/twin-scripts.ts';
import { referenceStage } from '../../src/cli/twin-stage.ts';
import { loadRuleBook } from '../../src/node/rule-book-file.ts';
import { startTwinServices } from '../../src/node/twin/twin-services.ts';
import type { PlayedExchange } from '../../src/twin/play.ts';
import { gatewayFor } from '../support/gateway.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** Plays a script file to V1 and to a gateway with a rule book. */
async function play(script: string, rules: string): Promise<readonly PlayedExchange[]> {
  const services = await startTwinServices();
  onTestFinished(() => services.close());
  const book = await loadRuleBook(rules);
  const loaded = loadScripts([script], 'reference');
  if ('faults' in book || 'faults' in loaded) throw new Error(JSON.stringify([book, loaded]));
  const gateway = await gatewayFor(services.v2, { rules: book.rules });
  const stage = referenceStage(services, gateway.origin);
  onTestFinished(() => stage.close());
  const played: PlayedExchange[] = [];
  for (const one of loaded.scripts) {
    for await (const exchange of stage.play(one)) played.push(exchange);
  }
  return played;
}

/** Mistakes that the shipped policies answer in another way than V1, by policy. With the policies of V1 all are alike. */
const POLICIES: Readonly<Record<string, readonly string[]>> = {
  // V1 refused these; the client needs a new URL only, and the log says so.
  flat: [
    'an object without members',
    'the parameters without data',
    'data in another case',
    'all that the mistakes left',
  ],
  // V1 read the last one; two readers could read two orders.
  duplicate: ['data twice'],
  // The same status, with the place of the fault in other words.
  malformed: [
    'NaN',
    'UTF-16',
    'a body that is cut off',
    'a body with a comma too many',
    'a body with a comment',
    'a body with single quotes',
    'a text that is not UTF-8',
    'a word',
    'no value for a member',
    'two bodies in one',
  ],
  unsupported: ['a body in an unknown coding'],
};

test('the shipped policies change the response to these mistakes, and to no other', async () => {
  const played = await play('config/twin/mistakes.txt', 'config/rules.yaml');
  const different = played.filter(({ differences }) => differences.length > 0).map(({ name }) => name);
  const mistakes = new Set(different.map((name) => name.replace(/^[^:]*: /, '')));
  expect([...mistakes].sort()).toEqual(Object.values(POLICIES).flat().sort());
  const malformed = played.filter(({ name }) =>
    POLICIES['malformed']?.some((mistake) => name.endsWith(mistake)),
  );
  expect(new Set(malformed.flatMap(({ statuses }) => statuses))).toEqual(new Set([400]));
});

const DEPRECATED = `! deprecated: panorama_style, legacy_code

# a client with a deprecated attribute
! keep: one = /data/id
> POST /api/v1/clients
>
> {"data":{"name":"Acme","legacy_code":"A-1"}}

# a client with two deprecated attributes
> POST /api/v1/clients
>
> {"data":{"panorama_style":null,"name":"Acme","legacy_code":{"x":[1]}}}

# a client without one
> POST /api/v1/clients
>
> {"data":{"name":"Acme"}}

# a deprecated attribute and a mistake
> POST /api/v1/clients
>
> {"data":{"legacy_code":"A-1","name":5}}

# an order with a deprecated attribute
> POST /api/v1/orders/post_productions
>
> {"data":{"legacy_code":"A-1","transition_type":"cut","property":{"suburb":"Carlton"}}}
`;

test('attributes that V2 has dropped are taken with V1’s messages', async () => {
  const folder = temporaryFolder('twin-deprecated');
  const [script, rules] = [join(folder, 'deprecated.txt'), join(folder, 'rules.yaml')];
  writeFileSync(script, DEPRECATED);
  const shipped = readFileSync('config/rules.yaml', 'utf8');
  writeFileSync(rules, shipped.replace('strip: []', 'strip: [panorama_style, legacy_code]'));
  const played = await play(script, rules);
  const lost = played.map(({ statuses, differences }) => [
    ...statuses,
    ...differences.map(({ where, kind }) => `${where} ${kind}`),
  ]);
  expect(lost).toEqual([
    [201, 201],
    [201, 201],
    [201, 201],
    [422, 422],
    [201, 201],
  ]);
});
