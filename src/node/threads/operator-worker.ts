import { parentPort } from 'node:worker_threads';
import { doOperatorWork, type OperatorText, type OperatorWork } from '../../inspector/operator-work.ts';
import { isDescription } from '../../openapi/description.ts';
import { CompiledRuleBook } from '../../rewrite/compiled-rule-book.ts';
import type { RuleBook } from '../../rules/rule-book.ts';
import { decodeBody } from '../decode-body.ts';
import { hashBody } from '../runtime.ts';
import { TransformThreads } from './transform-thread.ts';
import { jsonText } from '../../report/text.ts';

// The operators' thread: explains requests, shows entries of any size and plans from logs, while the main thread serves clients.

const transforms = new TransformThreads();

let last: CompiledRuleBook | undefined;

function compiled(ruleBook: RuleBook): CompiledRuleBook {
  if (last?.ruleBook.hash !== ruleBook.hash) last = new CompiledRuleBook(ruleBook);
  return last;
}

// An error ends the thread, which rejects the work.
parentPort?.on('message', (work: OperatorWork) => void respond(work));

async function respond(work: OperatorWork): Promise<void> {
  const { status, value } = await doOperatorWork(work, {
    compiled,
    decode: decodeBody,
    hash: hashBody,
    transform: transforms.run,
    // Loaded on demand, because few operators plan or try rules.
    judgeBy: async (description) => {
      const { BodySchemas } = await import('../../openapi/body-schemas.ts');
      if (!isDescription(description)) return undefined;
      const schemas = new BodySchemas(description);
      return (...body) => schemas.verdictOf(...body).v2;
    },
    plan: async (plan) => (await import('../log/plan-of-log.ts')).planOfLog(plan),
    guide: async (guide) => (await import('../log/guide-of-log.ts')).guideOfLog(guide),
    history: async (history) => (await import('../log/history-of-log.ts')).historyOfLog(history),
    now,
    pause,
  });
  const isJson = typeof value !== 'string';
  const bytes = new Uint8Array(new TextEncoder().encode(isJson ? jsonText(value) : value));
  const text: OperatorText = { status, isJson, bytes };
  parentPort?.postMessage(text, [bytes.buffer]);
}

function now(): number {
  return performance.now();
}

/** No pause, because the thread has no other work. */
function pause(): Promise<void> {
  return Promise.resolve();
}
