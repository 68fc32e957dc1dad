import { parentPort, workerData } from 'node:worker_threads';
import { callTransform, lineOf, type TransformJob, type TransformModule } from '../../migrate/transform.ts';
import { hasOutsideHeap, limitBuffers } from './buffer-limit.ts';
import { freezeRealm } from './frozen-realm.ts';
import type { FromTransforms, TransformModules } from './thread-messages.ts';

// The transform thread: it runs the code of rule books, and the gateway ends it if that takes too long.

// Drops the output of transforms, which would otherwise fill the memory unread.
for (const stream of [process.stdout, process.stderr]) stream.write = () => true;

// Code that a module leaves running may fail during another call, which is not that call's fault. A call's own errors are its outcome.
process.on('uncaughtException', () => {});
process.on('unhandledRejection', () => {});

const { texts, bufferBytes }: TransformModules = workerData;
limitBuffers(bufferBytes);
const modules = new Map<string, TransformModule>();

parentPort?.on('message', (job: TransformJob) => void respond(job));
await warmUp();
// After the gateway's own modules, and before those of the rule book.
freezeRealm();
await start();

async function start(): Promise<void> {
  const exports: Record<string, readonly string[]> = {};
  for (const [path, text] of Object.entries(texts)) {
    try {
      // The text instead of the file, which may have changed since.
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
  send({ kind: 'ready', exports, workedMs: workedMs() });
}

function addressOf(text: string): string {
  return `data:text/javascript;base64,${Buffer.from(text).toString('base64')}`;
}

/** Makes two calls, so that no transform's budget pays for compiling the code of calls. */
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
  const outcome = await callTransform(modules.get(job.module) ?? {}, job);
  send({ kind: 'outcome', outcome, isFull: hasOutsideHeap(bufferBytes / 2), workedMs: workedMs() });
}

function workedMs(): number | undefined {
  if (typeof process.threadCpuUsage !== 'function') return undefined;
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

function send(message: FromTransforms): void {
  parentPort?.postMessage(message);
}
