/**
 * @module-tag bash
 * @module-tag curl
 * @module-tag java
 * @module-tag python
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { createInvoicing } from '../../examples/invoicing/service.mts';
import { loadRuleBook } from '../../src/node/rule-books.ts';
import { gatewayFor } from '../support/gateway.ts';
import { JAVA } from '../support/java.ts';
import { listening } from '../support/listening.ts';

const CLIENTS = 'examples/invoicing/clients';
const JARS = ['core', 'databind', 'annotations'].map((part) => `/usr/share/java/jackson-${part}.jar`);

/** Each client as its first lines say, and whether it notices by itself what V1 would not have written. */
const COMMANDS: readonly (readonly [client: string, command: readonly string[], isStrict: boolean])[] = [
  ['BillsClient.java', [...JAVA, '-cp', JARS.join(':')], true],
  ['bills_client.py', ['python3'], true],
  ['bills.sh', ['bash'], false],
];

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function run(command: readonly string[], client: string, origin: string): Promise<Ended> {
  const [program = '', ...before] = command;
  // Java says on its standard error that it has these.
  const { JAVA_TOOL_OPTIONS: _, ...environment } = process.env;
  const ending = promisify(execFile)(program, [...before, `${CLIENTS}/${client}`, `${origin}/api/v1`], {
    env: { ...environment, PYTHONIOENCODING: 'utf-8' },
  });
  return ending.then(
    ({ stdout, stderr }) => ({ code: 0, out: stdout, err: stderr }),
    (error: Error & { code: number; stdout: string; stderr: string }) => ({
      code: error.code,
      out: error.stdout,
      err: error.stderr,
    }),
  );
}

/** The service of the example with no bills, so that each run gets the same ids. */
const invoicing = async (): Promise<string> => `http://127.0.0.1:${await listening(createInvoicing())}`;

/** A gateway before V2 with the rule book of the example, without some of its changes. */
async function gatewayWithout(...ids: readonly string[]): Promise<string> {
  const loaded = await loadRuleBook('examples/invoicing/rules.yaml');
  if ('faults' in loaded) throw new Error(loaded.faults.join('\n'));
  if (ids.length === 0) return (await gatewayFor(await invoicing(), { rules: loaded.rules })).origin;
  const { ruleBook } = loaded.rules;
  const changes = ruleBook.changes.filter(({ id }) => !ids.includes(id));
  expect(changes.length).toBe(ruleBook.changes.length - ids.length);
  return (await gatewayFor(await invoicing(), { ruleBook: { ...ruleBook, changes } })).origin;
}

/** Changes of the rule book that V1's clients could not do without. */
const NEEDED = ['customer', 'amount-in-cents', 'due-time', 'invoice-id', 'lines'] as const;

test.each(COMMANDS)(
  '%s prints the same with V1 and with the gateway, and something else where a change is missing',
  { timeout: 300_000 },
  async (client, command, isStrict) => {
    const before = await run(command, client, await invoicing());
    expect([before.code, before.err]).toEqual([0, '']);
    expect(before.out).toContain('/bills/7/lines');
    expect(await run(command, client, await gatewayWithout())).toEqual(before);
    for (const id of NEEDED) {
      const without = await run(command, client, await gatewayWithout(id));
      expect([id, without.code === 0, without.out === before.out]).toEqual([id, !isStrict, false]);
    }
  },
);
