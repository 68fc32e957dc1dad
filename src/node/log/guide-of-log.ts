import { Buffer } from 'node:buffer';
import type { OperatorResult } from '../../inspector/entries/export-entry.ts';
import type { GuideWork } from '../../inspector/operator-work.ts';
import { Guide } from '../../report/guide/guide.ts';
import { entriesOfClient } from './log-files.ts';
import { LOG_BYTES, readNewest } from './newest-log.ts';

/** Makes the guide of a client from a log file and the rotated ones beside it; one of no requests if it has none of that client. */
export async function guideOfLog({
  logFile,
  client,
  ruleBook,
  name,
  strips,
  samples,
  now,
}: GuideWork): Promise<OperatorResult> {
  const guide = new Guide(client);
  await readNewest(logFile, LOG_BYTES, {
    begin: () => undefined,
    add: (bytes) => {
      const lines = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
      entriesOfClient(lines, client, (entry) => guide.add(entry));
    },
  });
  return {
    status: 200,
    value: guide.document(ruleBook, name, { inForce: ruleBook.hash, unknown: strips, samples, now }),
  };
}
