import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Change } from '../../../src/rules/rule-book.ts';
import type { RequestRule } from '../../../src/rules/rule.ts';
import { gatewayFor } from '../../support/gateway.ts';
import { exchange } from '../../support/raw-client.ts';
import { readRawMessage, writeRawResponse, writeRawRequest } from '../../support/raw-message.ts';
import { rawServer } from '../../support/raw-server.ts';
import { responseRule } from '../../support/response-plan-of.ts';
import { testRuleBook } from '../../support/rule-book.ts';
import { differences, readTextCases } from '../../support/text-case.ts';

const STRIP: RequestRule = { rule: 'strip', members: ['legacy'], in: [] };

const text = readFileSync(new URL('rules.txt', import.meta.url), 'utf8');

test.each(readTextCases(text))('$title', async (textCase) => {
  const rules = (textCase.options['response'] ?? '').split(';').map((rule) => responseRule(rule.trim()));
  const { changes: all } = testRuleBook();
  const changes = all.map((change): Change =>
    change.on === 'every' ? { ...change, request: [...change.request, STRIP], response: rules } : change,
  );
  const v2 = await rawServer((socket) => void socket.write(writeRawResponse(textCase.upstreamResponse)));
  const gateway = await gatewayFor(v2.origin, { ruleBook: { changes } });
  const response = await exchange(gateway.port, writeRawRequest(textCase.request));
  const { upstream } = textCase;
  expect([
    ...(upstream === undefined ? [] : differences(upstream, readRawMessage(v2.received.join('')))),
    ...differences(textCase.response, readRawMessage(response.text)),
  ]).toEqual([]);
  expect(gateway.surprises).toEqual([]);
});
