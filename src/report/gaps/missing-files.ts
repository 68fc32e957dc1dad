import { HANDOVER_MS, type LogGap } from './log-gaps.ts';
import { replicaOfFile } from './replica-log.ts';
import type { LogCoverage } from '../report.ts';

const DAY_MS = 86_400_000;
/** What tells the files of a rotation apart: a date, or else a number. */
const DATE = /[.-](\d{4})-?(\d{2})-?(\d{2})(?=[.-]|$)/;
const NUMBER = /[.-](\d{1,5})(?:\.(?:gz|zst))?$/;

/** A file of a rotation, by its number or its day since 1970. */
interface RotatedFile {
  readonly coverage: LogCoverage;
  readonly number: number;
}

/** Finds files that are missing in a rotation, by the names of the others, where the others have a time of which none has entries. */
export function missingFiles(logs: readonly LogCoverage[]): readonly LogGap[] {
  const byLog = Map.groupBy(logs, ({ file }) => replicaOfFile(file));
  return [...byLog].flatMap(([log, files]) => [
    ...missingOf(log, rotatedBy(files, dayOf), isDailyFile),
    ...missingOf(
      log,
      rotatedBy(files, (file) => (file === log ? 0 : numberOf(file))),
      () => true,
    ),
  ]);
}

/** Numbers that mostly do not follow each other, such as those of a rotation that others share, tell nothing. */
function missingOf(
  log: string,
  files: readonly RotatedFile[],
  isExpected: (number: number, files: readonly RotatedFile[]) => boolean,
): readonly LogGap[] {
  const numbers = new Set(files.map(({ number }) => number));
  const followed = files.filter(({ number }) => numbers.has(number + 1)).length;
  if (followed * 2 < files.length - 1) return [];
  return files.flatMap((file, at) => {
    const next = files[at + 1];
    if (next === undefined || next.number - file.number < 2) return [];
    const isMissing = isExpected(file.number + 1, files) || isExpected(next.number - 1, files);
    const [from, until] = between(file.coverage, next.coverage);
    if (!isMissing || !(Date.parse(until) - Date.parse(from) > HANDOVER_MS)) return [];
    const sentence = `A file of ${log} is missing between ${file.coverage.file} and ${next.coverage.file}: nothing is between ${from} and ${until}.`;
    return [{ log, kind: 'file-missing', from, until, sentence }];
  });
}

/** The time between the entries of two files, whichever is the older. */
function between(one: LogCoverage, other: LogCoverage): readonly [from: string, until: string] {
  const [older, younger] = (one.until ?? '') < (other.until ?? '') ? [one, other] : [other, one];
  return [older.until ?? '', younger.since ?? ''];
}

/** Days that have no file each week, such as those without traffic, are expected to have none. */
function isDailyFile(day: number, files: readonly RotatedFile[]): boolean {
  const days = new Set(files.map(({ number }) => number));
  const [first = 0, last = 0] = [files[0]?.number, files.at(-1)?.number];
  const alike = [day - 7, day + 7].filter((other) => other >= first && other <= last);
  return alike.length > 0 && alike.every((other) => days.has(other));
}

function rotatedBy(
  files: readonly LogCoverage[],
  numberIn: (file: string) => number | undefined,
): readonly RotatedFile[] {
  return files
    .flatMap((coverage) => {
      const number = numberIn(coverage.file);
      return number === undefined ? [] : [{ coverage, number }];
    })
    .sort((one, other) => one.number - other.number);
}

function dayOf(file: string): number | undefined {
  const [, year, month, day] = DATE.exec(file) ?? [];
  const time = Date.parse(`${year}-${month}-${day}`);
  return Number.isNaN(time) ? undefined : time / DAY_MS;
}

function numberOf(file: string): number | undefined {
  const number = DATE.test(file) ? undefined : NUMBER.exec(file)?.[1];
  return number === undefined ? undefined : Number(number);
}
