/** @module-tag prometheus */
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { filled, printed } from './metrics/filled-metrics.ts';

test('metrics are clean to promtool', () => {
  const { status, stdout, stderr, error } = spawnSync('promtool', ['check', 'metrics'], {
    input: printed(filled(200)),
    encoding: 'utf8',
  });
  expect(error).toBeUndefined();
  expect(`${stdout}${stderr}`).toBe('');
  expect(status).toBe(0);
});
