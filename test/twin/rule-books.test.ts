import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadScripts, referenceStage } from '../../src/cli/twin.ts';
import { loadRuleBook } from '../../src/node/rule-books.ts';
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

test('with a rule book that reads the last of two members and leaves malformed bodies to V2, these get the same responses', async () => {
  const rules = join(temporaryFolder('twin-policies'), 'rules.yaml');
  const shipped = readFileSync('config/rules.yaml', 'utf8');
  writeFileSync(
    rules,
    shipped
      .replace('  duplicate: refuse', '  duplicate: last')
      .replace('  malformed: refuse', '  malformed: forward'),
  );
  const played = [
    ...(await play('config/twin/duplicates.txt', rules)),
    ...(await play('config/twin/wrong-twice.txt', rules)),
  ];
  const different = played.filter(({ differences }) => differences.length > 0);
  expect(different.map(({ name }) => name.replace(/.* and /, ''))).toEqual(Array(4).fill('null as data'));
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

# a client with the same attributes in another order
> POST /api/v1/clients
>
> {"data":{"legacy_code":null,"name":"Acme","panorama_style":1}}

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

test('attributes that V2 has dropped get V1’s messages, in the order of the rule book', async () => {
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
    [201, 201],
    [422, 422],
    [201, 201],
  ]);
});
