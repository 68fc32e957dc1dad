import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { commandRun } from '../support/command-runs.ts';
import { freePort } from '../support/free-port.ts';
import { exchange } from '../support/raw-client.ts';
import { ok, rawServer } from '../support/raw-server.ts';
import { spawnGateway } from '../support/spawn-gateway.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

interface Verdict {
  readonly verdict: { readonly sentence: string };
}

test('the command, GET /status and the overview have one verdict, and the exit code shows whether requests fail', async () => {
  let status = '200 OK';
  const v2 = await rawServer((socket, request) =>
    socket.write(request.includes('/contacts') ? ok().replace('200 OK', status) : ok()),
  );
  const gateway = await spawnGateway({ upstream: v2.origin });
  const admin = `http://127.0.0.1:${gateway.adminPort}`;
  const order = (path: string): Promise<unknown> =>
    exchange(
      gateway.port,
      `POST /api/v1/${path} HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{"data":{}}`,
    );
  const told = async (): Promise<readonly [code: number | null, text: string]> => {
    const { out, code } = await commandRun(['status', '--admin', admin]);
    for (const path of ['status', 'overview', 'state']) {
      const response = await fetch(`${admin}/${path}`);
      const body = (await response.json()) as Verdict & { state?: Verdict };
      expect(out).toContain((body.state ?? body).verdict.sentence);
    }
    return [code, out];
  };
  expect(await told()).toEqual([0, 'No request yet, so nothing is known.\n']);
  for (let sent = 0; sent < 8; sent += 1) await order(sent < 4 ? 'clients' : 'contacts');
  expect(await told()).toEqual([0, 'All well for less than a minute.\n']);
  status = '501 Not Implemented';
  for (let sent = 0; sent < 6; sent += 1) {
    await order('contacts');
    await order('clients');
  }
  const [code, text] = await told();
  expect(code).toBe(1);
  expect(text).toMatch(
    /^create_contact fails for .+: 6 of 6 requests since \d{4}-\S+Z\. Too little is known about the time before\.\n/,
  );
});

test('the command asks the admin listener of the settings, unless --admin names another', async () => {
  const gateway = await spawnGateway({});
  const config = join(temporaryFolder('status'), 'gateway.yaml');
  writeFileSync(config, `admin-listen: "*:${gateway.adminPort}"\n`);
  const well = { code: 0, out: 'No request yet, so nothing is known.\n' };
  expect(await commandRun(['status', '--config', config])).toMatchObject(well);
  const environment = { GATEWAY_ADMIN_LISTEN: `127.0.0.1:${gateway.adminPort}` };
  expect(await commandRun(['rollout', '--json'], { environment })).toMatchObject({ code: 0 });
  const other = await commandRun(['status', '--config', config, '--admin', 'http://127.0.0.1:1']);
  expect(other.err).toContain('No response from http://127.0.0.1:1 ');
});

test('the admin listener responds to a page while the gateway still starts', async () => {
  const folder = temporaryFolder('starting');
  const rules = join(folder, 'rules.yaml');
  // The gateway loads and warms the transform before it listens for clients.
  writeFileSync(join(folder, 'same.js'), 'export const response = (body) => body;\n');
  writeFileSync(
    rules,
    'format: 1\noperations: { list: { match: GET /loans, transform: ./same.js } }\nchanges: []\n',
  );
  const admin = await freePort();
  const statuses: number[] = [];
  const started = new AbortController();
  const asked = (async () => {
    while (!started.signal.aborted) {
      const response = await fetch(`http://127.0.0.1:${admin}/overview`).catch(() => undefined);
      if (response !== undefined) statuses.push(response.status);
      await setTimeout(5);
    }
  })();
  await spawnGateway({ upstream: 'http://127.0.0.1:1', rules, 'admin-listen': `127.0.0.1:${admin}` });
  started.abort();
  await asked;
  expect(statuses).not.toEqual([]);
  expect(statuses.filter((status) => status !== 200)).toEqual([]);
});
