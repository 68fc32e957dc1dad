import { getSystemErrorMessage } from 'node:util';

/** The system's words for an error with its code, without the call that Node adds: `no such file or directory (ENOENT)`. */
export function systemReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { errno, code, message }: NodeJS.ErrnoException = error;
  return errno === undefined || code === undefined ? message : `${getSystemErrorMessage(errno)} (${code})`;
}
