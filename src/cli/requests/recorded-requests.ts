import { readFileSync } from 'node:fs';
import { readAdminRequests } from './admin-source.ts';
import { type CommandFault, isFault, unreadable } from '../command-fault.ts';
import { readLogRequests } from './log-requests.ts';
import { type NamedRequest, readHar, readPostman } from './request-files.ts';
import { openAdmin } from '../secret.ts';

/** Where recorded requests are; at most one. */
export interface RecordingSource {
  readonly har?: string;
  readonly postman?: string;
  readonly log?: string;
  readonly admin?: string;
}

/**
 * Reads recorded requests from a HAR file, a Postman collection, a rewrite log or a running gateway. `book` is the hash of the rule
 * book that judges them, which a log may not be of.
 */
export async function readRecordedRequests(
  { har, postman, log, admin }: RecordingSource,
  book?: string,
): Promise<readonly NamedRequest[] | CommandFault> {
  const sources = [har, postman, log, admin].filter((source) => source !== undefined);
  if (sources.length !== 1) return { fault: 'Give one of --har, --postman, --log and --admin.' };
  try {
    if (har !== undefined) return readHar(readFileSync(har, 'utf8'));
    if (postman !== undefined) return readPostman(readFileSync(postman, 'utf8'));
    if (log !== undefined) return await readLogRequests(log, book);
    if (admin !== undefined) {
      const client = openAdmin(admin);
      return isFault(client) ? client : await readAdminRequests(client);
    }
  } catch (error) {
    // A gateway that does not respond is no junk, whatever its connection fails with.
    return {
      ...unreadable(har ?? postman ?? log ?? admin ?? '', error),
      ...(admin === undefined ? {} : { isJunk: false }),
    };
  }
  return { fault: 'Give one of --har, --postman, --log and --admin.' };
}
