import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { gatewayFor } from '../../support/gateway.ts';
import { exchange } from '../../support/raw-client.ts';
import { differences, readRawMessage, writeRawRequest, writeRawResponse } from '../../support/raw-message.ts';
import { rawServer } from '../../support/raw-server.ts';
import { requestRulesBook } from '../../support/request-rules-book.ts';
import { readTextCases } from '../../../src/cli/cases/text-cases.ts';

const text = readFileSync(new URL('rules.txt', import.meta.url), 'utf8');

test.each(readTextCases(text))('$title', async (textCase) => {
  const v2 = await rawServer((socket) => void socket.write(writeRawResponse(textCase.upstreamResponse)));
  const gateway = await gatewayFor(v2.origin, { rules: await requestRulesBook() });
  const response = await exchange(gateway.port, writeRawRequest(textCase.request));
  const received = v2.received.join('');
  const { upstream } = textCase;
  if (upstream === undefined) expect(received).toBe('');
  expect([
    ...(upstream === undefined ? [] : differences(upstream, readRawMessage(received))),
    ...differences(textCase.response, readRawMessage(response.text)),
  ]).toEqual([]);
  expect(gateway.surprises).toEqual([]);
});
