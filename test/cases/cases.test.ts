import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { gatewayFor } from '../support/gateway.ts';
import { exchange } from '../support/raw-client.ts';
import { rawServer } from '../support/raw-server.ts';
import { differences, readRawMessage, writeRawResponse, writeRawRequest } from '../support/raw-message.ts';
import { compiledRuleBookIn, compiledShippedRuleBook } from '../support/shipped-rule-book.ts';
import { requestRulesBook } from '../support/request-rules-book.ts';
import { responseRulesBook } from '../support/response-rules-book.ts';
import type { CompiledRuleBook } from '../../src/rewrite/compiled-rule-book.ts';
import { lookupAnswer, readTextCases, type TextCase } from '../../src/cli/cases/text-cases.ts';

const here = new URL('.', import.meta.url);

type BookOf = (textCase: TextCase) => CompiledRuleBook | Promise<CompiledRuleBook>;

const ownBook =
  (folder: string): BookOf =>
  () =>
    compiledRuleBookIn(new URL(`${folder}rules.yaml`, here));

/** Folders of cases, and the rule book of each: the shipped one, the one in its folder, or one that the case contains. */
const BOOKS: Readonly<Record<string, BookOf>> = {
  './': compiledShippedRuleBook,
  'prefixes/': ownBook('prefixes/'),
  'prefixes/shared/': ownBook('prefixes/shared/'),
  'prefixes/within/': ownBook('prefixes/within/'),
  'root/': ownBook('root/'),
  'root/below/': ownBook('root/below/'),
  'release/media/': ownBook('release/media/'),
  'release/query/': ownBook('release/query/'),
  'errors/': ownBook('errors/'),
  'parameters/': ownBook('parameters/'),
  'moved/': ownBook('moved/'),
  'override/': ownBook('override/'),
  'headers/': ownBook('headers/'),
  'lookups/': ownBook('lookups/'),
  'request-rules/': requestRulesBook,
  'response-rules/': responseRulesBook,
};

const FILES = Object.entries(BOOKS).flatMap(([folder, book]) =>
  readdirSync(new URL(folder, here))
    .filter((name) => name.endsWith('.txt'))
    .map((name) => [folder + name, book] as const),
);

describe.each(FILES)('%s', (file, book) => {
  test.each(readTextCases(readFileSync(new URL(file, here), 'utf8')))('$title', async (textCase) => {
    const requests: string[] = [];
    const v2 = await rawServer((socket, request) => {
      // All behind the first are lookups.
      const [, target = ''] = request.split(' ', 2);
      const isFirst = requests.push(request) === 1;
      const answer = isFirst ? textCase.upstreamResponse : lookupAnswer(textCase.lookups, target);
      socket.write(writeRawResponse(answer));
    });
    const gateway = await gatewayFor(v2.origin, { rules: await book(textCase) });
    const response = await exchange(gateway.port, writeRawRequest(textCase.request));
    const received = textCase.lookups.length === 0 ? v2.received.join('') : (requests[0] ?? '');
    const faults = differences(textCase.response, readRawMessage(response.text)).map(
      (fault) => `client: ${fault}`,
    );
    if (textCase.upstream === undefined) expect(received).toBe('');
    else
      faults.push(...differences(textCase.upstream, readRawMessage(received)).map((fault) => `V2: ${fault}`));
    expect(faults).toEqual([]);
    expect(gateway.surprises).toEqual([]);
  });
});
