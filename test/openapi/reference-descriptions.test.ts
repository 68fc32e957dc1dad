import { expect, test } from 'vitest';
import { CHANGE_MARK, type Description } from '../../src/openapi/description.ts';
import { deriveV1 } from '../../src/openapi/derive/derive-v1.ts';
import { proposeRuleBook } from '../../src/openapi/draft/propose-rule-book.ts';
import { printRuleBook } from '../../src/openapi/draft/print-rule-book.ts';
import { openReferenceStore } from '../../src/node/reference.ts';
import type { DialectName } from '../../src/reference/dialect.ts';
import { createReference, type ReferenceParts } from '../../src/reference/reference.ts';
import type { RuleBook } from '../../src/rules/rule-book.ts';
import { compiledShippedRuleBook } from '../support/shipped-rule-book.ts';
import { bookIn } from '../rules/reading.ts';

async function describe(name: DialectName, options: Partial<ReferenceParts> = {}): Promise<Description> {
  const reference = createReference({
    store: openReferenceStore(undefined),
    now: () => 0,
    dialects: [name],
    ...options,
  });
  return (await reference.request(`/api/${name}/openapi.json`)).json() as Promise<Description>;
}

/** A description without the marks of changes, and without the members in which it tells where it comes from. */
function comparable(description: Description): unknown {
  const { info, ...rest } = description;
  const { version: _release, 'x-derived-from': _origin, ...more } = info as Record<string, unknown>;
  return withoutMarks({ info: more, ...rest });
}

function withoutMarks(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMarks);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([name]) => name !== CHANGE_MARK);
  return Object.fromEntries(entries.map(([name, inside]) => [name, withoutMarks(inside)]));
}

test.each(['refuse', 'strip'] as const)(
  'V1’s derived description equals V1’s own, with unknown=%s',
  async (unknown) => {
    const { ruleBook } = await compiledShippedRuleBook();
    const { description, notes } = deriveV1(await describe('v2', { unknown }), ruleBook);
    expect(comparable(description)).toEqual(comparable(await describe('v1', { unknown })));
    expect(notes).toEqual([]);
  },
);

/** Every place of the derived description whose value V2's does not have at its own place has a mark, there or around it. */
test('every difference in a schema has the id of its change', async () => {
  const { ruleBook } = await compiledShippedRuleBook();
  const v2 = await describe('v2');
  const v1 = deriveV1(v2, ruleBook).description;
  const ids = ruleBook.changes.map(({ id }) => id);
  const unmarked: string[] = [];
  const compare = (one: unknown, other: unknown, path: string, around: boolean): void => {
    if (JSON.stringify(one) === JSON.stringify(other)) return;
    if (typeof one !== 'object' || one === null || typeof other !== 'object' || other === null) {
      if (!around) unmarked.push(path);
      return;
    }
    const marks = (one as Record<string, unknown>)[CHANGE_MARK];
    if (Array.isArray(marks)) for (const mark of marks) expect(ids).toContain(mark);
    for (const [name, inside] of Object.entries(one)) {
      if (name === CHANGE_MARK) continue;
      const before = Object.hasOwn(other, name) ? (other as Record<string, unknown>)[name] : undefined;
      const isMarked =
        around ||
        marks !== undefined ||
        (inside as Record<string, unknown> | null)?.[CHANGE_MARK] !== undefined;
      if (before === undefined && !isMarked) unmarked.push(`${path}/${name}`);
      if (before !== undefined) compare(inside, before, `${path}/${name}`, isMarked);
    }
  };
  const schemas = (description: Description): unknown =>
    (description['components'] as Record<string, unknown>)['schemas'];
  compare(schemas(v1), schemas(v2), '', false);
  expect(unmarked).toEqual([]);
  const paths = v1['paths'] as Record<string, Record<string, Record<string, unknown>>>;
  expect(paths['/api/v1/orders/post_productions']?.['post']?.[CHANGE_MARK]).toEqual([
    'highlight-type',
    'property-address',
    'body-wrapper',
  ]);
  expect(paths['/api/v1/clients']?.['get']?.[CHANGE_MARK]).toBeUndefined();
});

/** The request rules of each operation as text, without what removes nothing. */
function rulesOf(book: Pick<RuleBook, 'operations' | 'changes'>): Record<string, readonly string[]> {
  return Object.fromEntries(
    book.operations.map(({ id, method }) => [
      id,
      book.changes
        .filter(({ on }) => (on === 'every' ? method === 'POST' || method === 'PATCH' : on.includes(id)))
        .flatMap(({ request }) => request)
        .filter((rule) => rule.rule !== 'strip' || rule.members.length > 0)
        .map((rule) => JSON.stringify(rule))
        .toSorted(),
    ]),
  );
}

test('the draft from the two descriptions has the shipped rules, and nothing else', async () => {
  const shipped = (await compiledShippedRuleBook()).ruleBook;
  const draft = proposeRuleBook(await describe('v1'), await describe('v2'));
  // Nothing in the descriptions tells the release.
  const ruleBook = await bookIn(`version: ${shipped.version}\n${printRuleBook(draft)}`);
  expect(rulesOf(ruleBook)).toEqual(rulesOf(shipped));
  // The same description again, for V1 clients: the draft undoes in responses what the shipped rule book does.
  const v2 = await describe('v2');
  expect(comparable(deriveV1(v2, ruleBook).description)).toEqual(
    comparable(deriveV1(v2, shipped).description),
  );
  expect(ruleBook.changes.map(({ on }) => on)).toContain('every');
  expect([...draft.questions.values()].flat()).toEqual([]);
  const places = (book: RuleBook): readonly string[] =>
    book.operations.map(({ id, method, template }) => `${id} ${method} ${template}`).toSorted();
  expect(places(ruleBook)).toEqual(places(shipped));
});

test('attributes that V2 has dropped are deprecated in V1’s description once the draft may strip them', async () => {
  const [v1, v2] = await Promise.all([describe('v1', { deprecated: ['legacy_code'] }), describe('v2')]);
  const draft = printRuleBook(proposeRuleBook(v1, v2), undefined, 'unmarked');
  expect(draft).toMatch(/- \{ strip: legacy_code \}/);
  const ruleBook = await bookIn(draft);
  const derived = comparable(deriveV1(v2, ruleBook).description) as Description;
  const schemasOf = (description: Description): Record<string, Record<string, object>> =>
    (description['components'] as Record<string, Record<string, Record<string, object>>>)['schemas'] ?? {};
  const [own, made] = [schemasOf(comparable(v1) as Description), schemasOf(derived)];
  for (const name of Object.keys(own).filter((one) => one.endsWith('Attributes'))) {
    expect([name, made[name]]).toEqual([name, own[name]]);
  }
});
