import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { startReference } from '../src/node/reference.ts';

// `npm run edge`: runs the worker in workerd, as Wrangler serves it, in front of the embedded service in both versions. Further flags
// are passed to Wrangler.
const root = new URL('../', import.meta.url);
const reference = await startReference({
  db: undefined,
  unknown: 'refuse',
  rate: 0,
  dialects: ['v1', 'v2'],
  report: (error) => process.stderr.write(`reference: ${String(error)}\n`),
});
const token = randomBytes(16).toString('hex');
process.stderr.write(
  `V1 and V2 are the embedded reference at ${reference.origin}; steer the rollout with\n  GATEWAY_ADMIN_TOKEN=${token} npm run -s rollout -- --admin http://localhost:8787\n`,
);
const variables = [
  `GATEWAY_UPSTREAM:${reference.origin}`,
  `GATEWAY_V1_UPSTREAM:${reference.origin}`,
  `GATEWAY_CLIENT_SECRET:${randomBytes(32).toString('hex')}`,
  // Clients call 127.0.0.1.
  'GATEWAY_ADMIN_HOSTS:localhost',
  `GATEWAY_ADMIN_TOKEN:${token}`,
];
const wrangler = spawn(
  process.execPath,
  [
    fileURLToPath(new URL('deploy/edge/node_modules/wrangler/bin/wrangler.js', root)),
    'dev',
    '--config',
    fileURLToPath(new URL('config/wrangler.jsonc', root)),
    '--env',
    '',
    ...variables.flatMap((variable) => ['--var', variable]),
    ...process.argv.slice(2),
  ],
  { cwd: fileURLToPath(root), stdio: 'inherit', env: { ...process.env, WRANGLER_SEND_METRICS: 'false' } },
);
// A terminal signals both processes; a supervisor that only knows this process stops both through it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => wrangler.kill(signal));
wrangler.on('exit', (code) => {
  void reference.close().then(() => process.exit(code ?? 0));
});
