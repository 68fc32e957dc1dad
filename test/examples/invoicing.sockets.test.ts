import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createInvoicing } from '../../examples/invoicing/service.mts';
import { createMigration, type TransformModule } from '../../src/library/capture-gateway.ts';
import { migrateFetch } from '../../src/library/fetch.ts';
import { migrateListener } from '../../src/node/library/migrate-listener.ts';
import { loadRuleBook } from '../../src/node/rule-books.ts';
import { CompiledRuleBook } from '../../src/rewrite/compiled-rule-book.ts';
import { openQuestions } from '../../src/rules/rule-book-fault.ts';
import { command } from '../support/command.ts';
import { fuzzRuns } from '../support/fuzz.ts';
import { gatewayFor } from '../support/gateway.ts';
import { listening } from '../support/listening.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { NEVER_MS } from '../support/until.ts';

const FOLDER = 'examples/invoicing';

/** The service of the example, with its own data. */
async function invoicing(): Promise<string> {
  return `http://127.0.0.1:${await listening(createInvoicing())}`;
}

interface SentRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

interface Got {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | null>>;
  readonly body: string;
}

/** Fields that a V1 client can rely on. */
const COMPARED = ['content-type', 'content-length', 'location', 'allow', 'www-authenticate'];

async function send(origin: string, { method, target, headers, body }: SentRequest): Promise<Got> {
  const init = { method, headers, ...(body === undefined ? {} : { body }) };
  const response = await fetch(origin + target, init);
  const bytes = Buffer.from(await response.arrayBuffer());
  return {
    status: response.status,
    headers: Object.fromEntries(COMPARED.map((name) => [name, response.headers.get(name)])),
    body: bytes.toString('latin1'),
  };
}

const amount = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 10_000_000 }).map((cents) => (cents / 100).toFixed(2)) },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 100_000 }).map(String) },
  { weight: 1, arbitrary: fc.constantFrom('10.505', '-1', '"10.50"', 'null', '1e2', '0.1', 'true', '[]') },
);
const text = fc.oneof(
  { weight: 5, arbitrary: fc.string({ minLength: 1, maxLength: 12 }).map((value) => JSON.stringify(value)) },
  {
    weight: 2,
    arbitrary: fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 6 })
      .map((value) => JSON.stringify(value)),
  },
  { weight: 1, arbitrary: fc.constantFrom('null', '7', '""', '{"a":1}') },
);
const day = fc
  .date({ min: new Date('2000-01-01'), max: new Date('2040-12-31'), noInvalidDate: true })
  .map((date) => JSON.stringify(date.toISOString().slice(0, 10)));
const due = fc.oneof(
  { weight: 6, arbitrary: day },
  {
    weight: 1,
    arbitrary: fc.constantFrom('null', '"tomorrow"', '"2026-02-30"', '"2026-1-1"', '20260101', '""'),
  },
);
const status = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('"open"', '"paid"', '"void"') },
  { weight: 1, arbitrary: fc.constantFrom('"closed"', 'null', '1', '"OPEN"') },
);
const member = (name: string, value: fc.Arbitrary<string>, freq: number): fc.Arbitrary<string | null> =>
  fc.option(
    value.map((written) => `"${name}":${written}`),
    { freq },
  );

/** A bill as V1's clients write it: members in any order, each may be absent. */
const bill = fc
  .tuple(
    member('name', text, 2),
    member('customer_name', text, 12),
    member('customer_email', text, 2),
    member('amount', amount, 12),
    member('status', status, 3),
    member('due', due, 3),
    member('fax', text, 1),
  )
  .chain((members) =>
    fc.shuffledSubarray(
      members.filter((one) => one !== null),
      { minLength: members.filter((one) => one !== null).length },
    ),
  )
  .chain((members) => fc.constantFrom(`{${members.join(',')}}`, `{ ${members.join(' ,\n  ')} }`));
const body = fc.oneof(
  { weight: 12, arbitrary: bill },
  { weight: 1, arbitrary: fc.constantFrom('', '[]', '{"customer_name":', 'null', '7') },
);
const id = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 7, max: 40 }) },
  { weight: 1, arbitrary: fc.constant(999_999) },
);
const query = fc
  .tuple(
    fc.option(fc.integer({ min: 1, max: 4 }).map((page) => `page=${page}`)),
    fc.option(fc.integer({ min: 1, max: 5 }).map((size) => `per_page=${size}`)),
    fc.option(fc.constantFrom('status=open', 'status=paid', 'status=void', 'status=sent')),
  )
  .map((parts) => parts.filter((part) => part !== null).join('&'))
  .map((search) => (search === '' ? '' : `?${search}`));

const written = (method: string, target: fc.Arbitrary<string>): fc.Arbitrary<Omit<SentRequest, 'headers'>> =>
  fc.record({ method: fc.constant(method), target, body });
const read = (method: string, target: fc.Arbitrary<string>): fc.Arbitrary<Omit<SentRequest, 'headers'>> =>
  fc.record({ method: fc.constant(method), target });

const request = fc
  .tuple(
    fc.oneof(
      { weight: 6, arbitrary: written('POST', fc.constant('/bills')) },
      {
        weight: 3,
        arbitrary: written(
          'PUT',
          id.map((one) => `/bills/${one}`),
        ),
      },
      {
        weight: 3,
        arbitrary: read(
          'GET',
          id.map((one) => `/bills/${one}`),
        ),
      },
      {
        weight: 4,
        arbitrary: read(
          'GET',
          query.map((search) => `/bills${search}`),
        ),
      },
      {
        weight: 3,
        arbitrary: read(
          'GET',
          id.map((one) => `/bills/${one}/lines`),
        ),
      },
      {
        weight: 1,
        arbitrary: read(
          'DELETE',
          id.map((one) => `/bills/${one}`),
        ),
      },
    ),
    fc.oneof(
      { weight: 20, arbitrary: fc.constantFrom('acme', 'beta') },
      { weight: 1, arbitrary: fc.constant(undefined) },
    ),
  )
  .map(([sent, account]): SentRequest => ({
    ...sent,
    target: `/api/v1${sent.target}`,
    headers: {
      ...(account === undefined ? {} : { 'x-account': account }),
      ...('body' in sent ? { 'content-type': 'application/json' } : {}),
    },
  }));

interface Comparison {
  /** A request, and the responses of V1 and of the gateway where they differ. */
  readonly differing: readonly (readonly [sent: SentRequest, before: Got, now: Got])[];
  readonly statuses: readonly number[];
  readonly surprises: readonly unknown[];
}

/** The rules of a file, whose transform has time: on a busy machine a call of 50 ms is nothing that V1 and the gateway differ in. */
async function rulesOf(path: string): Promise<CompiledRuleBook> {
  const loaded = await loadRuleBook(path);
  if ('faults' in loaded) throw new Error(loaded.faults.join('\n'));
  const { ruleBook } = loaded.rules;
  return new CompiledRuleBook({ ...ruleBook, limits: { ...ruleBook.limits, transform: NEVER_MS } });
}

/** Plays random requests to V1, and to the gateway before V2 with the rules of a file. */
async function compare(rules: string, seed: number): Promise<Comparison> {
  const [v1, v2] = [await invoicing(), await invoicing()];
  const gateway = await gatewayFor(v2, { rules: await rulesOf(rules) });
  const differing: (readonly [SentRequest, Got, Got])[] = [];
  const statuses = new Set<number>();
  for (const sent of fc.sample(request, { numRuns: fuzzRuns(2000), seed })) {
    const [before, now] = [await send(v1, sent), await send(gateway.origin, sent)];
    if (!isDeepStrictEqual(before, now)) differing.push([sent, before, now]);
    statuses.add(before.status);
  }
  const { surprises } = gateway;
  return { differing, statuses: [...statuses].toSorted((one, other) => one - other), surprises };
}

/** The same everywhere, with each status that both versions have. */
const SAME: Comparison = { differing: [], statuses: [200, 201, 204, 400, 401, 404, 422], surprises: [] };

test('a V1 client cannot tell the gateway from V1', { timeout: 300_000 }, async () => {
  expect(await compare(`${FOLDER}/rules.yaml`, 39)).toEqual(SAME);
});

/**
 * What a person answers to the questions of the draft: the rules that it asks about hold, the marks and the TODO lines go. Two things
 * are theirs: which currency V1 meant, and the transform that turns numbers of pages into cursors.
 */
function answered(draft: string): string {
  const open = draft.replaceAll(/^ *# TODO: .*\n/gm, '');
  // No rule may repeat the work of the transform.
  const left = open
    .split('\n\n')
    .filter((block) => !block.includes('on: [listBills]') || block.includes('status-parameter-values'))
    .join('\n\n');
  const rules = left.replaceAll(/^( *)# (- id: |  |policies:|to: )/gm, '$1$2');
  return rules
    .replace('currency: "…"', 'currency: AUD')
    .replace('resource: invoices\n', 'resource: bills\n    transform: ./pages.js\n')
    .replace('changes: []', 'changes:');
}

test('nor with the draft of init, once its questions are answered', { timeout: 300_000 }, async () => {
  const folder = temporaryFolder('answered');
  const descriptions = ['--v1', `${FOLDER}/v1.yaml`, '--v2', `${FOLDER}/v2.yaml`];
  const drafted = command(['init', ...descriptions, '--dir', folder]);
  expect([await drafted.exit, drafted.stderr()]).toEqual([0, '']);
  const rules = join(folder, 'rules.yaml');
  const draft = readFileSync(rules, 'utf8');
  writeFileSync(rules, answered(draft));
  copyFileSync(`${FOLDER}/pages.js`, join(folder, 'pages.js'));
  expect(openQuestions(readFileSync(rules, 'utf8'), rules)).toEqual([]);
  const checked = command(['check', '--rules', rules, ...descriptions]);
  expect([await checked.exit, checked.stderr()]).toEqual([0, '']);
  expect(checked.stdout()).toContain('6 of 6 operations of V1 have a place in V2, and nothing is missing');
  expect(await compare(rules, 41)).toEqual(SAME);
});

/** V2 that serves V1 clients itself, by the library. */
async function withLibrary(way: 'migrateFetch' | 'migrateListener'): Promise<string> {
  const { ruleBook } = await rulesOf(`${FOLDER}/rules.yaml`);
  const pages = (await import(new URL(`../../${FOLDER}/pages.js`, import.meta.url).href)) as TransformModule;
  const migration = createMigration(ruleBook, { transforms: { './pages.js': pages } });
  const service = createInvoicing();
  if (way === 'migrateListener') {
    const v2: RequestListener = (request, response) => void service.emit('request', request, response);
    return `http://127.0.0.1:${await listening(createServer(migrateListener(migration, v2)))}`;
  }
  const v2 = await invoicing();
  const serve = migrateFetch(migration, async (received) => {
    const { pathname, search } = new URL(received.url);
    const { method, headers } = received;
    const body = received.body === null ? {} : { body: await received.bytes() };
    return fetch(v2 + pathname + search, { method, headers, ...body });
  });
  const server = createServer((incoming, outgoing) => {
    void buffer(incoming).then(async (sent) => {
      const headers = Object.entries(incoming.headers).filter(([name]) => !HOP.has(name));
      const init = { method: incoming.method ?? '', headers: headers as [string, string][] };
      const hasBody = sent.length > 0;
      const request = new Request(`${v2}${incoming.url}`, {
        ...init,
        ...(hasBody ? { body: new Uint8Array(sent) } : {}),
      });
      const response = await serve(request);
      outgoing.writeHead(response.status, [...response.headers].filter(([name]) => !HOP.has(name)).flat());
      outgoing.end(await response.bytes());
    });
  });
  return `http://127.0.0.1:${await listening(server)}`;
}

/** Fields of the connections of the test's own adapter. */
const HOP: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'transfer-encoding', 'host', 'date']);

test.each(['migrateFetch', 'migrateListener'] as const)(
  'nor can it tell %s from V1, with the transform in the process of the service',
  { timeout: 300_000 },
  async (way) => {
    const [v1, both] = [await invoicing(), await withLibrary(way)];
    for (const sent of fc.sample(request, { numRuns: fuzzRuns(300), seed: 40 })) {
      const [before, now] = [await send(v1, sent), await send(both, sent)];
      expect({ sent, ...now }).toEqual({ sent, ...before });
    }
  },
);

test('the cases of the example pass, and nothing is missing between its descriptions', async () => {
  const rules = ['--rules', `${FOLDER}/rules.yaml`];
  const tested = command(['test', ...rules]);
  expect([await tested.exit, tested.stderr()]).toEqual([0, '']);
  const checked = command(['check', ...rules, '--v1', `${FOLDER}/v1.yaml`, '--v2', `${FOLDER}/v2.yaml`]);
  expect([await checked.exit, checked.stderr()]).toEqual([0, '']);
  expect(checked.stdout()).toContain(
    'coverage: 6 of 6 operations of V1 have a place in V2, and nothing is missing',
  );
});
