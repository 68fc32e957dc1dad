import { expect, test } from 'vitest';
import { createEdgeGateway } from '../../src/edge/edge-gateway.ts';
import { compiledShippedRuleBook } from '../support/shipped-rule-book.ts';

test('an isolate has no report of clients: the setting that offers it is a fault', async () => {
  const bindings: object = { GATEWAY_UPSTREAM: 'https://v2.test', GATEWAY_SELF_SERVICE: 'on' };
  const outcome = createEdgeGateway({
    bindings,
    ruleBook: (await compiledShippedRuleBook()).ruleBook,
    print: () => {},
    later: () => {},
  });
  expect(outcome).toMatchObject({
    faults: [expect.stringMatching(/^GATEWAY_SELF_SERVICE .* an isolate at the edge has no report/)],
  });
});
