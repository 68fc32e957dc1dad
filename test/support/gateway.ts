import { expect, onTestFinished } from 'vitest';
import type { CompiledRuleBook } from '../../src/rewrite/compiled-rule-book.ts';
import { settings } from '../../src/settings/settings.ts';
import { RuleBooks } from '../../src/node/rule-books.ts';
import { type NodeGatewayParts, type RunningGateway, startGateway } from '../../src/node/start-gateway.ts';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import { entryLine } from '../../src/rewrite-log/entry-line.ts';
import type { RuleBook } from '../../src/rules/rule-book.ts';
import { type AdminCalls, adminCalls } from './admin-calls.ts';
import { compiledTestRuleBook } from './rule-book.ts';
import { testSettings } from './settings.ts';
import { until } from './until.ts';

/** A gateway under test: the real one on real sockets, with its log at hand. */
export interface TestGateway extends RunningGateway, AdminCalls {
  readonly port: number;
  readonly adminPort: number;
  readonly lines: readonly string[];
  /** Entries so far, from the lines. */
  entries(): readonly Entry[];
  /** Waits for the nth entry, from 1. */
  entry(count?: number): Promise<Entry>;
  /** The reported bugs. A test that does not look at them fails by them. */
  readonly surprises: readonly unknown[];
}

export interface TestGatewayOptions {
  /** Settings by name, over the defaults; see `testSettings`. */
  readonly flags?: Readonly<Record<string, string>>;
  readonly ruleBook?: Partial<RuleBook>;
  /** A rule book in force, instead of the one of tests. */
  readonly rules?: CompiledRuleBook;
  readonly parts?: Partial<NodeGatewayParts>;
}

/** Starts a gateway in front of `upstream`, such as `http://127.0.0.1:4711`; it ends with the test. */
export async function gatewayFor(upstream: string, options: TestGatewayOptions = {}): Promise<TestGateway> {
  const own = testSettings({
    listen: '127.0.0.1:0',
    'admin-listen': '127.0.0.1:0',
    'drain-delay': '0',
    upstream,
    ...options.flags,
  });
  const lines: string[] = [];
  const surprises: unknown[] = [];
  let areSeen = false;
  const rules = options.rules ?? compiledTestRuleBook(options.ruleBook);
  const origin = own.get(settings.upstream);
  if (origin === undefined) throw new Error('there is no upstream');
  const running = await startGateway({
    settings: own,
    ruleBooks: new RuleBooks({ rules, text: '' }, () => Promise.resolve({ rules, text: '' }), Date.now),
    origin,
    clientSecret: 'a secret of the tests',
    record: (entry) => void lines.push(entryLine(entry)),
    upstreamTls: undefined,
    clientTls: undefined,
    onUnexpectedError: (error) => void surprises.push(error),
    ...options.parts,
  });
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopped ??= running.stop());
  onTestFinished(async () => {
    running.server.destroyAll();
    await stop();
    if (!areSeen) expect(surprises).toEqual([]);
  });
  const entries = (): readonly Entry[] => lines.map((line) => JSON.parse(line) as Entry);
  return {
    ...running,
    ...adminCalls(running.adminOrigin),
    stop,
    port: Number(new URL(running.origin).port),
    adminPort: Number(new URL(running.adminOrigin).port),
    lines,
    get surprises() {
      areSeen = true;
      return surprises;
    },
    entries,
    entry: async (count = 1) => {
      await until(() => lines.length >= count);
      const entry = entries()[count - 1];
      if (entry === undefined) throw new Error(`there are ${lines.length} entries, not ${count}`);
      return entry;
    },
  };
}
