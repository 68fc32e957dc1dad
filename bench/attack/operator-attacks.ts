import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { exchange, rawClient, statusOf } from '../../test/support/raw-client.ts';
import { type Attack, check, type Target } from './attack.ts';
import { deepJson, mebibytes } from './bodies.ts';
import { ADMIN_TOKEN } from './metric.ts';
import { pause, pour, rawRequest } from './raw-request.ts';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
const HOSTILE_NAMES = [
  '\u001b]0;owned\u0007',
  'a\r\n2026-01-01 forged line',
  '\u0085\u009b31m',
  '\u202egnp.exe',
  '\u2066x\u2069',
  '\u007f',
];
/** Control characters but the line feed, C1, and what turns the direction of text. */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const UNPRINTABLE = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

/** Attacks on those who look at the gateway, and by those who reach the admin listener. */
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
      const { entries } = (await adminJson(adminPort, '/entries?limit=500')) as {
        readonly entries: readonly Seen[];
      };
      const deep = entries.filter(({ bytesIn = 0 }) => bytesIn > 100_000);
      const sizes: number[] = [];
      for (const { seq } of deep) if (!signal.aborted) sizes.push(await sizeOf(adminPort, `/entries/${seq}`));
      const most = Math.max(0, ...sizes) / 1e6;
      return [
        check(`an entry is ${most.toFixed(0)} MB`, most < 8),
        check(
          `${deep.length - sizes.length} of ${deep.length} entries were not shown in time`,
          sizes.length === deep.length && deep.length > 0,
        ),
      ];
    },
  },
  {
    id: 'D-explain',
    sentence: 'A request of 530 KB, nested 500 deep, is explained.',
    async play({ adminPort }) {
      const body = JSON.stringify({
        method: 'POST',
        target: '/api/v1/clients',
        headers: [['Content-Type', 'application/json']],
        body: deepJson(530_000, 495),
      });
      const bytes = await sizeOf(adminPort, '/explain', { method: 'POST', body });
      return [check(`the explanation is ${(bytes / 1e6).toFixed(0)} MB`, bytes > 0 && bytes < 8e6)];
    },
  },
  {
    id: 'K-body',
    sentence: 'Who has no token sends 600 MiB to /login.',
    flags: { 'admin-token': ADMIN_TOKEN },
    async play({ adminPort, signal }, scale) {
      const client = rawClient(adminPort);
      client.write('POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4000000000\r\n\r\n');
      const sent = await pour(client.socket, mebibytes(600 * scale), signal);
      client.socket.destroy();
      return [check(`/login took ${(sent / 2 ** 20).toFixed(0)} MiB`, sent < 64 * 2 ** 20)];
    },
  },
  {
    id: 'K-tries',
    sentence: 'Tokens are tried at /login as fast as it responds.',
    flags: { 'admin-token': ADMIN_TOKEN },
    async play({ adminPort, signal }, scale) {
      let tried = 0;
      const end = performance.now() + 4000 * scale;
      const attacker = async (): Promise<void> => {
        while (performance.now() < end && !signal.aborted) {
          const body = `{"token":"${randomBytes(8).toString('hex')}"}`;
          const response = await exchange(
            adminPort,
            rawRequest('POST /login', body).replace('Host: gateway', 'Host: 127.0.0.1'),
            1000,
          );
          if (statusOf(response) === 401) tried += 1;
        }
      };
      await Promise.all(Array.from({ length: 8 }, attacker));
      return [check(`${tried} tokens were tried in ${4 * scale} s`, tried <= 100)];
    },
  },
  {
    id: 'N-census',
    sentence:
      'Names of members with escape sequences, line ends and turned text are printed by report --census.',
    async play(target) {
      for (const name of HOSTILE_NAMES) {
        const body = Buffer.from(
          JSON.stringify({ data: { [`x${name}`]: 1, [name]: { [name]: 2 } } }),
          'utf8',
        ).toString('latin1');
        await exchange(target.port, rawRequest('POST /api/v1/clients', body));
      }
      await pause(500, target.signal);
      const faults: string[] = [];
      for (const args of [
        ['--census'],
        [],
        ['--format', 'md'],
        ['--format', 'csv'],
        ['--census', '--format', 'md'],
      ]) {
        const printed = await report(target, args);
        const text = args.includes('csv') ? printed.replaceAll('\r\n', '\n') : printed;
        if (UNPRINTABLE.test(text) || /^2026-01-01 forged/m.test(text))
          faults.push(`report ${args.join(' ')}`);
      }
      return [check(`raw control characters in ${faults.join(', ')}`, faults.length === 0)];
    },
  },
  {
    id: 'N-guide',
    sentence: 'Paths with HTML and Markdown in them become part of a guide.',
    async play(target) {
      for (const path of ['x<script>alert(1)</script>', 'x[a](javascript:alert(1))', 'x```y', 'x|y|`z`'])
        await exchange(
          target.port,
          rawRequest(
            `POST /api/v1/${path}`,
            '{"data":{"<img/src=x>":1}}',
            'Authorization: Bearer hostile\r\n',
          ),
        );
      await pause(500, target.signal);
      const { entries } = (await adminJson(target.adminPort, '/entries?limit=500')) as {
        readonly entries: readonly Seen[];
      };
      const client = entries.find(({ path = '' }) => path.startsWith('/api/v1/x'))?.client ?? 'none';
      const guide = await report(target, ['--guide', '--client', client]);
      const raw = [/<script/i, /<img/i, /\]\(javascript:/i].filter((pattern) =>
        pattern.test(withoutCode(guide)),
      );
      return [
        check('there is no guide', guide.length > 100),
        check(`the guide has ${raw.map(String).join(', ')}`, raw.length === 0),
      ];
    },
  },
];

interface Seen {
  readonly seq: number;
  readonly bytesIn?: number;
  readonly path?: string;
  readonly client?: string;
}

async function adminJson(adminPort: number, path: string): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${adminPort}${path}`, {
    signal: AbortSignal.timeout(14_000),
  });
  return response.json();
}

/** Bytes of a response of the admin listener; 0 when it does not come in time. */
async function sizeOf(adminPort: number, path: string, init: RequestInit = {}): Promise<number> {
  try {
    const response = await fetch(`http://127.0.0.1:${adminPort}${path}`, {
      ...init,
      signal: AbortSignal.timeout(14_000),
    });
    return (await response.arrayBuffer()).byteLength;
  } catch {
    return 0;
  }
}

async function report({ folder }: Target, args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [MAIN, 'report', join(folder, 'rewrite.log'), ...args],
    {
      env: { PATH: process.env['PATH'] ?? '' },
      maxBuffer: 2 ** 26,
    },
  );
  return stdout;
}

/** A guide without its blocks and spans of code, and without what is escaped: there nothing is markup. */
function withoutCode(markdown: string): string {
  return markdown
    .replaceAll(/^(`{3,})[^\n]*\n[^]*?\n\1$/gm, '')
    .replaceAll(/(`+)[^`][^]*?\1/g, '')
    .replaceAll(/\\./g, '');
}
