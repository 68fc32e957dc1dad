import type { TwinResponse } from './sender.ts';

/** A documented reason for which the gateway decides otherwise than V1: such a difference is counted by its name. */
export type Choice = 'ambiguous-head' | 'duplicate-member' | 'names-of-v2' | 'refused-first';

/** The choices, each with a sentence for people; docs/rule-book.md has the whole reason. */
export const CHOICES: Readonly<Record<Choice, string>> = {
  'ambiguous-head':
    'both refuse; the gateway, because the key could be two: workerd joins the lines of a field',
  'duplicate-member':
    'the gateway refuses a member that rules name and that occurs twice; V1 read the last one',
  'names-of-v2': 'the client sends names of V2, which V1 did not know; they mean in V2 what they say',
  'refused-first': 'both refuse; the gateway looks at the body before key, path and rate are judged',
};

/** Codes with which the gateway refuses a body. */
const OF_BODY: ReadonlySet<string> = new Set([
  'ambiguous-media-type',
  'duplicate-member',
  'malformed-json',
  'too-deep',
  'undecodable-body',
  'unsupported-charset',
  'unsupported-coding',
  'wrapper-not-object',
]);

/** Statuses with which a service refuses a request before it reads the body. */
const OF_HEAD: ReadonlySet<number> = new Set([401, 403, 404, 405, 429]);

/**
 * The choice that explains the differences of two responses, from the responses alone; undefined if none does. Names of V2 cannot
 * be told from the responses: scripts mark them.
 */
export function choiceOf(v1: TwinResponse, gateway: TwinResponse): Choice | undefined {
  const code = gateway.headers.find(([name]) => name.toLowerCase() === 'x-gateway-error')?.[1];
  if (code === 'bad-request' && v1.status === 401) return 'ambiguous-head';
  if (code === undefined || !OF_BODY.has(code)) return undefined;
  if (OF_HEAD.has(v1.status)) return 'refused-first';
  return code === 'duplicate-member' ? code : undefined;
}

/** The choice of a name; undefined for any other text. */
export function choiceNamed(text: string): Choice | undefined {
  return CHOICE_NAMES.find((name) => name === text);
}

const CHOICE_NAMES: readonly Choice[] = [
  'ambiguous-head',
  'duplicate-member',
  'names-of-v2',
  'refused-first',
];
