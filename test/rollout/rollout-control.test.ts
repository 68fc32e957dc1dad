import { expect, test } from 'vitest';
import { chooseMode, type RoutedMode } from '../../src/rollout/modes.ts';
import { RolloutControl } from '../../src/rollout/rollout-control.ts';
import type { RolloutCommand } from '../../src/rollout/rollout-state.ts';
import type { Mode } from '../../src/rules/rollout.ts';
import { testRuleBook } from '../support/rule-book.ts';

const OBSERVE: Mode = { mode: 'observe' };
const canary = (share: number): Mode => ({ mode: 'canary', share });
const OTHER = 'create_client';

function bookOf(hash: string): ReturnType<typeof testRuleBook> {
  const modes = {
    default: OBSERVE,
    operations: {},
    clients: {},
    rollback: { window: 60_000, margin: 5, requests: 30 },
  };
  return testRuleBook({ hash, rollout: { clients: {}, brownouts: [], pins: [], modes } });
}

/** A gateway that serves migrated requests of the default's canary. */
class Stage {
  readonly notices: string[] = [];
  readonly control = new RolloutControl({
    time: () => 1_800_000_000_000,
    onNotice: (sentence) => this.notices.push(sentence),
  });
  book = bookOf('1');

  choose(...commands: readonly RolloutCommand[]): void {
    for (const command of commands) this.control.command(command);
  }

  begin(): RoutedMode {
    return {
      ...chooseMode(this.control.modes(this.book), { client: undefined, operation: undefined }),
      origin: 'v2',
    };
  }

  fail(requests: number): void {
    for (let n = 0; n < requests; n += 1) this.control.count(this.begin(), '5xx');
  }

  /** Migrated requests in the window of the default's canary. */
  get counted(): number | undefined {
    this.control.modes(this.book);
    return this.control.counts.get(undefined)?.migrated.requests;
  }
}

test.each<readonly [name: string, commands: readonly RolloutCommand[], isKept: boolean]>([
  ['a mode for an operation', [{ operation: OTHER, mode: OBSERVE }], true],
  ['another canary', [{ operation: OTHER, mode: canary(5) }], true],
  ['a mode for a client', [{ client: '0123456789abcdef', mode: OBSERVE }], true],
  ['the same choice again', [{ mode: canary(10) }], true],
  ['another share', [{ mode: canary(20) }], false],
  ['the end of the canary, and its share again', [{ mode: OBSERVE }, { mode: canary(10) }], false],
])('after %s the canary counts on only if it is the same stage', (_, commands, isKept) => {
  const stage = new Stage();
  stage.choose({ mode: canary(10) });
  stage.fail(29);
  stage.choose(...commands);
  expect(stage.counted ?? 0).toBe(isKept ? 29 : 0);
  stage.fail(1);
  expect(stage.notices).toEqual(
    isKept
      ? [expect.stringMatching(/^canary of 10 % rolled back to observe: 30 of 30 migrated requests failed/)]
      : [],
  );
});

test('a canary is rolled back once, also with requests in flight', () => {
  const stage = new Stage();
  stage.choose({ mode: canary(10) });
  const begun = Array.from({ length: 40 }, () => stage.begin());
  for (const routed of begun) stage.control.count(routed, '5xx');
  expect(stage.notices).toHaveLength(1);
});

test('requests in flight count for the stage in which they began, whatever else is chosen', () => {
  const stage = new Stage();
  stage.choose({ mode: canary(10) });
  const begun = Array.from({ length: 10 }, () => stage.begin());
  stage.choose({ operation: OTHER, mode: OBSERVE });
  for (const routed of begun) stage.control.count(routed, 'success');
  expect(stage.counted).toBe(10);
  stage.choose({ mode: canary(20) });
  for (const routed of begun) stage.control.count(routed, 'success');
  expect(stage.counted ?? 0).toBe(0);
});

test('another rule book makes other requests, and is another stage', () => {
  const stage = new Stage();
  stage.choose({ mode: canary(10) });
  stage.fail(29);
  stage.book = bookOf('2');
  expect(stage.counted ?? 0).toBe(0);
});
