import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { exchange, rawClient, statusOf } from '../../test/support/raw-client.ts';
import { ADMIN_TOKEN, adminText, entriesOf } from './admin.ts';
import type { Attack, Target } from './attack.ts';
import { deepJson, mebibytes } from './bodies.ts';
import { faultIf, fromSeats, lasting, pause, playEach, pour, rawRequest } from './playing.ts';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
const HOSTILE_NAMES = [
  '\u001b]0;owned\u0007',
  'a\r\n2026-01-01 forged line',
  '\u0085\u009b31m',
  '\u202egnp.exe',
  '\u2066x\u2069',
  '\u007f',
];
/** Control characters but the line feed, C1, and characters that reverse the direction of text. */
// oxlint-disable-next-line no-control-regex -- they are searched for
const UNPRINTABLE = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;
const HOSTILE_PATHS = ['x<script>alert(1)</script>', 'x[a](javascript:alert(1))', 'x```y', 'x|y|`z`', 'x'];
const REPORTS = ['--census', '', '--format md', '--format csv', '--census --format md'];

/** Attacks on who looks at the gateway: an operator, the terminal and the browser of a report's reader, the admin listener. */
export const operatorAttacks: readonly Attack[] = [
  {
    id: 'D-entry',
    sentence: 'The operator opens entries of bodies of 260 KB, nested 250 to 500 deep, that anybody sent.',
    async play({ port, adminPort, signal }) {
      for (let k = 0; k < 6; k += 1)
        await exchange(
          port,
          rawRequest('POST /api/v1/clients', deepJson(260_000, 250 + k * 48), `X-Id: ${k}\r\n`),
        );
      const deep = (await entriesOf(adminPort)).filter(({ bytesIn = 0 }) => bytesIn > 100_000);
      const sizes: number[] = [];
      for (const { seq } of deep)
        if (!signal.aborted) sizes.push((await adminText(adminPort, `/entries/${seq}`)).length);
      const most = Math.max(0, ...sizes) / 1e6;
      return [
        ...faultIf(most >= 8, `an entry is ${most.toFixed(0)} MB`),
        ...faultIf(
          sizes.length < deep.length || deep.length === 0,
          `${deep.length - sizes.length} of ${deep.length} entries were not shown in time`,
        ),
      ];
    },
  },
  {
    id: 'D-explain',
    sentence: 'A request of 530 KB, nested 500 deep, is explained.',
    async play({ adminPort }) {
      const request = {
        method: 'POST',
        target: '/api/v1/clients',
        headers: [['Content-Type', 'application/json']],
        body: deepJson(530_000, 495),
      };
      const init = { method: 'POST', body: JSON.stringify(request) };
      const { length } = await adminText(adminPort, '/explain', init);
      return faultIf(length === 0 || length >= 8e6, `the explanation is ${(length / 1e6).toFixed(0)} MB`);
    },
  },
  {
    id: 'K-body',
    sentence: 'A client without a token sends 600 MiB to /login.',
    flags: { 'admin-token': ADMIN_TOKEN },
    async play({ adminPort, signal }, scale) {
      const client = rawClient(adminPort);
      client.write('POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4000000000\r\n\r\n');
      const sent = (await pour(client.socket, mebibytes(600 * scale), signal)) / 2 ** 20;
      client.socket.destroy();
      return faultIf(sent >= 64, `/login took ${sent.toFixed(0)} MiB`);
    },
  },
  {
    id: 'K-tries',
    sentence: 'Tokens are tried at /login as fast as it responds.',
    flags: { 'admin-token': ADMIN_TOKEN },
    async play({ adminPort, signal }, scale) {
      let tried = 0;
      const goesOn = lasting(4000 * scale, signal);
      await fromSeats(8, async () => {
        while (goesOn()) {
          const request = rawRequest('POST /login', `{"token":"${randomBytes(8).toString('hex')}"}`);
          const own = request.replace('Host: gateway', 'Host: 127.0.0.1');
          if (statusOf(await exchange(adminPort, own, 1000)) === 401) tried += 1;
        }
      });
      return faultIf(tried > 100, `${tried} tokens were tried in ${4 * scale} s`);
    },
  },
  {
    id: 'N-census',
    sentence:
      'Names of members with escape sequences, line ends and turned text are printed by report --census.',
    async play(target) {
      for (const name of HOSTILE_NAMES) {
        const body = JSON.stringify({ data: { [`x${name}`]: 1, [name]: { [name]: 2 } } });
        const latin1 = Buffer.from(body, 'utf8').toString('latin1');
        await exchange(target.port, rawRequest('POST /api/v1/clients', latin1));
      }
      await pause(500, target.signal);
      return playEach('reports have raw control characters', REPORTS, async (args) => {
        const printed = await report(target, args.split(' ').filter(Boolean));
        const text = args.includes('csv') ? printed.replaceAll('\r\n', '\n') : printed;
        return UNPRINTABLE.test(text) || /^2026-01-01 forged/m.test(text) ? `report ${args}` : undefined;
      });
    },
  },
  {
    id: 'N-guide',
    sentence: 'Paths with HTML and Markdown in them become part of a guide.',
    async play(target) {
      const lines = 'Authorization: Bearer hostile\r\n';
      for (const path of HOSTILE_PATHS)
        await exchange(target.port, rawRequest(`POST /api/v1/${path}`, '{"data":{"<img/src=x>":1}}', lines));
      await pause(500, target.signal);
      const entries = await entriesOf(target.adminPort);
      const client = entries.find(({ path = '' }) => path.startsWith('/api/v1/x'))?.client ?? 'none';
      const guide = await report(target, ['--guide', '--client', client]);
      const raw = withoutCode(guide).match(/<script|<img|\]\(javascript:/gi) ?? [];
      return [
        ...faultIf(guide.length <= 100, 'there is no guide'),
        ...faultIf(raw.length > 0, `the guide has ${raw.join(', ')}`),
      ];
    },
  },
  {
    id: 'O-files',
    sentence: 'Another user of the machine reads the rewrite log.',
    async play({ folder }) {
      const mode = statSync(join(folder, 'rewrite.log')).mode & 0o777;
      return faultIf(mode !== 0o600, `the log has mode ${mode.toString(8)}`);
    },
  },
];

/** What `report` prints of the target's log; nothing where it fails, and says why on stderr. */
async function report({ folder }: Target, args: readonly string[]): Promise<string> {
  const command = [MAIN, 'report', join(folder, 'rewrite.log'), ...args];
  const env = { PATH: process.env['PATH'] ?? '' };
  return promisify(execFile)(process.execPath, command, { env, maxBuffer: 2 ** 26 }).then(
    ({ stdout }) => stdout,
    () => '',
  );
}

/** A guide without its blocks and spans of code, and without escaped characters: nothing in them is markup. */
function withoutCode(markdown: string): string {
  return markdown
    .replaceAll(/^(`{3,})[^\n]*\n[^]*?\n\1$/gm, '')
    .replaceAll(/(`+)[^`][^]*?\1/g, '')
    .replaceAll(/\\./g, '');
}
