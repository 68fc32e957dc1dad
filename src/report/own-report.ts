import { type ClientReport, clientReport, outcomeWords, reasonsOf, type Usage } from './client-report.ts';
import type { GuideDocument } from './guide/guide-document.ts';
import { guideHtml, WORK } from './guide/guide-text.ts';
import type { ReportCoverage } from './report-totals.ts';
import { htmlText } from './text.ts';
import { GONE_AFTER_DAYS } from '../rules/rollout.ts';
import { count, counted } from '../rules/words.ts';
import type { ClientTally } from './tally/tally.ts';

/** A client's report about itself: without anything about other clients, and without the name that the operator gave it. */
export interface OwnReport {
  /** Time of the report, and the time since which the gateway has counted: RFC 3339. */
  readonly at: string;
  readonly since: string;
  /** Whether the counts are those of one gateway, of all replicas, or of all as last known to one. */
  readonly coverage: ReportCoverage['kind'];
  readonly report: Omit<ClientReport, 'name' | 'share'>;
  /** Number of rows that are not listed: the least frequent ones. */
  readonly omitted: number;
  readonly guide: GuideDocument;
}

/** The forms of a report. */
export type OwnReportType = 'application/json' | 'text/html';

/** The outcome of a client's request for its report; `busy` if too many others wait for theirs. */
export type OwnReportOutcome =
  | { readonly kind: 'report'; readonly text: string }
  | { readonly kind: 'not-seen'; readonly since: string }
  | { readonly kind: 'busy' };

/** Maximum rows of each list. */
const MAX_ROWS = 100;

const COVERAGE: Readonly<Record<OwnReport['coverage'], string>> = {
  gateway: '',
  fleet: ' All instances of the gateway count together.',
  alone:
    ' The instances of the gateway cannot reach each other: requests that others received lately may be missing.',
};

/** Makes the report for the client with this hash; times are RFC 3339. */
export function makeOwnReport(
  hash: string,
  tally: ClientTally,
  guide: GuideDocument,
  {
    at,
    since,
    coverage,
    ruleBook,
  }: Pick<OwnReport, 'at' | 'since'> & {
    readonly coverage: Pick<ReportCoverage, 'kind'>;
    /** Hash of the rule book in force, whose dry runs count. */
    readonly ruleBook: string;
  },
): OwnReport {
  const clock = { now: Date.parse(at), goneAfterDays: GONE_AFTER_DAYS, allV1: 0, ruleBook };
  const { name: _name, share: _share, ...whole } = clientReport(hash, tally, clock, undefined);
  let omitted = 0;
  const first = <Row extends Usage>(rows: readonly Row[]): readonly Row[] => {
    omitted += Math.max(0, rows.length - MAX_ROWS);
    return rows.slice(0, MAX_ROWS);
  };
  const report = {
    ...whole,
    operations: first(whole.operations),
    changes: first(whole.changes),
    responses: first(whole.responses),
    outcomes: first(whole.outcomes),
    mistakes: first(whole.mistakes),
    brownouts: first(whole.brownouts),
  };
  return { at, since, coverage: coverage.kind, report, omitted, guide };
}

/** Prints the report: as JSON, in `data` like the service's resources, or as one HTML page that loads and runs nothing. */
export function printOwnReport(own: OwnReport, type: OwnReportType): string {
  return type === 'text/html' ? ownReportHtml(own) : JSON.stringify({ data: own });
}

function ownReportHtml({ at, since, coverage, report, omitted, guide }: OwnReport): string {
  const { v1, v2, firstSeen, lastSeen, operations, outcomes } = report;
  return guideHtml(guide, {
    lead: [
      `<p>Counted from ${htmlText(since)} to ${htmlText(at)}.${COVERAGE[coverage]}</p>`,
      `<p>${counted(v1, 'request')} to V1's address, ${v1 === 1 ? '' : `the first at ${htmlText(firstSeen)} and the last `}at ${htmlText(lastSeen)}; ${count(v2)} to V2's address.</p>`,
      `<p>${WORK[report.class]}${reasonsOf(report)
        .map((reason) => ` ${htmlText(reason)}`)
        .join('')}</p>`,
      `<p>Responses: ${htmlText(outcomeWords(outcomes))}.</p>`,
      `<ul>${operations.map(({ operation, count: seen, lastSeen: last }) => `<li>${htmlText(operation)}: ${count(seen)}, the last at ${htmlText(last)}</li>`).join('')}</ul>`,
      guide.requests < v1 ? `<p>${keptWords(guide.requests)}</p>` : '',
      omitted > 0 ? `<p>Not shown: ${counted(omitted, 'further row')}.</p>` : '',
    ],
  });
}

/** Says on how few of a client's requests its guide rests: the gateway keeps the latest of all clients. */
function keptWords(requests: number): string {
  const whole = "ask the API's team for the guide that is made from the log";
  return requests === 0
    ? `The gateway no longer keeps any of these requests, so it shows no examples: ${whole}.`
    : `What follows is from the latest ${counted(requests, 'request')} alone; ${whole}.`;
}
