import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { gatewayFor } from '../support/gateway.ts';
import { exchange } from '../support/raw-client.ts';
import { rawServer } from '../support/raw-server.ts';
import { differences, readRawMessage, writeRawResponse, writeRawRequest } from '../support/raw-message.ts';
import { compiledRuleBookIn, compiledShippedRuleBook } from '../support/shipped-rule-book.ts';
import { readTextCases } from '../../src/cli/cases/text-cases.ts';

const here = new URL('.', import.meta.url);

/** The cases of the rule book that ships, and of each folder with a rule book of its own. */
const BOOKS = ['', 'prefixes/', 'prefixes/shared/', 'moved/', 'override/', 'headers/'] as const;

const FILES = BOOKS.flatMap((folder) =>
  readdirSync(new URL(folder, here))
    .filter((name) => name.endsWith('.txt'))
    .map((name) => [folder, name] as const),
);

for (const [folder, file] of FILES) {
  describe(folder + file, () => {
    const book = new URL(`${folder}rules.yaml`, here);
    test.each(readTextCases(readFileSync(new URL(folder + file, here), 'utf8')))(
      '$title',
      async (textCase) => {
        const v2 = await rawServer(
          (socket) => void socket.write(writeRawResponse(textCase.upstreamResponse)),
        );
        const gateway = await gatewayFor(v2.origin, {
          rules: folder === '' ? await compiledShippedRuleBook() : await compiledRuleBookIn(book),
        });
        const response = await exchange(gateway.port, writeRawRequest(textCase.request));
        const received = v2.received.join('');
        const faults = differences(textCase.response, readRawMessage(response.text)).map(
          (fault) => `client: ${fault}`,
        );
        if (textCase.upstream === undefined) expect(received).toBe('');
        else
          faults.push(
            ...differences(textCase.upstream, readRawMessage(received)).map((fault) => `V2: ${fault}`),
          );
        expect(faults).toEqual([]);
        expect(gateway.surprises).toEqual([]);
      },
    );
  });
}
