/** `npm run bench -- allocation`: the bytes that a request of 1 KB allocates on V8's heap, and the functions that allocate most of them. */
import { startGatewayProcess } from './gateway-process.ts';
import { saturate } from './load.ts';
import { startUpstream } from './upstream-process.ts';
import { migrate, pass, type Work } from './work.ts';

const CONNECTIONS = 32;
const WARMING_MS = 4000;
const MEASURED_MS = 4000;
/** Mean bytes between two samples. */
const SAMPLING_BYTES = 4096;
/** Functions that are printed. */
const SHOWN = 12;

/** A function in V8's sampling heap profile, with those that it called (Chrome DevTools Protocol, `SamplingHeapProfileNode`). */
interface ProfileNode {
  readonly callFrame: { readonly functionName: string; readonly url: string };
  readonly selfSize: number;
  readonly children: readonly ProfileNode[];
}

/** Prints a table for each kind of work. */
export async function benchAllocation(): Promise<void> {
  const upstream = await startUpstream();
  try {
    for (const work of [pass, migrate]) await measure(work, upstream.port);
  } finally {
    upstream.stop();
  }
}

async function measure({ name, request }: Work, upstreamPort: number): Promise<void> {
  const flags = {
    upstream: `http://127.0.0.1:${upstreamPort}`,
    'log-file': '/dev/null',
  };
  const gateway = await startGatewayProcess(flags, ['--inspect=127.0.0.1:0']);
  try {
    await saturate(gateway.port, request, CONNECTIONS, WARMING_MS);
    const inspector = await Inspector.open(/ws:\S+/.exec(gateway.stderr())?.[0] ?? '');
    await inspector.call('HeapProfiler.startSampling', {
      samplingInterval: SAMPLING_BYTES,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    });
    const requests = await saturate(gateway.port, request, CONNECTIONS, MEASURED_MS);
    const { profile } = await inspector.call<{ profile: { head: ProfileNode } }>('HeapProfiler.stopSampling');
    inspector.close();
    const byFunction = new Map<string, number>();
    addSizes(profile.head, byFunction);
    print(name, byFunction, requests);
  } finally {
    await gateway.stop();
  }
}

function addSizes({ callFrame, selfSize, children }: ProfileNode, sizes: Map<string, number>): void {
  const file = callFrame.url.split('/').slice(-2).join('/');
  const name = `${callFrame.functionName === '' ? '(no name)' : callFrame.functionName} ${file}`.trim();
  sizes.set(name, (sizes.get(name) ?? 0) + selfSize);
  for (const child of children) addSizes(child, sizes);
}

function print(work: string, sizes: ReadonlyMap<string, number>, requests: number): void {
  let total = 0;
  for (const size of sizes.values()) total += size;
  console.log(`\n${work}: ${Math.round(total / requests)} bytes a request (${requests} requests)\n`);
  const largest = [...sizes].toSorted(([, one], [, other]) => other - one).slice(0, SHOWN);
  for (const [name, size] of largest)
    console.log(`${String(Math.round(size / requests)).padStart(6)}  ${name}`);
}

/** Node's inspector in another process. */
class Inspector {
  private readonly socket: WebSocket;
  private readonly pending = new Map<number, (result: unknown) => void>();
  private calls = 0;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.addEventListener('message', ({ data }) => {
      const { id, result } = JSON.parse(String(data)) as { readonly id?: number; readonly result?: unknown };
      if (id !== undefined) this.pending.get(id)?.(result);
    });
  }

  static async open(url: string): Promise<Inspector> {
    const socket = new WebSocket(url);
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve);
      socket.addEventListener('error', reject);
    });
    return new Inspector(socket);
  }

  call<Result>(method: string, params: object = {}): Promise<Result> {
    this.calls += 1;
    const id = this.calls;
    return new Promise((resolve) => {
      this.pending.set(id, (result) => resolve(result as Result));
      this.socket.send(JSON.stringify({ id, method, params }));
    });
  }

  close(): void {
    this.socket.close();
  }
}
