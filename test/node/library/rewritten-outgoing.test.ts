import { createServer, type ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { createMigration } from '../../../src/library/capture-gateway.ts';
import { migrateListener } from '../../../src/node/library/migrate-listener.ts';
import { listening } from '../../support/listening.ts';
import { exchange } from '../../support/raw-client.ts';
import { compiledShippedRuleBook } from '../../support/shipped-rule-book.ts';
import { until } from '../../support/until.ts';

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
