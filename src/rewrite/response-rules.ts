import type { Asked, ResponseFacts } from '../edits/run.ts';
import type { Edit } from '../json/edit.ts';
import type { ResponseRuleName, StatusPattern } from '../rules/rule.ts';
import type { BodyLinks } from './links.ts';
import type { EditRecord, PatchOperation } from './records.ts';

/** The data of the exchange that the rewriting of a response needs in addition to the body. */
export interface ResponseContext extends ResponseFacts {
  readonly status: number;
  /** The links to rewrite, if the rule book asks for that. */
  readonly links?: BodyLinks | undefined;
}

/** True if one of the patterns includes the status. */
export function isAbout(status: readonly StatusPattern[], code: number): boolean {
  const family = `${Math.floor(code / 100)}xx`;
  return status.some((pattern) => pattern === code || pattern === family);
}

/** One edit of a response: from V2's body to the client's. */
export type ResponseRecord = EditRecord<ResponseRuleName>;

/** A response that rules changed. `body` is for the client. */
export interface RewrittenResponse {
  readonly verdict: 'rewritten';
  readonly body: Uint8Array;
  /** Byte edits against V2's body, in order, not overlapping. */
  readonly edits: readonly Edit[];
  /** The first 64, and the first of each further rule; the others are applied but not recorded. */
  readonly records: readonly ResponseRecord[];
  /** Number of edits that were applied but not recorded. */
  readonly omitted: number;
  /**
   * From V2's body to the client's. Empty if an edit was not recorded, because an incomplete patch would be wrong, or if a
   * text was replaced, because it may contain values.
   */
  readonly patch: readonly PatchOperation[];
  readonly asked?: Asked;
}

/** The outcome of rewriting one response. `body` is for the client; if `unchanged`, it is the argument itself. */
export type ResponseRewrite =
  | RewrittenResponse
  | {
      readonly verdict: 'unchanged';
      readonly body: Uint8Array;
      /** Why no rule could be applied. */
      readonly note?: 'response-malformed' | 'response-buffer-full' | 'response-no-resource';
      readonly asked?: Asked;
    };
