import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { Ajv } from 'ajv';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { ALL_BOOKS } from '../../src/rules/kinds/books.ts';
import { ruleBookForm } from '../../src/rules/rule-book-source.ts';
import { ruleBookWarnings } from '../../src/rules/check-rule-book.ts';
import { sources } from './arbitrary-source.ts';
import { bookIn } from './reading.ts';
import { VALUE_CHECKS } from '../../src/rules/value-checks.ts';

const text = read('config/rules.yaml');

describe('the rule book that ships', () => {
  test('has the operations of the API, and marks the paths that are not confirmed', async () => {
    const { operations } = await bookIn(text);
    expect(
      operations.map(({ id, method, template, assumed }) => [id, `${method} ${template}`, assumed]),
    ).toEqual([
      ['create_client', 'POST /clients', false],
      ['order_floor_plan', 'POST /orders/floor_plans', false],
      ['create_booking', 'POST /bookings', true],
      ['create_contact', 'POST /contacts', true],
      ['order_post_production', 'POST /orders/post_productions', true],
      ['create_virtual_tour', 'POST /virtual_tours', true],
      ['update_property', 'PATCH /properties/{id}', true],
      ['heartbeat', 'GET /heartbeat', false],
      ...[
        ['client', 'clients', '/clients'],
        ['floor_plan_order', 'floor_plan_orders', '/orders/floor_plans'],
        ['booking', 'bookings', '/bookings'],
        ['contact', 'contacts', '/contacts'],
        ['post_production_order', 'post_production_orders', '/orders/post_productions'],
        ['virtual_tour', 'virtual_tours', '/virtual_tours'],
        ['property', 'properties', '/properties'],
      ].flatMap(([one, many, path]) => [
        [`list_${many}`, `GET ${path}`, true],
        [`read_${one}`, `GET ${path}/{id}`, true],
        [`delete_${one}`, `DELETE ${path}/{id}`, true],
      ]),
    ]);
  });

  test('has the rules of the specification, in its order', async () => {
    const { version, changes } = await bookIn(text);
    expect(version).toBe('2025-01-01');
    expect(changes.map(({ id, on, request, response }) => ({ id, on, request, response }))).toEqual([
      {
        id: 'body-wrapper',
        on: 'every',
        request: [{ rule: 'unwrap', member: 'data' }],
        response: [{ rule: 'errors', details: expect.any(Object), status: ['4xx', '5xx'] }],
      },
      {
        id: 'property-address',
        on: ['order_floor_plan', 'order_post_production'],
        request: [
          {
            rule: 'nest',
            members: ['street_address', 'suburb', 'state', 'postcode', 'country', 'latitude', 'longitude'],
            in: ['property'],
            under: 'address',
          },
        ],
        response: [{ rule: 'inverse', status: ['2xx'] }],
      },
      {
        id: 'highlight-type',
        on: ['order_post_production'],
        request: [{ rule: 'rename', member: 'transition_type', in: [], to: 'highlight_type' }],
        response: [{ rule: 'inverse', status: ['2xx'] }],
      },
      {
        id: 'highlight-type-filter',
        on: ['list_post_production_orders'],
        request: [],
        response: [{ rule: 'errors', details: {}, status: ['4xx', '5xx'] }],
      },
      {
        id: 'removed-attributes',
        on: 'every',
        request: [],
        response: [{ rule: 'deprecations', path: ['data', 'deprecations'], status: ['2xx'] }],
      },
    ]);
  });

  test('spells out the default policies and limits', async () => {
    const { policies, limits, hash } = await bookIn(text);
    const bare = await bookIn(text.slice(0, text.indexOf('# What to do where')));
    expect({ policies, limits, hash }).toEqual({
      policies: bare.policies,
      limits: bare.limits,
      hash: bare.hash,
    });
  });

  test('lists its assumptions', async () => {
    const { operations, changes } = await bookIn(text);
    expect([operations.length, changes.length]).toEqual([29, 5]);
    const assumed = [
      ...operations.map((one) => ({ ...one, text: `operation ${one.id}: ${one.method} ${one.template}` })),
      ...changes.map((one) => ({ ...one, text: `change ${one.id}: ${one.summary}` })),
    ].filter((one) => one.assumed && !/^operation (?:list|read|delete)_/.test(one.text));
    expect(assumed.map((one) => one.text)).toEqual([
      'operation create_booking: POST /bookings',
      'operation create_contact: POST /contacts',
      'operation order_post_production: POST /orders/post_productions',
      'operation create_virtual_tour: POST /virtual_tours',
      'operation update_property: PATCH /properties/{id}',
      'change property-address: The address attributes of a new property are nested under address.',
      'change highlight-type-filter: The filter transition_type of post production orders is called highlight_type.',
      'change removed-attributes: Attributes that V1 had deprecated are gone.',
    ]);
  });

  test('has tolerant response rules in comments that are right in the place of the inverse', async () => {
    const tolerant = [...text.matchAll(/list (\{ (?:flatten|alias): .*? \})/g)].map(([, rule = '']) => rule);
    let at = 0;
    const book = await bookIn(
      text.replaceAll(/(?<=^ +)response: inverse$/gm, () => `response: [ ${tolerant[at++] ?? ''} ]`),
    );
    expect(book.changes.flatMap(({ response }) => response.map(({ rule }) => rule))).toEqual([
      'errors',
      'flatten',
      'alias',
      'errors',
      'deprecations',
    ]);
  });

  test("leaves no response of a read in V2's form, as far as it is known", async () => {
    expect(ruleBookWarnings(await bookIn(text))).toEqual([]);
  });

  test('names its schema for editors', () => {
    expect(text.split('\n')[0]).toBe('# yaml-language-server: $schema=./rules.schema.json');
  });
});

describe('the JSON Schema', () => {
  const accepts = new Ajv({ strict: false }).compile(
    z.toJSONSchema(ruleBookForm(ALL_BOOKS, VALUE_CHECKS).schema, { target: 'draft-7', io: 'input' }),
  );

  test('accepts the same rule books as the reader', () => {
    expect(accepts(parse(text))).toBe(true);
    fc.assert(
      fc.property(sources, (source) => {
        expect(accepts(source)).toBe(true);
      }),
    );
  });

  test.each([
    '{}',
    '{ version: 2025-01-01, changes: [], extra: 1 }',
    '{ version: 2025-01-01, changes: [ { id: c } ] }',
  ])('refuses %s', (source) => {
    expect(accepts(parse(source))).toBe(false);
  });
});

// The edge worker carries a compiled rule book, and these modules to use it; YAML and zod would triple its size.
test.each(['rule', 'rule-book', 'hash'])('%s.ts needs neither YAML nor zod', (module) => {
  expect(importsOf(`src/rules/${module}.ts`).filter((name) => !/^\.\.?\//.test(name))).toEqual([]);
});

/** What a module imports, and what that imports in turn, each once; types are gone when it runs. */
function importsOf(file: string, seen = new Set<string>()): readonly string[] {
  const imports = read(file).matchAll(/^(?:import|export) (?!type )[^;]*?from '([^']+)';/gms);
  return [...imports].flatMap(([, name = '']) => {
    const path = name.startsWith('.') ? posix.join(posix.dirname(file), name) : name;
    if (seen.has(path)) return [];
    seen.add(path);
    return path === name ? [name] : [name, ...importsOf(path, seen)];
  });
}

function read(file: string): string {
  return readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
}
