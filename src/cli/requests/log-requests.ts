import { readLogFile } from '../logs/log-files.ts';
import { requestLike } from '../../report/entry-request.ts';
import { parseEntry } from '../logs/client-entries.ts';
import { type CommandFault, noRewriteLog } from '../command-fault.ts';
import type { NamedRequest } from './request-files.ts';

/** Maximum distinct requests taken from one log. */
const MAX_REQUESTS = 1000;

/** Reconstructs one request for each kind of V1 request in a log: kinds differ in operation and names. Values are `…`. */
export async function readLogRequests(path: string): Promise<readonly NamedRequest[] | CommandFault> {
  const kinds = new Map<
    string,
    { readonly request: NamedRequest['request']; count: number; readonly label: string }
  >();
  const lines = { entries: 0, others: 0 };
  for await (const { bytes } of readLogFile(path)) {
    for (const line of bytes.toString('utf8').split('\n')) {
      const entry = parseEntry(line);
      if (entry !== undefined) lines.entries += 1;
      else if (line !== '') lines.others += 1;
      const request = entry && requestLike(entry);
      if (entry === undefined || request === undefined) continue;
      const label = entry.operation ?? `${entry.method} ${entry.path}`;
      const key = `${label} ${request.body ?? ''}`;
      const known = kinds.get(key);
      if (known !== undefined) known.count += 1;
      else if (kinds.size < MAX_REQUESTS) kinds.set(key, { request, count: 1, label });
    }
  }
  if (lines.entries === 0 && lines.others > 0) return noRewriteLog(path, lines.others);
  return [...kinds.values()].map(({ request, count, label }) => ({
    name: count === 1 ? label : `${label} (${count} like it)`,
    request,
    count,
  }));
}
