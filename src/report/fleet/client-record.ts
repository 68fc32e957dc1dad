import { OTHER_CALLS } from '../text/call-name.ts';
import { type CallTally, ClientTally } from '../tally/client-tally.ts';
import { later, mergeSpan } from './merge-spans.ts';
import { DamagedRecord, type FieldReader, packNumbers, packSpan, packTime } from './record-fields.ts';
import type { Span } from '../tally/span.ts';
import { memberKey } from '../tally/response-changes.ts';
import { mergeVerdicts, noVerdicts, type V2Verdicts } from '../tally/v2-verdicts.ts';

/** Maximum rows of each list in a record, the most frequent first: one client cannot fill a store. */
const MAX_CALLS = 60;
const MAX_CHANGES = 60;
const MAX_OUTCOMES = 20;
const MAX_POINTERS = 5;
const MAX_MEMBERS = 40;
const MAX_MISTAKES = 30;
const MAX_OPERATIONS = 30;

/** The counts of a client as a list for a record. `readClient` reads it. */
export function packClient(tally: ClientTally): readonly unknown[] {
  const { lastWork } = tally;
  return [
    ...packSpan(tally.v1),
    ...packSpan(tally.v2),
    tally.refused,
    tally.invalidVersions,
    tally.futureVersions,
    packNumbers(tally.days.all()),
    packNumbers(tally.rewrittenDays.all()),
    packCalls(tally.calls),
    most([...tally.changes], MAX_CHANGES).map(([change, { rules, ...span }]) => [
      change,
      ...packSpan(span),
      [...rules].sort(),
    ]),
    most([...tally.outcomes.all], MAX_OUTCOMES).map(([, { by, status, code = null, pointers, ...span }]) => [
      by,
      status,
      code,
      ...packSpan(span),
      packNamed(pointers, MAX_POINTERS),
    ]),
    [...tally.bodyChecks.all]
      .slice(0, MAX_OPERATIONS)
      .map(([operation, { valid, invalid, refusedByBoth, unknown, pointers }]) => [
        operation,
        valid,
        invalid,
        refusedByBoth,
        unknown,
        packNamed(pointers, MAX_POINTERS),
      ]),
    packNamed(tally.mistakes, MAX_MISTAKES),
    most([...tally.responseMembers], MAX_MEMBERS).map(
      ([, { change, v1, v2 = null, hasOtherValues, ...span }]) => [
        change,
        v1,
        v2,
        ...packSpan(span),
        ...(hasOtherValues === true ? [1] : []),
      ],
    ),
    packTime(lastWork['url-only']),
    packTime(lastWork['unwrap-only']),
    packTime(lastWork['field-work']),
    packTime(tally.lastResponseWork),
  ];
}

/** Reads what `packClient` returned; throws `DamagedRecord` for anything else. */
export function readClient(fields: FieldReader): ClientTally {
  const tally = new ClientTally(0);
  Object.assign(tally.v1, fields.span());
  Object.assign(tally.v2, fields.span());
  tally.refused = fields.number();
  tally.invalidVersions = fields.number();
  tally.futureVersions = fields.number();
  for (const day of fields.numbers()) tally.days.add(day);
  for (const day of fields.numbers()) tally.rewrittenDays.add(day);
  for (const call of fields.lists())
    tally.calls.set(call.text(), {
      ...call.span(),
      lastJudged: call.time(),
      lastUnknown: call.time(),
      isV1Judged: call.number() === 1,
      v2: call.isOver ? noVerdicts() : readVerdicts(call),
    });
  for (const change of fields.lists())
    tally.changes.set(change.text(), { ...change.span(), rules: new Set(change.texts()) });
  for (const outcome of fields.lists()) {
    const [by, status, code] = [originOf(outcome.text()), outcome.number(), outcome.textOrNone()];
    tally.outcomes.all.set(`${by} ${status} ${code ?? ''}`, {
      by,
      status,
      ...(code === undefined ? {} : { code }),
      ...outcome.span(),
      pointers: readNamed(outcome),
    });
  }
  for (const checks of fields.lists())
    tally.bodyChecks.all.set(checks.text(), {
      valid: checks.number(),
      invalid: checks.number(),
      refusedByBoth: checks.number(),
      unknown: checks.number(),
      pointers: readNamed(checks),
    });
  for (const [code, span] of readNamed(fields)) tally.mistakes.set(code, span);
  for (const member of fields.lists()) {
    const [change, v1, v2] = [member.text(), member.text(), member.textOrNone()];
    const place = v2 === undefined ? {} : { v2 };
    const span = member.span();
    const values = member.isOver ? {} : { hasOtherValues: true as const };
    const known = { change, v1, ...place, ...values };
    tally.responseMembers.set(memberKey(known), { ...known, ...span });
  }
  for (const work of ['url-only', 'unwrap-only', 'field-work'] as const) tally.lastWork[work] = fields.time();
  tally.lastResponseWork = fields.time();
  return tally;
}

/** Spans by name as a list, the most frequent first. */
export function packNamed(spans: ReadonlyMap<string, Span>, limit: number): readonly unknown[] {
  return most([...spans], limit).map(([name, span]) => [name, ...packSpan(span)]);
}

/** Reads what `packNamed` returned. */
export function readNamed(fields: FieldReader): Map<string, Span> {
  return new Map(fields.lists().map((one) => [one.text(), one.span()]));
}

/** Records of earlier versions have none. */
function readVerdicts(call: FieldReader): V2Verdicts {
  return { lastAccepted: call.time(), lastRefused: call.time(), status: call.number(), at: call.text() };
}

/** Calls beyond the limit are no longer told apart. */
function packCalls(calls: ReadonlyMap<string, CallTally>): readonly unknown[] {
  const kept = new Map(most([...calls], MAX_CALLS));
  for (const [name, call] of calls) {
    if (kept.has(name)) continue;
    const { v2, ...known } = kept.get(OTHER_CALLS) ?? { ...call, count: 0 };
    const other = { ...known, v2: { ...v2 } };
    mergeSpan(other, call);
    other.lastJudged = later(other.lastJudged, call.lastJudged);
    other.lastUnknown = later(other.lastUnknown, call.lastUnknown);
    other.isV1Judged ||= call.isV1Judged;
    mergeVerdicts(other.v2, call.v2);
    kept.set(OTHER_CALLS, other);
  }
  return [...kept].map(([name, { lastJudged, lastUnknown, isV1Judged, v2, ...span }]) => [
    name,
    ...packSpan(span),
    packTime(lastJudged),
    packTime(lastUnknown),
    isV1Judged ? 1 : 0,
    packTime(v2.lastAccepted),
    packTime(v2.lastRefused),
    v2.status,
    v2.at,
  ]);
}

function most<Value extends { readonly count: number }>(
  all: readonly (readonly [string, Value])[],
  limit: number,
): readonly (readonly [string, Value])[] {
  if (all.length <= limit) return all;
  return all
    .toSorted(
      ([oneName, one], [otherName, other]) => other.count - one.count || (oneName < otherName ? -1 : 1),
    )
    .slice(0, limit);
}

function originOf(text: string): 'v1' | 'v2' | 'gateway' {
  if (text === 'v1' || text === 'v2' || text === 'gateway') return text;
  throw new DamagedRecord('no origin');
}
