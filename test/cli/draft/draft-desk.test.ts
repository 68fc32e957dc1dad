import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readDescription } from '../../../src/cli/draft/description-file.ts';
import { Desk } from '../../../src/cli/draft/draft-desk.ts';
import type { SampleRequest } from '../../../src/cli/draft/samples.ts';
import { shownMigration } from '../../../src/cli/draft/shown-migration.ts';
import type { AnswerCommand, DraftView } from '../../../src/inspector/draft-desk.ts';
import { createMigration } from '../../../src/library/capture-gateway.ts';
import type { Description } from '../../../src/openapi/description.ts';
import { printRuleBook } from '../../../src/openapi/draft/print-rule-book.ts';
import { proposeRuleBook } from '../../../src/openapi/draft/propose-rule-book.ts';
import { soundDraft } from '../../../src/openapi/draft/sound-draft.ts';
import { readRuleBook } from '../../../src/rules/read-rule-book.ts';
import type { RuleBook } from '../../../src/rules/rule-book.ts';
import { openQuestions } from '../../../src/rules/rule-book-fault.ts';
import { commandRun } from '../../support/command-runs.ts';
import { fuzzRuns } from '../../support/fuzz.ts';
import { randomPair } from '../../openapi/random-pairs.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const V1 = 'examples/invoicing/v1.yaml';
const V2 = 'examples/invoicing/v2.yaml';

interface OpenDesk {
  readonly desk: Desk;
  readonly dir: string;
  /** The rule books that came into force, the newest last. */
  readonly published: string[];
  /** Answers the current question, and each one after it, with the answer that is chosen for it. */
  readonly answerAll: (
    choose: (answers: readonly { readonly key: string }[]) => string,
  ) => Promise<readonly string[]>;
}

async function described(source: string): Promise<Description> {
  const description = await readDescription(source);
  if ('fault' in description) throw new Error(String(description['fault']));
  return description;
}

async function ruleBookOf(text: string): Promise<RuleBook> {
  const reading = await readRuleBook(text, 'rules.yaml');
  if (!reading.ok)
    throw new Error(reading.faults.map(({ line, message }) => `${line}: ${message}`).join('\n'));
  return reading.ruleBook;
}

/** The draft of both descriptions, and its rule book: each desk begins with them. */
const drafted = (async () => {
  const [v1, v2] = [await described(V1), await described(V2)];
  const proposed = await soundDraft(proposeRuleBook(v1, v2));
  return { v1, v2, proposed, ruleBook: await ruleBookOf(printRuleBook(proposed)) };
})();

/** A desk for two descriptions of our own. */
async function deskOf(
  v1: Description,
  v2: Description,
  publish: (text: string) => unknown = () => undefined,
): Promise<Desk> {
  const proposed = await soundDraft(proposeRuleBook(v1, v2));
  const parts = { v1, v2, dir: 'new', v1Source: V1, v2Source: V2, wishes: {} };
  return new Desk(
    { ...parts, gatewayOrigin: () => '', publish: async (text) => void publish(text) },
    proposed,
    await ruleBookOf(printRuleBook(proposed)),
  );
}

async function openDesk(): Promise<OpenDesk> {
  const { v1, v2, proposed, ruleBook } = await drafted;
  const dir = join(temporaryFolder('desk'), 'new');
  const published: string[] = [];
  const desk = new Desk(
    {
      v1,
      v2,
      dir,
      v1Source: V1,
      v2Source: V2,
      wishes: {},
      gatewayOrigin: () => 'http://127.0.0.1:9',
      publish: async (text) => void published.push(text),
    },
    proposed,
    ruleBook,
  );
  return {
    desk,
    dir,
    published,
    answerAll: async (choose) => {
      const faults: string[] = [];
      for (let view = await desk.view(); view.current !== undefined; view = await desk.view()) {
        const { id, parts } = view.current;
        const outcome = await desk.answer({
          question: id,
          chosen: parts.map(({ answers }) => choose(answers)),
          value: 'AUD',
        });
        if (outcome === undefined) continue;
        faults.push(outcome.fault);
        break;
      }
      return faults;
    },
  };
}

const partsOf = ({ current }: DraftView): NonNullable<DraftView['current']>['parts'] => current?.parts ?? [];

test('the next question is the one after the answered one; those that were left open come last', async () => {
  const { desk } = await openDesk();
  await desk.answer({ question: (await desk.view()).current?.id ?? '', chosen: ['yes'] });
  const { questions } = await desk.view();
  const [left, second, third] = questions.filter(({ isAnswered }) => !isAnswered);
  const chosen = partsOf(await desk.view(second?.id)).map(() => 'no');
  await desk.answer({ question: second?.id ?? '', chosen });
  expect((await desk.view()).current?.id).toBe(third?.id);
  await desk.answer({ question: second?.id ?? '' });
  expect((await desk.view()).current?.id).toBe(second?.id);
  const last = questions.at(-1);
  await desk.answer({ question: last?.id ?? '', chosen: partsOf(await desk.view(last?.id)).map(() => 'no') });
  expect((await desk.view()).current?.id).toBe(left?.id);
});

test('asks first where operations are, and leaves out questions that an answer settles', async () => {
  const { desk, published } = await openDesk();
  const first = await desk.view();
  expect(first.current).toMatchObject({ about: 'operation', text: 'Is "bills" called "invoices" in V2?' });
  expect(first.examples.map(({ id }) => id)).toContain('createBill');
  const [part] = partsOf(first);
  expect(part?.answers.map(({ key }) => key)).toEqual(['yes', 'no']);
  expect(part?.answers[0]?.effect).toMatchObject({
    operation: 'listBills',
    before: { faults: ['V2 does not describe GET /api/v2/bills.'], response: '' },
    after: { request: expect.stringContaining('GET /api/v2/invoices?') },
  });
  const question = first.current?.id ?? '';
  expect(await desk.answer({ question, chosen: ['yes'] })).toBeUndefined();
  const next = await desk.view();
  expect(next.questions.find(({ id }) => id === question)).toMatchObject({ isAnswered: true });
  // The wrapper of a customer, the field that is gone: both depended on the place of the operation alone.
  expect(next.questions.length).toBeLessThan(first.questions.length - 2);
  expect(published.at(-1)).toContain('- { nest: [customer_name, customer_email], under: customer }');
  expect((await ruleBookOf(published.at(-1) ?? '')).operations[0]?.to).toBeDefined();
  expect(await desk.answer({ question })).toBeUndefined();
  expect((await desk.view()).questions).toEqual(first.questions);
});

test('shows the effect of each answer on an example request, and the objections of V2’s description', async () => {
  const { desk } = await openDesk();
  await desk.answer({ question: (await desk.view()).current?.id ?? '', chosen: ['yes'] });
  const { questions } = await desk.view();
  const id = questions.find(({ text }) => text.startsWith('Does amount become'))?.id;
  const view = await desk.view(id);
  const [rename, strip, value, none] = partsOf(view)[0]?.answers ?? [];
  // One answer for both directions: what V2 calls the member.
  expect(rename?.lines).toEqual([
    '{ rename: amount, to: amount_cents }',
    '{ scale: amount_cents, by: 100, digits: 2 }',
    '{ scale: "*.amount_cents", by: 0.01, digits: 2 }',
    '{ rename: "*.amount_cents", to: amount }',
  ]);
  expect(rename?.effect?.before.request).toContain('"amount": 10.5');
  expect(rename?.effect?.after.request).toContain('"amount_cents": 1050');
  const missing = 'V2 refuses the body: Member "amount_cents" is missing.';
  expect(rename?.effect?.before.faults).toContain(missing);
  expect(rename?.effect?.after.faults).not.toContain(missing);
  expect(strip?.lines).toEqual(['{ strip: amount }']);
  expect(strip?.effect?.after.request).not.toContain('amount');
  expect(value).toMatchObject({ lines: ['{ default: { amount_cents: "…" } }'], lacksValue: true });
  // What it does is not known before a person gives the value.
  expect(value).not.toHaveProperty('effect');
  expect(none).toMatchObject({ key: 'no', lines: [] });
  expect(none).not.toHaveProperty('effect');
});

test('puts the value that a person knows into the rule that lacks one', async () => {
  const { desk, published } = await openDesk();
  const { questions } = await desk.view();
  const question =
    questions.find(({ text }) => text === 'V2 requires currency: what should it be?')?.id ?? '';
  expect(partsOf(await desk.view(question))[0]?.answers[0]).toMatchObject({ key: 'yes', lacksValue: true });
  await desk.answer({ question, chosen: ['yes'], value: 'AUD' });
  expect(published.at(-1)).toContain('- { default: { currency: AUD } }');
  expect((await desk.view(question)).current).toMatchObject({ isAnswered: true, value: 'AUD' });
});

describe('rules that a person writes', () => {
  const RULES = { request: '{ strip: amount }', response: '{ rename: "*.amount_cents", to: amount }' };

  async function amountQuestion({ desk }: OpenDesk): Promise<string> {
    await desk.answer({ question: (await desk.view()).current?.id ?? '', chosen: ['yes'] });
    const { questions } = await desk.view();
    return questions.find(({ text }) => text.startsWith('Does amount become'))?.id ?? '';
  }

  test('are shown on an example, replace the proposed ones, and can be taken back', async () => {
    const open = await openDesk();
    const { desk, published } = open;
    const question = await amountQuestion(open);
    const before = published.at(-1) ?? '';
    expect((await desk.view(question)).current).toMatchObject({ ownKey: 'own' });
    const command = { question, chosen: ['own'], own: RULES };
    const tried = await desk.effect(command);
    expect(tried).toMatchObject({ effect: { operation: 'createBill' } });
    expect('effect' in tried && tried.effect?.after.request).not.toContain('amount');
    expect(published.at(-1)).toBe(before);
    expect(await desk.answer(command)).toBeUndefined();
    const book = await ruleBookOf(published.at(-1) ?? '');
    const own = book.changes.find(({ id }) => id === 'amount-cents-name');
    expect(own?.summary).toBe('Strip amount and rename *.amount_cents to amount.');
    expect(published.at(-1)).toContain(
      '    request:\n      - { strip: amount }\n    response:\n      - { rename:',
    );
    expect(published.at(-1)).not.toContain('scale: amount_cents');
    expect((await desk.view(question)).current).toMatchObject({ own: RULES, parts: [{ isOwn: true }] });
    await desk.answer({ question });
    expect(published.at(-1)).toBe(before);
  });

  test('may have several lines, or undo in responses what they do to requests', async () => {
    const open = await openDesk();
    const question = await amountQuestion(open);
    const request = '# cents\n- rename: amount\n  to: amount_cents\n{ scale: amount_cents, by: 100 }';
    await open.desk.answer({ question, chosen: ['own'], own: { request, response: ' inverse ' } });
    expect(open.published.at(-1)).toContain(
      '    request:\n      # cents\n      - rename: amount\n        to: amount_cents\n      - { scale: amount_cents, by: 100 }\n    response: inverse\n',
    );
    await ruleBookOf(open.published.at(-1) ?? '');
  });

  test('have a list for what the question is about: bodies, the query, or header fields', async () => {
    const { desk, published } = await openDesk();
    const { questions } = await desk.view();
    const listsOf = async (start: string): Promise<readonly string[] | undefined> =>
      (await desk.view(questions.find(({ text }) => text.startsWith(start))?.id)).current?.ownLists;
    expect(await listsOf('Do the values of status correspond like this?')).toEqual([
      'query',
      'request',
      'response',
    ]);
    expect(await listsOf('Is fax gone?')).toEqual(['request', 'response']);
    expect(await listsOf('V2 does not describe the query parameter per_page. What is it in V2?')).toEqual([
      'query',
    ]);
    expect(await listsOf('Does the header field X-Account')).toEqual(['headers']);
    expect(await listsOf('Does V2 refuse')).toBeUndefined();
    const question = questions.find(({ text }) => text.startsWith('Does the header field'))?.id ?? '';
    await desk.answer({ question, chosen: ['own'], own: { headers: '{ strip: X-Account }' } });
    expect(published.at(-1)).toContain('    on: every\n    headers:\n      - { strip: X-Account }\n');
  });

  test('begin as a map with a blank for each value, under the name that an earlier answer gave', async () => {
    const described = (version: string, name: string, values: readonly string[]): Description => {
      const properties = {
        id: { type: 'string' },
        [name]: { type: 'string', enum: values },
        city: { type: 'string' },
      };
      const content = { 'application/json': { schema: { type: 'object', properties } } };
      const get = { operationId: 'get', responses: { 200: { content } } };
      const info = { title: 'Parcels', version: '1' };
      return { openapi: '3.1.0', info, paths: { [`/api/${version}/parcels/{id}`]: { get } } };
    };
    const v1 = described('v1', 'status', ['new', 'picking', 'gone']);
    const v2 = described('v2', 'state', ['RECEIVED', 'PICKING', 'LEFT', 'BACK']);
    const desk = await deskOf(v1, v2);
    const { questions } = await desk.view();
    for (const { id, about } of questions)
      if (about === 'change') {
        const { current } = await desk.view(id);
        await desk.answer({
          question: id,
          chosen: current?.parts.map(({ answers }) => answers[0]?.key ?? '') ?? [],
        });
      }
    const { current } = await desk.view(questions.find(({ about }) => about === 'note')?.id ?? '');
    const response = '{ map: { RECEIVED: "…", LEFT: "…", BACK: "…" }, of: status }';
    expect(current).toMatchObject({ own: { response } });
    const command = { question: current?.id ?? '', chosen: ['own'] };
    expect(await desk.answer({ ...command, own: { response } })).toEqual({
      fault: 'Write a value for each “…” in your rules, or leave out what has no counterpart.',
    });
    const written = '{ map: { RECEIVED: new, LEFT: gone, BACK: gone }, of: status }';
    expect(await desk.answer({ ...command, own: { response: written } })).toBeUndefined();
  });

  test('answer a note, for the operations that it names', async () => {
    const body = (required: readonly string[]): object => {
      const properties = { name: { type: 'string' }, size: { type: 'integer' } };
      const schema = { type: 'object', properties, required };
      return { content: { 'application/json': { schema } } };
    };
    const described = (version: string, required: readonly string[]): Description => ({
      openapi: '3.1.0',
      info: { title: 'Parcels', version: '1' },
      paths: {
        [`/api/${version}/parcels`]: {
          post: { operationId: 'send', requestBody: body(required), responses: { 204: {} } },
        },
      },
    });
    const desk = await deskOf(described('v1', ['name']), described('v2', ['name', 'size']));
    const { current } = await desk.view();
    expect(current).toMatchObject({
      about: 'note',
      text: expect.stringMatching(/^send: size: it is required/),
    });
    const own = { request: '{ default: { size: 1 } }', response: '' };
    const question = current?.id ?? '';
    expect(await desk.effect({ question, chosen: ['own'], own })).toEqual({});
    await desk.answer({ question, chosen: ['own'], own });
    expect((await desk.view()).remainder).toMatchObject({ gaps: 0, refused: [] });
  });

  describe('beside a rule that puts the resource into an envelope', () => {
    const text = { type: 'string' };
    const objectOf = (properties: object): object => ({
      type: 'object',
      properties,
      required: Object.keys(properties),
    });
    const ferry = (version: string, list: object, one: object): Description => {
      const get = (operationId: string, schema: object): object => ({
        operationId,
        responses: { 200: { description: 'Found', content: { 'application/json': { schema } } } },
      });
      const ref = { name: 'ref', in: 'path', required: true, schema: text };
      return {
        openapi: '3.1.0',
        info: { title: 'Ferries', version: '1' },
        paths: {
          [`/${version}/bookings`]: { get: get('list', list) },
          [`/${version}/bookings/{ref}`]: { parameters: [ref], get: get('one', one) },
        },
      };
    };
    const price = objectOf({ minorUnits: { type: 'integer' } });
    const old = objectOf({ name: text, booking_ref: text, total: { type: 'integer' } });
    const young = objectOf({ name: text, vesselCode: text, totalPrice: price });
    const v1 = ferry('v1', objectOf({ data: { type: 'array', items: old } }), objectOf({ data: old }));
    const v2 = ferry('v2', objectOf({ items: { type: 'array', items: young } }), young);
    const YOUNG = { name: 'Ann', vesselCode: 'SK', totalPrice: { minorUnits: 5 } };

    /** The bodies of both responses with these rules. */
    async function bodiesWith(response: string): Promise<readonly unknown[]> {
      let published = '';
      const desk = await deskOf(v1, v2, (text) => (published = text));
      const answer = async (about: string, ...keys: readonly string[]): Promise<void> => {
        const { questions } = await desk.view();
        const question = questions.find(({ text: asked }) => asked.includes(about))?.id ?? '';
        const chosen = partsOf(await desk.view(question)).map((_, at) => keys[at] ?? 'no');
        const own = { response };
        expect(await desk.answer({ question, chosen, ...(keys.includes('own') && { own }) })).toBeUndefined();
      };
      await answer('booking_ref', 'no');
      await answer('total', 'own');
      const migration = createMigration(await ruleBookOf(published));
      return ['/v1/bookings', '/v1/bookings/7'].map((target) => {
        const sent = migration.request('GET', target, [], undefined);
        if (sent.verdict === 'passed' || sent.verdict === 'refused') throw new Error(sent.verdict);
        const body = JSON.stringify(target.endsWith('7') ? YOUNG : { items: [YOUNG] });
        const headers = ['content-type', 'application/json'];
        const answered = migration.response(sent, 200, headers, Buffer.from(body));
        return JSON.parse(Buffer.from(answered.body ?? []).toString());
      });
    }

    test.each([
      [
        'of V2',
        '{ move: totalPrice.minorUnits, to: total }\n{ move: "items.*.totalPrice.minorUnits", to: "items.*.total" }',
      ],
      [
        'of both',
        '# cents\n- move: totalPrice.minorUnits\n  to: total\n- { move: "data.*.totalPrice.minorUnits", to: "data.*.total" }',
      ],
    ])('rules with the places %s take effect', async (_, response) => {
      const resource = { name: 'Ann', vesselCode: 'SK', total: 5 };
      expect(await bodiesWith(response)).toEqual([{ data: [resource] }, { data: resource }]);
    });

    test('members that they make are in the envelope, and rules for errors come last', async () => {
      const response = '{ default: { paid: null } }\n{ strip: data, status: 4xx }';
      expect((await bodiesWith(response))[1]).toEqual({ data: { ...YOUNG, paid: null } });
    });
  });

  test.each<readonly [why: string, own: AnswerCommand['own'], fault: RegExp]>([
    ['that are not there', undefined, /^Write at least one rule\.$/],
    ['of blanks', { request: ' \n', response: '' }, /^Write at least/],
    [
      'that no rule book can have',
      { request: '{ lift: a }', response: '' },
      /^The rule book cannot have this answer: “{ lift: a }” is not a rule/,
    ],
    [
      'that leave their place',
      { request: '', response: 'x: 1\n  on: every\n]' },
      /^The rule book cannot have/,
    ],
  ])('are refused: rules %s', async (_, own, fault) => {
    const open = await openDesk();
    const question = await amountQuestion(open);
    const before = open.published.at(-1);
    expect((await open.desk.answer({ question, chosen: ['own'], own }))?.fault).toMatch(fault);
    expect(open.published.at(-1)).toBe(before);
    expect((await open.desk.view(question)).current).toMatchObject({ isAnswered: false });
  });
});

/** Appointments with the patient's members beside the others in V1, and in an object in V2. */
function appointments(prefix: string, patient: object): Description {
  const text = { type: 'string' };
  const shape = { type: 'object', properties: { id: text, starts_on: text, ...patient } };
  const answersWith = (schema: object): object => ({
    responses: { 200: { content: { 'application/json': { schema } } } },
  });
  const parameters = [{ name: 'id', in: 'path', required: true, schema: text }];
  return {
    openapi: '3.1.0',
    info: { title: 'Clinic', version: '1' },
    paths: {
      [`${prefix}/appointments`]: {
        get: { operationId: 'listAppointments', ...answersWith({ type: 'array', items: shape }) },
      },
      [`${prefix}/appointments/{id}`]: {
        get: { operationId: 'getAppointment', parameters, ...answersWith(shape) },
      },
    },
  };
}

test('each answer that the desk takes is in force for each operation that its question names', async () => {
  const [text, whole] = [{ type: 'string' }, { type: 'integer' }];
  const old = { patient_id: whole, patient_name: text };
  const young = {
    patient: { type: 'object', properties: { patientId: whole, displayName: text, nickName: text } },
  };
  const clinic = [appointments('/api/v1', old), appointments('/api/v2', young)] as const;
  const random = Array.from({ length: fuzzRuns(20) }, (_, at) => randomPair(at + 1)).map(
    ({ v1, v2 }) => [v1, v2] as const,
  );
  for (const [v1, v2] of [clinic, ...random]) {
    for (const wanted of [0, 1, 2]) {
      let saved = '';
      const desk = await deskOf(v1, v2, (next) => (saved = next));
      const left: string[] = [];
      for (let view = await desk.view(); view.current?.isAnswered === false; view = await desk.view()) {
        const { id, parts } = view.current;
        const numbered = parts.map(({ answers }) => (answers[wanted] ?? answers.at(-1))?.key ?? 'no');
        const each = [numbered, parts.map(() => 'no'), parts.map(({ answers }) => answers[0]?.key ?? 'no')];
        let isTaken = false;
        for (const chosen of each)
          isTaken ||= (await desk.answer({ question: id, chosen, value: '7' })) === undefined;
        if (!isTaken) left.push(id);
        if (left.length > 0) break;
      }
      expect([left, saved.split('\n').filter((line) => /^ *# *- id:/.test(line))]).toEqual([[], []]);
      if (v1 !== clinic[0] || wanted !== 0) continue;
      for (const operation of ['listAppointments', 'getAppointment'])
        expect([wanted, operation, rulesOn(await ruleBookOf(saved), operation)]).toEqual([
          wanted,
          operation,
          expect.stringContaining('patient_'),
        ]);
    }
  }
});

/** The rules of responses for an operation, as a text. */
function rulesOn({ changes, operations }: RuleBook, id: string): string {
  expect(operations.map((one) => one.id)).toContain(id);
  return JSON.stringify(
    changes.flatMap(({ on, response }) => (on === 'every' || on.includes(id) ? response : [])),
  );
}

/** The request that a page shows. */
function requestIn(shown: string): SampleRequest {
  const [head = '', ...rest] = shown.split('\n\n');
  const [first = '', ...fields] = head.split('\n');
  const [method = '', target = ''] = first.split(' ');
  const headers = fields.flatMap((line) => [
    line.slice(0, line.indexOf(':')),
    line.slice(line.indexOf(':') + 2),
  ]);
  return { method, target, headers, ...(rest.length > 0 && { body: rest.join('\n\n') }) } as SampleRequest;
}

test('the effect of an answer is what the gateway does once it is given', async () => {
  const text = { type: 'string' };
  const patients = (prefix: string, own: object, ofList: object): Description => {
    const schema = { type: 'object', properties: { id: text, note: text, ...own } };
    const content = { 'application/json': { schema } };
    const items = { ...schema, properties: { ...schema.properties, ...ofList } };
    const listed = { 'application/json': { schema: { type: 'array', items } } };
    return {
      openapi: '3.1.0',
      info: { title: 'Clinic', version: '1' },
      paths: {
        [`${prefix}/patients`]: {
          get: { operationId: 'listPatients', responses: { 200: { content: listed } } },
          post: {
            operationId: 'createPatient',
            requestBody: { content },
            responses: { 201: { content } },
          },
        },
      },
    };
  };
  let saved = '';
  const desk = await deskOf(
    patients('/api/v1', { birth_date: text, price: { type: 'number' }, is_active: text }, { due: text }),
    patients(
      '/api/v2',
      { birthDate: text, price: { type: 'object', properties: { amount: text } } },
      { due: { type: 'object', properties: { amount: text } } },
    ),
    (next) => (saved = next),
  );
  const seen = new Set<string>();
  for (const { id, about } of (await desk.view()).questions) {
    if (about !== 'change') continue;
    const { current } = await desk.view(id);
    const keys = current?.parts[0]?.answers.map(({ key }) => key) ?? [];
    for (const key of keys) {
      const chosen = current?.parts.map(({ answers }) =>
        answers.some((one) => one.key === key) ? key : 'no',
      );
      const answer = { question: id, chosen: chosen ?? [], value: 'AUD' };
      const tried = await desk.effect(answer);
      if (!('effect' in tried) || tried.effect === undefined) continue;
      const { after, operation, v1: sent } = tried.effect;
      if ((await desk.answer(answer)) !== undefined || after.response === '') continue;
      const migration = createMigration(await ruleBookOf(saved));
      expect([id, key, after]).toEqual([id, key, shownMigration(migration, requestIn(sent), desk.service)]);
      seen.add(operation);
    }
    await desk.answer({ question: id });
  }
  expect(seen).toEqual(new Set(['createPatient', 'listPatients']));
});

test('an answer maps the values of a response that an unasked rule leaves as they are', async () => {
  const bookings = (version: string, states: readonly string[]): Description => {
    const properties = { status: { type: 'string', enum: states } };
    const content = { 'application/json': { schema: { type: 'object', properties, required: ['status'] } } };
    const get = { operationId: 'list', responses: { 200: { description: 'Found', content } } };
    return {
      openapi: '3.1.0',
      info: { title: 'Ferries', version: '1' },
      paths: { [`/${version}/bookings`]: { get } },
    };
  };
  const v1 = ['pending', 'confirmed', 'checked_in', 'cancelled'];
  const v2 = ['AWAITING_PAYMENT', 'CONFIRMED', 'BOARDED', 'VOID'];
  let published = '';
  const desk = await deskOf(bookings('v1', v1), bookings('v2', v2), (text) => (published = text));
  const { questions } = await desk.view();
  const question = questions.find(({ text }) => text.startsWith('Do the values of status'))?.id ?? '';
  expect(await desk.answer({ question, chosen: ['yes'] })).toBeUndefined();
  const migration = createMigration(await ruleBookOf(published));
  const statuses = v2.map((status) => {
    const sent = migration.request('GET', '/v1/bookings', [], undefined);
    if (sent.verdict === 'passed' || sent.verdict === 'refused') throw new Error(sent.verdict);
    const body = Buffer.from(JSON.stringify({ status }));
    const answered = migration.response(sent, 200, ['content-type', 'application/json'], body);
    return JSON.parse(Buffer.from(answered.body ?? []).toString());
  });
  expect(statuses).toEqual(v1.map((status) => ({ status })));
});

describe('the place of an operation that a person names', () => {
  const text = { type: 'string' };
  const body = (...names: readonly string[]): object => {
    const properties = Object.fromEntries(names.map((name) => [name, text]));
    const schema = { type: 'object', properties, required: names };
    return { required: true, content: { 'application/json': { schema } } };
  };
  const operation = (id: string, names: readonly string[], parameters: readonly string[] = []): object => ({
    operationId: id,
    parameters: parameters.map((name) => ({ name, in: 'path', required: true, schema: text })),
    ...(names.length > 0 && { requestBody: body(...names) }),
    responses: { 200: { description: 'OK' } },
  });
  const description = (paths: object): Description => ({
    openapi: '3.1.0',
    info: { title: 'Ferries', version: '1' },
    paths,
  });
  const v1 = description({
    '/v1/bookings': { post: operation('book', ['email']) },
    '/v1/bookings/{booking_ref}/refunds': { post: operation('refund', ['reason'], ['booking_ref']) },
  });
  const v2 = description({
    '/v2/bookings': { post: operation('bookings.create', ['email']) },
    '/v2/bookings/{bookingId}/contact': { put: operation('bookings.setContact', ['phone'], ['bookingId']) },
    '/v2/refunds': { post: operation('refunds.create', ['bookingId', 'reason']) },
  });
  const refundQuestion = async (desk: Desk): Promise<string> => {
    const { questions } = await desk.view();
    const found = questions.find((one) => one.text.startsWith('V2 does not describe POST /bookings/{'));
    return found?.id ?? '';
  };

  test('is one of V2’s, listed with the likeliest first, and shows its effect before it is given', async () => {
    const desk = await deskOf(v1, v2);
    const question = await refundQuestion(desk);
    const { current } = await desk.view(question);
    expect(current?.values).toEqual([
      'POST /refunds',
      'POST /bookings',
      'PUT /bookings/{booking_ref}/contact',
    ]);
    const named = { question, chosen: ['place'] };
    expect(await desk.effect({ ...named, value: 'POST /refunds' })).toMatchObject({
      effect: {
        operation: 'refund',
        before: { faults: [expect.stringContaining('V2 does not describe POST /v2/bookings/')] },
        after: { request: expect.stringContaining('POST /v2/refunds') },
      },
    });
    for (const value of ['', 'refunds', 'GET /refunds'])
      expect((await desk.answer({ ...named, value }))?.fault).toMatch(/^V2 does not describe “.*”: write /);
  });

  test('is compared, with the word what to do about a path parameter that V2 has in the body', async () => {
    let published = '';
    const desk = await deskOf(v1, v2, (next) => (published = next));
    const question = await refundQuestion(desk);
    expect(await desk.answer({ question, chosen: ['place'], value: 'POST /refunds' })).toBeUndefined();
    expect(published).toContain(
      'refund: { match: "POST /bookings/{booking_ref}/refunds", to: POST /refunds }',
    );
    const texts = (await desk.view()).questions.map((one) => one.text);
    expect(texts).toContainEqual(expect.stringContaining('{ ...body, bookingId: path.booking_ref }'));
    const { current } = await desk.view(question);
    expect(current).toMatchObject({ isAnswered: true, value: 'POST /refunds' });
  });
});

test('an answer shows its effect on a request with a body before one without', async () => {
  const bookings = (version: string, name: string): Description => {
    const contentOf = (properties: object): object => ({
      'application/json': { schema: { type: 'object', properties } },
    });
    const content = contentOf({ [name]: { type: 'string' }, id: { type: 'integer' } });
    const responses = { 200: { description: 'Found', content } };
    const item = {
      get: { operationId: 'list', responses },
      post: { operationId: 'create', requestBody: { content: contentOf({ note: {} }) }, responses },
    };
    return {
      openapi: '3.1.0',
      info: { title: 'Ferries', version: '1' },
      paths: { [`/${version}/bookings`]: item },
    };
  };
  const desk = await deskOf(bookings('v1', 'remark'), bookings('v2', 'wharf'));
  const { questions } = await desk.view();
  const question = questions.find(({ operations }) => operations.includes('list'));
  const own = { request: '{ rename: note, to: text }', response: '{ rename: wharf, to: remark }' };
  const chosen = partsOf(await desk.view(question?.id)).map(() => 'own');
  expect(question?.operations).toEqual(expect.arrayContaining(['list', 'create']));
  expect(await desk.effect({ question: question?.id ?? '', chosen, own })).toMatchObject({
    effect: { operation: 'create', after: { request: expect.stringContaining('"text"') } },
  });
});

test('judges a request by V2’s description', async () => {
  const { desk } = await openDesk();
  const message = {
    method: 'POST',
    target: '/api/v2/invoices?x=1',
    headers: [['X-Account', 'acme']] as const,
  };
  expect(desk.judge({ ...message, body: '{"amount":1}' })).toEqual(
    expect.arrayContaining([
      'V2 refuses the body: Member "amount_cents" is missing.',
      'V2 does not describe the query parameter x.',
    ]),
  );
  expect(desk.judge({ ...message, target: '/api/v2/bills', body: '' })).toEqual([
    'V2 does not describe POST /api/v2/bills.',
  ]);
});

test('an example has each member of an object in the query, as its style says', async () => {
  const filter = {
    in: 'query',
    schema: { type: 'object', properties: { state: { type: 'string' } }, required: ['state'] },
  };
  const parameters = [
    { name: 'filter', style: 'deepObject', ...filter },
    { name: 'plain', ...filter },
  ];
  const described = (version: string): Description => ({
    openapi: '3.1.0',
    info: { title: 'Parcels', version: '1' },
    paths: {
      [`/api/${version}/parcels`]: { get: { operationId: 'list', parameters, responses: { 200: {} } } },
    },
  });
  const { examples } = await (await deskOf(described('v1'), described('v2'))).view();
  expect(examples[0]?.v1).toContain('GET /api/v1/parcels?filter%5Bstate%5D=text&state=text');
});

test.each<readonly [why: string, command: (id: string) => AnswerCommand, fault: RegExp]>([
  [
    'to a question that does not exist',
    () => ({ question: 'change none', chosen: ['yes'] }),
    /no longer asks this question/,
  ],
  [
    'that is not one of the offered ones',
    (question) => ({ question, chosen: ['7'] }),
    /Choose one of the answers/,
  ],
  ['to too few parts', (question) => ({ question, chosen: [] }), /each part/],
])('refuses an answer %s', async (_, command, fault) => {
  const { desk, published } = await openDesk();
  const outcome = await desk.answer(command((await desk.view()).current?.id ?? ''));
  expect(outcome?.fault).toMatch(fault);
  expect(published).toEqual([]);
});

test('reports at the end what check finds in the rule book, and which examples V2 refuses', async () => {
  const { desk, dir, answerAll } = await openDesk();
  expect(await desk.view()).not.toHaveProperty('remainder');
  // Each bill is an invoice, and nothing else is said.
  await desk.answer({ question: (await desk.view()).current?.id ?? '', chosen: ['yes'] });
  await answerAll((answers) => answers.at(-1)?.key ?? 'no');
  const { remainder } = await desk.view();
  await desk.save();
  const descriptions = ['--v1', V1, '--v2', V2];
  const { out } = await commandRun(['check', '--rules', join(dir, 'rules.yaml'), ...descriptions]);
  expect(out).toContain(`leaves ${remainder?.gaps} gaps between the descriptions`);
  expect(remainder?.lines[0]).toMatch(/^Required by V2 and never sent/);
  const isCut = (line: string): boolean => line.includes('more lines');
  expect(remainder?.lines.filter(isCut)).toEqual([]);
  const bill = remainder?.refused.find(({ operation }) => operation === 'createBill');
  expect(bill?.faults).toContain('V2 refuses the body: Member "amount_cents" is missing.');
});

describe('the saved folder', () => {
  const FILES = ['gateway.yaml', 'rules.yaml', 'rules.schema.json', 'cases/first.txt'];

  test('equals that of init byte for byte while no question is answered', async () => {
    const { desk, dir } = await openDesk();
    expect(existsSync(dir)).toBe(false);
    expect(await desk.save()).toMatchObject({ files: FILES.map((file) => join(dir, file)) });
    const other = join(temporaryFolder('desk-init'), 'new');
    await commandRun(['init', '--v1', V1, '--v2', V2, '--dir', other]);
    const texts = (folder: string): readonly string[] =>
      FILES.map((file) => readFileSync(join(folder, file), 'utf8'));
    const [settings, ...rest] = texts(other);
    const [ownSettings, ...own] = texts(dir);
    expect(own).toEqual(rest);
    expect(ownSettings).toBe(settings);
  });

  test('has, with every answer yes, the rules that init writes once all of its marks are removed', async () => {
    const { desk, dir, published, answerAll } = await openDesk();
    expect(await answerAll(() => 'yes')).toEqual([]);
    for (const text of published) await ruleBookOf(text);
    await desk.save();
    const answered = readFileSync(join(dir, 'rules.yaml'), 'utf8');
    expect(answered).not.toContain('TODO');
    const { proposed } = await drafted;
    const byHand = await ruleBookOf(
      printRuleBook(proposed, undefined, 'unmarked').replaceAll('currency: "…"', 'currency: AUD'),
    );
    const rulesOf = ({ changes }: RuleBook): readonly string[] =>
      changes
        .flatMap(({ on, request, query, headers, response }) =>
          Object.entries({ request, query, headers, response }).map(([part, rules]) =>
            JSON.stringify([part, on, rules]),
          ),
        )
        .toSorted();
    const own = await ruleBookOf(answered);
    expect(own.operations.map(({ id, to, resource }) => [id, to, resource])).toEqual(
      byHand.operations.map(({ id, to, resource }) => [id, to, resource]),
    );
    expect(rulesOf(own)).toEqual(rulesOf(byHand));
  });

  test('replaces files of this run when it is saved again, and no others', async () => {
    const { desk, dir } = await openDesk();
    await desk.save();
    const rules = readFileSync(join(dir, 'rules.yaml'), 'utf8');
    await desk.answer({ question: (await desk.view()).current?.id ?? '', chosen: ['yes'] });
    expect(await desk.save()).toHaveProperty('files');
    expect(readFileSync(join(dir, 'rules.yaml'), 'utf8')).not.toBe(rules);
    writeFileSync(join(dir, 'rules.yaml'), '# of somebody else\n');
    expect(await desk.save()).toMatchObject({ fault: expect.stringContaining('rules.yaml: already exist.') });
  });
});

test.each<readonly [which: string, choose: (answers: readonly { readonly key: string }[]) => string]>([
  ['no, or the only one', (answers) => answers.at(-1)?.key ?? 'no'],
  ['the second one', (answers) => answers[1]?.key ?? 'yes'],
])('every question can be answered with %s, and the rule book stays sound', async (_, choose) => {
  const { answerAll, published } = await openDesk();
  expect(await answerAll(choose)).toEqual([]);
  for (const text of published) await ruleBookOf(text);
  expect(published.at(-1)).not.toContain('TODO');
});

test('the questions without an answer are the TODO lines of the rule book, after each answer', async () => {
  const { desk, published } = await openDesk();
  const choices = ['later', 'yes', 'no', '0'];
  for (let view = await desk.view(); view.current !== undefined; view = await desk.view()) {
    const { id, parts } = view.current;
    const chosen = parts.map(
      ({ answers }) => choices.find((key) => answers.some((one) => one.key === key)) ?? answers[0]?.key ?? '',
    );
    choices.push(...choices.splice(1, 1));
    expect(await desk.answer({ question: id, chosen, value: 'AUD' })).toBeUndefined();
    const { questions } = await desk.view();
    const open = questions.filter(({ isAnswered }) => !isAnswered);
    expect([id, openQuestions(published.at(-1) ?? '', '').length]).toEqual([id, open.length]);
  }
});

test('a question about errors shows what its answers do to an error', async () => {
  const text = { type: 'string' };
  const contentOf = (properties: object): object => ({
    content: { 'application/json': { schema: { type: 'object', properties } } },
  });
  const described = (version: string, error: object): Description => ({
    openapi: '3.1.0',
    info: { title: 'Parcels', version: '1' },
    paths: {
      [`/api/${version}/parcels/{id}`]: {
        get: { operationId: 'read', responses: { 200: contentOf({ id: text }), 404: contentOf(error) } },
      },
    },
  });
  const list = { type: 'array', items: { type: 'object', properties: { detail: text, code: text } } };
  const desk = await deskOf(
    described('v1', { error: text, code: text }),
    described('v2', { problems: list }),
  );
  const { questions } = await desk.view();
  const asked = questions.find(({ text: words }) => words.startsWith('Should errors have'));
  const [yes] = partsOf(await desk.view(asked?.id))[0]?.answers ?? [];
  expect(yes?.effect?.before.response).toMatch(/^404\n[^]*"problems"/);
  expect(yes?.effect?.after.response).toMatch(
    /^404\n[^]*\{\n {2}"error": "text",\n {2}"code": "text"\n\}|\{\n {2}"code": "text",\n {2}"error": "text"\n\}/,
  );
});

test('the settings have the addresses at which the draft was tried', async () => {
  const { v1, v2, proposed, ruleBook } = await drafted;
  const dir = join(temporaryFolder('desk-addresses'), 'new');
  const servedAt = { listen: '127.0.0.1:21405', adminListen: '127.0.0.1:21406' };
  const parts = { v1, v2, dir, v1Source: V1, v2Source: V2, wishes: {}, servedAt: () => servedAt };
  const desk = new Desk(
    { ...parts, gatewayOrigin: () => '', publish: async () => undefined },
    proposed,
    ruleBook,
  );
  const saved = await desk.save();
  const settings = readFileSync(join(dir, 'gateway.yaml'), 'utf8');
  expect(settings).toContain('listen: 127.0.0.1:21405\nadmin-listen: 127.0.0.1:21406\n');
  const remarks = 'remarks' in saved ? saved.remarks : [];
  expect(remarks[0]).toContain('127.0.0.1:21405 for V1 clients, 127.0.0.1:21406 for this page');
  expect(remarks[1]).toContain('is https://api.invoicing.example, the first server');
  expect(remarks[2]).toMatch(/, and finds \d+ gaps\.$/);
});
