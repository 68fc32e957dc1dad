import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { AssembledImage } from './assemble-image.ts';
import type { Volume } from './start-image.ts';
import { tryImage } from './try-image.ts';

/** The parts of a rendered object that are read here. */
interface RenderedObject {
  readonly kind: string;
  readonly data?: Readonly<Record<string, string>>;
  readonly stringData?: Readonly<Record<string, string>>;
  readonly spec?: { readonly template?: { readonly spec: PodSpec } };
}

interface PodSpec {
  readonly containers: readonly {
    readonly env: readonly { readonly name: string; readonly value: string }[];
    readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  }[];
  readonly volumes: readonly {
    readonly name: string;
    readonly secret?: object;
    readonly configMap?: object;
  }[];
}

const SECRETS = { clientSecret: 'a-secret-of-the-trial', adminToken: 'a-token-of-the-trial-of-32-letters' };

/** Why the chart cannot be tried on this machine; undefined where it can. */
export function chartTrialFault(): string | undefined {
  const [helm, namespaces] = [
    spawnSync('helm', ['version'], { stdio: 'ignore' }),
    spawnSync('unshare', ['-rm', 'true'], { stdio: 'ignore' }),
  ];
  if (helm.status !== 0) return 'helm is not installed; test/system.sh installs it';
  return namespaces.status === 0 ? undefined : 'this machine allows no namespaces';
}

/**
 * Starts the image with the environment, files and folders that a packed chart gives its pod, sends it a V1 request, and asks for the page.
 * Returns a sentence; throws at the first thing that does not work.
 */
export async function tryChart(image: AssembledImage, chart: string): Promise<string> {
  const received: string[] = [];
  const v2 = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (part: string) => (body += part));
    request.on('end', () => {
      received.push(`${request.method} ${request.url} ${body}`);
      response.writeHead(201, { 'content-type': 'application/json' }).end('{"id":1}');
    });
  });
  const folder = mkdtempSync(join(tmpdir(), 'chart-'));
  try {
    await new Promise<void>((resolve) => {
      v2.listen(0, '127.0.0.1', resolve);
    });
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a server that listens on a port has such an address
    const { port } = v2.address() as AddressInfo;
    const objects = render(chart, {
      upstream: `http://127.0.0.1:${port}`,
      'secret.clientSecret': SECRETS.clientSecret,
      'secret.adminToken': SECRETS.adminToken,
    });
    const pod = objects.find(({ kind }) => kind === 'Deployment')?.spec?.template?.spec;
    const [container] = pod?.containers ?? [];
    if (pod === undefined || container === undefined) throw new Error('The chart has no pod.');
    const env = Object.fromEntries(container.env.map(({ name, value }) => [name, value]));
    const trial = await tryImage(image, { env, volumes: volumesOf(pod, objects, folder) });
    const expected = 'POST /api/v2/clients {"name":"Acme"}';
    if (trial.status !== 201 || trial.page !== 200 || trial.exit !== 0 || received.join('\n') !== expected)
      throw new Error(
        `The image with the chart: ${JSON.stringify(trial)}, and V2 got ${received.join('\n') || 'nothing'}.`,
      );
    return 'The image starts with what the chart gives it, V2 gets a V1 request migrated, and the page is served.';
  } finally {
    v2.close();
    v2.closeAllConnections();
    rmSync(folder, { recursive: true, force: true });
  }
}

function render(chart: string, values: Readonly<Record<string, string>>): readonly RenderedObject[] {
  const given = Object.entries(values).flatMap(([name, value]) => ['--set-string', `${name}=${value}`]);
  const text = execFileSync('helm', ['template', 'trial', chart, ...given], { encoding: 'utf8' });
  return parseAllDocuments(text).flatMap((document): readonly RenderedObject[] => document.toJS() ?? []);
}

/** The pod's volumes as folders: files of Secrets and ConfigMaps, and empty folders that the image's user may write to. */
function volumesOf(
  { containers, volumes }: PodSpec,
  objects: readonly RenderedObject[],
  folder: string,
): Volume[] {
  return (containers[0]?.volumeMounts ?? []).map(({ name, mountPath }) => {
    const { secret, configMap } = volumes.find((volume) => volume.name === name) ?? {};
    const kind = secret === undefined ? 'ConfigMap' : 'Secret';
    const { data, stringData } = objects.find((object) => object.kind === kind) ?? {};
    const isFilled = secret !== undefined || configMap !== undefined;
    const path = join(folder, name);
    mkdirSync(path);
    for (const [file, text] of Object.entries(isFilled ? { ...data, ...stringData } : {}))
      writeFileSync(join(path, file), text, { mode: 0o444 });
    chmodSync(path, isFilled ? 0o755 : 0o777);
    return { folder: path, path: mountPath };
  });
}
