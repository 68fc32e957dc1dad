import type { Entry } from '../../rewrite-log/entry.ts';
import type { EditRecord } from '../../rewrite/rewrite.ts';
import type { GuideBody } from './guide-document.ts';

/** Maximum places of one shape at which V2's schema refused it. */
const MAX_PLACES = 8;

/** Note of a request whose body was forwarded unread. */
export type UnreadNote = keyof typeof UNREAD;

/** What is known of a body that was forwarded unread, in a sentence. */
const UNREAD = {
  'media-type': 'The body is not JSON, and is forwarded as it is.',
  'unsupported: forward': 'The gateway does not read the coding of the body, and forwards it as it is.',
} as const;

/** Requests of one call that are alike: the same members, edited in the same way. */
export interface GuideShape {
  readonly edits: readonly EditRecord[];
  /** Undefined when the members were not recorded. */
  readonly attributes: readonly string[] | undefined;
  readonly path: string;
  readonly hasBody: boolean;
  /** Why the body was forwarded unread. */
  readonly note: UnreadNote | undefined;
  count: number;
  last: string;
  byV2: number;
  /** Bodies that V2's schema accepted, and the places at which it refused those that V1 accepted. */
  bySchema: number;
  readonly refusedAt: Map<string, number>;
}

/** What shows that a body is right for V2, or why that is not known. */
export type Evidence = Pick<GuideBody, 'isVerified' | 'evidence'>;

/** The note of a request whose body was forwarded unread; undefined for every other note. */
export function unreadNote(note: string | undefined): UnreadNote | undefined {
  return note === 'media-type' || note === 'unsupported: forward' ? note : undefined;
}

/** A body without members shows nothing of what V2 takes; `members` are those before V2 refused them. */
export function emptyEvidence(members: readonly string[]): Evidence {
  const why = members.length === 0 ? 'this body has no members' : 'V2 refused each member of this body';
  return { isVerified: false, evidence: `Not verified: ${why}.` };
}

/** What is known of a body that is shown as a whole: it was not read, or has no members that were recorded; undefined for others. */
export function wholeEvidence(
  { note, attributes, byV2 }: GuideShape,
  ofBody: readonly EditRecord[],
): Evidence | undefined {
  if (note !== undefined) {
    const accepted = byV2 > 0 ? `V2 responded to it ${byV2}×.` : 'V2 has not accepted it yet.';
    return { isVerified: byV2 > 0, evidence: `${UNREAD[note]} ${accepted}` };
  }
  if (ofBody.length > 0 || (attributes?.length ?? 0) > 0) return undefined;
  const evidence =
    attributes === undefined
      ? 'Not verified: the members of this body were not recorded.'
      : 'Not verified: this body is an array or a single value, or has no members.';
  return { isVerified: false, evidence };
}

/** Learns from the check of a body that was not sent to V2. V1's 4xx and 5xx, and clients that left, say nothing about a shape. */
export function learnCheck(shape: GuideShape, { would, status }: Entry): void {
  if (would?.v2 === undefined || status === 0 || status >= 400) return;
  if (would.v2 === 'valid') shape.bySchema += 1;
  if (would.v2 !== 'invalid') return;
  const at = would.at ?? '';
  if (shape.refusedAt.size < MAX_PLACES || shape.refusedAt.has(at))
    shape.refusedAt.set(at, (shape.refusedAt.get(at) ?? 0) + 1);
}

/** What V2's schema says of a shape; undefined when none of its bodies was checked. `left` members were left out of it. */
export function evidenceOfSchema({ bySchema, refusedAt }: GuideShape, left: number): Evidence | undefined {
  if (refusedAt.size > 0) {
    const places = [...refusedAt].map(([at, times]) => `${at === '' ? 'the body' : at} ${times}×`);
    return { isVerified: false, evidence: `Not verified: V2's schema refuses ${places.join(', ')}.` };
  }
  if (bySchema === 0 || left > 0) return undefined;
  const evidence = `Verified: V2's schema accepts such a body (${bySchema} checked). V2 itself was not asked.`;
  return { isVerified: true, evidence };
}
