import { expect, test } from 'vitest';
import { CompiledRuleBook } from '../../src/rewrite/compiled-rule-book.ts';
import { loadRuleBook, RuleBooks } from '../../src/node/rule-books.ts';

test('a reading that throws fails alone: the next one is read', async () => {
  const shipped = await loadRuleBook('config/rules.yaml');
  if ('faults' in shipped) throw new Error(shipped.faults.join('\n'));
  const readings = [Promise.reject(new Error('out of files')), Promise.resolve(shipped)];
  const books = new RuleBooks(shipped, async () => (await readings.shift()) ?? { faults: [] }, Date.now);
  await expect(books.reload()).rejects.toThrow('out of files');
  expect(await books.reload()).toMatchObject({ changed: false, wasRefused: false, faults: [] });
});

test('the list of changes names what a rule book changed, and a refusal that is read twice once', async () => {
  const shipped = await loadRuleBook('config/rules.yaml');
  if ('faults' in shipped) throw new Error(shipped.faults.join('\n'));
  const { ruleBook } = shipped.rules;
  const [first] = ruleBook.operations;
  const rules = new CompiledRuleBook({ ...ruleBook, hash: 'other', operations: first ? [first] : [] });
  const refused = { faults: ['rules.yaml:1:1 no'] };
  const readings = [refused, refused, { text: '', rules }];
  const books = new RuleBooks(shipped, async () => readings.shift() ?? refused, Date.now);
  for (let read = 0; read < 3; read += 1) await books.reload();
  expect(books.refused).toBe(2);
  expect(books.rulesSince).toBe(books.since);
  expect(books.history.map(({ fault, changed }) => fault ?? changed)).toEqual([
    [`${ruleBook.operations.length - 1} operations removed`],
    'rules.yaml:1:1 no',
  ]);
});
