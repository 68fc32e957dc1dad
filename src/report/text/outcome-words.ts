import type { BodyChecks, ClientReport, Outcome, ResponseMember } from '../client-report.ts';
import { count } from './number-text.ts';

const BY = { v1: 'V1', v2: 'V2', gateway: 'gateway' } as const;

/** Describes the responses of a client, such as `V2 201 412×, V2 422 3× (/legacy_code 3×), gateway 503 brownout 5×`; a client that disconnected has the service behind it that its request was sent to. */
export function outcomeWords(outcomes: readonly Outcome[]): string {
  return outcomes
    .map(({ by, status, code, count: seen, pointers }) => {
      const places = pointers.map(({ pointer, count: times }) => `${pointer} ${count(times)}×`).join(', ');
      const isUnsent = by === 'gateway' && code === undefined;
      const left = `client disconnected ${isUnsent ? 'before its request was sent' : `(${BY[by]})`}`;
      const what = status === 0 ? left : `${BY[by]} ${status}`;
      const named = code === undefined ? what : `${what} ${code}`;
      return `${named} ${count(seen)}×${places === '' ? '' : ` (${places})`}`;
    })
    .join(', ');
}

/** Describes the mistakes of a client by failure code, such as `malformed-json 3×`. */
export function mistakeWords({ mistakes }: ClientReport): string {
  return mistakes.map(({ code, count: times }) => `${code} ${count(times)}×`).join(', ');
}

/**
 * Describes what V2's schema says of bodies that were not sent to V2, such as `create_client: 3 of 10 refused that V1 accepted
 * (/name 3×), 2 not known`. Empty when none was checked.
 */
export function bodyCheckWords({ bodyChecks }: Pick<ClientReport, 'bodyChecks'>): string {
  return bodyCheckLines(bodyChecks).join('; ');
}

/** The verdicts of V2's schema, one line an operation; operations whose bodies it all accepts share one. */
export function bodyCheckLines(all: readonly BodyChecks[]): readonly string[] {
  const lineOf = (names: string, checks: BodyChecks): string => `${names}: ${bodyCheckCounts(checks)}`;
  const [first, ...more] = all.filter(isAccepted);
  const others = all
    .filter((checks) => !isAccepted(checks))
    .map((checks) => lineOf(checks.operation, checks));
  if (first === undefined) return others;
  const valid = more.reduce((sum, checks) => sum + checks.valid, first.valid);
  const names = [first, ...more].map(({ operation }) => operation).join(', ');
  return [...others, lineOf(names, { ...first, valid })];
}

function isAccepted({ valid, invalid, refusedByBoth, unknown }: BodyChecks): boolean {
  return valid > 0 && invalid + refusedByBoth + unknown === 0;
}

/** The verdicts of V2's schema on the bodies of one operation, such as `3 of 10 refused that V1 accepted (/name 3×)`. */
export function bodyCheckCounts({ valid, invalid, refusedByBoth, unknown, pointers }: BodyChecks): string {
  const checked = valid + invalid + refusedByBoth;
  const places = pointers.map(({ pointer, count: times }) => `${pointer || 'the body'} ${count(times)}×`);
  const parts = [
    checked === 0
      ? ''
      : invalid + refusedByBoth === 0
        ? `none of ${count(checked)} refused`
        : `${count(invalid)} of ${count(checked)} refused that V1 accepted${places.length === 0 ? '' : ` (${places.join(', ')})`}`,
    refusedByBoth === 0 ? '' : `${count(refusedByBoth)} refused by both`,
    unknown === 0 ? '' : `${count(unknown)} not known`,
  ];
  return parts.filter((part) => part !== '').join(', ');
}

/** Whether a client counts as gone only after more days than others: it paused for long before, or is hardly known. */
export function isWaitedFor(
  { class: work, goneAfterDays }: Pick<ClientReport, 'class' | 'goneAfterDays'>,
  usualDays: number,
): boolean {
  return work !== 'gone' && goneAfterDays > usualDays;
}

/** What keeps the work of a client from being done with, or from being known, in sentences; of one that is gone, none. */
export function reasonsOf({
  class: kind,
  refusals,
  unknown,
}: Pick<ClientReport, 'class' | 'refusals' | 'unknown'>): readonly string[] {
  if (kind === 'gone') return [];
  return kind === 'unknown' ? [...refusals, ...unknown] : refusals;
}

/** Describes the members of responses that V2 has otherwise, such as `/data/transition_type is /data/highlight_type 3×`. */
export function responseWords({ responses }: ClientReport): string {
  return responses
    .map((member) => {
      const { v1, v2, hasOtherValues, count: times } = member;
      const what =
        hasOtherValues === true
          ? `has other values${v2 === v1 || v2 === undefined ? '' : ` in ${v2}`}`
          : v2 === undefined
            ? 'is gone'
            : `is ${v2}`;
      return `${v1} ${what} ${count(times)}×`;
    })
    .join(', ');
}

/** What a client will read of a member of V1's responses, for a guide; `code` formats a pointer. */
export function futureWords(
  { v1, v2, hasOtherValues }: ResponseMember,
  code: (pointer: string) => string,
): string {
  if (hasOtherValues === true) return `${code(v2 ?? v1)}, with other values`;
  return v2 === undefined ? 'gone' : code(v2);
}

/** A share as a percentage, such as `12.5 %`. */
export function percentWords(share: number): string {
  const percent = share * 100;
  return percent > 0 && percent < 0.1 ? '< 0.1 %' : `${Number(percent.toFixed(1))} %`;
}
