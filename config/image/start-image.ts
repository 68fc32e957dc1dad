import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AssembledImage } from './assemble-image.ts';

/** A container of the image, without an engine. */
export interface StartedImage {
  /** The process that waits for the container; its streams and exit code are the container's. */
  readonly waiting: ChildProcess;
  /** Sends a signal to the first process of the container, as an engine does. */
  signal(name: NodeJS.Signals): void;
}

/** A folder of the machine, and where the container has it. */
export interface Volume {
  readonly folder: string;
  readonly path: string;
}

/**
 * Mounts the root file system read-only, with `/proc` and `/dev/null`, and starts the command in it as the image's user, as process
 * 1 of namespaces of its own. The network is the machine's.
 */
const START = `
mount --make-rprivate /
mount --bind "$0" "$0"
mount --bind /dev/null "$0/dev/null"
mount -t proc proc "$0/proc"
for volume in $VOLUMES; do mount --bind "\${volume%%:*}" "$0\${volume#*:}"; done
mount -o remount,bind,ro "$0"
exec unshare --root="$0" "$@"
`;

/** Starts a command in the image's root file system; who is not root needs user namespaces for it. */
export function startImage(
  { root, dockerfile }: AssembledImage,
  command: readonly string[],
  env: Readonly<Record<string, string>>,
  volumes: readonly Volume[] = [],
): StartedImage {
  const { user, workdir } = dockerfile;
  const [uid = '', gid = uid] = user.split(':');
  const isRoot = process.getuid?.() === 0;
  // Without rights there is one user to be: oneself, as root of a user namespace.
  const rights = isRoot ? [] : ['--user', '--map-root-user'];
  const become = isRoot ? [`--setgid=${gid}`, `--setuid=${uid}`] : [];
  const namespaces = [...rights, '--mount', '--pid', '--ipc', '--uts', '--fork', '--kill-child=SIGKILL'];
  const inside = ['sh', '-ec', START, root, `--wd=${workdir}`, ...become, '--', ...command];
  for (const { path } of volumes) mkdirSync(join(root, path), { recursive: true });
  const mounted = { VOLUMES: volumes.map(({ folder, path }) => `${folder}:${path}`).join(' ') };
  const waiting = spawn('unshare', [...namespaces, ...inside], {
    // Of the machine's environment, the tools that mount need their path; the command gets the image's.
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', ...dockerfile.env, ...env, ...mounted },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return {
    waiting,
    signal: (name) => {
      const { pid } = waiting;
      const first = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
      if (first !== '') process.kill(Number(first), name);
    },
  };
}
