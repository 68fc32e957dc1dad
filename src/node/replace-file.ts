import { randomUUID } from 'node:crypto';
import {
  closeSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { open, realpath, rename, rm, stat } from 'node:fs/promises';

/** How a file is replaced. */
export interface Replacement {
  /** Mode of a file that was not there, before the umask; one that was there keeps its own. */
  readonly mode?: number;
  /** False for a file that nobody misses after a crash of the machine. */
  readonly isDurable?: boolean;
}

/** Rights of the group: they go where the group itself cannot be kept, since another would have them. */
const GROUP_RIGHTS = 0o070;

/**
 * Replaces a file: a reader sees the old one or the new one, and after a crash one of them exists. It keeps its mode and, where the
 * process may, its owner; a link to a file stays a link. What is written first has a name that nobody can foresee, and is made
 * exclusively (`O_EXCL`), so that no link put in its place is followed.
 */
export async function replaceFile(path: string, text: string, how: Replacement = {}): Promise<void> {
  const { mode = 0o600, isDurable = true } = how;
  const target = await realpath(path).catch(() => path);
  const known = await stat(target).catch(() => undefined);
  const made = draftPath(target);
  const file = await open(made, 'wx', known === undefined ? mode : 0o600);
  try {
    try {
      await file.writeFile(text);
      if (known !== undefined) {
        const own = await file.stat();
        const isKept =
          isSameOwner(own, known) ||
          (await file.chown(known.uid, known.gid).then(
            () => true,
            () => false,
          ));
        await file.chmod(modeFor(known.mode, isKept));
      }
      if (isDurable) await file.sync();
    } finally {
      await file.close();
    }
    await rename(made, target);
  } catch (error) {
    await rm(made, { force: true });
    throw error;
  }
}

/** `replaceFile` for a text that was read just before: nothing else runs in between. */
export function replaceFileSync(path: string, text: string, { mode = 0o600 }: Replacement = {}): void {
  const target = realpathOf(path);
  const known = statSync(target, { throwIfNoEntry: false });
  const made = draftPath(target);
  const file = openSync(made, 'wx', known === undefined ? mode : 0o600);
  try {
    try {
      writeFileSync(file, text);
      if (known !== undefined) fchmodSync(file, modeFor(known.mode, takesOwner(file, made, known)));
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(made, target);
  } catch (error) {
    rmSync(made, { force: true });
    throw error;
  }
}

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

function draftPath(target: string): string {
  return `${target}.${randomUUID()}.tmp`;
}

function realpathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function takesOwner(file: number, made: string, known: Owner): boolean {
  if (isSameOwner(statSync(made), known)) return true;
  try {
    fchownSync(file, known.uid, known.gid);
    return true;
  } catch {
    return false;
  }
}

function isSameOwner(one: Owner, other: Owner): boolean {
  return one.uid === other.uid && one.gid === other.gid;
}

function modeFor(mode: number, isOwnerKept: boolean): number {
  return (isOwnerKept ? mode : mode & ~GROUP_RIGHTS) & 0o7777;
}
