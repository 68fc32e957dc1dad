import fc from 'fast-check';
import { exchange, type Script, type ScriptedExchange } from '../../src/twin/script.ts';
import { CODE_POINT } from '../support/code-point.ts';
import { words } from '../support/rows.ts';

/** Random sequences of V1 requests: creates, updates, reads, lists, deletions, and mistakes that clients make. */
export function arbitrarySteps(): fc.Arbitrary<readonly Step[]> {
  return fc.array(arbitraryStep, { minLength: 1, maxLength: 12 });
}

/** Attributes by the kind of their value. */
interface Shape {
  readonly [attribute: string]: fc.Arbitrary<string>;
}

const text = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.string({ unit: 'grapheme', maxLength: 12 }).map((value) => JSON.stringify(value)),
  },
  {
    weight: 2,
    arbitrary: fc.string({ unit: CODE_POINT, maxLength: 6 }).map((value) => JSON.stringify(value)),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      'null',
      '""',
      String.raw`"\u00e9\/"`,
      '"2026-03-01T10:30:00Z"',
      '"highlight_type"',
    ),
  },
);
const number = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc.constantFrom('null', '0', '-0', '1.50', '1e2', '-37.8136'),
);
const id = fc.oneof(fc.integer({ min: 1, max: 40 }).map(String), fc.constant('null'));

const address: Shape = {
  street_address: text,
  suburb: text,
  state: text,
  postcode: text,
  country: text,
  latitude: number,
  longitude: number,
};
const propertyShape: Shape = {
  display_name: text,
  external_reference: text,
  property_type: text,
  client: fc.oneof(objectOf({ id, name: text, external_reference: text }), fc.constant('null')),
  ...address,
};
const property = fc.oneof(
  { weight: 6, arbitrary: objectOf(propertyShape) },
  { weight: 1, arbitrary: objectOf({ id, ...propertyShape }) },
  { weight: 1, arbitrary: fc.constant('null') },
);
const onProperty: Shape = {
  property,
  property_id: id,
  client_id: id,
  external_id: text,
  external_reference: text,
  notes: text,
};

/** Each collection's attributes in V1. */
const SHAPES: Readonly<Record<string, Shape>> = {
  '/clients': { name: text, email: text, phone: text, external_reference: text, notes: text },
  '/contacts': {
    name: text,
    first_name: text,
    last_name: text,
    email: text,
    role: text,
    client_id: id,
    notes: text,
  },
  '/bookings': {
    ...onProperty,
    contact_id: id,
    scheduled_at: text,
    services: fc.array(text, { maxLength: 3 }).map((values) => `[${values.join(',')}]`),
  },
  '/orders/floor_plans': onProperty,
  '/orders/post_productions': { ...onProperty, transition_type: text },
  '/virtual_tours': { ...onProperty, name: text, display_name: text },
};
const PATHS = Object.keys(SHAPES);

/** Values that no attribute of their kind takes, but for some. */
const anyValue = fc.oneof(
  text,
  number,
  fc.constantFrom('true', '[]', '{}', '[1]', '{"a":1}', '12345678901234567890'),
);

/** An object with some of the attributes, in any order; one in eight has a value of any kind. */
function objectOf(shape: Shape): fc.Arbitrary<string> {
  const names = Object.keys(shape);
  return fc
    .shuffledSubarray(names)
    .chain((chosen) => fc.tuple(...chosen.map((name) => memberOf(name, shape[name] ?? text))))
    .chain((members) => fc.constantFrom(',', ', ', ',\n').map((comma) => `{${members.join(comma)}}`));
}

function memberOf(name: string, value: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc
    .oneof({ weight: 24, arbitrary: value }, { weight: 1, arbitrary: anyValue })
    .map((text) => `${JSON.stringify(name)}:${text}`);
}

const wrapped = (object: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  object.map((text) => `{"data":${text}}`);

/** Parameters in `data`; one in five as they are, which V1 took as well. */
const parameters = (object: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.oneof({ weight: 4, arbitrary: wrapped(object) }, { weight: 1, arbitrary: object });

const create = fc
  .constantFrom(...PATHS)
  .chain((path) =>
    parameters(objectOf(SHAPES[path] ?? {})).map((body): Step => ({ do: 'create', path, body })),
  );
const update = fc.record({
  do: fc.constant('update' as const),
  which: fc.nat({ max: 30 }),
  body: parameters(objectOf(propertyShape)),
});
const onOne = fc.record({
  do: fc.constantFrom('read' as const, 'read', 'head', 'delete'),
  which: fc.nat({ max: 30 }),
});
const list = fc.record({
  do: fc.constant('list' as const),
  path: fc.constantFrom(...PATHS, '/properties'),
  query: fc.constantFrom(
    '',
    ...words`
      ?per_page=1 ?page=2&per_page=1 ?per_page=101 ?page=x ?page=9 ?sort=name ?external_id=
      ?client_id=1 ?email=x&per_page=1 ?transition_type= ?transition_type=highlight_type
      ?transition_type=%22&per_page=1 ?per_page=1&transition_type=highlight_type&page=2
    `,
  ),
});
/** Requests that are wrong in one way: what is wrong with `data` is sent where V1 looks at it. */
const wrongData = fc.record({
  do: fc.constant('mistake' as const),
  method: fc.constant('POST'),
  path: fc.constantFrom(...PATHS),
  media: fc.constantFrom('application/json', 'application/json; charset=utf-8', 'application/vnd.a+json'),
  body: fc.oneof(
    wrapped(anyValue),
    fc.constantFrom('{}', '[]', 'null', '"data"', '{"Data":{}}', '{"data":{"data":{}}}'),
    fc.constantFrom(' ', '{"data":{}', '{"data":{},}', '{"data":{}} {}', '{"data":[[[[', '{"data":"\u0001"}'),
  ),
});
const wrongRequest = fc.record({
  do: fc.constant('mistake' as const),
  method: fc.constantFrom('POST', 'POST', 'PATCH', 'PUT', 'DELETE'),
  path: fc.constantFrom(...PATHS, '/properties', '/properties/1', '/heartbeat', '/invoices'),
  media: fc.constantFrom(
    'application/json',
    'application/json',
    'text/plain',
    'application/json; charset=latin1',
  ),
  body: fc.constantFrom(
    '',
    ...words`{ {"data":{} {"data":{},} [] null "data"`,
    '{"data":{}} {}',
    '{"data":{}}',
  ),
});
const stranger = fc.record({
  do: fc.constant('stranger' as const),
  path: fc.constantFrom(...PATHS, '/heartbeat', '/invoices'),
  authorization: fc.constantFrom('Bearer', 'Basic eDp5', 'key', 'bearer  lower', 'Bearer reader'),
});

const arbitraryStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: create },
  { weight: 4, arbitrary: update },
  { weight: 5, arbitrary: onOne },
  { weight: 3, arbitrary: list },
  { weight: 1, arbitrary: wrongData },
  { weight: 1, arbitrary: wrongRequest },
  { weight: 1, arbitrary: stranger },
);

/** One step of a random sequence. `which` picks one of the resources that earlier steps created. */
export type Step =
  | { readonly do: 'create'; readonly path: string; readonly body: string }
  | { readonly do: 'update'; readonly which: number; readonly body: string }
  | { readonly do: 'read' | 'head' | 'delete'; readonly which: number }
  | { readonly do: 'list'; readonly path: string; readonly query: string }
  | {
      readonly do: 'mistake';
      readonly method: string;
      readonly path: string;
      readonly media: string;
      readonly body: string;
    }
  | { readonly do: 'stranger'; readonly path: string; readonly authorization: string };

/** Writes a random sequence as a script, so that it can be printed, kept and played again. */
export function sequenceScript(title: string, steps: readonly Step[]): Script {
  const created: string[] = [];
  const properties: string[] = [];
  const exchanges = steps.map((step, at): ScriptedExchange => {
    const name = `${at + 1}. ${step.do}`;
    switch (step.do) {
      case 'create': {
        const keeps: (readonly [string, string])[] = [
          [`one${at}`, '/data/id'],
          [`property${at}`, '/data/property_id'],
        ];
        created.push(`${step.path}/\${one${at}}`);
        // Only a property that the step itself makes: others may have none.
        if (step.body.includes('"property"')) properties.push(`/properties/\${property${at}}`);
        return exchange(name, `POST /api/v1${step.path}`, { body: step.body, keeps });
      }
      case 'update':
        return exchange(name, `PATCH /api/v1${pick(properties, step.which, '/properties/1')}`, {
          body: step.body,
        });
      case 'read':
        return exchange(name, `GET /api/v1${pick([...created, ...properties], step.which, '/clients/1')}`);
      case 'head':
        return exchange(name, `HEAD /api/v1${pick([...created, ...properties], step.which, '/clients/1')}`);
      case 'delete':
        return exchange(name, `DELETE /api/v1${pick([...created, ...properties], step.which, '/clients/1')}`);
      case 'list':
        return exchange(name, `GET /api/v1${step.path}${step.query}`);
      case 'mistake':
        return exchange(name, `${step.method} /api/v1${step.path}`, {
          headers: [['Content-Type', step.media]],
          body: step.body,
        });
      case 'stranger':
        return exchange(name, `GET /api/v1${step.path}`, {
          headers: [['Authorization', step.authorization]],
        });
    }
  });
  return { title, settings: {}, exchanges };
}

function pick(paths: readonly string[], which: number, otherwise: string): string {
  return paths[which % Math.max(1, paths.length)] ?? otherwise;
}

/** Prints a script so that `readScript` reads the same exchanges from it. */
export function printScript({ settings, exchanges }: Script): string {
  const options = Object.entries(settings).map(([name, value]) => `! ${name}: ${value}\n`);
  return [options.join(''), ...exchanges.map((one) => printExchange(one))]
    .filter((part) => part !== '')
    .join('\n');
}

function printExchange(one: ScriptedExchange): string {
  const lines = [
    `# ${one.name}`,
    ...one.keeps.map(([name, pointer]) => `! keep: ${name} = ${pointer}`),
    ...(one.bytes === 'utf-8' ? [] : [`! bytes: ${one.bytes}`]),
    ...(one.pad === 0 ? [] : [`! pad: ${one.pad}`]),
    ...(one.coding === undefined ? [] : [`! coding: ${one.coding}`]),
    ...(one.store === undefined ? [] : [`! store: ${one.store}`]),
    ...(one.choice === undefined ? [] : [`! choice: ${one.choice}`]),
    `> ${one.method} ${one.target}`,
    ...one.headers.map(([name, value]) => `> ${name}: ${value}`),
    ...(one.body === undefined ? [] : ['>', ...one.body.split('\n').map((line) => `> ${line}`)]),
  ];
  return `${lines.join('\n')}\n`;
}
