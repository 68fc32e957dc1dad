import { createServer, type ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { createMigration } from '../../../src/library/capture-gateway.ts';
import { migrateListener } from '../../../src/node/library/migrate-listener.ts';
import { listening } from '../../support/listening.ts';
import { rawClient } from '../../support/raw-client.ts';
import { compiledShippedRuleBook } from '../../support/shipped-rule-book.ts';

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
