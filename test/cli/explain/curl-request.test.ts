import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readCurl, shellWords } from '../../../src/cli/explain/curl-request.ts';
import { ProgressBar } from '../../../src/cli/terminal.ts';
import { lineDiff } from '../../../src/inspector/diff/unified-diff.ts';
import { curlCommand } from '../../../src/inspector/entries/curl.ts';

const noFile = (): never => {
  throw new Error('no file');
};

describe('a curl command', () => {
  test.each([
    ["curl 'https://x/a'", { method: 'GET', target: '/a' }],
    ['curl https://x/a -d a=1 -d b=2', { method: 'POST', body: 'a=1&b=2' }],
    ['curl -sSXPATCH https://x/a --data-raw "@x"', { method: 'PATCH', body: '@x' }],
    ['curl --request=PUT --url https://x/a', { method: 'PUT', target: '/a' }],
    [
      'curl https://x/a --json \'{"a":1}\'',
      { body: '{"a":1}', headers: [['Content-Type', 'application/json']] },
    ],
    ['curl https://x/a \\\n  -H "X-A: b\\"c" \\\n  -o /dev/null -k', { headers: [['X-A', 'b"c']] }],
    ["curl https://x/a -d $'it\\'s \\u00e9\\n'", { body: "it's é\n" }],
    ['curl -u me:secret https://x/a', { headers: [['Authorization', 'Basic …']] }],
    [
      'curl https://x/a -F a=b -F c=@d',
      { method: 'POST', body: '…', headers: [['Content-Type', 'multipart/form-data']] },
    ],
    ['curl -sI https://x/a', { method: 'HEAD', target: '/a' }],
    ['# a comment\ncurl https://x/a', { target: '/a' }],
  ])('%s', (text, expected) => {
    expect(readCurl(text, noFile)).toMatchObject(expected);
  });

  test.each(["curl 'https://x", 'curl -X', 'curl -d @nothing https://x', 'curl'])('%s is a fault', (text) => {
    expect(readCurl(text, noFile)).toHaveProperty('fault');
  });

  test.each(['curl -G https://x/a -d b=c', 'curl -sT file https://x/a', 'curl --config file https://x/a'])(
    '%s would be another request than it seems: it is not supported',
    (text) => {
      expect(readCurl(text, noFile)).toEqual({
        fault: expect.stringMatching(/^-{1,2}\w+ of the curl command is not supported; give the address/),
      });
    },
  );

  test('that we print reads as what it was printed from, whatever is in it', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', minLength: 1 }),
        fc.string({ unit: 'grapheme-ascii', minLength: 1 }),
        (body, value) => {
          const header = value.trim();
          const command = curlCommand(
            {
              method: 'POST',
              target: '/api/v1/clients?a=b',
              headers: [
                { name: 'Content-Type', value: 'application/json', masked: false },
                { name: 'X-Some', value: header, masked: false },
              ],
              body: { state: 'values', text: body, bytes: 1 },
            },
            'http://127.0.0.1:8080',
          );
          expect(readCurl(command, noFile)).toEqual({
            method: 'POST',
            target: '/api/v1/clients?a=b',
            headers: [
              ['Content-Type', 'application/json'],
              ['X-Some', header],
            ],
            body,
          });
        },
      ),
    );
  });

  test('that we print sends no file of the operator, however a client begins its body', () => {
    const body = { state: 'values', text: '@/etc/passwd', bytes: 1 } as const;
    const text = curlCommand({ method: 'POST', target: '/{a,b}[1-9]', headers: [], body }, 'http://x');
    expect(text).toContain("--data-raw '@/etc/passwd'".replaceAll("'", ''));
    expect(text).toMatch(/^curl --globoff /);
  });

  test('never throws', () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.constantFrom('curl ', '-', 'd', 'X', ' ', "'", '"', '\\', '$', '@', '#', '\n', 'x:1'),
        }),
        (text) => {
          expect(readCurl(text, noFile)).toBeDefined();
          expect(shellWords(text)?.every((word) => typeof word === 'string') ?? true).toBe(true);
        },
      ),
    );
  });
});

describe('a line diff', () => {
  test('gives both texts again', () => {
    const lines = fc.array(fc.constantFrom('a', 'b', 'c', 'd,'), { maxLength: 12 });
    fc.assert(
      fc.property(lines, lines, (old, now) => {
        const diff = lineDiff(old.join('\n'), now.join('\n'));
        const bare = (text: string): string => text.replace(/,$/, '');
        expect(
          diff
            .filter(({ sign }) => sign !== '+')
            .map(({ text }) => bare(text))
            .join('\n'),
        ).toBe(old.map(bare).join('\n'));
        expect(
          diff
            .filter(({ sign }) => sign !== '-')
            .map(({ text }) => text)
            .join('\n'),
        ).toBe(now.join('\n'));
      }),
    );
  });
});

describe('a progress bar', () => {
  test('is drawn on a terminal, ten times a second at the most, and nowhere else', () => {
    let now = 0;
    const texts: string[] = [];
    const output = { isTTY: true, columns: 80, write: (text: string) => texts.push(text) };
    const bar = new ProgressBar(output, 1000e6, () => now);
    for (now = 0; now <= 1000; now += 10) bar.show(now * 0.5e6);
    bar.clear();
    expect(texts.length).toBeLessThan(15);
    expect(texts.at(-2)).toMatch(/█+░+ +\d+ %  \d+ MB\/s  1 s left/);
    const silent: string[] = [];
    new ProgressBar({ write: (text) => silent.push(text) }, 10, () => now).show(5);
    expect(silent).toEqual([]);
  });
});
