import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { AssembledImage } from './assemble-image.ts';
import { type StartedImage, startImage, type Volume } from './start-image.ts';

/** The outcome of a trial of the image. */
export interface ImageTrial {
  /** Status of the response to a V1 request. */
  readonly status: number;
  /** Status of the inspector's page, which is made of files of the image. */
  readonly page: number;
  /** Exit code of the health check while the gateway runs, and for a port where nothing listens. */
  readonly health: readonly [running: number, stopped: number];
  /** User and root folder of the gateway's process, as the machine sees them. */
  readonly uid: number;
  /** What came of writing into the root file system. */
  readonly writing: string;
  /** Exit code after SIGTERM. */
  readonly exit: number;
  /** Events of the process log, in order. */
  readonly events: readonly string[];
}

/** What a container gets beside its image. */
export interface GivenToImage {
  readonly env: Readonly<Record<string, string>>;
  readonly volumes: readonly Volume[];
}

const NOTHING: GivenToImage = { env: {}, volumes: [] };

/** Starts the gateway of an image on free ports, sends it a V1 request, asks for its health, tries to write, and stops it. */
export async function tryImage(image: AssembledImage, given: GivenToImage = NOTHING): Promise<ImageTrial> {
  const { entrypoint, cmd, healthcheck } = image.dockerfile;
  const gateway = startImage(
    image,
    [...entrypoint, ...cmd],
    { ...given.env, GATEWAY_LISTEN: '127.0.0.1:0', GATEWAY_ADMIN_LISTEN: '127.0.0.1:0' },
    given.volumes,
  );
  const exited = once(gateway.waiting, 'exit');
  try {
    const said: ProcessLine[] = [];
    const { clients, admin } = await started(gateway, said);
    const { status } = await fetch(`${clients}/api/v1/clients`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer any-key' },
      body: '{"data":{"name":"Acme"}}',
    });
    const { status: page } = await fetch(`${admin}/`);
    const health = async (address: string): Promise<number> =>
      (await run(image, healthcheck, { GATEWAY_ADMIN_LISTEN: address })).code;
    const [node = ''] = entrypoint;
    const program = `const fs = require('fs'); try { fs.writeFileSync('/app/x', ''); console.log(process.getuid(), 'written'); } catch (error) { console.log(process.getuid(), error.code); }`;
    const [uid = '', writing = ''] = (await run(image, [node, '--eval', program], {})).text.trim().split(' ');
    const healths = [await health(new URL(admin).host), await health('127.0.0.1:1')] as const;
    gateway.signal('SIGTERM');
    const [exit] = await exited;
    return {
      status,
      page,
      health: healths,
      uid: Number(uid),
      writing,
      exit: Number(exit),
      events: said.map(({ event }) => event),
    };
  } finally {
    gateway.waiting.kill('SIGKILL');
  }
}

interface ProcessLine {
  readonly event: string;
  readonly clients?: string;
  readonly admin?: string;
}

interface Addresses {
  readonly clients: string;
  readonly admin: string;
}

/** Collects the lines of the process log, and resolves with the addresses of the first; rejects if the gateway ends before. */
function started({ waiting }: StartedImage, said: ProcessLine[]): Promise<Addresses> {
  return new Promise((resolve, reject) => {
    const texts: string[] = [];
    waiting.on('exit', (code) => reject(new Error(`it ended with ${code}:\n${texts.join('\n')}`)));
    waiting.stdout?.resume();
    if (waiting.stderr === null) return;
    createInterface({ input: waiting.stderr }).on('line', (text) => {
      texts.push(text);
      if (!text.startsWith('{')) return;
      const line: ProcessLine = JSON.parse(text);
      said.push(line);
      const { clients, admin } = line;
      if (clients !== undefined && admin !== undefined) resolve({ clients, admin });
    });
  });
}

async function run(
  image: AssembledImage,
  command: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<{ readonly code: number; readonly text: string }> {
  const { waiting } = startImage(image, command, env);
  let text = '';
  for (const stream of [waiting.stdout, waiting.stderr])
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
  const [code] = await once(waiting, 'close');
  return { code: Number(code), text };
}
