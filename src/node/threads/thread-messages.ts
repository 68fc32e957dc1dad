import type { BodyFormat } from '../../http/content.ts';
import type { WithoutEdits } from '../../gateway/body-rewriter.ts';
import type { Rewrite } from '../../rewrite/records.ts';
import type { ResponseContext, ResponseRewrite } from '../../rewrite/response-rules.ts';
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
}

/** A message from the transform thread: one when its modules are loaded, then two for each job. */
export type FromTransforms =
  | { readonly kind: 'ready'; readonly exports: Readonly<Record<string, readonly string[]>> }
  | {
      readonly kind: 'fault';
      readonly module: string;
      readonly message: string;
      readonly isSyntax: boolean;
      readonly line: number | undefined;
    }
  // With the thread's processor time in milliseconds, if the runtime reports it.
  | { readonly kind: 'began'; readonly workedMs: number | undefined }
  | { readonly kind: 'outcome'; readonly outcome: TransformOutcome };

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
