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

test.each([
  [
    'without a token everybody could steer',
    {},
    /^GATEWAY_ADMIN_HOSTS is set; set the secret GATEWAY_ADMIN_TOKEN/,
  ],
  [
    'without an object a choice would hold in one isolate',
    { GATEWAY_ADMIN_TOKEN: 'a token of the tests' },
    /^GATEWAY_ADMIN_HOSTS is set, but the Durable Object ROLLOUT is not bound/,
  ],
])('a host for operators: %s', async (_, more, fault) => {
  const bindings: object = {
    GATEWAY_UPSTREAM: 'https://v2.test',
    GATEWAY_ADMIN_HOSTS: 'admin.test',
    ...more,
  };
  const outcome = createEdgeGateway({
    bindings,
    ruleBook: (await compiledShippedRuleBook()).ruleBook,
    print: () => {},
    later: () => {},
  });
  expect(outcome).toMatchObject({ faults: [expect.stringMatching(fault)] });
});
