import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { gatewayFor } from '../support/gateway.ts';
import { exchange } from '../support/raw-client.ts';
import { rawServer } from '../support/raw-server.ts';
import { differences, readRawMessage, writeRawResponse, writeRawRequest } from '../support/raw-message.ts';
import { compiledShippedRuleBook } from '../support/shipped-rule-book.ts';
import { readTextCases } from '../../src/cli/cases/text-cases.ts';

const here = new URL('.', import.meta.url);

for (const file of readdirSync(here).filter((name) => name.endsWith('.txt'))) {
  describe(file, () => {
    test.each(readTextCases(readFileSync(new URL(file, here), 'utf8')))('$title', async (textCase) => {
      const v2 = await rawServer((socket) => void socket.write(writeRawResponse(textCase.upstreamResponse)));
      const gateway = await gatewayFor(v2.origin, { rules: await compiledShippedRuleBook() });
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
    });
  });
}
