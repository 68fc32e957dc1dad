import { unlimitedMemory } from '../../json/work-memory.ts';
import { codingOf } from '../../migrate/decide-body.ts';
import type { Decision, MigrateDecision } from '../../migrate/decision.ts';
import type { DecodeBody, DecodedBody } from '../../migrate/decoded-body.ts';
import type { Failure } from '../../migrate/failure.ts';
import { type MigratedBody, bodyTooLarge, migrateBody } from '../../migrate/migrate-body.ts';
import type { CompiledRuleBook } from '../../rewrite/compiled-rule-book.ts';
import type { Refusal } from '../../rewrite/rewrite.ts';
import type { BodyOutcome, ExplainedBody } from './explain-rules.ts';
import type { RequestToExplain } from './request-to-explain.ts';

/** The parts of a gateway that decide the handling of a body. */
export interface BodyExplainer {
  readonly rules: CompiledRuleBook;
  readonly decode: DecodeBody;
}

/** Applies the decision to the body of a request to explain. */
export async function explainBody(
  received: RequestToExplain,
  decision: Decision,
  explainer: BodyExplainer,
): Promise<ExplainedBody> {
  const { body: read } = received;
  if (decision.route === 'none') return { outcome: refused(decision.failure), read };
  if (decision.route === 'pass')
    return { outcome: { verdict: 'unread', why: 'V2 traffic is not read.' }, read };
  if (decision.route === 'self-service')
    return {
      outcome: { verdict: 'unread', why: 'The gateway itself responds, with the report of the client.' },
      read,
    };
  if (decision.route === 'options')
    return { outcome: { verdict: 'unread', why: 'The gateway itself responds, with 204.' }, read };
  const { body } = decision;
  switch (body.action) {
    case 'refuse':
      return { outcome: refused(body.failure), read };
    case 'forward': {
      const note = body.note === undefined ? {} : { note: body.note };
      return { outcome: { verdict: 'unread', why: whyUnread(received, body.note), ...note }, read };
    }
    case 'rewrite': {
      const decoded = await decodedBody(received, decision, explainer);
      const migrated = migratedBody(received, decoded, decision, explainer);
      return { outcome: outcomeOf(migrated), read: typeof decoded === 'string' ? read : decoded };
    }
  }
}

function migratedBody(
  { body }: RequestToExplain,
  decoded: DecodedBody,
  { operation, bodyLimit }: MigrateDecision,
  { rules }: BodyExplainer,
): MigratedBody {
  if (body.length > bodyLimit) return { verdict: 'refused', failure: bodyTooLarge(bodyLimit) };
  return migrateBody(rules.requestPlan(operation), decoded, bodyLimit);
}

async function decodedBody(
  { body }: RequestToExplain,
  { bodyLimit, body: decided }: MigrateDecision,
  { decode }: BodyExplainer,
): Promise<DecodedBody> {
  const coding = codingOf(decided, body);
  if (coding === undefined || body.length > bodyLimit) return body;
  return new Promise((resolve) => {
    decode(coding, body, bodyLimit, unlimitedMemory, resolve);
  });
}

function outcomeOf(migrated: MigratedBody): BodyOutcome {
  return migrated.verdict === 'refused' ? refused(migrated.failure) : migrated;
}

function refused({ code, status, detail, pointer, position, reason }: Failure): BodyOutcome {
  const refusal: Refusal = {
    code,
    status,
    detail,
    ...(pointer === undefined ? {} : { pointer }),
    ...(position === undefined ? {} : { position }),
    ...(reason === undefined ? {} : { reason }),
  };
  return { verdict: 'refused', refusal };
}

function whyUnread({ method, hasBody, head }: RequestToExplain, note: string | undefined): string {
  if (!hasBody) return head.chunked ? 'The body is empty.' : 'There is no body.';
  if (note === undefined) return method === 'PUT' ? UNNAMED_PUT : `Bodies of ${method} are not read.`;
  if (note !== 'media-type')
    return 'The charset or the content coding cannot be read, and the policy unsupported says forward.';
  if (head.contentType === undefined) return 'The body is not read: there is no Content-Type.';
  return `The body is not read: ${head.contentType} is not JSON.`;
}

const UNNAMED_PUT = 'Bodies of PUT are read only for an operation that a change with request rules names.';
