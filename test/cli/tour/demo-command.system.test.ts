/** @module-tag script */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { TOUR } from '../../../src/cli/demo/tour.ts';
import { PROGRAM_ENVIRONMENT } from '../../support/program-environment.ts';
import { command } from '../../support/command.ts';
import { until } from '../../support/until.ts';
import { PROGRAM } from '../../support/product.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const ANY_PORT = ['--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0'];
const shipped = readFileSync('config/rules.yaml', 'utf8');

/** A folder for temporary files, in which the demo must leave nothing. */
const emptyFolder = (): string => temporaryFolder('demo-test');

test('on a terminal the tour stops for Enter after each step, and leaves no file behind', async () => {
  const folder = emptyFolder();
  const main = fileURLToPath(new URL(`../../../${PROGRAM}`, import.meta.url));
  const line = [process.execPath, main, 'demo', ...ANY_PORT].join(' ');
  // It needs nothing of the folder in which it is started.
  const child = spawn('script', ['-qefc', `stty cols 80; exec ${line}`, '/dev/null'], {
    cwd: '/',
    env: { ...PROGRAM_ENVIRONMENT, TERM: 'xterm', TMPDIR: folder },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  // Killed, it would leave the command behind.
  onTestFinished(() => void child.kill('SIGTERM'));
  // A control sequence, as a character, may come in two pieces.
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => (output += piece));
  const text = (): string => stripVTControlCharacters(output);
  const ended = once(child, 'close');
  for (const at of TOUR.keys()) {
    await until(() => (text().match(/Enter (?:continues|ends)/g) ?? []).length === at + 1);
    const [here, next] = [
      text().includes(`${at + 1}/${TOUR.length}  `),
      text().includes(`${at + 2}/${TOUR.length}  `),
    ];
    expect([at, here, next]).toEqual([at, true, false]);
    if (at === 0) expect(readdirSync(folder)).toHaveLength(1);
    child.stdin.write('\n');
  }
  const [code] = await ended;
  expect(code).toBe(0);
  expect(text().match(/Look at http:\/\/127\.0\.0\.1:\d+\//g)).toHaveLength(TOUR.length);
  expect(
    text()
      .split(/\r?\n/)
      .filter((each) => each.length > 80),
  ).toEqual([]);
  expect(text().replaceAll(/\s+/g, ' ')).toContain('The services are stopped, and');
  expect(readdirSync(folder)).toEqual([]);
  expect(readFileSync('config/rules.yaml', 'utf8')).toBe(shipped);
});

test('Ctrl-C in the middle ends everything that the tour has started, and removes its files', async () => {
  const folder = emptyFolder();
  const tour = command(['demo', ...ANY_PORT], { TMPDIR: folder });
  const [, v1 = ''] = await tour.until(/V1 is (http:\S+),/);
  await tour.until(/2\/8 {2}Census/);
  expect((await fetch(`${v1}/api/v1/heartbeat`)).status).toBe(401);
  expect(await tour.stop('SIGINT')).toBe(130);
  // Without a terminal the demo does not wait, so nobody can look at its page.
  expect(tour.stdout()).not.toContain('Look at');
  expect(readdirSync(folder)).toEqual([]);
  await until(async () => (await fetch(`${v1}/api/v1/heartbeat`).catch(() => undefined)) === undefined);
});

test('an address in use is a fault that names the setting, and no file stays', async () => {
  const folder = emptyFolder();
  const first = command(['reference', '--listen', '127.0.0.1:0']);
  const [, taken = ''] = await first.until(/service on http:\/\/(\S+)/);
  const tour = command(['demo', '--listen', taken, '--admin-listen', '127.0.0.1:0'], { TMPDIR: folder });
  expect(await tour.exit).toBe(2);
  expect(tour.stderr()).toMatch(/cannot listen.*--listen/);
  expect(readdirSync(folder)).toEqual([]);
});
