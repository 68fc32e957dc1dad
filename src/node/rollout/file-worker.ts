import { parentPort } from 'node:worker_threads';
import { errorCode } from '../files.ts';
import { FileRecords, lockFile } from './file-records.ts';
import type { FileReply, FileRequest } from './file-thread.ts';

// The thread of the file store: takes locks and keeps records, and waits for the disk where nobody else has to.

const locks = new Map<number, () => void>();
const all = new Map<string, FileRecords>();

parentPort?.on('message', (request: FileRequest) => {
  respond(request).then(send, (error: unknown) => {
    const message = error instanceof Error ? error.message : String(error);
    send({ kind: 'fault', id: request.id, message, code: errorCode(error, '') });
  });
});

async function respond(request: FileRequest): Promise<FileReply> {
  const { id } = request;
  switch (request.kind) {
    case 'lock':
      locks.set(id, await lockFile(request.path));
      break;
    case 'release':
      locks.get(request.lock)?.();
      locks.delete(request.lock);
      break;
    case 'changes':
      return {
        kind: 'changes',
        id,
        page: await recordsOf(request.path).changes(request.after, request.limit),
      };
    case 'replace':
      return {
        kind: 'replaced',
        id,
        replaced: await recordsOf(request.path).replace(request.life, request.changes),
      };
    case 'close':
      for (const records of all.values()) records.close();
      break;
  }
  return { kind: 'done', id };
}

/** One connection for each file: to close a second one would take the locks from the first (fcntl(2)). */
function recordsOf(path: string): FileRecords {
  const records = all.get(path) ?? new FileRecords(path);
  all.set(path, records);
  return records;
}

function send(reply: FileReply): void {
  parentPort?.postMessage(reply);
}
