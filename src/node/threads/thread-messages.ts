import type { Worker } from 'node:worker_threads';
import type { BodyFormat } from '../../http/content.ts';
import type { WithoutEdits } from '../../migrate/migration.ts';
import type { Rewrite } from '../../rewrite/records.ts';
import type { ResponseRewrite } from '../../rewrite/response-rules.ts';
import type { ResponseContext } from '../../rewrite/response-rules.ts';
import type { TransformOutcome } from '../../migrate/transform.ts';
import type { RuleBook } from '../../rules/rule-book.ts';

/** A message to the rewriting thread. The memory of a body moves there and back. */
export type ToThread =
  | { readonly kind: 'rule-book'; readonly ruleBook: RuleBook; readonly grant: SharedArrayBuffer }
  | {
      readonly kind: 'request';
      readonly operation: string | undefined;
      readonly format: BodyFormat | undefined;
      readonly body: Uint8Array;
    }
  | {
      readonly kind: 'response';
      readonly operation: string | undefined;
      readonly body: Uint8Array;
      readonly method: string;
      readonly context: ResponseContext;
    };

/** A message from the rewriting thread: it waits for memory until `grant` is set, or has finished a body. */
export type FromThread =
  | { readonly kind: 'memory'; readonly bytes: number }
  | { readonly kind: 'request'; readonly outcome: WithoutEdits<Rewrite>; readonly body: Uint8Array }
  | { readonly kind: 'response'; readonly outcome: WithoutEdits<ResponseRewrite>; readonly body: Uint8Array };

/** The modules that the transform thread starts with. */
export interface TransformModules {
  /** Their sources, by path. */
  readonly texts: Readonly<Record<string, string>>;
  /** Maximum bytes that they may keep outside the heap. */
  readonly bufferBytes: number;
}

/** The resources that a thread has used; undefined if the runtime does not report them. */
interface Used {
  /** Milliseconds of processor time. */
  readonly workedMs: number | undefined;
}

/** A message from the transform thread: one when its modules are loaded, then two for each job. */
export type FromTransforms =
  | (Used & { readonly kind: 'ready'; readonly exports: Readonly<Record<string, readonly string[]>> })
  | {
      readonly kind: 'fault';
      readonly module: string;
      readonly message: string;
      readonly isSyntax: boolean;
      readonly line: number | undefined;
    }
  | (Used & { readonly kind: 'began' })
  | (Used & {
      readonly kind: 'outcome';
      readonly outcome: TransformOutcome;
      /** True if modules keep so much outside the heap that there is no room for another call. */
      readonly isFull: boolean;
    });

/** Values of the cell that grants memory: the thread waits while it is `ASKED`. */
export const ASKED = 0;
export const GRANTED = 1;
export const DENIED = 2;

/** Returns the entry module of a thread in this folder, in the sources or in the build output. */
export function threadPath(
  name: 'rewriting-worker' | 'operator-worker' | 'description-worker' | 'transform-worker',
): URL {
  return new URL(`./${name}.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url);
}

/**
 * Resolves to the message of a thread that does one job, once the thread has ended by itself; rejects if it ends without one. Such a
 * thread may not be ended from outside while its module still runs, as with `terminate()` on its message: Node 24.21 then sometimes ends
 * the whole process ("Check failed: (location_) != nullptr"): in one of four starts of the package.
 */
export function threadResult<Message>(worker: Worker): Promise<Message> {
  return new Promise((resolve, reject) => {
    const messages: Message[] = [];
    worker.on('message', (message: Message) => void messages.push(message));
    worker.on('error', reject);
    worker.on('exit', (code) => {
      for (const message of messages) resolve(message);
      reject(new Error(`the thread ended with code ${code} before its work was done`));
    });
  });
}
