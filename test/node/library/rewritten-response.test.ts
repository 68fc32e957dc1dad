import { createServer, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { createMigration } from '../../../src/library/capture-gateway.ts';
import { readRuleBook } from '../../../src/rules/read-rule-book.ts';
import { migrateListener } from '../../../src/node/library/migrate-listener.ts';
import { listening } from '../../support/listening.ts';
import { exchange, rawClient } from '../../support/raw-client.ts';
import { bookIn } from '../../rules/reading.ts';
import { compiledShippedRuleBook } from '../../support/shipped-rule-book.ts';
import { until } from '../../support/until.ts';

/** Returns the informational responses that a V1 client reads; `methods` are those of another version of Node. */
async function informed(
  inform: (outgoing: ServerResponse) => void,
  methods: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const { ruleBook } = await compiledShippedRuleBook();
  const signals = { sunset: 1, links: [['deprecation', 'https://a/']], attributes: false } as const;
  const rollout = { clients: {}, brownouts: [], pins: [], signals };
  const listener = migrateListener(createMigration({ ...ruleBook, rollout }), (_incoming, outgoing) => {
    inform(outgoing);
    outgoing.end();
  });
  const server = createServer((incoming, outgoing) => {
    Object.assign(outgoing, methods);
    listener(incoming, outgoing);
  });
  const client = rawClient(await listening(server));
  client.write('GET /api/v1/orders/1 HTTP/1.1\r\nHost: a\r\n\r\n');
  const { text } = await client.until(/HTTP\/1\.1 200 [^]*\r\n\r\n/);
  client.socket.destroy();
  const [before = '', final = ''] = text.split('HTTP/1.1 200 ');
  expect(final).toMatch(/\r\nsunset: /i);
  return before;
}

const LINK = '</api/v2/a?b=%41#c>; rel=preload; title="</api/v2/a>"';
const LINK_IN_V1 = '</api/v1/a?b=%41#c>; rel=preload; title="</api/v2/a>"';

test('the links of early hints lead to V1, and nothing else is changed or added', async () => {
  const text = await informed((outgoing) => {
    outgoing.writeEarlyHints({ link: [LINK, '<//b/api/v2/a>; rel=preload'], 'x-a': '</api/v2/a>' });
    outgoing.writeEarlyHints({ link: [] });
    outgoing.writeProcessing();
  });
  const links = `${LINK_IN_V1}, <//b/api/v2/a>; rel=preload`;
  expect(text).toBe(
    `HTTP/1.1 103 Early Hints\r\nLink: ${links}\r\nx-a: </api/v2/a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n`,
  );
});

test.each([
  ['an object', { link: [LINK, LINK], 'x-a': 1 }, `link: ${LINK_IN_V1},${LINK_IN_V1}\r\nx-a: 1\r\n`],
  ['a list', ['Link', LINK, 'link', LINK], `Link: ${LINK_IN_V1}\r\nlink: ${LINK_IN_V1}\r\n`],
  ['pairs', [['link', LINK]], `link: ${LINK_IN_V1}\r\n`],
  ['none', undefined, ''],
  ['null', null, ''],
])(
  'the links of an informational response lead to V1, with its fields as %s',
  async (_form, fields, lines) => {
    let called = 0;
    const text = await informed((outgoing) => {
      const given = [110, fields, () => (called += 1)];
      Reflect.apply(Reflect.get(outgoing, 'writeInformation'), outgoing, given);
    });
    expect(text).toBe(`HTTP/1.1 110 unknown\r\n${lines}\r\n`);
    expect(called).toBe(1);
  },
);

test.each([[['link']], [{ link: undefined }], ['link'], [5]])(
  'Node refuses the fields %j',
  async (fields) => {
    await informed((outgoing) => {
      const write = (): unknown =>
        Reflect.apply(Reflect.get(outgoing, 'writeInformation'), outgoing, [103, fields]);
      expect(write).toThrow(/must|Invalid|invalid/);
    });
  },
);

test('early hints lead to V1 where Node has no general method for informational responses', async () => {
  const given: unknown[] = [];
  await informed((outgoing) => outgoing.writeEarlyHints({ link: LINK, 'x-a': 'b' }), {
    writeInformation: undefined,
    writeEarlyHints: (hints: unknown) => given.push(hints),
  });
  expect(given).toEqual([{ link: LINK_IN_V1, 'x-a': 'b' }]);
});

/** What a service sees while it responds, and what its client reads. */
interface Played {
  readonly seen: readonly unknown[];
  readonly text: string;
}

/** Lets a service respond to a request of V2, which is Node's own response, and to the same one of V1. */
async function playBoth(
  respond: (outgoing: ServerResponse, see: (seen: unknown) => void) => void,
): Promise<{ readonly plain: Played; readonly migrated: Played }> {
  const { ruleBook } = await compiledShippedRuleBook();
  const play = async (version: string): Promise<Played> => {
    const seen: unknown[] = [];
    const v2 = (_incoming: unknown, outgoing: ServerResponse): void => {
      outgoing.on('error', (error) => seen.push(['error', codeOf(error)]));
      outgoing.on('close', () => seen.push('close'));
      respond(outgoing, (event) => seen.push(event));
    };
    const port = await listening(createServer(migrateListener(createMigration(ruleBook), v2)));
    const request = `GET /api/${version}/orders/post_productions/1 HTTP/1.1\r\nHost: a\r\n\r\n`;
    const { text } = await exchange(port, request);
    await until(() => seen.includes('close'));
    return { seen, text };
  };
  return { plain: await play('v2'), migrated: await play('v1') };
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : error;
}

/** Calls a method with arguments that its type may not allow. */
function callMethod(outgoing: ServerResponse, name: string, given: readonly unknown[]): void {
  Reflect.apply(Reflect.get(outgoing, name), outgoing, given);
}

const JSON_FIELDS = { 'content-type': 'application/json' };
const BODY = '{"data":{"highlight_type":"x"}}';

test.each([
  ['as it is', {}, BODY],
  ['coded', { 'content-encoding': 'gzip' }, gzipSync(BODY)],
])(
  'a response that is sent %s has ended for the service as soon as it ends it',
  async (_how, fields, body) => {
    const { plain, migrated } = await playBoth((outgoing, see) => {
      const attempt = (act: () => unknown): void => {
        try {
          const returned = act();
          see(returned === outgoing ? 'itself' : returned);
        } catch (error) {
          see(['thrown', codeOf(error)]);
        }
      };
      const called =
        (name: string) =>
        (error?: unknown): void =>
          see([name, codeOf(error)]);
      outgoing.writeHead(200, { ...JSON_FIELDS, ...fields, 'content-length': body.length });
      attempt(() => outgoing.end(body, called('ended')));
      // The deprecated name, too: middleware that logs reads it.
      see([outgoing.writableEnded, Reflect.get(outgoing, 'finished'), outgoing.headersSent]);
      attempt(() => outgoing.end());
      attempt(() => outgoing.end(called('ended again')));
      attempt(() => outgoing.end('more', called('ended with more')));
      attempt(() => outgoing.write('more', called('written')));
      attempt(() => outgoing.writeHead(500));
      attempt(() => outgoing.setHeader('a', 'b'));
      attempt(() => outgoing.flushHeaders());
      outgoing.on('finish', () => outgoing.end(called('ended at last')));
    });
    expect(migrated.seen).toEqual(plain.seen);
    expect(migrated.seen).toContainEqual(['ended at last', 'ERR_STREAM_ALREADY_FINISHED']);
    expect(migrated.text).toMatch(/^HTTP\/1\.1 200 [^]*\r\n\r\n\{"data":\{"transition_type":"x"\}\}$/);
  },
);

test('a service may end a response twice while a transform takes its time', async () => {
  const ruleBook = await bookIn(`operations: { one: { match: GET /one, transform: ./t.js } }
changes: []
`);
  const called: unknown[] = [];
  const v2 = (_incoming: unknown, outgoing: ServerResponse): void => {
    outgoing.setHeader('content-type', 'application/json');
    outgoing.end('{"a":1}');
    outgoing.end(() => called.push('ended'));
    expect(outgoing.write('more', (error) => called.push(codeOf(error)))).toBe(false);
    expect(outgoing.end('more', (...outcome: unknown[]) => called.push(codeOf(outcome[0])))).toBe(outgoing);
  };
  const response = async (): Promise<{ readonly body: unknown }> => {
    await new Promise(setImmediate);
    return { body: { b: 2 } };
  };
  const migration = createMigration(ruleBook, { transforms: { './t.js': { response } } });
  const port = await listening(createServer(migrateListener(migration, v2)));
  const { text } = await exchange(port, 'GET /api/v1/one HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  expect(text).toMatch(/^HTTP\/1\.1 200 [^]*\r\n\r\n\{"b":2\}$/);
  const late = 'ERR_STREAM_WRITE_AFTER_END';
  expect(called).toEqual([late, late, 'ended']);
});

const MAP = new Map([['x-a', '1']]);

/** Each form of the arguments of `writeHead` that Node takes, or refuses. */
const HEADS: readonly (readonly unknown[])[] = [
  [200],
  [200, 'Fine'],
  [200, 'Fine', { 'x-a': '1' }],
  [200, 'Fine', undefined],
  [200, undefined, { 'x-a': '1' }],
  [200, null, { 'x-a': '1' }],
  [200, { 'x-a': '1' }, undefined],
  [200, { 'x-a': '1' }, { 'x-b': '2' }],
  [200, { 'x-a': 1, 'x-b': ['1', '2'], 'x-c': [1, 2], 'x-d': [], 'x-e': '', 'x-f': null }],
  [200, ['x-a', '1', 'X-B', '2', 'x-a', '3', 'x-c', ['4', '5']]],
  [200, 'Fine', ['x-a', 1]],
  [200, undefined, ['x-a', 1]],
  [200, []],
  [200, MAP],
  [200, new Headers({ 'x-a': '1' })],
  ['201', { 'x-a': '1' }],
  [201.9],
  [99],
  [1000],
  ['many'],
  [],
  [200, ['x-a', '1', 'x-b']],
  [200, 'Fi\nne'],
  [200, { 'x-a': undefined }],
  [200, { 'x-a': '1\n2' }],
  [200, { 'x a': '1' }],
];

/** The pairs that Node takes where no field was set before; it has no name for them. */
const PAIRS: readonly (readonly unknown[])[] = [
  [200, [['x-a', '1']]],
  [
    200,
    'Fine',
    [
      ['x-a', '1'],
      ['x-b', ['2', '3']],
      ['x-a', 4],
    ],
  ],
];

/** The status line and the fields of a response, but those that depend on its body and on the time. */
function headOf({ text }: Played): readonly string[] {
  const [head = ''] = text.split('\r\n\r\n');
  const isOwn = /^(?:date|content-length|transfer-encoding): /i;
  return head
    .split('\r\n')
    .filter((line) => !isOwn.test(line))
    .toSorted();
}

test.each([
  ...[...HEADS, ...PAIRS].map((given) => ({ given, isSetBefore: false })),
  ...HEADS.map((given) => ({ given, isSetBefore: true })),
])(
  'writeHead takes $given as Node does; with fields set before: $isSetBefore',
  async ({ given, isSetBefore }) => {
    const { plain, migrated } = await playBoth((outgoing, see) => {
      if (isSetBefore) outgoing.setHeader('x-a', ['0', '00']).setHeader('x-z', 0);
      try {
        callMethod(outgoing, 'writeHead', given);
      } catch (error) {
        see(codeOf(error));
        outgoing.statusCode = 500;
        outgoing.statusMessage = 'Failed';
      }
      outgoing.end(BODY);
    });
    expect(migrated.seen).toEqual(plain.seen);
    expect(headOf(migrated)).toEqual(headOf(plain));
  },
);

/** Ways of setting fields; Node 26 has no `writeHeader`. */
const WAYS: readonly (readonly [method: string, given: readonly unknown[]])[] = [
  ['writeHead', [200, undefined, JSON_FIELDS]],
  ['writeHead', [200, Object.entries(JSON_FIELDS)]],
  ['writeHeader', [200, JSON_FIELDS]],
  ['setHeaders', [new Headers(JSON_FIELDS)]],
  ['appendHeader', ['content-type', 'application/json']],
  ['setHeader', ['content-type', ['application/json']]],
  ['setHeaders', [new Map(Object.entries({ 'x-n': [1, 2], ...JSON_FIELDS }))]],
];

test.each(WAYS.filter(([method]) => method in ServerResponse.prototype))(
  'a response whose fields are set by %s is in names of V1',
  async (method, given) => {
    const { plain, migrated } = await playBoth((outgoing) => {
      callMethod(outgoing, method, given);
      outgoing.end(BODY);
    });
    expect(headOf(migrated)).toEqual(headOf(plain));
    expect(migrated.text).toMatch(/\{"data":\{"transition_type":"x"\}\}$/);
  },
);

// Without JSON.stringify, say: an empty 200 would hide it.
test.each([
  ['write', null],
  ['write', undefined],
  ['write', 5],
  ['write', { data: {} }],
  ['end', 5],
  ['end', { data: {} }],
])(
  '%s refuses the chunk %j as Node does, and the service can respond with an error',
  async (method, chunk) => {
    const { plain, migrated } = await playBoth((outgoing, see) => {
      outgoing.setHeader('content-type', 'application/json');
      try {
        callMethod(outgoing, method, [chunk]);
      } catch (error) {
        see([codeOf(error), outgoing.headersSent]);
      }
      outgoing.setHeader('content-type', 'text/plain');
      outgoing.statusCode = 500;
      outgoing.end('failed');
    });
    expect(migrated.seen).toEqual(plain.seen);
    expect(headOf(migrated)).toEqual(headOf(plain));
    expect(migrated.text).toMatch(/^HTTP\/1\.1 500 [^]*\r\n\r\nfailed$/);
  },
);

test.each([[null], [0], ['']])('end(%j) ends a response without a chunk', async (chunk) => {
  const { plain, migrated } = await playBoth((outgoing) => callMethod(outgoing, 'end', [chunk]));
  expect(headOf(migrated)).toEqual(headOf(plain));
});

test('a status that is set after the head is not sent', async () => {
  const { plain, migrated } = await playBoth((outgoing) => {
    outgoing.setHeader('content-type', 'application/json');
    outgoing.write(BODY);
    outgoing.statusCode = 500;
    outgoing.end();
  });
  expect(headOf(plain)).toContain('HTTP/1.1 200 OK');
  expect(headOf(migrated)).toEqual(headOf(plain));
});

test('header fields that are changed after the first part of the body throw, as Node’s do', async () => {
  const { plain, migrated } = await playBoth((outgoing, see) => {
    outgoing.writeHead(200, JSON_FIELDS);
    outgoing.write(BODY.slice(0, 5));
    for (const [name, given] of [
      ['setHeader', ['x-late', '1']],
      ['appendHeader', ['x-late', '1']],
      ['removeHeader', ['content-type']],
    ] as const) {
      try {
        callMethod(outgoing, name, given);
        see([name, 'taken']);
      } catch (error) {
        see([name, codeOf(error)]);
      }
    }
    outgoing.end(BODY.slice(5));
  });
  expect(migrated.seen).toEqual(plain.seen);
  expect(migrated.seen[0]).toEqual(['setHeader', 'ERR_HTTP_HEADERS_SENT']);
  expect(migrated.text).toContain('"transition_type"');
});

test.each([
  ['with its length', { 'content-length': BODY.length }],
  ['without', {}],
])('middleware can send the head itself, as express-session does: %s', async (_how, fields) => {
  const { plain, migrated } = await playBoth((outgoing, see) => {
    for (const [name, value] of Object.entries({ ...JSON_FIELDS, ...fields }))
      outgoing.setHeader(name, value);
    const sendHead = (): void => {
      const isSent = Reflect.get(outgoing, '_header') !== null;
      if (!isSent) callMethod(outgoing, '_implicitHeader', []);
    };
    // As on-headers does: the last chance to set fields, taken once.
    const writeHead = outgoing.writeHead.bind(outgoing);
    let heads = 0;
    outgoing.writeHead = (...given: unknown[]) => {
      heads += 1;
      if (heads === 1) outgoing.setHeader('set-cookie', 'id=1');
      return Reflect.apply(writeHead, undefined, given);
    };
    sendHead();
    see(outgoing.write(BODY.slice(0, -1)));
    sendHead();
    outgoing.end(BODY.slice(-1));
  });
  expect(migrated.seen).toEqual(plain.seen);
  expect(migrated.text.match(/^set-cookie: id=1\r$/gm)).toHaveLength(1);
  expect(migrated.text).toMatch(/\r\n\r\n\{"data":\{"transition_type":"x"\}\}$/);
});

test('lookups are made by the option of the migration, with the credentials of the client', async () => {
  const reading = await readRuleBook(
    `operations: { list: GET /deals }
changes:
  - id: owners
    summary: Deals had their owner in them.
    on: [list]
    response: [{ lookup: data.*.owner_id, get: '/users/{owner_id}', take: [name], as: owner }]
`,
    'rules.yaml',
  );
  if (!reading.ok) throw new Error(reading.faults.map(({ message }) => message).join('\n'));
  let origin = '';
  const migration = createMigration(reading.ruleBook, {
    lookup: (target, headers, signal) => fetch(origin + target, { headers, signal }),
  });
  const listener = migrateListener(migration, ({ url, headers }, outgoing) => {
    outgoing.setHeader('content-type', 'application/json');
    const name = `${url} ${headers.authorization}`;
    outgoing.end(url === '/api/v2/deals' ? '{"data":[{"owner_id":7}]}' : JSON.stringify({ data: { name } }));
  });
  origin = `http://127.0.0.1:${await listening(createServer(listener))}`;
  const response = await fetch(`${origin}/api/v1/deals`, { headers: { authorization: 'Bearer k' } });
  expect(await response.text()).toBe('{"data":[{"owner_id":7,"owner":{"name":"/api/v2/users/7 Bearer k"}}]}');
});
