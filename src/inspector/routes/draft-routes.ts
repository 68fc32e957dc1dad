import type { Hono } from 'hono';
import { parsedJson } from '../../rewrite-log/attributes.ts';
import type {
  AnswerCommand,
  DraftDesk,
  DraftFault,
  JudgedMessage,
  OwnList,
  OwnRules,
} from '../draft-desk.ts';
import { failure, jsonResponse, readCommand } from './responses.ts';

/** Maximum bytes of a command: the id of a question and a value, or a request. */
const COMMAND_BYTES = 256 * 1024;

const HOW_TO_ANSWER =
  'Send {"question": "…", "chosen": ["…"]}, with a "value", or with "own" rules by list: {"request": "…"}.';

/** Adds `/draft`, the routes to answer the questions of a draft one by one, to try it, and to save it. */
export function draftRoutes(app: Hono, desk: DraftDesk): void {
  app.get('/draft', async (c) => jsonResponse(await desk.view(c.req.query('question'))));
  app.post('/draft/answer', async (c) => {
    const command = await readMembers(c.req.raw);
    if (command instanceof Response) return command;
    const answer = answerIn(command);
    if (answer === undefined) return failure(400, 'bad-request', HOW_TO_ANSWER);
    const fault = await desk.answer(answer);
    return fault === undefined ? jsonResponse(await desk.view()) : refused(fault);
  });
  app.post('/draft/effect', async (c) => {
    const command = await readMembers(c.req.raw);
    if (command instanceof Response) return command;
    const answer = answerIn(command);
    return answer === undefined
      ? failure(400, 'bad-request', HOW_TO_ANSWER)
      : outcome(await desk.effect(answer));
  });
  app.post('/draft/judge', async (c) => {
    const command = await readMembers(c.req.raw);
    if (command instanceof Response) return command;
    const message = messageIn(command);
    return message === undefined
      ? failure(400, 'bad-request', 'Send {"method", "target", "headers": [[name, value]], "body": text}.')
      : jsonResponse({ faults: desk.judge(message) });
  });
  app.post('/draft/run', async (c) => {
    const command = await readMembers(c.req.raw);
    if (command instanceof Response) return command;
    const operation = command.get('operation');
    if (typeof operation !== 'string')
      return failure(400, 'bad-request', 'Send {"operation": "…"}, the id of an operation.');
    return outcome(await desk.run(operation));
  });
  app.post('/draft/save', async (c) => {
    const command = await readMembers(c.req.raw);
    return command instanceof Response ? command : outcome(await desk.save());
  });
}

function outcome(result: object | DraftFault): Response {
  return 'fault' in result ? refused(result) : jsonResponse(result);
}

function refused({ fault }: DraftFault): Response {
  return failure(422, 'draft-refused', fault);
}

async function readMembers(request: Request): Promise<ReadonlyMap<string, unknown> | Response> {
  const command = await readCommand(request, COMMAND_BYTES);
  if (command instanceof Response) return command;
  const value = parsedJson(command.text);
  return typeof value === 'object' && value !== null
    ? new Map(Object.entries(value))
    : failure(400, 'bad-request', 'Send a JSON object.');
}

function answerIn(members: ReadonlyMap<string, unknown>): AnswerCommand | undefined {
  const [question, chosen, value] = ['question', 'chosen', 'value'].map((name) => members.get(name));
  if (typeof question !== 'string' || (value !== undefined && typeof value !== 'string')) return undefined;
  if (chosen === undefined) return { question };
  if (!Array.isArray(chosen)) return undefined;
  const keys = chosen.filter((key) => typeof key === 'string');
  const own = members.get('own');
  const rules = own === undefined ? undefined : ownIn(own);
  if (keys.length !== chosen.length || (own !== undefined && rules === undefined)) return undefined;
  return { question, chosen: keys, value, ...(rules && { own: rules }) };
}

function ownIn(own: unknown): OwnRules | undefined {
  if (typeof own !== 'object' || own === null) return undefined;
  const texts = Object.entries(own).filter(
    (entry): entry is [OwnList, string] => isOwnList(entry[0]) && typeof entry[1] === 'string',
  );
  return texts.length === Object.keys(own).length ? Object.fromEntries(texts) : undefined;
}

function isOwnList(name: string): name is OwnList {
  return name === 'query' || name === 'headers' || name === 'request' || name === 'response';
}

function messageIn(members: ReadonlyMap<string, unknown>): JudgedMessage | undefined {
  const [method, target, headers, body] = ['method', 'target', 'headers', 'body'].map((name) =>
    members.get(name),
  );
  if (typeof method !== 'string' || typeof target !== 'string' || typeof body !== 'string') return undefined;
  if (!Array.isArray(headers)) return undefined;
  const fields = headers.flatMap((field: unknown) => {
    const [name, value]: readonly unknown[] = Array.isArray(field) ? field : [];
    return typeof name === 'string' && typeof value === 'string' ? [[name, value] as const] : [];
  });
  return fields.length === headers.length ? { method, target, headers: fields, body } : undefined;
}
