import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { compilePlans } from '../../src/rewrite/plan.ts';
import { OperationTable } from '../../src/rules/rule-book.ts';
import { readRuleBook } from '../../src/rules/read-rule-book.ts';
import { fencedBlocks } from '../support/doc-pages.ts';

const page = readFileSync(new URL('../../docs/rule-book.md', import.meta.url), 'utf8');
const [, cookbook = ''] = page.split('## Cookbook');
const blocks = fencedBlocks(cookbook.split('\n## ')[0] ?? '');
const recipes = blocks
  .filter(({ language }) => language === 'yaml')
  .map(({ text }, n) => {
    const [before = '', after = ''] =
      blocks.filter(({ language }) => language === 'json')[n]?.text.split('\n') ?? [];
    return { text, rule: /unwrap|nest|rename|strip|only|map/.exec(text)?.[0], before, after };
  });

/** The operations of the shipped rule book that recipes name. */
const OPERATIONS = {
  create_client: '/clients',
  order_floor_plan: '/orders/floor_plans',
  order_post_production: '/orders/post_productions',
};

describe('the cookbook', () => {
  test('has a recipe for each request rule', () => {
    expect(recipes.map(({ rule }) => rule)).toEqual(['unwrap', 'nest', 'rename', 'strip', 'only', 'map']);
  });

  test.each(recipes)('$rule does what it says, byte for byte', async ({ text, before, after }) => {
    const [id = 'create_client', path = ''] =
      Object.entries(OPERATIONS).find(([operation]) => text.includes(operation)) ??
      Object.entries(OPERATIONS)[0] ??
      [];
    const source = `version: 2025-01-01\noperations: { ${id}: POST ${path} }\nchanges:\n${text.replaceAll(/^/gm, '  ')}`;
    const reading = await readRuleBook(source, 'recipe.yaml');
    if (!reading.ok) throw new Error(reading.faults.map(({ message }) => message).join('\n'));
    const operation = new OperationTable(reading.ruleBook.operations).match('POST', path);
    const outcome = compilePlans(reading.ruleBook).of(operation).rewrite(new TextEncoder().encode(before));
    if (outcome.verdict === 'refused') throw new Error(outcome.refusal.detail);
    expect(new TextDecoder().decode(outcome.body)).toBe(after);
  });
});
