import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { DraftView, ExampleRun, SavedDraft } from '../../../src/inspector/draft-desk.ts';
import { command, endedCommand } from '../../support/command.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const V1 = 'examples/invoicing/v1.yaml';
const V2 = 'examples/invoicing/v2.yaml';
const ADDRESSES = ['--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0'];

test('one command shows a draft at work, takes answers, and writes a folder when a person saves it', async () => {
  const dir = join(temporaryFolder('try'), 'my-api');
  const temporary = temporaryFolder('try-tmp');
  const running = command(['try', '--v1', V1, '--v2', V2, '--dir', dir, ...ADDRESSES], { TMPDIR: temporary });
  const [, admin = ''] = await running.until(/on (http:\/\/127\.0\.0\.1:\d+)\/\?view=rules/);
  expect(running.stdout()).toMatch(
    /^6 operations drafted, \d+ questions; the answers to the first can settle others\./,
  );
  const post = async <Result>(path: string, body: object): Promise<Result> => {
    const response = await fetch(`${admin}/draft/${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    });
    return (await response.json()) as Result;
  };
  const view = (await (await fetch(`${admin}/draft`)).json()) as DraftView;
  expect(await post<ExampleRun>('run', { operation: 'getBill' })).toMatchObject({ status: 404 });
  await post('answer', { question: view.current?.id, chosen: ['yes'] });
  // The question is answered, so the rule is in force: V2 finds the operation, and names the members that it still lacks.
  const run = await post<ExampleRun>('run', { operation: 'getBill' });
  expect(run.response).toContain('V2 requires the header field X-Tenant-Id.');
  const tenant = view.questions.find(({ text }) => text.includes('X-Tenant-Id'));
  await post('answer', { question: tenant?.id, chosen: ['yes'] });
  expect(await post<ExampleRun>('run', { operation: 'getBill' })).toMatchObject({ status: 200 });
  const found = await fetch(`${admin}/entries/find?id=${run.requestId}`);
  expect(found.status).toBe(200);
  expect(existsSync(dir)).toBe(false);
  const saved = await post<SavedDraft>('save', {});
  expect(saved.next[0]).toBe(
    `npm run -s gateway -- check --config ${join(dir, 'gateway.yaml')} --v1 ${V1} --v2 ${V2}`,
  );
  expect(readFileSync(join(dir, 'rules.yaml'), 'utf8')).toContain('{ rename: X-Account, to: X-Tenant-Id }');
  expect(saved.remarks[0]).toBe('Stop try (Ctrl-C) before you start serve.');
  // Its message names no command of this program.
  expect(running.stdout()).not.toContain('capture-gateway');
  expect(await running.stop()).toBe(0);
});

test.each([
  [['--v1', V1, '--v2', 'none.yaml'], 2, /none\.yaml/],
  [['--v1', V1, '--v2', V2, '--only', 'nothing'], 2, /has no operation nothing/],
  [['--v1', V1, '--v2', V2, '--from', 'v1'], 2, /--from v1/],
])('try %j ends with %i', async (args, code, fault) => {
  const ended = await endedCommand(['try', ...args, ...ADDRESSES]);
  expect([ended.code, ended.out]).toEqual([code, '']);
  expect(ended.err).toMatch(fault);
});
