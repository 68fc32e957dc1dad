import { expect, test } from 'vitest';
import { nextStep, statusText } from '../../src/cli/status.ts';
import type { RolloutView } from '../../src/rollout/rollout-tally.ts';
import { sampleRollout } from '../support/sample-rollout.ts';

const step = (mode: RolloutView['default'], parts: Partial<RolloutView> = {}): string | undefined =>
  nextStep(sampleRollout({ default: mode, ...parts }))?.[0];

test.each([
  [{ mode: 'observe', from: 'default' }, /^V1 serves .+ \(observe\): .+ rollout shadow\.$/],
  [{ mode: 'shadow', from: 'operator' }, /^V1 serves .+ \(shadow\): .+ rollout canary 5\.$/],
  [{ mode: 'canary', share: 5, from: 'operator' }, /^V2 serves 5 % of the clients .+ rollout migrate\.$/],
  [{ mode: 'verify', share: 5, from: 'operator' }, /^V2 serves .+ \(verify\): .+ report; .+ plan\.$/],
  [{ mode: 'migrate', from: 'rule-book' }, /^V2 serves .+ \(migrate\): .+ report; .+ plan\.$/],
] as const)('after %o status names the next step', (mode, sentence) => {
  expect(step(mode)).toMatch(sentence);
  expect(step(mode, { sunset: '2027-01-01T00:00:00.000Z' })).toBeUndefined();
});

test('the next step comes last, and not while requests fail', () => {
  const text = (level: 'good' | 'bad'): string =>
    statusText({ verdict: { level, label: '', sentence: 'It is so.' }, conditions: [] }, undefined, [
      'Go on.',
      'Mind the gap.',
    ]);
  expect(text('good')).toBe('It is so.\nnext    Go on.\ncareful Mind the gap.\n');
  expect(text('bad')).toBe('It is so.\n');
});

test('a terminal shows the local time of a sentence, and its date if that is not today; a file keeps the instant', () => {
  const now = new Date();
  const [today, before] = [now.toISOString(), '2020-01-05T12:00:00.123Z'];
  const sentence = `It fails since ${today}, and failed from ${before} until ${before}.`;
  const status = { verdict: { level: 'bad', label: '', sentence }, conditions: [] } as const;
  const clock = now.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
  expect(statusText(status, 200)).toMatch(
    new RegExp(`^It fails since ${clock}, and failed at \\d Jan 2020 \\d\\d:\\d\\d\\.\n$`),
  );
  expect(statusText(status, undefined)).toBe(`${sentence}\n`);
});
