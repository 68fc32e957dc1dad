import { describe, expect, test } from 'vitest';
import type { RolloutScreen } from '../../src/inspector/api.ts';
import { assumptionsOf } from '../../src/inspector/explain/explain-rules.ts';
import { inspected } from '../support/inspected.ts';
import { compiledShippedRuleBook } from '../support/shipped-rule-book.ts';

interface Refused {
  readonly errors: readonly { readonly detail: string }[];
}

// Each refusal is played, and afterwards nothing of the command has happened.
describe('a command that is refused', () => {
  test('says what is missing, and changes nothing', async () => {
    const gateway = await inspected();
    await gateway.post('/clients', '{"data":{"name":"Ada"}}');
    await gateway.entry();
    const before = { ...(await gateway.readJson<RolloutScreen>('/rollout')), state: undefined };
    const refused = async (path: string, body: string, type = 'application/json'): Promise<string> => {
      const response = await fetch(`${gateway.adminOrigin}${path}`, {
        method: 'POST',
        headers: { 'content-type': type },
        body,
      });
      return `${response.status} ${((await response.json()) as Refused).errors[0]?.detail}`;
    };
    for (const path of ['/rollout', '/clients', '/entries/1/resend'])
      expect(await refused(path, '{}', 'text/plain')).toBe('400 Send application/json.');
    expect(await refused('/clients', '{"client":"0123456789abcdef","name":"acme"}')).toBe(
      '422 The gateway keeps names in a file: set GATEWAY_CLIENT_NAMES, and start it again.',
    );
    expect(await refused('/entries/1/resend', '{"key":"k"}')).toBe(
      '403 Set GATEWAY_INSPECTOR_RESEND=v2 to allow this.',
    );
    expect(await refused('/rollout', '{"mode":"canary"}')).toBe(
      '422 A canary needs a share of the clients in percent, and verify a share of the reads; no other mode has one.',
    );
    expect(await refused('/rollout', 'x'.repeat(5000))).toMatch(/^413 /);
    // Attack: a page of another site posts a form. An invalid choice is refused as well.
    for (const body of [
      '',
      '[]',
      '{"mode":"all"}',
      '{"mode":"observe","else":1}',
      '{"mode":"canary","share":"10"}',
    ])
      expect(await refused('/rollout', body)).toMatch(/^400 Send JSON with mode, /);
    expect(await refused('/rollout', '{"mode":"migrate","operation":"create_client","client":"x"}')).toBe(
      '422 Name an operation or a client, not both.',
    );
    expect(await refused('/rollout', '{"mode":"observe"}')).toBe(
      '422 The mode observe sends requests to V1; start the gateway with GATEWAY_V1_UPSTREAM.',
    );
    expect(await refused('/rollout', '{"mode":"migrate","client":"nobody"}')).toBe(
      '422 No client is called nobody; give its hash of 16 hex digits, or name it in the rule book.',
    );
    expect(await gateway.readJson<object>('/rollout')).toEqual({ ...before, state: expect.any(Object) });
    expect(gateway.v2.received).toHaveLength(1);
  });

  test('for an exchange that is not kept says so', async () => {
    const gateway = await inspected({ 'inspector-resend': 'v2' });
    const missing = async (path: string, method: string): Promise<readonly [number, string]> => {
      const response = await fetch(`${gateway.adminOrigin}${path}`, {
        method,
        ...(method === 'POST'
          ? { headers: { 'content-type': 'application/json' }, body: '{"key":"k"}' }
          : {}),
      });
      return [response.status, ((await response.json()) as Refused).errors[0]?.detail ?? ''];
    };
    const notKept = 'The content of this exchange is not kept.';
    expect(await missing('/entries/7/resend', 'POST')).toEqual([404, notKept]);
    expect(await missing('/entries/7/har', 'GET')).toEqual([404, notKept]);
    expect(await missing('/entries/find?id=none', 'GET')).toEqual([
      404,
      'No exchange with this request id is kept.',
    ]);
  });
});

test('the assumptions are exactly those that the rule book marks', async () => {
  const { ruleBook } = await compiledShippedRuleBook();
  const assumptions = assumptionsOf(ruleBook);
  expect(assumptions).toContain('The path of create_booking, POST /bookings, is assumed.');
  expect(assumptions).toContain('Where or whether property-address applies is assumed in part.');
  expect(assumptions.filter((one) => / create_client,| order_floor_plan,| body-wrapper /.test(one))).toEqual(
    [],
  );
});
