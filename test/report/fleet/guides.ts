import { parseEntry, readLogFile } from '../../../src/node/log/log-files.ts';
import { Guide } from '../../../src/report/guide/guide.ts';
import type { GuideBody, GuideDocument } from '../../../src/report/guide/guide-document.ts';
import type { CompiledRuleBook } from '../../../src/rewrite/compiled-rule-book.ts';
import { knowable, type LedgerLine } from './ledger.ts';
import type { Services } from './services.ts';
import type { StatementTable } from './table.ts';

/** Writes the guide of every client from the logs, follows it, and compares it with what the client did. */
export async function checkGuides(
  files: readonly string[],
  { ruleBook }: CompiledRuleBook,
  services: Services,
  ledger: readonly LedgerLine[],
  table: StatementTable,
): Promise<void> {
  const guides = new Map<string, Guide>();
  for (const file of files) {
    for await (const { bytes } of readLogFile(file)) {
      for (const line of bytes.toString().split('\n')) {
        const entry = line === '' ? undefined : parseEntry(line);
        if (entry?.client === undefined) continue;
        const guide = guides.get(entry.client) ?? new Guide(entry.client);
        guides.set(entry.client, guide);
        guide.add(entry);
      }
    }
  }
  const lines = Map.groupBy(ledger, ({ client }) => client);
  for (const [client, guide] of guides) {
    const document = guide.document(ruleBook);
    const past = (lines.get(client) ?? []).filter(({ version }) => version === 'v1');
    table.check('guide: requests', document.requests, past.length, client);
    table.check('guide: mistakes', mistakes(document), mistakesOf(past), client);
    checkResponses(document, past, client, table);
    for (const call of document.calls)
      for (const body of call.bodies) await follow(body, services, `${client} ${call.name}`, table);
  }
}

/** Sends the request that a guide shows to V2: what it calls verified must be accepted. */
async function follow(
  body: GuideBody,
  services: Services,
  who: string,
  table: StatementTable,
): Promise<void> {
  const [head = '', text] = body.after.split('\n\n');
  const [method = '', target = ''] = head.split(' ');
  const { status } = await services.ask(method, target, text);
  const isAccepted = status >= 200 && status < 300;
  const judgement = body.isVerified ? (isAccepted ? 'right' : 'wrong') : 'not-known';
  table.add('guide: after', judgement, () => `${who}: ${body.after} is called verified, V2 says ${status}`);
}

function checkResponses(
  { calls }: GuideDocument,
  past: readonly LedgerLine[],
  client: string,
  table: StatementTable,
): void {
  for (const { name, responses, responsesUnknown } of calls) {
    const ofCall = past.filter(({ call }) => call === name);
    const seen = new Set(ofCall.flatMap(({ differing }) => differing));
    const judged = knowable(ofCall);
    const stated = new Set(responses.map(({ v1 }) => v1));
    const isWrong =
      [...stated].some((pointer) => !seen.has(pointer)) ||
      [...judged].some((pointer) => !stated.has(pointer));
    const isUnknown = responsesUnknown || [...seen].some((pointer) => !stated.has(pointer));
    table.add(
      'guide: responses',
      isWrong ? 'wrong' : isUnknown ? 'not-known' : 'right',
      () => `${client} ${name}: ${[...stated].join(' ')}, true is ${[...seen].join(' ')}`,
    );
  }
}

function mistakes({ mistakes: listed }: GuideDocument): string[] {
  return listed.map(({ call, code, count }) => `${call} ${code} ${count}`).sort();
}

function mistakesOf(past: readonly LedgerLine[]): string[] {
  const made = past.filter(
    ({ refusal, by, code }) => refusal !== undefined && (by !== 'gateway' || code === refusal),
  );
  return [...Map.groupBy(made, ({ call, refusal }) => `${call} ${refusal ?? ''}`)]
    .map(([name, all]) => `${name} ${all.length}`)
    .sort();
}
