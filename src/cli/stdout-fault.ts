import { getSystemErrorMessage } from 'node:util';
import { NOT_STARTED } from './exit-codes.ts';

/**
 * Ends the program when stdout cannot be written: quietly when its reader, such as `head`, wants no more, and otherwise with the
 * reason on stderr. Registering it twice makes no difference.
 */
export function endOnStdoutFault(): void {
  process.stdout.off('error', end).on('error', end);
}

function end(error: NodeJS.ErrnoException): never {
  if (error.code === 'EPIPE') process.exit();
  const reason = error.errno === undefined ? error.message : getSystemErrorMessage(error.errno);
  process.stderr.write(`stdout cannot be written: ${reason}.\n`);
  process.exit(NOT_STARTED);
}
