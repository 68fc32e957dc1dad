import type { ClientReport } from '../client-report.ts';
import type { GuideChange } from '../guide/guide-document.ts';
import { count, counted } from '../text/number-text.ts';
import { bodyCheckCounts, reasonsOf } from '../text/outcome-words.ts';
import type { Report } from '../report.ts';
import { markdownText } from '../text/untrusted-text.ts';

/** The digest of one client, to be mailed to its owner. Its sentences are plain text of others: escape them for their format. */
export interface ClientDigest {
  /** The keyed hash, or `-` for requests without a key. */
  readonly client: string;
  readonly name?: string;
  readonly subject: string;
  readonly sentences: readonly string[];
}

/** Makes the digests of the clients that still use V1, for a rule book with these changes. */
export function digests(report: Report, changes: readonly GuideChange[]): readonly ClientDigest[] {
  const summaries = new Map([BYTE_ORDER_MARK, ...changes].map(({ id, summary }) => [id, summary]));
  return report.clients
    .filter((client) => client.class !== 'gone')
    .map((client) => ({
      client: client.client,
      ...(client.name === undefined ? {} : { name: client.name }),
      subject: `V1 of the API: ${counted(client.v1, 'request')}, the last at ${client.lastSeen}`,
      sentences: sentencesOf(client, summaries),
    }));
}

/** Prints digests as Markdown, one section for each client. */
export function digestMarkdown(all: readonly ClientDigest[]): string {
  if (all.length === 0) return 'No client uses V1.\n';
  const sections = all.map(({ client, name, subject, sentences }) =>
    [
      `## ${markdownText(name ?? (client === '-' ? 'requests without a key' : client))}`,
      markdownText(subject),
      sentences.map((sentence) => `- ${markdownText(sentence)}`).join('\n'),
    ].join('\n\n'),
  );
  return `${sections.join('\n\n')}\n`;
}

const WORK: Readonly<Record<ClientReport['class'], string>> = {
  'field-work': 'Members of requests or responses have to change before V2 can be used.',
  'unwrap-only': 'Only what is around the parameters of the requests has to go.',
  'url-only': 'Only the address has to change.',
  unknown: 'The work is not known yet.',
  gone: 'No V1 request is expected any more.',
};

/** No rule book declares it: JSON has none. */
const BYTE_ORDER_MARK: GuideChange = { id: 'byte-order-mark', summary: 'Leave out the byte order mark.' };

function responseSentence({ v1, v2, hasOtherValues }: ClientReport['responses'][number]): string {
  if (v2 === undefined) return `Responses of V2 have no ${v1}.`;
  if (hasOtherValues !== true) return `Read ${v2} instead of ${v1} in responses.`;
  return v2 === v1
    ? `Expect V2's own values of ${v1} in responses.`
    : `Expect V2's own values of ${v1}, in ${v2}, in responses.`;
}

function sentencesOf(client: ClientReport, summaries: ReadonlyMap<string, string>): string[] {
  const { operations, changes, responses, bodyChecks, mistakes } = client;
  return [
    WORK[client.class],
    `Calls: ${operations.map(({ operation, count: seen }) => `${operation} ${count(seen)}×`).join(', ')}.`,
    ...changes.map(
      ({ change, count: seen, lastSeen }) =>
        `${summaries.get(change) ?? `The rule book does not have the change ${change}.`} This concerns ${counted(seen, 'request')}, the last at ${lastSeen}.`,
    ),
    ...responses.map(responseSentence),
    ...bodyChecks
      .filter(({ invalid }) => invalid > 0)
      .map((checks) => `V2's schema, for ${checks.operation}: ${bodyCheckCounts(checks)}.`),
    ...mistakes.map(
      ({ code, count: seen, lastSeen }) => `Mistake ${code}: ${count(seen)}×, the last at ${lastSeen}.`,
    ),
    ...reasonsOf(client),
  ];
}
