import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import { validate as lintDockerfile } from 'dockerfile-utils';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { readSettings } from '../../src/settings/read-settings.ts';
import { settingConflicts } from '../../src/settings/setting-conflicts.ts';
import { renderChart } from '../support/helm-chart.ts';
import { buildKustomization } from '../support/kustomization.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { type KubernetesObject, kubernetesFaults, readObjects } from '../support/kubernetes.ts';

const deploy = new URL('../../deploy/', import.meta.url);
const chart = new URL('helm/capture-gateway/', deploy);
const { version } = JSON.parse(readFileSync(new URL('../package.json', deploy), 'utf8')) as {
  version: string;
};
const RELEASE = { Name: 'edge', Namespace: 'shop' };
const SECRET = { secret: { name: 'gateway' } };

interface Container {
  readonly name: string;
  readonly image: string;
  readonly restartPolicy?: string;
  readonly env: readonly { readonly name: string; readonly value?: string }[];
  readonly securityContext: object;
  readonly lifecycle: { readonly preStop: { readonly sleep: { readonly seconds: number } } };
}

interface PodSpec {
  readonly terminationGracePeriodSeconds: number;
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
}

describe('kustomize', () => {
  test('Kubernetes accepts the standalone gateway', async () => {
    const objects = buildKustomization(new URL('kubernetes/standalone/', deploy));
    expect(await kubernetesFaults(objects)).toEqual([]);
    expect(objects.map(({ kind }) => kind).sort()).toEqual([
      'Deployment',
      'HorizontalPodAutoscaler',
      'NetworkPolicy',
      'PodDisruptionBudget',
      'Service',
      'ServiceAccount',
    ]);
    expect(podOf(objects).containers[0]?.image).toBe(`capture-gateway:${version}`);
  });

  test('the component puts a native sidecar beside the integration', async () => {
    const objects = buildKustomization(new URL('kubernetes/sidecar/', deploy));
    expect(await kubernetesFaults(objects)).toEqual([]);
    const { containers, initContainers = [] } = podOf(objects);
    expect(containers.map(({ name }) => name)).toEqual(['integration']);
    expect(initContainers.map(({ name, restartPolicy }) => [name, restartPolicy])).toEqual([
      ['capture-gateway', 'Always'],
    ]);
    expect(valueOf(initContainers[0], 'GATEWAY_LISTEN')).toBe('127.0.0.1:8080');
  });

  test.each([
    ['a misspelt member', 'replicsa: 2', /replicsa/],
    ['a wrong type', 'replicas: two', /replicas must be integer/],
    ['a word that is not one of a few', 'strategy: { type: Replace }', /Replace/],
  ])('the validator finds %s', async (_title, line, fault) => {
    const text = `apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: a }\nspec:\n  ${line}\n  selector: {}\n  template: {}\n`;
    expect((await kubernetesFaults(readObjects(text))).join('\n')).toMatch(fault);
  });
});

describe('the Helm chart', () => {
  const schema = new Ajv().compile(
    JSON.parse(readFileSync(new URL('values.schema.json', chart), 'utf8')) as object,
  );
  const values = parse(readFileSync(new URL('values.yaml', chart), 'utf8')) as Record<string, object>;

  test.each([
    ['as it is', SECRET],
    ['with secrets of its own', { secret: { clientSecret: 'x'.repeat(16), adminToken: 'y"'.repeat(16) } }],
    [
      'with everything',
      {
        ...SECRET,
        rules: 'version: 2025-01-01\nchanges: []\n',
        settings: { GATEWAY_MAX_IN_FLIGHT: '2000', GATEWAY_WORKERS: 'auto' },
        autoscaling: { enabled: false },
        replicas: 3,
        imagePullSecrets: [{ name: 'registry' }],
        podAnnotations: { a: 'b' },
        podLabels: { tier: 'edge' },
        nodeSelector: { disk: 'ssd' },
        tolerations: [{ key: 'x', operator: 'Exists' }],
        affinity: { nodeAffinity: {} },
      },
    ],
    [
      'bare',
      {
        ...SECRET,
        autoscaling: { enabled: false },
        podDisruptionBudget: { enabled: false },
        networkPolicy: { enabled: false },
      },
    ],
  ])('renders objects that Kubernetes accepts, %s', async (_title, given) => {
    const objects = chartObjects(given);
    expect(await kubernetesFaults(objects)).toEqual([]);
    for (const { metadata } of objects) expect(metadata.name).toBe('edge-capture-gateway');
    expect(settingFaults(podOf(objects).containers[0])).toEqual([]);
  });

  test('renders the same gateway as the manifests', () => {
    const [ofChart, ofManifest] = [
      chartObjects(SECRET),
      buildKustomization(new URL('kubernetes/standalone/', deploy)),
    ].map((objects) => podOf(objects));
    expect(ofChart?.containers).toEqual(ofManifest?.containers);
    expect(ofChart?.terminationGracePeriodSeconds).toBe(ofManifest?.terminationGracePeriodSeconds);
  });

  test('its schema takes the values that ship, once the secret is named', () => {
    expect(schema({ ...values, ...SECRET })).toBe(true);
    expect(schema(values)).toBe(false);
  });

  test.each([
    ['an unknown value', { replica: 2 }],
    ['an upstream with a user', { upstream: 'https://me@captur3d.io' }],
    ['a setting that is no text', { settings: { GATEWAY_MAX_IN_FLIGHT: 2000 } }],
    ['a name that is no setting', { settings: { MAX_IN_FLIGHT: '2000' } }],
    ['a short token', { secret: { clientSecret: 'x'.repeat(16), adminToken: 'short' } }],
    ['a port that is none', { service: { type: 'ClusterIP', port: 70_000 } }],
  ])('its schema refuses %s', (_title, given) => {
    expect(schema({ ...values, ...SECRET, ...given })).toBe(false);
  });

  function chartObjects(given: object): readonly KubernetesObject[] {
    return [...renderChart(chart, RELEASE, given)]
      .filter(([name]) => name.endsWith('.yaml'))
      .flatMap(([, text]) => readObjects(text));
  }
});

describe('the promises of the manifests', () => {
  const pods = [
    ['standalone', 'containers'],
    ['sidecar', 'initContainers'],
  ] as const;

  test.each(pods)(
    'the gateway of %s knows every setting, and has no effect that it need not',
    (folder, list) => {
      const pod = podOf(buildKustomization(new URL(`kubernetes/${folder}/`, deploy)));
      const gateway = pod[list]?.[0];
      expect(settingFaults(gateway)).toEqual([]);
      expect(gateway?.securityContext).toMatchObject({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      // The grace period of Kubernetes covers the wait before the signal, the drain, and the exit.
      const drain = Number(valueOf(gateway, 'GATEWAY_DRAIN')) / 1000;
      const wait = gateway?.lifecycle.preStop.sleep.seconds ?? 0;
      expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(drain + wait + 5);
    },
  );
});

describe('the Dockerfile', () => {
  const text = readFileSync(new URL('../../Dockerfile', import.meta.url), 'utf8');

  test('has no faults', () => {
    expect(
      lintDockerfile(text).map(({ message, range }) => `${range.start.line + 1}: ${JSON.stringify(message)}`),
    ).toEqual([]);
  });

  test('ends in an image without a shell, and as a user without rights', () => {
    const final = text.slice(text.lastIndexOf('\nFROM '));
    expect(final).toMatch(/^\nFROM gcr\.io\/distroless\/nodejs24-debian13:nonroot\n/);
    expect(final).toMatch(/^USER 65532:65532$/m);
    expect(final).not.toMatch(/^RUN/m);
    for (const form of ['ENTRYPOINT', 'CMD', 'HEALTHCHECK .* CMD'])
      expect(final).toMatch(new RegExp(`^${form} \\[`, 'm'));
  });

  test('is of the version that the package has', () => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
      version: string;
    };
    expect(text).toContain(`image.version="${version}"`);
    expect(parse(readFileSync(new URL('Chart.yaml', chart), 'utf8'))).toMatchObject({
      appVersion: version,
      version,
    });
  });
});

describe('compose', () => {
  const folder = new URL('compose/', deploy);
  const compose = parse(readFileSync(new URL('compose.yaml', folder), 'utf8')) as {
    readonly services: Readonly<
      Record<
        string,
        {
          readonly environment?: Readonly<Record<string, string>>;
          readonly ports: readonly string[];
          readonly volumes?: readonly string[];
        }
      >
    >;
    readonly configs: Readonly<Record<string, { readonly file: string }>>;
  };

  test('names existing settings, publishes on loopback only, and mounts existing files', () => {
    const env = Object.entries(compose.services['gateway']?.environment ?? {}).map(([name, value]) => ({
      name,
      value: value.replace(/\$\{\w+:-\}/, '').replace(/\$\{.*\}/, 'a secret of 16 bytes'),
    }));
    expect(settingFaults({ env })).toEqual([]);
    for (const { ports, volumes = [] } of Object.values(compose.services)) {
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
      for (const volume of volumes.filter((path) => path.startsWith('.')))
        expect(existsSync(new URL(volume.split(':')[0] ?? '', folder))).toBe(true);
    }
    for (const { file } of Object.values(compose.configs))
      expect(existsSync(new URL(file, folder))).toBe(true);
  });

  test('its Prometheus configuration is valid', () => {
    const file = fileURLToPath(new URL('prometheus.yaml', folder));
    expect(run('promtool', ['check', 'config', '--syntax-only', file])).toMatch(/SUCCESS/);
  });
});

describe('the systemd unit', () => {
  const unit = fileURLToPath(new URL('systemd/capture-gateway.service', deploy));

  test('is understood by systemd, and leaves little to attack', () => {
    // systemd speaks of every unit that ours leads to, and somebody else's may be faulty: this one is.
    const units = temporaryFolder('units');
    const wants = join(units, 'network-online.target.wants');
    mkdirSync(wants);
    writeFileSync(join(units, 'faulty.service'), '[Service]\nExecStart=/bin/true\nNonsense=1\n');
    symlinkSync('../faulty.service', join(wants, 'faulty.service'));
    const said = run('systemd-analyze', ['verify', unit], { SYSTEMD_UNIT_PATH: `${units}:` });
    expect(said).toContain('faulty.service:3: Unknown key');
    // The command is not installed where this is tested; every other word of the unit is judged.
    const ours = said.split('\n').filter((line) => line.includes('capture-gateway.service'));
    expect(
      ours.filter((line) => !line.includes('Command /usr/local/bin/capture-gateway is not executable')),
    ).toEqual([]);
    const level = /exposure level for \S+: ([\d.]+)/.exec(
      run('systemd-analyze', ['security', '--offline=true', unit]),
    );
    expect(Number(level?.[1])).toBeLessThanOrEqual(1.5);
  });

  test('names settings that there are', () => {
    const text = readFileSync(unit, 'utf8');
    const env = [...text.matchAll(/(GATEWAY_\w+)=(\S+)/g)]
      .filter(([, , value]) => value !== '…' && !value?.startsWith('…'))
      .map(([, name = '', value = '']) => ({ name, value }));
    expect(env.length).toBeGreaterThan(2);
    expect(settingFaults({ env })).toEqual([]);
  });
});

function podOf(objects: readonly KubernetesObject[]): PodSpec {
  const [deployment] = objects.filter(({ kind }) => kind === 'Deployment').map(({ spec }) => spec);
  return (deployment as { readonly template: { readonly spec: PodSpec } }).template.spec;
}

function valueOf(container: Container | undefined, name: string): string | undefined {
  return container?.env.find((entry) => entry.name === name)?.value;
}

/** The faults that the gateway would find in the environment of a container. */
function settingFaults(container: Pick<Container, 'env'> | undefined): readonly string[] {
  const environment = Object.fromEntries(
    (container?.env ?? []).map(({ name, value }) => [name, value ?? 'a secret of 16 bytes']),
  );
  const outcome = readSettings({ flags: {}, environment, readFile: () => 'a secret of 16 bytes' });
  return 'faults' in outcome ? outcome.faults : settingConflicts(outcome.settings);
}

function run(
  command: string,
  given: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): string {
  const { stdout, stderr, error } = spawnSync(command, given, {
    encoding: 'utf8',
    env: { ...process.env, ...environment },
  });
  if (error !== undefined) throw error;
  return `${stdout}${stderr}`;
}
