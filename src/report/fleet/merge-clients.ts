import type { BodyCheckCounts } from '../tally/body-checks.ts';
import type { ClientTally } from '../tally/client-tally.ts';
import { later, mergeSpan, mergeSpans } from './merge-spans.ts';
import type { Outcomes } from '../tally/outcomes.ts';
import type { DifferingMembers } from '../tally/response-changes.ts';
import { mergeVerdicts } from '../tally/v2-verdicts.ts';

/** Adds the counts of a client to other counts of the same client; `from` stays as it is. */
export function mergeClient(into: ClientTally, from: ClientTally): void {
  mergeSpan(into.v1, from.v1);
  mergeSpan(into.v2, from.v2);
  into.refused += from.refused;
  into.invalidVersions += from.invalidVersions;
  into.futureVersions += from.futureVersions;
  for (const day of from.days.all()) into.days.add(day);
  for (const day of from.rewrittenDays.all()) into.rewrittenDays.add(day);
  mergeCalls(into, from);
  for (const [change, { rules, ...span }] of from.changes) {
    const known = into.changes.get(change);
    if (known === undefined) {
      into.changes.set(change, { ...span, rules: new Set(rules) });
      continue;
    }
    mergeSpan(known, span);
    for (const rule of rules) known.rules.add(rule);
  }
  mergeOutcomes(into.outcomes, from.outcomes);
  mergeBodyChecks(into.bodyChecks, from.bodyChecks);
  mergeSpans(into.mistakes, from.mistakes);
  mergeMembers(into.responseMembers, from.responseMembers);
  for (const work of ['url-only', 'unwrap-only', 'field-work'] as const)
    into.lastWork[work] = later(into.lastWork[work], from.lastWork[work]);
  into.lastResponseWork = later(into.lastResponseWork, from.lastResponseWork);
}

function mergeCalls({ calls: into }: ClientTally, { calls: from }: ClientTally): void {
  for (const [name, call] of from) {
    const known = into.get(name);
    if (known === undefined) {
      into.set(name, { ...call, v2: { ...call.v2 } });
      continue;
    }
    mergeSpan(known, call);
    known.lastJudged = later(known.lastJudged, call.lastJudged);
    known.lastUnknown = later(known.lastUnknown, call.lastUnknown);
    known.isV1Judged ||= call.isV1Judged;
    mergeVerdicts(known.v2, call.v2);
  }
}

function mergeOutcomes({ all: into }: Outcomes, { all: from }: Outcomes): void {
  for (const [key, { pointers, ...outcome }] of from) {
    const known = into.get(key) ?? { ...outcome, count: 0, pointers: new Map() };
    into.set(key, known);
    mergeSpan(known, outcome);
    mergeSpans(known.pointers, pointers);
  }
}

function mergeBodyChecks({ all: into }: BodyCheckCounts, { all: from }: BodyCheckCounts): void {
  for (const [operation, { valid, invalid, refusedByBoth, unknown, pointers }] of from) {
    const known = into.get(operation) ?? {
      valid: 0,
      invalid: 0,
      refusedByBoth: 0,
      unknown: 0,
      pointers: new Map(),
    };
    into.set(operation, known);
    known.valid += valid;
    known.invalid += invalid;
    known.refusedByBoth += refusedByBoth;
    known.unknown += unknown;
    mergeSpans(known.pointers, pointers);
  }
}

function mergeMembers(into: DifferingMembers, from: DifferingMembers): void {
  for (const [key, member] of from) {
    const known = into.get(key);
    if (known === undefined) into.set(key, { ...member });
    else mergeSpan(known, member);
  }
}
