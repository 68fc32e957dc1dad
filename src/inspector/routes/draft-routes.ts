import type { Hono } from 'hono';
import { parsedJson } from '../../rewrite-log/attributes.ts';
import type { AnswerCommand, DraftDesk, DraftFault } from '../draft-desk.ts';
import { failure, jsonResponse, readCommand } from './responses.ts';

/** Maximum bytes of a command: the id of a question, and a value. */
const COMMAND_BYTES = 64 * 1024;

/** Adds `/draft`, the routes to answer the questions of a draft one by one, to try it, and to save it. */
export function draftRoutes(app: Hono, desk: DraftDesk): void {
  app.get('/draft', async (c) => jsonResponse(await desk.view(c.req.query('question'))));
  app.post('/draft/answer', async (c) => {
    const command = await readMembers(c.req.raw);
    if (command instanceof Response) return command;
    const answer = answerIn(command);
    if (answer === undefined)
      return failure(
        400,
        'bad-request',
        'Send {"question": "…", "chosen": ["…"]}, with a "value" or without.',
      );
    const fault = await desk.answer(answer);
    return fault === undefined ? jsonResponse(await desk.view()) : refused(fault);
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
  return keys.length === chosen.length ? { question, chosen: keys, value } : undefined;
}
