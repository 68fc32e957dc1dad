import { expect, test } from 'vitest';
import { loadRuleBook, RuleBooks } from '../../src/node/rule-books.ts';

test('a reading that throws fails alone: the next one is read', async () => {
  const shipped = await loadRuleBook('config/rules.yaml');
  if ('faults' in shipped) throw new Error(shipped.faults.join('\n'));
  const readings = [Promise.reject(new Error('out of files')), Promise.resolve(shipped)];
  const books = new RuleBooks(shipped, async () => (await readings.shift()) ?? { faults: [] }, Date.now);
  await expect(books.reload()).rejects.toThrow('out of files');
  expect(await books.reload()).toMatchObject({ changed: false, wasRefused: false, faults: [] });
});
