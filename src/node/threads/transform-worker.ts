import { parentPort, workerData } from 'node:worker_threads';
import { callTransform, lineOf, type TransformJob, type TransformModule } from '../../migrate/transform.ts';
import type { FromTransforms, TransformModules } from './thread-messages.ts';

// The thread for transforms: it runs the code of rule books, and is ended where that takes too long.

// What a transform prints goes nowhere: with nobody who reads it, it would fill the memory.
for (const stream of [process.stdout, process.stderr]) stream.write = () => true;

const { texts }: TransformModules = workerData;
const modules = new Map<string, TransformModule>();

parentPort?.on('message', (job: TransformJob) => void respond(job));
await warmUp();
await start();

async function start(): Promise<void> {
  const exports: Record<string, readonly string[]> = {};
  for (const [path, text] of Object.entries(texts)) {
    try {
      // The text that was read, not the file: that may be another one by now.
      const module: Readonly<Record<string, unknown>> = await import(addressOf(text));
      modules.set(path, module);
      exports[path] = Object.keys(module).filter((name) => typeof module[name] === 'function');
    } catch (error) {
      const isError = error instanceof Error;
      const line = Number(lineOf(isError ? (error.stack ?? '') : ''));
      send({
        kind: 'fault',
        module: path,
        message: isError ? error.message.replaceAll(addressOf(text), path) : String(error),
        isSyntax: error instanceof SyntaxError,
        line: line > 0 ? line : undefined,
      });
      return;
    }
  }
  send({ kind: 'ready', exports });
}

function addressOf(text: string): string {
  return `data:text/javascript;base64,${Buffer.from(text).toString('base64')}`;
}

/** What a call needs is compiled at its first use: that is no part of anybody's budget. */
async function warmUp(): Promise<void> {
  const path = '(none)';
  const body = new TextEncoder().encode('{"a":[1,{"b":"c"}]}');
  const job = { module: path, operation: '', method: 'GET', path: {}, query: 'a=b', status: 200, body };
  const module: TransformModule = {
    request: (_, { query }) => ({ body: { a: [2] }, query }),
    response: async () => ({ body: { a: [2] } }),
  };
  await callTransform(module, { ...job, direction: 'request' });
  await callTransform(module, { ...job, direction: 'response' });
}

async function respond(job: TransformJob): Promise<void> {
  send({ kind: 'began', workedMs: workedMs() });
  send({ kind: 'outcome', outcome: await callTransform(modules.get(job.module) ?? {}, job) });
}

function workedMs(): number | undefined {
  if (typeof process.threadCpuUsage !== 'function') return undefined;
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

function send(message: FromTransforms): void {
  parentPort?.postMessage(message);
}
