import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ReadRequests } from '../../../src/inspector/explain/curl-command.ts';
import { readPasted } from '../../../src/inspector/explain/pasted-request.ts';
import { bytesOf, readBash, textOf } from '../../../src/inspector/explain/shell-words.ts';
import { curlCommand } from '../../../src/inspector/entries/curl.ts';
import { CODE_POINT } from '../../support/code-point.ts';
import { asSent, MEASURED_COMMANDS, printSent, SENT_FILES } from '../../support/sent-by-curl.ts';

function readFile(path: string): Uint8Array {
  const text = SENT_FILES[path];
  if (text === undefined) throw new Error('no file');
  return new TextEncoder().encode(text);
}

const read = (text: string): ReadRequests => readPasted(text, readFile);

/** The faults and notes of a text, in one string. */
function said(text: string): string {
  const { faults, notes } = read(text);
  return [...faults.map(({ fault }) => fault), ...notes].join(' | ');
}

const BODY = '{"data":{"name":"O\'Neil & \\"Co\\" 100% é!"}}';
const JSON_TYPE = ['content-type', 'application/json'];
const URL = 'https://api.example/api/v1/clients?a=1%20b&c=d';
const POSTED = [{ method: 'POST', target: '/api/v1/clients?a=1%20b&c=d', body: BODY }];

test.each(MEASURED_COMMANDS)('curl sends for $command the request that is read', ({ command, sent }) => {
  const requests = read(command.replaceAll('HOST', '127.0.0.1:1'));
  expect(printSent(asSent(requests))).toEqual(printSent(sent));
  if (sent.length === 0) expect(requests.faults).toHaveLength(1);
});

describe('what browsers copy', () => {
  const posix = BODY.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('!', '\\u0021');
  test.each([
    [
      'Chrome, cURL (bash)',
      `curl '${URL}' \\\n  -H 'accept: */*' \\\n  -H 'content-type: application/json' \\\n  -b 'a=b' \\\n  --data-raw $'${posix}' ;`,
    ],
    [
      'Firefox, cURL (POSIX)',
      `curl '${URL}' --compressed -X POST -H 'content-type: application/json' --data-raw $'${posix}'`,
    ],
    [
      'Chrome, fetch',
      `fetch("${URL}", {\n  "headers": {\n    "accept": "*/*",\n    "content-type": "application/json"\n  },\n  "referrer": "https://a.example/",\n  "referrerPolicy": "strict-origin",\n  "body": ${JSON.stringify(BODY)},\n  "method": "POST",\n  "mode": "cors",\n  "credentials": "include"\n});`,
    ],
    [
      'Firefox, fetch',
      `await fetch("${URL}", {\n    "credentials": "include",\n    "headers": {\n        "Content-Type": "application/json"\n    },\n    "body": ${JSON.stringify(BODY)},\n    "method": "POST"\n});`,
    ],
    [
      'the text of a request',
      `POST /api/v1/clients?a=1%20b&c=d HTTP/1.1\r\nHost: api.example\r\nContent-Type: application/json\r\n\r\n${BODY}`,
    ],
    [
      'the text of a request without a version, as editors keep it',
      `### create\n# @name create\nPOST ${URL}\nContent-Type: application/json\n\n${BODY}`,
    ],
  ])('%s is read as the original request', (_, text) => {
    const { requests, faults } = read(text);
    expect(faults).toEqual([]);
    expect(requests.map(({ request }) => request)).toMatchObject(POSTED);
    const fields = requests[0]?.request.headers?.map(([name, value]) => [name.toLowerCase(), value]);
    expect(fields).toContainEqual(JSON_TYPE);
  });
});

/** What Chrome and Firefox, in the versions of ten years, put around a value for cmd.exe. */
const FOR_CMD: Readonly<Record<string, (text: string) => string>> = (() => {
  const doubled = (text: string): string => text.replaceAll('\\', '\\\\');
  const careted = (text: string, plain: RegExp): string =>
    text
      .replaceAll(plain, '^$&')
      .replaceAll(/%(?=[a-zA-Z0-9_])/g, '%^')
      .replaceAll('\n', '^\n\n');
  const chrome = /[^a-zA-Z0-9\s_\-:=+~'/.',?;()*`]/g;
  const slashed = (text: string): string => doubled(text).replaceAll('"', '\\"');
  return {
    'Chrome since 2022': (text) => `^"${careted(slashed(text), chrome)}^"`,
    'Chrome since 2018': (text) => {
      const quote = text.includes('\n') ? '^"' : '"';
      return quote + careted(slashed(text), chrome) + quote;
    },
    'Chrome before': (text) =>
      `"${doubled(text.replaceAll('"', '""').replaceAll('%', '"%"')).replaceAll('\n', '"^\n"')}"`,
    'Firefox since 2024': (text) =>
      `^"${careted(slashed(text).replaceAll(/[`$]/g, '\\$&'), /[^a-zA-Z0-9\s_\-:=+~/.',?;()*$&\\{}"`]/g)}^"`,
    'Firefox before': (text) =>
      `"${doubled(text).replaceAll('"', '""').replaceAll('%', '"%"').replaceAll('\n', '"^\n\n"')}"`,
  };
})();

test.each(Object.keys(FOR_CMD))(
  'a copy of %s for cmd.exe is named as such, or means the same in bash',
  (browser) => {
    const quote = FOR_CMD[browser] ?? String;
    for (const body of [
      '{"a":"O\'Neil & \\"Co\\" 100% é!","e":"","f":[{}]}',
      '{"a":"x^y|z<w>","p":"%PATH%","s":"$(calc) `x` $y","n":"a\\nb","w":"C:\\\\d\\\\"}',
      '{\n  "a": 1,\n  "b": ["😀"]\n}',
      'a=1&b=2%20c',
    ])
      for (const joint of [' ', ' ^\n  ', ' ^\r\n  ']) {
        const fields = ['content-type: application/json', 'sec-ch-ua: "Chromium";v="126"'];
        const parts = [`curl ${quote(URL)}`, ...fields.map((field) => `-H ${quote(field)}`)];
        const text = [...parts, `--data-raw ${quote(body)}`].join(joint);
        const { requests } = read(text);
        if (requests.length === 0)
          expect(said(text)).toContain('This is a command for cmd.exe, which is not read');
        else
          expect(requests.map(({ request }) => request)).toMatchObject([
            { body, headers: expect.arrayContaining([['sec-ch-ua', '"Chromium";v="126"']]) },
          ]);
      }
  },
);

describe('a text in another form', () => {
  test.each([
    ["axios.post('https://x/api/v1/a', {})", 'a call to axios'],
    ['wget https://x/api/v1/a', 'begins with wget'],
    ['http POST https://x/api/v1/a a=b', 'begins with http'],
    ['https://x/api/v1/a', 'Write curl before it'],
    ["fetch('https://x/api/v1/a', options)", 'a program around a call to fetch'],
    ['fetch("https://x/api/v1/a", options)', 'not fetch("…", {…}) with JSON'],
    ['fetch("https://x/api/v1/a", {"body": JSON.stringify(a)})', 'are not JSON'],
    ['fetch("https://x/api/v1/a", {body: "a"})', 'are not JSON'],
    ['fetch("https://x/a", {"headers": [["a", "b"]]})', 'headers of the call to fetch are not an object'],
    ['fetch("https://x/a", {"method": "PUT", "body": {}})', 'body of the call to fetch is not a text'],
    ['fetch(`https://${host}/api/v1/a`)', 'a program around a call to fetch'],
    ['Invoke-WebRequest -Uri $url -Method POST', 'a command for PowerShell'],
    ['$r = irm https://x/a -Body ($body | ConvertTo-Json)', 'a command for PowerShell'],
    ['$session.UserAgent = "a"\nInvoke-WebRequest `\n-Uri "https://x/a"', 'a command for PowerShell'],
    ['curl -Uri https://x/a -Method Post', 'a command for PowerShell'],
    ["curl.exe -X POST https://x/a `\n  -d '{}'", 'a command for PowerShell'],
    ['curl.exe https://x/a -d \'{\\"a\\":1}\'', 'a command for PowerShell'],
    ["curl -X POST 'https://x/a' ^\n-d '{}'", 'a command for cmd.exe'],
    ['curl %BASE%/api/v1/a ^\n -H ^"a: b^"', 'a command for cmd.exe'],
    ['for i in 1 2; do curl https://x/a/$i; done', 'a loop, a condition or a function of a shell'],
    ['if true; then curl http://h/a; fi', 'a loop, a condition or a function of a shell'],
    ['post() { curl -d "$1" https://x/a; }; post {}', 'a loop, a condition or a function of a shell'],
    ['function get { curl https://x/a; }\nget', 'a loop, a condition or a function of a shell'],
    ['cd x\nwhile read l; do curl https://x/a; done', 'a script with while'],
    ['eval "curl http://h/a"', 'a script with eval'],
    ["bash -c 'curl http://h/a'", 'curl is an argument of bash'],
    ['ssh host curl http://h/a', 'curl is an argument of ssh'],
    ['(curl http://h/a)', 'parentheses outside quotes'],
    ['A=(http://h/a -H "A: b"); curl "${A[@]}"', 'parentheses outside quotes'],
    ['curl https://x/a -d @<(echo 1)', 'reads a file with <'],
    ['curl https://x/a -d "$(cat f)"', 'The command has $(…) or `…`'],
    ['curl https://x/a -d `cat f`', 'The command has $(…) or `…`'],
    ['TOKEN=$(curl http://h/login); curl http://h/a', 'The command has $(…) or `…`'],
    ['curl -d @- http://h/a <<EOF\n{}\nEOF', 'here-document'],
    ["curl -d @- http://h/a <<< '{}'", 'here-document'],
    ['curl -d @- http://h/a < f', 'reads a file with <'],
    ['cat f | curl http://h/a -d @-', 'A pipe gives curl its input'],
    ['echo x |& curl http://h/a -d @-', 'A pipe gives curl its input'],
    ['import requests\nrequests.get("https://x")', 'requests'],
    ['> POST /api/v1/a HTTP/1.1\n> Host: x', 'This is the output of curl -v'],
    ['for %i in (1 2) do curl http://h/a/%i', 'This is a loop of cmd.exe'],
    ['FOR /L %%i IN (1,1,3) DO curl http://h/a', 'This is a loop of cmd.exe'],
    ['seq 3 | xargs -I{} curl http://h/a/{}', 'curl is an argument of xargs, which is not run'],
    ['find . -exec curl -d @{} http://h/a \\;', 'curl is an argument of find'],
    ['for (const id of ids) { await fetch(`http://h/a/${id}`) }', 'a program around a call to fetch'],
    ["ids.forEach(i => fetch('http://h/a'))", 'a program around a call to fetch'],
    ["(async () => { await fetch('http://h/a') })()", 'a program around a call to fetch'],
    ["const b = {};\nfetch('http://h/a', { body: b })", 'a program around a call to fetch'],
    ['fetch("https://x/a", {"body": "x"})', 'fetch sends no GET with a body'],
    ['fetch("ftp://x/a")', 'ftp://x/a is not an HTTP address'],
    ['', 'There is no command.'],
  ])('%s is named', (text, sentence) => {
    expect(said(text)).toContain(sentence);
    expect(read(text).requests).toEqual([]);
  });
});

describe('parts of a command that are not known', () => {
  test.each([
    [
      'curl "$BASE/api/v1/clients"',
      '/api/v1/clients',
      'The value of $BASE is not known: it is taken as scheme and host',
    ],
    ['curl "${BASE}/api/v1/a?b=c"', '/api/v1/a?b=c', '${BASE}'],
    ['BASE=https://x; curl "$BASE/api/v1/a"', '/api/v1/a', ''],
    ['export BASE="https://x"\ncurl "$BASE/api/v1/a"', '/api/v1/a', ''],
    ['curl https://$HOST/a', '/a', 'The value of $HOST'],
    ['curl https://api.$DOMAIN:8443/a', '/a', 'The value of $DOMAIN'],
    ['curl "$SCHEME://$HOST:$PORT"', '/', 'The values of $SCHEME and $HOST and $PORT are not known'],
    ['curl -o ~/out https://x/a', '/a', ''],
    [
      'curl https://x/a -H "$AUTH"',
      '/a',
      'The header field $AUTH is not known: the request is read without it.',
    ],
    ['curl https://x/a -H "Authorization: Bearer $TOKEN"', '/a', ''],
    ['curl https://x/a -H "X-A: $V"', '/a', 'The value of $V in X-A is not known: it is used as written.'],
    ['curl https://x/a?b=1&c=2', '/a?b=1', 'In a shell, & ends the command'],
  ])('%s is explained, with a note', (text, target, sentence) => {
    const { requests, notes, faults } = read(text);
    expect(faults).toEqual([]);
    expect(requests.map(({ request }) => request.target)).toEqual([target]);
    if (sentence === '') expect(notes).toEqual([]);
    else expect(notes.join()).toContain(sentence);
  });

  test.each([
    ['curl "https://x/$ID"', 'The address uses the variable $ID'],
    ['curl "https://x$PATH/a"', 'The address uses the variable $PATH'],
    ['curl "${BASE}clients/a"', 'The address uses the variable ${BASE}'],
    ['curl "$URL"', 'The address uses the variable $URL'],
    ['curl $OPTS https://x/a', 'The command uses the variable $OPTS'],
    ['curl "${OPTS[@]}" https://x/a', 'The command uses the variable ${OPTS[@]}'],
    ['A=x; A+=y; curl -d $A https://x/a', 'The body uses the variable $A'],
    ["A='x  y'; curl -d $A https://x/a", 'The body uses the variable $A'],
    ['curl https://x/a -d "${A:-b}"', 'The body uses the variable ${A:-b}'],
    ['curl "https://$HOST/a?b=$C"', 'The address uses the variable $C'],
    ['curl -T ~/f https://x/a', 'The file uses the variable ~'],
    ['curl https://{{host}}/a', 'The address has {{host}}, which another tool fills in'],
    ['curl //x/a', 'curl does not take //x/a as an address'],
    ['curl https://x/a -H “Accept: text/csv”', 'text/csv” ends with a typographic quote'],
    ['curl https://x/a -d "{\\"a\\":$N}"', 'The body uses the variable $N'],
    ['curl https://x/a -d a{1..3}', 'braces outside quotes'],
    ['curl https://x/a{1..3}', 'braces outside quotes'],
    ['curl https://x/a -H Accept: application/json', 'application/json is neither an option'],
    ['curl https://x/a -H Accept: */*', '*/* is neither an option'],
    ['curl https://a@b:c@x/a', 'is neither an option of curl nor an address'],
    ["curl -F 'a=1;encoder=base64' https://x/a", 'A part with an encoder'],
    ['curl https://x/a -d @gone', 'the file gone, which cannot be read'],
    ['curl --frob https://x/a', 'curl has no option --frob'],
    ['curl -sWhat https://x/a', 'curl has no option -W (in -sWhat)'],
    ['curl https://x/a -d {"a":1,"b":2}', 'braces outside quotes'],
    ['curl https://x/a "b c"', 'The address "b c" has a space'],
    ['curl -X POST https://x/a -d “{"a":1}” b', 'b is neither an option of curl nor an address'],
    ['curl – https://x/a', '– begins with a typographic'],
    ['curl https://x/a \\ \n -H "a: b"', 'the backslash before it must be the last character'],
    ['curl ftp://x/a', 'ftp://x/a is not an HTTP address'],
    ['curl -K f https://x/a', 'the file f, which cannot be read'],
    ['curl --expand-data x https://x/a', 'fills in variables'],
    ["curl 'https://x", 'unclosed quote'],
    ['curl -X', '-X of the curl command has no value'],
    ['curl', 'no address'],
  ])('%s is a fault', (text, sentence) => {
    expect(said(text)).toContain(sentence);
  });

  test.each([
    ['objects', `fetch("https://x/a", ${'{'.repeat(200_000)}`, 'not fetch("…", {…}) with JSON'],
    ['calls', `${'fetch("http://h/a");'.repeat(20_000)}fetch(`, 'not fetch("…", {…}) with JSON'],
    ['expansions', `curl ${'${a:-'.repeat(90_000)}`, 'is not a pattern that curl expands'],
    ['variables', `curl ${'$$'.repeat(200_000)}`, 'The address uses the variable $$'],
    ['assignments', `curl ${'='.repeat(500_000)}`, 'is neither an option of curl nor an address'],
  ])('a text as large as can be pasted is a fault where its %s have no end', (_, text, sentence) => {
    expect(said(text)).toContain(sentence);
  });

  test('a request that cannot be read does not hide others', () => {
    const { requests, faults } = read(
      'curl https://x/a "b c" https://x/d --next -d @gone https://x/e\ncurl https://x/f | jq . > out',
    );
    expect(requests.map(({ name }) => name)).toEqual(['GET /a', 'GET /d', 'GET /f']);
    expect(faults.map(({ name }) => name)).toEqual(['b c', 'curl']);
  });
});

test.each([
  ['curl https://x/a -T f.txt -o out --retry 3 --proxy http://p:1 -E cert --resolve x:1:::1', 'PUT /a'],
  ['curl --request=PUT --url=https://x/a', 'PUT /a'],
  ['# a comment\n$ curl https://x/a', 'GET /a'],
  ['sudo /usr/bin/curl https://x/a', 'GET /a'],
  ['time -p nice -n 5 curl https://x/a', 'GET /a'],
  ['docker run --rm curlimages/curl https://x/a', 'GET /a'],
  ['X=1 time curl.exe https://x/a 2>/dev/null', 'GET /a'],
  ['C:\\Users\\me>curl https://x/a', 'GET /a'],
  ['PS C:\\> curl.exe https://x/a', 'GET /a'],
  ['root@host:~# curl https://x/a', 'GET /a'],
  ['[me@host dir]$ curl https://x/a', 'GET /a'],
  ['curl /api/v1/clients', 'GET /api/v1/clients'],
  ['curl localhost:8080/api/v1/clients', 'GET /api/v1/clients'],
])('%s is %s', (text, name) => {
  const { requests, faults } = read(text);
  expect(faults).toEqual([]);
  expect(requests.map((request) => request.name)).toEqual([name]);
});

test('a command that the gateway prints is read back as the same request, with any content', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: CODE_POINT, minLength: 1 }).filter((text) => text.isWellFormed()),
      fc.string({ unit: 'grapheme-ascii', minLength: 1 }),
      (body, value) => {
        const header = value.trim();
        fc.pre(header !== '' && !body.includes('\r\n'));
        const command = curlCommand(
          {
            method: 'POST',
            target: '/api/v1/clients?a=b&c[]=d',
            headers: [
              { name: 'Content-Type', value: 'application/json', masked: false },
              { name: 'X-Some', value: header, masked: false },
            ],
            body: { state: 'values', text: body, bytes: 1 },
          },
          'http://127.0.0.1:8080',
        );
        expect(read(command)).toEqual({
          requests: [
            {
              name: 'POST /api/v1/clients?a=b&c[]=d',
              request: {
                method: 'POST',
                target: '/api/v1/clients?a=b&c[]=d',
                headers: [
                  ['Content-Type', 'application/json'],
                  ['X-Some', header],
                ],
                body,
              },
            },
          ],
          faults: [],
          notes: [],
        });
      },
    ),
  );
});

test('a command that the gateway prints sends no file of the operator, however a client begins its body', () => {
  const body = { state: 'values', text: '@/etc/passwd', bytes: 1 } as const;
  const text = curlCommand({ method: 'POST', target: '/{a,b}[1-9]', headers: [], body }, 'http://x');
  expect(text).toContain("--data-raw '@/etc/passwd'".replaceAll("'", ''));
  expect(text).toMatch(/^curl --globoff /);
});

test('words in single quotes are their bytes, and nothing makes a reader throw', () => {
  const unit = fc.constantFrom(
    'curl ',
    '-',
    'd',
    'X',
    ' ',
    "'",
    '"',
    '\\',
    '$',
    '@',
    '#',
    '\n',
    'x:1',
    '^',
    '`',
    '{',
    '[',
    '<<E',
    '(',
    ')',
    'fetch(',
    'iwr ',
    '@{',
    'é',
    '&',
    '|',
    '>',
    '=',
    'u12',
    '%A%',
  );
  fc.assert(
    fc.property(fc.string({ unit }), fc.string({ unit: 'grapheme' }), (text, word) => {
      expect(read(text)).toBeDefined();
      expect(read(`fetch(${text}`)).toBeDefined();
      expect(read(`iwr ${text}`)).toBeDefined();
      const commands = readBash(`'${word.replaceAll("'", `'\\''`)}'`);
      if ('fault' in commands) throw new Error(commands.fault);
      expect(commands.map(({ words }) => words.map(({ bytes }) => bytes))).toEqual([
        [bytesOf(word.replaceAll('\r\n', '\n'))],
      ]);
      expect(textOf(bytesOf(word))).toBe(word);
    }),
  );
});

describe('texts that are pasted as they stand somewhere', () => {
  test.each<[string, string, readonly string[]]>([
    [
      'all requests as fetch',
      'fetch("http://h/api/v1/a", {\n  "headers": { "x": "y" },\n  "method": "GET"\n}); ;\nfetch("http://h/api/v1/b", { "method": "DELETE" });',
      ['GET /api/v1/a x: y', 'DELETE /api/v1/b'],
    ],
    ['a fence of a page', '```bash\ncurl h/api/v1/a\n```', ['GET /api/v1/a']],
  ])('%s', (_what, text, expected) => {
    const { requests, faults } = read(text);
    expect(faults).toEqual([]);
    expect(
      requests.map(({ request: { method, target, headers = [] } }) =>
        [method, target, headers.map((field) => field.join(': ')).join(', ')].join(' ').trim(),
      ),
    ).toEqual(expected);
  });

  test.each([
    ['curl -d @- h/api/v1/a', 'reads standard input, which is not available here'],
    ['curl h/api/v1/clients/<id>', 'write a value in place of <…>'],
    ['curl h/api/v1/clients >', 'followed by the name of a file, which is missing'],
    ['curl\u00a0h/api/v1/clients', 'curl[U+00A0]h/api/v1/clients'],
    ['fetch("http://h/api/v1/a", {"headers": "x"})', 'are not an object'],
  ])('%s says: %s', (text, sentence) => {
    expect(read(text).requests).toEqual([]);
    expect(said(text)).toContain(sentence);
  });
});

test('the line ends of a file do not change the credentials', () => {
  const [front] = read('curl --crlf -u me:pw http://h/api/v1/x -d a').requests;
  expect(front?.request.headers).toContainEqual(expect.arrayContaining(['Authorization', 'Basic bWU6cHc=']));
});
