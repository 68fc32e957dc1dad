import { stat } from 'node:fs/promises';
import type { EndPlan } from '../../inspector/api.ts';
import type { OperatorResult } from '../../inspector/entries/export-entry.ts';
import type { PlanWork } from '../../inspector/operator-work.ts';
import { faultOfLogs, noEntry } from '../../report/log-gaps.ts';
import { PlanTally } from '../../report/plan/activity.ts';
import { makePlan } from '../../report/plan/plan.ts';
import { planParts } from '../../report/plan/plan-text.ts';
import { Zone } from '../../report/plan/zone.ts';
import { LineTally } from '../../report/tally/tally-lines.ts';
import { count, counted } from '../../report/text.ts';
import { rotatedLogs } from './find-entry.ts';
import { readLogFile } from './log-files.ts';

/** Newest bytes of a log to read (some 2 s of work), and rows to show. */
const LIMITS: PlanLimits = { bytes: 256 * 1024 * 1024, rows: 500 };

/** Assumed ratio of a packed file's unpacked size to its own. One that may exceed the rest of the limit is unpacked to find its size. */
const PACKING = 10;
/** Multiple of the limit beyond which even that is not worth it. */
const UNPACKED = 4;

/** Bytes of a log, and rows of a table. */
interface PlanLimits {
  readonly bytes: number;
  readonly rows: number;
}

/** Makes the plan for the end of V1 from a log file and the rotated ones beside it; it mentions limits that cut it. */
export async function planOfLog(
  { logFile, zone: name, whose, ...options }: PlanWork,
  limits: PlanLimits = LIMITS,
): Promise<OperatorResult> {
  const zone = new Zone(name);
  const counts = new PlanTally(zone, options.rollout?.ends);
  const now = new Date(options.now).toISOString();
  const lines = new LineTally(counts, () => now);
  const { parts, bytesRead, isWhole } = await newestParts(
    [logFile, ...(await rotatedLogs(logFile))],
    limits.bytes,
  );
  for (const { file, start } of parts) {
    lines.begin(file);
    // A packed file has no positions, so its beginning is unpacked and left out.
    let left = isPacked(file) ? start : 0;
    for await (const { bytes } of readLogFile(file, undefined, start)) {
      left -= bytes.length;
      if (left < 0) lines.add(bytes, file);
    }
  }
  const plan = makePlan(counts, { ...options, gaps: lines.gaps, avoid: () => false });
  const since = lines.coverage.flatMap((log) => log.since ?? []).sort()[0];
  const entries = lines.coverage.reduce((sum, log) => sum + log.entries, 0);
  const fault = faultOfLogs(lines.coverage);
  const value: EndPlan = {
    zone: name,
    logFile,
    exchanges: entries,
    made: [
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
    clients: plan?.clients.slice(0, limits.rows).map(({ client }) => client) ?? [],
  };
  return { status: 200, value };
}

/** Returns the newest files that fit into `most` bytes, the oldest first, and the end of the one that does not. */
async function newestParts(
  files: readonly string[],
  most: number,
): Promise<{
  readonly parts: readonly { readonly file: string; readonly start: number }[];
  /** Bytes of these parts as stored. */
  readonly bytesRead: number;
  readonly isWhole: boolean;
}> {
  const parts: { readonly file: string; readonly start: number }[] = [];
  let left = most;
  let bytesRead = 0;
  for (const file of files) {
    const size = await stat(file).then(
      (one) => one.size,
      () => 0,
    );
    if (size === 0) continue;
    const bytes = isPacked(file) ? await unpackedSize(file, size * PACKING, left, most) : size;
    if (left === 0 || bytes === undefined) return { parts, bytesRead, isWhole: false };
    const start = Math.max(0, bytes - left);
    parts.unshift({ file, start });
    bytesRead += Math.ceil(size * (1 - start / bytes));
    if (start > 0) return { parts, bytesRead, isWhole: false };
    left -= bytes;
  }
  return { parts, bytesRead, isWhole: true };
}

function isPacked(file: string): boolean {
  return /\.(?:gz|zst)$/.test(file);
}

/** Returns a packed file's unpacked size: `about` if that fits, else the real one; undefined if it is certainly too large. */
async function unpackedSize(
  file: string,
  about: number,
  left: number,
  most: number,
): Promise<number | undefined> {
  if (about <= left) return about;
  if (left === 0 || about > UNPACKED * most) return undefined;
  let size = 0;
  for await (const { bytes } of readLogFile(file)) size += bytes.length;
  return size;
}
