import { expect, test } from 'vitest';
import { createEdgeGateway } from '../../src/edge/gateway.ts';
import { compiledShippedRuleBook } from '../support/shipped-rule-book.ts';

test('everything that keeps a worker from serving is a fault, and all faults are named at once', async () => {
  const bindings: object = {
    GATEWAY_V1_UPSTREAM: 'unix:/run/v1.sock',
    GATEWAY_SELF_SERVICE: 'on',
    GATEWAY_STORE: 'file:/tmp/store.json',
    GATEWAY_ADMIN_HOSTS: 'admin.test',
    GATEWAY_UPSTREAM_HOST: 'v2.test',
    GATEWAY_RULES: 'rules.yaml',
    GATEWAY_LOG_FILE: 'log.ndjson',
    GATEWAY_CONFIG: 'gateway.yaml',
  };
  const outcome = createEdgeGateway({
    bindings,
    ruleBook: (await compiledShippedRuleBook()).ruleBook,
    print: () => {},
    later: () => {},
  });
  expect(outcome).toMatchObject({
    faults: [
      'Unset GATEWAY_RULES, GATEWAY_UPSTREAM_HOST: without effect at the edge.',
      'Unset GATEWAY_CONFIG: there are no files at the edge; its variables are its settings.',
      'Unset GATEWAY_LOG_FILE, or set it to off: there are no files at the edge.',
      'Unset GATEWAY_SELF_SERVICE: an isolate at the edge keeps no report.',
      'Unset GATEWAY_STORE: at the edge the Durable Object ROLLOUT is the store.',
      'There are no Unix sockets at the edge; set an http or https address.',
      'GATEWAY_ADMIN_HOSTS is set; set the secret GATEWAY_ADMIN_TOKEN, too.',
      'Set GATEWAY_UPSTREAM: there is no embedded V2 at the edge.',
    ],
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
