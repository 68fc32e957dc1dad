import { readFileSync } from 'node:fs';
import type { PageFile } from '../../src/inspector/api.ts';
import type { CompiledRuleBook } from '../../src/rewrite/compiled-rule-book.ts';
import { createOperators, type Operators } from '../../src/node/admin/operators.ts';
import type { SharedState } from '../../src/rollout/shared-state.ts';
import { RuleBooks } from '../../src/node/rule-books.ts';
import { gatewayFor, type TestGateway } from './gateway.ts';
import { rawServer, type RawServer } from './raw-server.ts';
import { compiledShippedRuleBook } from './shipped-rule-book.ts';
import { testSettings } from './settings.ts';

/** A gateway under test with what operators see, in front of a V2 of bytes. */
export interface Inspected extends TestGateway {
  readonly v2: RawServer;
  readonly operators: Operators;
  /** Sends a V1 request with a JSON body; returns the status. */
  post(path: string, body: string, headers?: Record<string, string>): Promise<number>;
}

/** Starts one, with the shipped rule book by default; V2 responds with 201 with a body. It ends with the test. */
export async function inspected(
  flags: Readonly<Record<string, string>> = {},
  response: string | (() => string) = '{"data":{"id":"id-of-an-order"}}',
  page: () => ReadonlyMap<string, PageFile> = () =>
    new Map([['/', { mediaType: 'text/html', body: '<!doctype html>' }]]),
  rulesInForce?: CompiledRuleBook,
  status = 201,
  records?: SharedState,
): Promise<Inspected> {
  const server = await rawServer((socket) => {
    const body = typeof response === 'string' ? response : response();
    socket.write(
      `HTTP/1.1 ${status} Created\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
  });
  const rules = rulesInForce ?? (await compiledShippedRuleBook());
  const book = { rules, text: readFileSync(new URL('../../config/rules.yaml', import.meta.url), 'utf8') };
  const ruleBooks = new RuleBooks(book, () => Promise.resolve(book), Date.now);
  const operators = await createOperators({
    settings: testSettings(flags),
    ruleBooks,
    sink: { dropped: 3 },
    origin: server.origin,
    gatewayOrigin: () => gateway.origin,
    version: '0.0.0-test',
    program: 'capture-gateway',
    page,
    fleetStore: records,
  });
  const gateway: TestGateway = await gatewayFor(server.origin, {
    flags,
    rules,
    parts: {
      ruleBooks,
      observer: operators.observer,
      admin: operators.admin,
      ownReport: operators.ownReport,
    },
  });
  return {
    ...gateway,
    v2: server,
    operators,
    post: async (path, body, headers = {}) => {
      const response = await fetch(`${gateway.origin}/api/v1${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body,
      });
      await response.arrayBuffer();
      return response.status;
    },
  };
}
