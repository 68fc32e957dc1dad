import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { exchange } from '../../test/support/raw-client.ts';
import { entriesOf } from './admin-requests.ts';
import { type Attack, check, type Target } from './attack.ts';
import { pause, rawRequest } from './raw-request.ts';

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

/** Attacks on the terminal and the browser of the reader of a report. */
export const reportAttacks: readonly Attack[] = [
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
      for (const path of ['x<script>alert(1)</script>', 'x[a](javascript:alert(1))', 'x```y', 'x|y|`z`', 'x'])
        await exchange(
          target.port,
          rawRequest(
            `POST /api/v1/${path}`,
            '{"data":{"<img/src=x>":1}}',
            'Authorization: Bearer hostile\r\n',
          ),
        );
      await pause(500, target.signal);
      const entries = await entriesOf(target.adminPort);
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

async function report({ folder }: Target, args: readonly string[]): Promise<string> {
  const command = [MAIN, 'report', join(folder, 'rewrite.log'), ...args];
  const env = { PATH: process.env['PATH'] ?? '' };
  try {
    return (await promisify(execFile)(process.execPath, command, { env, maxBuffer: 2 ** 26 })).stdout;
  } catch {
    // It says why on stderr; nothing was printed.
    return '';
  }
}

/** A guide without its blocks and spans of code, and without escaped characters: nothing in them is markup. */
function withoutCode(markdown: string): string {
  return markdown
    .replaceAll(/^(`{3,})[^\n]*\n[^]*?\n\1$/gm, '')
    .replaceAll(/(`+)[^`][^]*?\1/g, '')
    .replaceAll(/\\./g, '');
}
