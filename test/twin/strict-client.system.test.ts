/** @module-tag java */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadScripts, referenceStage } from '../../src/cli/twin.ts';
import { startRuntimeGateway, startTwinServices } from '../../src/node/twin/twin-services.ts';
import type { PlayedExchange } from '../../src/twin/play.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { PROGRAM } from '../support/product.ts';

test('a strict client in Java reads every response, and none that has a name of V2', async () => {
  const loaded = loadScripts([], 'reference');
  if ('faults' in loaded) throw new Error(loaded.faults.join('\n'));
  const services = await startTwinServices();
  onTestFinished(() => services.close());
  const gateway = await startRuntimeGateway('node', PROGRAM, services.v2, 'config/rules.yaml');
  onTestFinished(() => gateway.stop());
  const twin = referenceStage(services, gateway.origin);
  onTestFinished(() => twin.close());
  const responses: string[] = [];
  for (const script of loaded.scripts)
    for await (const one of twin.play(script)) {
      const { method = '', target = '' } = script.exchanges.find(({ name }) => name === one.name) ?? {};
      // The others are listed in alike.test.ts.
      if (one.differences.length === 0) responses.push(lineOf(method, target, one));
    }
  expect(responses.length).toBeGreaterThan(400);
  const bodies = [
    '{"data":{"id":1,"highlight_type":"x"}}',
    '{"data":{"id":1,"property":{"address":{}}}}',
    '{"data":{}}',
  ];
  const wrong = bodies.map((body) => `GET\t/api/v1/orders/post_productions/1\t200\t${body}`);
  const said = readInJava([...responses, ...wrong])
    .trimEnd()
    .split('\n');
  expect(said).toEqual([
    expect.stringContaining('"highlight_type"'),
    expect.stringContaining('"address"'),
    expect.stringContaining("'id'"),
    `${responses.length} responses read`,
  ]);
});

function lineOf(method: string, target: string, { response }: PlayedExchange): string {
  const body = new TextDecoder().decode(response?.body);
  return [method, target, response?.status ?? 0, body].join('\t');
}

function readInJava(lines: readonly string[]): string {
  const file = join(temporaryFolder('strict-java'), 'responses.tsv');
  writeFileSync(file, lines.map((line) => `${line}\n`).join(''));
  const jars = ['core', 'databind', 'annotations'].map((part) => `/usr/share/java/jackson-${part}.jar`);
  return execFileSync('java', ['-cp', jars.join(':'), 'test/runtime/clients/StrictReader.java', file], {
    encoding: 'utf8',
  });
}
