import type { ClientNotice, EndPlan, EndProposal } from '../../inspector/api.ts';
import { shellWord } from '../../inspector/entries/curl.ts';
import type { OperatorResult } from '../../inspector/entries/export-entry.ts';
import type { PlanWork } from '../../inspector/operator-work.ts';
import { faultOfLogs, noEntry } from '../../report/log-gaps.ts';
import { PlanTally } from '../../report/plan/activity.ts';
import { failureBody } from '../../inspector/routes/responses.ts';
import { avoidedDays } from '../../report/plan/avoided-days.ts';
import {
  DEFAULT_LEAD_DAYS,
  makePlan,
  noPlanSentence,
  type Plan,
  type PlannedClient,
} from '../../report/plan/plan.ts';
import { planFigures, planParts } from '../../report/plan/plan-text.ts';
import { Zone } from '../../report/plan/zone.ts';
import { LineTally } from '../../report/tally/tally-lines.ts';
import { count, counted } from '../../rules/words.ts';
import { LOG_BYTES, readNewest } from './newest-log.ts';
import { planLines } from './plan-lines.ts';

/** Newest bytes of a log to read, and rows to show. */
const LIMITS: PlanLimits = { bytes: LOG_BYTES, rows: 500 };

function proposalOf({
  deprecation,
  sunset,
  sunsetBecause,
  shortfall,
  brownouts,
  declared,
}: Plan): EndProposal {
  return {
    deprecation: new Date(deprecation).toISOString(),
    sunset: new Date(sunset).toISOString(),
    sunsetBecause,
    ...(shortfall === undefined ? {} : { shortfall }),
    brownouts: brownouts.map(({ id, from, until, reaches }) => ({
      id,
      from: new Date(from).toISOString(),
      until: new Date(until).toISOString(),
      reaches,
    })),
    declared: declared.flatMap(({ id, reaches, weeks }) => (weeks === 0 ? [] : [{ id, reaches }])),
  };
}

function noticeOf({ client, notice, because }: PlannedClient): ClientNotice {
  if (notice === undefined) return { client, because };
  const at = new Date(notice.at).toISOString();
  const isMet = 'refused' in notice;
  return {
    client,
    notice: { by: notice.by, at, isMet, isDeclared: isMet || notice.isDeclared },
    because,
  };
}

/** Bytes of a log, and rows of a table. */
interface PlanLimits {
  readonly bytes: number;
  readonly rows: number;
}

/** Makes the plan for the end of V1 from a log file and the rotated ones beside it; it mentions limits that cut it. */
export async function planOfLog(
  {
    logFile,
    ruleFile,
    ruleText,
    program,
    zone: name,
    whose,
    avoid = [],
    lead,
    operations,
    ...options
  }: PlanWork,
  limits: PlanLimits = LIMITS,
): Promise<OperatorResult> {
  const zone = new Zone(name);
  const counts = new PlanTally(zone, options.rollout?.ends, operations);
  const now = new Date(options.now).toISOString();
  const lines = new LineTally(counts, () => now);
  const { bytesRead, isWhole } = await readNewest(logFile, limits.bytes, lines);
  const avoided = avoidedDays(avoid);
  if (typeof avoided !== 'function')
    return { status: 422, value: failureBody(422, 'bad-days', avoided.fault) };
  const plan = makePlan(counts, {
    ...options,
    leadDays: lead ?? options.rollout?.leadDays ?? DEFAULT_LEAD_DAYS,
    gaps: lines.gaps,
    avoid: avoided,
  });
  const declaring = plan && planLines(ruleText, plan);
  const since = lines.coverage.flatMap((log) => log.since ?? []).sort()[0];
  const entries = lines.coverage.reduce((sum, log) => sum + log.entries, 0);
  const fault = faultOfLogs(lines.coverage);
  const value: EndPlan = {
    zone: name,
    logFile,
    exchanges: entries,
    made: [
      ...(plan === undefined && since !== undefined ? [noPlanSentence(options, zone)] : []),
      since === undefined
        ? (fault ?? noEntry(logFile, 0))
        : `Made from ${counted(entries, 'exchange')} in ${logFile}, since ${zone.text(Date.parse(since))}.`,
      ...(since === undefined || fault === undefined ? [] : [fault]),
      ...(whose === undefined ? [] : [whose]),
      ...(isWhole
        ? []
        : [
            `The log is larger: only its newest ${count(Math.ceil(bytesRead / 1024 / 1024))} MiB are read. capture-gateway plan reads all.`,
          ]),
      ...(lines.withoutInfo.length === 0
        ? []
        : ['The log has only failures, so it does not show when clients call: set the log level to info.']),
    ],
    parts: plan === undefined ? [] : planParts(plan, limits.rows),
    clients: plan?.clients.slice(0, limits.rows).map(noticeOf) ?? [],
    ...(plan === undefined
      ? {}
      : {
          proposal: proposalOf(plan),
          figures: planFigures(plan),
          ...(plan.caveat === undefined ? {} : { caveat: plan.caveat }),
          leadDays: plan.leadDays,
          ...(declaring === undefined ? {} : { lines: declaring }),
          ruleFile,
          command: [
            program,
            'plan',
            logFile,
            '--zone',
            name,
            ...(lead === undefined ? [] : ['--lead', String(lead)]),
            ...(avoid.length === 0 ? [] : ['--avoid', ...avoid]),
            '--into',
            ruleFile,
          ]
            .map((word, at) => (at === 0 ? word : shellWord(word)))
            .join(' '),
        }),
  };
  return { status: 200, value };
}
