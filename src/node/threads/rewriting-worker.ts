import { parentPort } from 'node:worker_threads';
import type { WithoutEdits } from '../../migrate/migration.ts';
import type { WorkMemory } from '../../json/tape.ts';
import { CompiledRuleBook } from '../../rewrite/compiled-rule-book.ts';
import type { Operation } from '../../rules/rule-book.ts';
import { ASKED, type FromThread, GRANTED, type ToThread } from './thread-messages.ts';

// The rewriting thread: rewrites large bodies, one after the other, while the main thread serves all other requests.

let rules: CompiledRuleBook | undefined;
let grant = new Int32Array(new SharedArrayBuffer(4));

const memory: WorkMemory = {
  take: (bytes) => {
    Atomics.store(grant, 0, ASKED);
    send({ kind: 'memory', bytes }, []);
    Atomics.wait(grant, 0, ASKED);
    return Atomics.load(grant, 0) === GRANTED;
  },
  room: (bytes) => Buffer.allocUnsafeSlow(bytes),
};

parentPort?.on('message', (message: ToThread) => {
  switch (message.kind) {
    case 'rule-book':
      rules = new CompiledRuleBook(message.ruleBook);
      grant = new Int32Array(message.grant);
      return;
    case 'request': {
      const { body, format } = message;
      const book = ruleBook();
      const plan = book.requestPlan(operationOf(book, message.operation), format);
      const outcome = sendable(plan.rewrite(body, memory));
      send(
        { kind: 'request', outcome, body },
        outcome.verdict === 'rewritten' ? [body, outcome.body] : [body],
      );
      return;
    }
    case 'response': {
      const { body, method, context } = message;
      const book = ruleBook();
      const plan = book.responsePlan(operationOf(book, message.operation), method);
      const outcome = sendable(plan.rewrite(body, context, memory));
      send(
        { kind: 'response', outcome, body },
        outcome.verdict === 'rewritten' ? [body, outcome.body] : [body],
      );
      return;
    }
  }
});

function ruleBook(): CompiledRuleBook {
  if (rules === undefined) throw new Error('the rewriting thread has no rule book');
  return rules;
}

function operationOf(
  { ruleBook: { operations } }: CompiledRuleBook,
  id: string | undefined,
): Operation | undefined {
  return operations.find((operation) => operation.id === id);
}

/** Leaves out the edits, and copies a result that shares its memory with others, so that it can be moved. */
function sendable<Outcome extends { readonly verdict: string; readonly body?: Uint8Array }>(
  outcome: Outcome,
): WithoutEdits<Outcome>;
function sendable(outcome: {
  readonly verdict: string;
  readonly body?: Uint8Array;
  readonly edits?: unknown;
}): object {
  if (outcome.verdict !== 'rewritten' || outcome.body === undefined) return outcome;
  const { edits: _, body, ...rest } = outcome;
  return { ...rest, body: body.length === body.buffer.byteLength ? body : new Uint8Array(body) };
}

/** Sends a message, and moves the memory of `bodies` with it. */
function send(message: FromThread, bodies: readonly Uint8Array[]): void {
  const buffers = new Set(bodies.map((body) => body.buffer));
  parentPort?.postMessage(
    message,
    [...buffers].filter((buffer) => buffer instanceof ArrayBuffer),
  );
}
