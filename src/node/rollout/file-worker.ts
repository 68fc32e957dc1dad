import { parentPort } from 'node:worker_threads';
import { errorCode } from '../files.ts';
import type { FileReply, FileRequest } from './file-thread.ts';
import { lockFile, StateFile } from './state-file.ts';

// The thread of the file store: takes locks and keeps shared states, and waits for the disk so that no other thread has to.

const locks = new Map<number, () => void>();
const all = new Map<string, StateFile>();

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
    case 'exchange':
      return { kind: 'news', id, news: await stateOf(request.path).exchange(request.call) };
    case 'close':
      for (const state of all.values()) state.close();
      break;
  }
  return { kind: 'done', id };
}

/** One connection for each file: closing a second one would release the locks of the first (fcntl(2)). */
function stateOf(path: string): StateFile {
  const state = all.get(path) ?? new StateFile(path, Date.now);
  all.set(path, state);
  return state;
}

function send(reply: FileReply): void {
  parentPort?.postMessage(reply);
}
