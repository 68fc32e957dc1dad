import { Hono } from 'hono';
import { expect, test } from 'vitest';
import type { AnswerCommand, DraftDesk, DraftView } from '../../../src/inspector/draft-desk.ts';
import { draftRoutes } from '../../../src/inspector/routes/draft-routes.ts';

const VIEW: DraftView = {
  folder: 'my-api',
  questions: [],
  examples: [{ id: 'list', v1: 'GET /v1/a' }],
};

function routes(told: unknown[] = []): Hono {
  const desk: DraftDesk = {
    view: async (question) => {
      told.push(['view', question]);
      return VIEW;
    },
    effect: async (command) => {
      told.push(command);
      return {};
    },
    judge: ({ target }) => [`V2 does not describe ${target}.`],
    answer: async (command: AnswerCommand) => {
      told.push(command);
      return command.question === 'gone'
        ? { fault: 'The draft no longer asks this question; reload the page.' }
        : undefined;
    },
    run: async (operation) =>
      operation === 'list'
        ? { requestId: 'r', status: 200, response: '200' }
        : { fault: 'No such operation.' },
    save: async () => ({ files: ['my-api/rules.yaml'], next: ['capture-gateway check'], remarks: [] }),
  };
  const app = new Hono();
  draftRoutes(app, desk);
  return app;
}

async function post(path: string, body: string, type = 'application/json'): Promise<[number, unknown]> {
  const response = await routes().request(path, { method: 'POST', body, headers: { 'content-type': type } });
  return [response.status, await response.json()];
}

test('the draft, and one of its questions', async () => {
  const told: unknown[] = [];
  const app = routes(told);
  expect(await (await app.request('/draft')).json()).toEqual(VIEW);
  await app.request('/draft?question=change%20a%201');
  expect(told).toEqual([
    ['view', undefined],
    ['view', 'change a 1'],
  ]);
});

test('an answer, an answer taken back, and the values of a command', async () => {
  const told: unknown[] = [];
  const app = routes(told);
  const own = { request: '{ strip: a }', response: '' };
  for (const body of [
    { question: 'a', chosen: ['yes', '0'], value: 'AUD' },
    { question: 'b', chosen: ['own'], own },
    { question: 'a' },
  ]) {
    const response = await app.request('/draft/answer', {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    });
    expect(await response.json()).toEqual(VIEW);
  }
  expect(told.filter((one) => !Array.isArray(one))).toEqual([
    { question: 'a', chosen: ['yes', '0'], value: 'AUD' },
    { question: 'b', chosen: ['own'], own },
    { question: 'a' },
  ]);
});

test.each<readonly [path: string, body: string, status: number, code: string]>([
  ['answer', '{"question":"gone","chosen":["yes"]}', 422, 'draft-refused'],
  ['answer', '{"question":1}', 400, 'bad-request'],
  ['answer', '{"question":"a","chosen":"yes"}', 400, 'bad-request'],
  ['answer', '{"question":"a","chosen":[1]}', 400, 'bad-request'],
  ['answer', '{"question":"a","chosen":["yes"],"value":7}', 400, 'bad-request'],
  ['answer', 'null', 400, 'bad-request'],
  ['answer', '{', 400, 'bad-request'],
  ['answer', '{"question":"a","chosen":["own"],"own":{"request":7}}', 400, 'bad-request'],
  ['answer', '{"question":"a","chosen":["own"],"own":{"rules":"a"}}', 400, 'bad-request'],
  ['effect', '{"chosen":["yes"]}', 400, 'bad-request'],
  ['judge', '{"method":"GET","target":"/a","headers":[["a"]],"body":""}', 400, 'bad-request'],
  ['judge', '{"method":"GET","target":"/a","headers":{},"body":""}', 400, 'bad-request'],
  ['judge', '{"method":"GET","headers":[],"body":""}', 400, 'bad-request'],
  ['run', '{"operation":"none"}', 422, 'draft-refused'],
  ['run', '{}', 400, 'bad-request'],
])('POST /draft/%s of %s gets %i', async (path, body, status, code) => {
  expect(await post(`/draft/${path}`, body)).toEqual([
    status,
    { errors: [expect.objectContaining({ code, status: String(status) })] },
  ]);
});

test('a form of another site changes nothing', async () => {
  expect(await post('/draft/save', '', 'text/plain')).toMatchObject([400, {}]);
});

test('the effect of an answer that is not given yet, and the objections to a request', async () => {
  expect(await post('/draft/effect', '{"question":"a","chosen":["yes"]}')).toEqual([200, {}]);
  expect(
    await post('/draft/judge', '{"method":"GET","target":"/a","headers":[["A","b"]],"body":""}'),
  ).toEqual([200, { faults: ['V2 does not describe /a.'] }]);
});

test('an example that runs, and a draft that is saved', async () => {
  expect(await post('/draft/run', '{"operation":"list"}')).toEqual([
    200,
    { requestId: 'r', status: 200, response: '200' },
  ]);
  expect(await post('/draft/save', '{}')).toEqual([
    200,
    { files: ['my-api/rules.yaml'], next: ['capture-gateway check'], remarks: [] },
  ]);
});
