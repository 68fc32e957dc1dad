/**
 * @module-tag packages
 * @module-tag wrangler
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parse } from 'jsonc-parser';
import { describe, expect, test, onTestFinished } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const root = fileURLToPath(new URL('../../', import.meta.url));
const page = readFileSync(join(root, 'docs/deploying.md'), 'utf8');
const steps = /### The first deploy\n[^]*?```sh\n([^]*?)```/.exec(page)?.[1]?.trim().split('\n') ?? [];

interface Run {
  readonly code: number;
  readonly said: string;
}

/** Runs a command line in the checkout with Wrangler pointed at `api`. */
async function run(line: string, api: string, folder: string): Promise<Run> {
  const env = {
    PATH: `${join(root, 'deploy/edge/node_modules/.bin')}:${join(root, 'node_modules/.bin')}:${process.env['PATH'] ?? ''}`,
    HOME: folder,
    CI: 'true',
    NO_COLOR: '1',
    WRANGLER_SEND_METRICS: 'false',
    CLOUDFLARE_API_BASE_URL: api,
    CLOUDFLARE_API_TOKEN: 'token',
    CLOUDFLARE_ACCOUNT_ID: '0'.repeat(32),
  };
  const command = line.replaceAll('secrets.env', join(folder, 'secrets.env'));
  try {
    const { stdout, stderr } = await promisify(execFile)('sh', ['-c', command], { cwd: root, env });
    return { code: 0, said: `${stdout}${stderr}` };
  } catch (error) {
    const { code, stdout, stderr } = error as { readonly code: number } & Record<'stdout' | 'stderr', string>;
    return { code, said: `${stdout}${stderr}` };
  }
}

describe('the first deploy, step by step as documented, without an account', () => {
  test('every step works, and the worker arrives with its secrets, variables and object', async () => {
    const { origin, uploads } = await cloudflareApi();
    const folder = temporaryFolder('deploy');
    expect(steps.slice(0, 3)).toEqual([
      'npm ci --prefix deploy/edge',
      'export PATH="$PWD/deploy/edge/node_modules/.bin:$PATH"',
      'wrangler login',
    ]);
    for (const step of steps.slice(3)) expect(await run(step, origin, folder)).toMatchObject({ code: 0 });
    expect([...uploads.keys()]).toEqual(['capture-gateway-production']);
    const { bindings = [], migrations } = uploads.get('capture-gateway-production') ?? {};
    const kinds = Object.fromEntries(bindings.map(({ name, type }) => [name, type]));
    expect(kinds).toEqual({
      GATEWAY_UPSTREAM: 'plain_text',
      GATEWAY_CLIENT_SECRET: 'secret_text',
      GATEWAY_ADMIN_TOKEN: 'secret_text',
      ROLLOUT: 'durable_object_namespace',
    });
    const secrets = bindings.filter(({ type }) => type === 'secret_text').map(({ text }) => text);
    expect(new Set(secrets).size).toBe(2);
    expect(secrets.every((secret) => /^[0-9a-f]{64}$/.test(secret ?? ''))).toBe(true);
    expect(migrations).toEqual({ new_tag: 'rollout', steps: [{ new_sqlite_classes: ['RolloutObject'] }] });
  });

  test('without its secrets nothing is uploaded: they cannot be set before the worker exists', async () => {
    const { origin, uploads } = await cloudflareApi();
    const last = steps.at(-1) ?? '';
    expect(last).toMatch(/ --secrets-file secrets\.env$/);
    const { code, said } = await run(
      last.replace(/ --secrets-file .*/, ''),
      origin,
      temporaryFolder('deploy'),
    );
    expect(code).toBe(1);
    expect(said).toContain('The following required secrets have not been set: GATEWAY_CLIENT_SECRET');
    expect(uploads.size).toBe(0);
  });
});

test('each environment has its own upstream, secrets and object, because it inherits none', () => {
  const config = parse(readFileSync(join(root, 'config/wrangler.jsonc'), 'utf8')) as WorkerConfig;
  const environments = Object.values(config.env);
  expect(environments).toHaveLength(2);
  for (const { vars, secrets, durable_objects } of environments) {
    expect(vars).toHaveProperty('GATEWAY_UPSTREAM');
    expect({ secrets, durable_objects }).toEqual({
      secrets: config.secrets,
      durable_objects: config.durable_objects,
    });
  }
});

interface Environment {
  readonly vars: Readonly<Record<string, string>>;
  readonly secrets: unknown;
  readonly durable_objects: unknown;
}

interface WorkerConfig extends Environment {
  readonly env: Readonly<Record<string, Environment>>;
}

/** What Wrangler uploaded with a worker. */
interface UploadMetadata {
  readonly bindings: readonly { readonly name: string; readonly type: string; readonly text?: string }[];
  readonly migrations?: unknown;
}

/** Stands in for Cloudflare's API before an account without workers: it takes uploads, and knows nothing before. */
interface CloudflareApi {
  readonly origin: string;
  /** The uploads so far, by name of the worker. */
  readonly uploads: ReadonlyMap<string, UploadMetadata>;
}

/** Starts the stand-in; it ends with the test. */
async function cloudflareApi(): Promise<CloudflareApi> {
  const uploads = new Map<string, UploadMetadata>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method, url = '' } = request;
      const metadata = /name="metadata"\r\n\r\n(.*)\r\n/.exec(Buffer.concat(chunks).toString('latin1'))?.[1];
      const name = /\/scripts\/([^/?]+)/.exec(url)?.[1];
      if (method === 'PUT' && name !== undefined && metadata !== undefined)
        uploads.set(name, JSON.parse(metadata) as UploadMetadata);
      const isKnown = method !== 'GET' || uploads.size > 0 || url.endsWith('/workers/subdomain');
      response.statusCode = isKnown ? 200 : 404;
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify(isKnown ? KNOWN : notFound(url)));
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { origin: `http://127.0.0.1:${port}/client/v4`, uploads };
}

const KNOWN = {
  success: true,
  errors: [],
  messages: [],
  result: { id: 'id', deployment_id: 'id', startup_time_ms: 1, subdomain: 'acme', enabled: true },
};

/** The codes by which Wrangler tells a worker that does not exist from an error. */
function notFound(url: string): object {
  const code = url.includes('/services/') ? 10_090 : 10_007;
  return { success: false, errors: [{ code, message: 'not found' }], messages: [], result: null };
}
