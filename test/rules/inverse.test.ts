import { describe, expect, test } from 'vitest';
import { printScalar, readScalar } from '../../src/json/names.ts';
import { ruleBookWarnings, undoingOf } from '../../src/rules/check-rule-book.ts';
import { InverseIndex } from '../../src/rules/inverse.ts';
import { inverseValues } from '../../src/rules/kinds/map.ts';
import { bookIn, faultsIn, messagesIn } from './reading.ts';
import { rows } from '../support/rows.ts';

const OPERATIONS = `version: 2025-01-01
operations:
  order: POST /orders
  read_order: GET /orders/{id}
  list_orders: GET /orders
  change_order: PATCH /orders/{id}
  client: GET /clients/{id}
  house: { match: 'GET /houses/{id}', embeds: { 'rooms.*.orders.*': order } }
  street: { match: GET /streets, embeds: { houses.*: house } }
changes:
`;
const PLAIN = OPERATIONS.replaceAll(/^ {2}(?:house|street): .*\n/gm, '');
const RENAME =
  '- { id: r, summary: s, on: [order], request: [ { rename: old, to: new } ], response: inverse }\n';

const UNDONE =
  '{ rename: old, to: new }, { nest: [x, y], under: n }, { split: whole, to: [first, last], with: " " }';

/** The rules that `inverse` stands for, as text: `rename data.new to old`. */
async function expanded(text: string, id: string | undefined): Promise<readonly string[]> {
  const { operations, changes } = await bookIn(text);
  const operation = operations.find((one) => one.id === id);
  return new InverseIndex(operations, changes).of(operation).map(({ rule }) => {
    if (rule.rule === 'map') {
      const values = rule.values.map(({ from, to }) => `${printScalar(from)} to ${printScalar(to)}`);
      return `map ${rule.path.join('.')} ${values.join(' ')}`;
    }
    if (rule.rule === 'move')
      return `move ${[...rule.path, ...rule.from].join('.')} to ${[...rule.path, ...rule.to].join('.')}`;
    if (rule.rule === 'strip' || 'json' in rule || 'conversion' in rule)
      return `${rule.rule} ${rule.path.join('.')}`;
    const more =
      'to' in rule ? `to ${String(rule.to)}` : 'members' in rule ? (rule.members ?? []).join(' ') : '';
    return `${rule.rule} ${rule.path.join('.')} ${more}`;
  });
}

describe('inverse stands for', () => {
  test.each(['order', 'read_order', 'list_orders', 'change_order'])(
    'the rules undone, for every operation of the resource: %s',
    async (id) => {
      expect(await expanded(OPERATIONS + RENAME, id)).toEqual([
        'rename data.new to old',
        'rename data.*.new to old',
      ]);
    },
  );

  test('nothing, for another resource and for requests without an operation', async () => {
    expect(await expanded(OPERATIONS + RENAME, 'client')).toEqual([]);
    expect(await expanded(OPERATIONS + RENAME, undefined)).toEqual([]);
  });

  test('the rules undone where a resource embeds it, also through another', async () => {
    expect(await expanded(OPERATIONS + RENAME, 'house')).toEqual([
      'rename data.rooms.*.orders.*.new to old',
      'rename data.*.rooms.*.orders.*.new to old',
    ]);
    expect(await expanded(OPERATIONS + RENAME, 'street')).toEqual([
      'rename data.houses.*.rooms.*.orders.*.new to old',
      'rename data.*.houses.*.rooms.*.orders.*.new to old',
    ]);
  });

  test('an end, where resources embed each other', async () => {
    const text = OPERATIONS.replace(
      'read_order: GET /orders/{id}',
      "read_order: { match: 'GET /orders/{id}', embeds: { house: house } }",
    );
    expect(await expanded(text + RENAME, 'order')).toEqual([
      'rename data.new to old',
      'rename data.*.new to old',
    ]);
  });

  test('the rules of a change on every, for all responses', async () => {
    const text = OPERATIONS + RENAME.replace('[order]', 'every');
    for (const id of ['client', undefined]) {
      expect(await expanded(text, id)).toEqual(['rename data.new to old', 'rename data.*.new to old']);
    }
  });

  test('the last rule undone first, across changes; what only one change undoes, the other keeps', async () => {
    const changes = `- { id: a, summary: s, on: [order], request: [ { rename: p, to: q }, { nest: [x], in: q, under: n } ], response: inverse }
- { id: b, summary: s, on: [change_order], request: [ { rename: q.n.x, to: y }, strip: z ], response: [ inverse ] }
- { id: c, summary: s, on: [order], request: [ { rename: k, to: l } ] }
`;
    expect((await expanded(OPERATIONS + changes, 'order')).slice(0, 3)).toEqual([
      'rename data.q.n.y to x',
      'unnest data.q.n x',
      'rename data.q to p',
    ]);
  });

  test('null for the members of a nest that V2 leaves out, at V1’s place, before they get V1’s names', async () => {
    const changes = `- { id: a, summary: s, on: [order], request: [ { rename: p.k, to: l }, { nest: [x, l], in: p, under: n } ], response: [ { inverse: true, members: null } ] }
`;
    expect((await expanded(OPERATIONS + changes, 'order')).slice(0, 4)).toEqual([
      'unnest data.p.n x l',
      'default data.p.x',
      'default data.p.l',
      'rename data.p.l to k',
    ]);
    const present = changes.replace('members: null', 'members: present');
    expect((await bookIn(OPERATIONS + present)).hash).toBe(
      (await bookIn(OPERATIONS + present.replace('[ { inverse: true, members: present } ]', 'inverse'))).hash,
    );
    expect((await bookIn(OPERATIONS + present)).hash).not.toBe((await bookIn(OPERATIONS + changes)).hash);
  });

  test('null for a member that moves back, where V2 has null in place of its object', async () => {
    const changes = `- { id: a, summary: s, on: [order], request: [ { move: p.paid, to: p.sum.amount }, { scale: p.sum.amount, by: 100 } ], response: [ { inverse: true, members: null } ] }
`;
    expect((await expanded(OPERATIONS + changes, 'order')).slice(1, 3)).toEqual([
      'move data.p.sum.amount to data.p.paid',
      'default data.p.paid',
    ]);
  });

  test('places inside the wrapper, for rules before the unwrap', async () => {
    const changes = `- { id: a, summary: s, on: [order], request: [ { rename: data.old, to: new }, { nest: [x], in: data.p, under: n } ], response: inverse }
- { id: b, summary: s, on: every, request: [ unwrap: data ] }
`;
    expect((await expanded(OPERATIONS + changes, 'order')).slice(0, 2)).toEqual([
      'unnest data.p.n x',
      'rename data.new to old',
    ]);
  });
});

describe('faults', () => {
  test.each(rows`
    request: [ strip: x ], response: inverse → inverse has nothing to undo: strip has no inverse, since V2 never gets the value, so no response has it; remove it
    response: [ inverse ] → inverse has nothing to undo: this change has no request rules; remove it
    request: [ unwrap: data, strip: x ], response: [ inverse ]
      inverse has nothing to undo: unwrap has no inverse, since V1 need not have wrapped responses (wrap does); strip has no inverse, since V2 never gets the value, so no response has it; remove it
    request: [ { rename: a, to: b } ], response: [ inverse, { inverse: true } ]
      inverse is in the list already; remove it
    request: [ { rename: a, to: b } ], response: [ { inverse: true, members: null } ]
      members is for a nest or a move, and this change has neither; remove it
    response: [ { rename: data.a, to: a } ] → rename gives "a" the name it has; write the V1 name in to
  `)('%s', async (parts, message) => {
    expect(await messagesIn(`${PLAIN}- { id: c, summary: s, on: [order], ${parts} }\n`)).toEqual([
      `change "c": ${message}`,
    ]);
  });

  test.each([
    ['{ rename: data.new, to: other }', 'rename', 'renames "data.new"'],
    ['{ alias: data.new, as: other }', 'alias', 'renames "data.new"'],
    ['{ flatten: data.new.part }', 'flatten', 'renames "data.new"'],
    ['{ unnest: data.n, members: [x] }', 'unnest', 'unnests "data.n"'],
    ['{ alias: data.n.x, as: other }', 'alias', 'unnests "data.n"'],
    ['{ alias: data.first, as: other }', 'alias', 'joins "data.first" and "data.last"'],
  ])('a rule after the inverse that names a member that is gone: %s', async (rule, word, effect) => {
    const changes = `- { id: r, summary: s, on: [order], request: [ ${UNDONE} ], response: inverse }
- { id: c, summary: s, on: [read_order], response: [ ${rule} ] }
`;
    expect(await messagesIn(OPERATIONS + changes)).toEqual([
      `change "c": this ${word} has no effect: the inverse of change "r" ${effect} before it; name the member as V1 did, or remove the rule`,
    ]);
  });

  test.each([
    '{ alias: data.old, as: other }',
    '{ unnest: data.n }',
    '{ alias: data.n.z, as: other }',
    '{ alias: data.whole, as: other }',
    '{ alias: data.others, as: other }',
  ])('but not: %s', async (rule) => {
    const changes = `- { id: r, summary: s, on: [order], request: [ ${UNDONE} ], response: inverse }
- { id: c, summary: s, on: [read_order], response: [ ${rule} ] }
`;
    expect(await messagesIn(OPERATIONS + changes)).toEqual([]);
  });

  test.each(['{ rename: old, to: name }', '{ move: old, to: in.name }'])(
    'a rule may name a member that gets the name of another one afterwards: %s',
    async (earlier) => {
      const changes = `- { id: r, summary: s, on: [order], request: [ ${earlier} ], response: inverse }
- { id: q, summary: s, on: [order], request: [ { rename: former, to: old } ], response: inverse }
- { id: c, summary: s, on: [read_order], response: [ { alias: data.old, as: other } ] }
`;
      expect(await messagesIn(OPERATIONS + changes)).toEqual([]);
    },
  );

  test.each([
    ['{ rename: new, to: newer }', '"new"'],
    ['{ nest: [new, other], under: n }', '"new"'],
    ['{ rename: deep, to: other }', '"deep.n.x"'],
  ])('an inverse that cannot find what a later change moved: %s', async (rule, lost) => {
    const changes = `- { id: r, summary: s, on: [order], request: [ { rename: old, to: new }, { nest: [x], in: deep, under: n } ], response: inverse }
- { id: c, summary: s, on: [order], request: [ ${rule} ] }
`;
    expect(await messagesIn(OPERATIONS + changes)).toEqual([
      `change "r": inverse cannot find ${lost}: change "c" moves it afterwards and is not undone; give "c" response: inverse as well`,
    ]);
    expect(await messagesIn(OPERATIONS + changes.replace(/ \} *\n$/, ', response: inverse }\n'))).toEqual([]);
    expect(
      await messagesIn(
        OPERATIONS + changes.replace('c, summary: s, on: [order]', 'c, summary: s, on: [change_order]'),
      ),
    ).toEqual([]);
  });

  test.each(['{ map: { a: b }, of: kept }', '{ scale: kept, by: 100 }', '{ set: { kept: 1 } }'])(
    'an inverse that cannot find a value because a later change moved its member: %s',
    async (rule) => {
      const changes = `- { id: r, summary: s, on: [order], request: [ ${rule} ], response: inverse }
- { id: c, summary: s, on: [order], request: [ { rename: kept, to: other } ] }
`;
      expect(await messagesIn(OPERATIONS + changes)).toEqual([
        `change "r": inverse cannot find "kept": change "c" moves it afterwards and is not undone; give "c" response: inverse as well`,
      ]);
    },
  );

  test('an embedded resource of which nothing is undone, unless it embeds another', async () => {
    expect(await faultsIn(OPERATIONS.replace("'rooms.*.orders.*': order", 'owner: client') + RENAME)).toEqual(
      [
        '8:56 operation "house": embeds has no effect: no change with response: inverse concerns the resource of "client"; remove it',
      ],
    );
    expect(await messagesIn(OPERATIONS + RENAME.replace('[order]', 'every'))).toEqual([]);
  });

  test('an embedded operation that is not declared', async () => {
    expect(await messagesIn(OPERATIONS.replace("orders.*': order }", "orders.*': ordr }") + RENAME)).toEqual([
      'operation "house": "ordr" is not among the operations; did you mean "order"?',
    ]);
  });
});

describe('check says whether responses undo what a change does', () => {
  const RULES = {
    rename: '{ rename: r, to: s }',
    scale: '{ scale: a, by: 100 }',
    join: "{ join: [a, b], to: c, with: ' ' }",
    default: '{ default: { a: 1 } }',
    strip: '{ strip: a }',
    map: '{ map: { x: 1, y: 1 }, of: a }',
    date: '{ date: a, from: datetime, to: date }',
  } as const;
  test.each<
    [rules: readonly (keyof typeof RULES)[], response: string, inverse: string | undefined, losses: number]
  >([
    [['rename', 'scale'], 'response: inverse', 'exact', 0],
    [['rename', 'join'], 'response: inverse', 'inexact', 1],
    [['rename', 'strip'], 'response: inverse', 'inexact', 1],
    [['default'], 'response: inverse', 'inexact', 1],
    [['map', 'rename'], 'response: inverse', 'inexact', 1],
    [['date'], 'response: inverse', 'inexact', 1],
    [['rename'], 'response: []', 'one-way', 0],
    [['strip'], 'response: []', 'one-way', 1],
    [['rename'], 'response: [ { rename: data.s, to: r } ]', undefined, 0],
  ])('%j with %s', async (rules, response, inverse, losses) => {
    const request = rules.map((rule) => RULES[rule]).join(', ');
    const change = `{ id: a, summary: s, on: [order], request: [ ${request} ], ${response} }`;
    const book = await bookIn(
      `operations: { order: POST /orders, read: GET /orders }\nchanges: [ ${change} ]\n`,
    );
    const [first] = book.changes;
    const undoing = first && undoingOf(first);
    expect([undoing?.inverse, undoing?.losses.length ?? 0]).toEqual([inverse, losses]);
  });
});

describe('warnings', () => {
  test('two V1 values that a map leads to one, where the change is undone', async () => {
    const change =
      'summary: s, on: [order], request: [ { map: { slow: 1, fast: 2, quick: 2 }, of: speed, in: p } ]';
    const book = await bookIn(`version: 2025-01-01
operations: { order: POST /orders, read: GET /orders }
changes:
  - { id: a, ${change}, response: inverse }
`);
    expect(ruleBookWarnings(book)).toEqual([
      'change "a": "fast" and "quick" of "p.speed" both become 2, which has no inverse: responses keep 2; a response map can choose one',
    ]);
    const oneWay = await bookIn(
      `version: 2025-01-01\noperations: { order: POST /orders }\nchanges: [ { id: a, ${change} } ]\n`,
    );
    expect(ruleBookWarnings(oneWay)).toEqual([]);
  });

  test.each(rows`
    a: { match: GET /a, to: GET /n }, b: { match: GET /b, to: GET /n }
      operations "a" and "b" lead to the same requests: links to GET /n lead V1 clients to "a", which comes first
    a: { match: 'GET /a/{id}', to: 'GET /n?x=a{id}&y=1' }, b: { match: 'GET /b/{no}', to: 'GET /n?y=1&x=a{no}' }
      operations "a" and "b" lead to the same requests: links to GET /n?y=1&x=a{no} lead V1 clients to "a", which comes first
    a: { match: GET /a, to: 'GET /n?x+y=1' }, b: { match: GET /b, to: 'GET /n?x%20y=1' }
      operations "a" and "b" lead to the same requests: links to GET /n?x%20y=1 lead V1 clients to "a", which comes first
    a: { match: 'GET /a/{id}/{part}', to: 'GET /n/{part}' }
      operation "a": GET /n/{part} lacks {id}: links to it cannot lead back to GET /a/{id}/{part}
    a: { match: POST /a, to: GET /n }
      operation "a": POST becomes GET, which has no use for a body (RFC 9110 §9.3.1), so the gateway drops a request's body
  `)('moved operations: %s', async (operations, warning) => {
    const book = await bookIn(`version: 2025-01-01\noperations: { ${operations} }\nchanges: []\n`);
    expect(ruleBookWarnings(book)).toEqual([warning]);
  });

  test.each([
    ['GET /a', '[{ rename: x, to: y, status: 4xx }]', ['"a"']],
    ['PUT /a', '[{ strip: x }]', ['"a"']],
    ['DELETE /a', '[{ inverse: true }, { strip: x }]', ['"a"']],
    ['POST /a', '[{ strip: x }]', []],
    ['PATCH /a', '[{ strip: x }]', []],
    ['{ match: GET /a, gone: No. }', '[{ strip: x }]', []],
    ['GET /a', '[{ errors: true }]', []],
  ])('response rules on: every in a book with %s: %s', async (operation, response, named) => {
    const request = response.includes('inverse') ? 'request: [{ rename: old, to: new }], ' : '';
    const book = await bookIn(
      `operations: { a: ${operation}, b: POST /b }\nchanges: [{ id: e, summary: s, on: every, ${request}response: ${response} }]\n`,
    );
    const warnings = ruleBookWarnings(book).filter((text) => text.includes('on: every'));
    expect(warnings).toEqual(
      named.map(
        (id) =>
          `change "e": on: every means POST and PATCH for its response rules, so they do not reach the responses of ${id}; name the operations in on`,
      ),
    );
  });

  test('moved operations that differ in more than the names of their parameters', async () => {
    const operations = "a: { match: 'GET /a', to: GET /n }, b: { match: 'GET /b/{id}', to: 'GET /n?x={id}' }";
    const book = await bookIn(`version: 2025-01-01\noperations: { ${operations} }\nchanges: []\n`);
    expect(ruleBookWarnings(book)).toEqual([]);
  });

  const chain = async (...rules: readonly string[]): Promise<readonly string[]> => {
    const changes = rules.map((rule, at) => `  - { id: c${at}, summary: s, on: every, ${rule} }\n`).join('');
    const book = await bookIn(`version: 2025-01-01\nchanges:\n${changes}`);
    return ruleBookWarnings(book).filter((text) => text.includes(' loses it; '));
  };
  const start = 'change "c0": "customer_name" is renamed to "name", which change "c1" ';
  const end = ': a request that has "name" as well loses it; ';
  const remedy = 'let each rule name the V1 member that it is for, those that free a name first';
  const rename = 'request: [ { rename: customer_name, to: name } ]';

  test.each([
    [
      'request: [ { nest: [email, name], under: customer } ]',
      'then nests under "customer"',
      'nest "customer_name" by its V1 name, and rename it there',
    ],
    ['request: [ { rename: name, to: title } ]', 'then renames to "title"', remedy],
    ['request: [ { rename: owner, to: name } ]', 'also gives to "owner"', remedy],
    ['request: [ { strip: [x, name] } ]', 'then strips', remedy],
    ['request: [ { only: [x] } ]', 'then removes, as its only does not list it', remedy],
  ])('a rename to a name that a later rule takes: %s', async (taking, fate, way) => {
    expect(await chain(rename, taking)).toEqual([`${start}${fate}${end}${way}`]);
  });

  test.each([
    ['', 'price', '{ move: price, to: price.amount }'],
    [', in: a', 'a.price', '{ move: price, in: a, to: price.amount }'],
    [', in: "lines.*"', '"lines.*.price"', "{ move: price, in: 'lines.*', to: price.amount }"],
  ])(
    'a rename into an object of the old name%s is advised as a move, which loads',
    async (inside, path, move) => {
      const nest = (member: string): string =>
        `request: [ { nest: [${member}, tax]${inside}, under: price } ]`;
      const [warning] = await chain(`request: [ { rename: ${path}, to: amount } ]`, nest('amount'));
      expect(warning).toContain(`; write ${move} instead of the rename, and leave "amount" out`);
      expect(
        await chain(`request: [ ${move} ]`, `request: [ { nest: [tax]${inside}, under: price } ]`),
      ).toEqual([]);
      const [alone] = await chain(
        `request: [ { rename: ${path}, to: amount } ]`,
        `request: [ { nest: [amount]${inside}, under: price } ]`,
      );
      expect(alone).toContain(`; write ${move} instead of both`);
      const itself = await messagesIn(
        `version: 2025-01-01\nchanges:\n  - { id: c, summary: s, on: every, request: [ { nest: [price, tax]${inside}, under: price } ] }\n`,
      );
      const way = move.replace('price.amount', 'price.price');
      expect(itself).toEqual([expect.stringContaining(`write ${way} before this rule`)]);
      expect(
        await chain(`request: [ ${way} ]`, `request: [ { nest: [tax]${inside}, under: price } ]`),
      ).toEqual([]);
    },
  );

  test('a name that moves with the object around it is taken there', async () => {
    expect(
      await chain(
        'request: [ { rename: data.a.old, to: name } ]',
        'request: [ { unwrap: data }, { nest: [a], under: c }, { rename: c, to: d } ]',
        'request: [ { strip: d.a.name } ]',
      ),
    ).toEqual([
      `change "c0": "data.a.old" is renamed to "data.a.name", which change "c2" then strips: a request that has "data.a.name" as well loses it; ${remedy}`,
    ]);
  });

  test.each([
    [
      'the nest comes first',
      [
        'request: [ { nest: [customer_name], under: customer }, { rename: customer.customer_name, to: name } ]',
      ],
    ],
    [
      'the name was freed before',
      ['request: [ { rename: name, to: title } ]', rename, 'request: [ { nest: [name], under: customer } ]'],
    ],
    [
      'the name was stripped before',
      ['request: [ { strip: name } ]', rename, 'request: [ { nest: [name], under: customer } ]'],
    ],
    [
      'it is in another object',
      [rename, 'request: [ { strip: other.name }, { nest: [name], in: x, under: y } ]'],
    ],
    [
      'both in one request are refused',
      [`${rename}, policies: { conflict: refuse }`, 'request: [ { nest: [name], under: customer } ]'],
    ],
  ])('no warning about a chain if %s', async (_, rules) => {
    expect(await chain(...rules)).toEqual([]);
  });

  test.each([
    ['a: { match: GET /a, transform: ./x.js }', ['operation "a": the bodies that ./x.js returns']],
    [
      ['a', 'b', 'c', 'd', 'e'].map((id) => `${id}: { match: GET /${id}, transform: ./x.js }`).join(', '),
      ['operations "a", "b", "c" and 2 more: the bodies that ./x.js returns'],
    ],
  ])('the operations with one transform have one warning: %s', async (operations, warnings) => {
    const book = await bookIn(`version: 2025-01-01\noperations: { ${operations} }\nchanges: []\n`);
    expect(ruleBookWarnings(book).map((one) => one.replace(/ cannot be derived.*/, ''))).toEqual(warnings);
  });

  test('a rule without an inverse, and a resource that no operation reads back', async () => {
    const book = await bookIn(`version: 2025-01-01
operations: { order: POST /orders, change: 'PATCH /things/{id}', read: GET /orders }
changes:
  - { id: a, summary: s, on: [order, change], request: [ { rename: x, to: y }, { strip: [p.q, p.r] } ], response: inverse }
  - { id: b, summary: s, on: every, request: [ { only: [y, p], in: deep } ] }
`);
    expect(ruleBookWarnings(book)).toEqual([
      'change "a": strip has no inverse: responses lack "p.q", "p.r"',
      'change "b": only has no inverse: responses lack the members that it removes from "deep"',
      'operation "change" writes a resource that no operation reads back: reads of it are in V2\'s shape; if V2 has GET /things, declare it',
    ]);
    const advised = (reads: readonly string[]): readonly string[] =>
      ruleBookWarnings(book, reads).flatMap((warning) => warning.split("in V2's shape; ").slice(1));
    expect(advised(['/orders', '/things/{thing}'])).toEqual(['declare GET /things/{thing}']);
    expect(advised(['/orders'])).toEqual([]);
  });
});

const values = (...pairs: readonly (readonly [string, string])[]): Parameters<typeof inverseValues>[0] =>
  pairs.map(([from, to]) => ({ from: readScalar(from), to: readScalar(to) }));

test('each value leads back, a number as it was written; those that several values lead to do not', () => {
  const map = values(['day', 'light'], ['10.50', '1'], ['noon', 'high'], ['zenith', 'high'], ['x', '"1"']);
  expect(inverseValues(map)).toEqual(values(['light', 'day'], ['1', '10.50'], ['"1"', 'x']));
});
