/**
 * @module-tag helm
 * @module-tag kubectl
 * @module-tag packages
 * @module-tag prometheus
 * @module-tag systemd
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import { validate as lintDockerfile } from 'dockerfile-utils';
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { readSettings, NODE_CONFLICTS } from '../../src/settings/read-settings.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { type KubernetesObject, kubernetesFaults, readObjects } from '../support/kubernetes.ts';

const deploy = new URL('../../deploy/', import.meta.url);
const chart = new URL('helm/capture-gateway/', deploy);
const { version } = JSON.parse(readFileSync(new URL('../package.json', deploy), 'utf8')) as {
  version: string;
};
const SECRET = { secret: { name: 'gateway' } };

interface Container {
  readonly name: string;
  readonly image: string;
  readonly restartPolicy?: string;
  readonly env: readonly { readonly name: string; readonly value?: string }[];
  readonly envFrom?: readonly { readonly configMapRef: { readonly name: string } }[];
  readonly volumeMounts: readonly {
    readonly name: string;
    readonly mountPath: string;
    readonly readOnly?: boolean;
  }[];
  readonly ports?: readonly { readonly name: string }[];
  readonly securityContext: object;
  readonly lifecycle: { readonly preStop: { readonly sleep: { readonly seconds: number } } };
}

interface PodSpec {
  readonly terminationGracePeriodSeconds: number;
  readonly securityContext?: object;
  readonly volumes?: readonly { readonly name: string }[];
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
}

describe('kustomize', () => {
  test('Kubernetes accepts the standalone gateway', async () => {
    const objects = buildKustomization('standalone');
    expect(await kubernetesFaults(objects)).toEqual([]);
    expect(objects.map(({ kind }) => kind).sort()).toEqual([
      'ConfigMap',
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
    const objects = buildKustomization('sidecar');
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
    ['with its own secrets', { secret: { clientSecret: 'x'.repeat(16), adminToken: 'y"'.repeat(16) } }],
    [
      'with everything',
      {
        ...SECRET,
        rules: 'version: 2025-01-01\nchanges: []\n',
        settings: { GATEWAY_MAX_IN_FLIGHT: '2000', GATEWAY_WORKERS: 'auto' },
        extraEnv: [{ name: 'GATEWAY_VIA', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
        extraVolumes: [{ name: 'certificates', secret: { secretName: 'certificates' } }],
        extraVolumeMounts: [{ name: 'certificates', mountPath: '/etc/certificates', readOnly: true }],
        data: { persistentVolumeClaim: { claimName: 'gateway' } },
        store: {
          address: 'rediss://redis.data:6379/1',
          passwordSecret: 'redis',
          passwordKey: 'redis-password',
        },
        networkPolicy: { egress: [{ to: [{ podSelector: {} }], ports: [{ port: 6379 }] }] },
        podMonitor: { enabled: true, labels: { release: 'prometheus' } },
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
    ['with a ConfigMap of rules', { ...SECRET, rulesConfigMap: 'our-rules' }],
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
    const objects = renderChart(given);
    expect(await kubernetesFaults(objects)).toEqual([]);
    for (const { metadata } of objects) expect(metadata.name).toBe('edge-capture-gateway');
    expect(settingFaults(podOf(objects).containers[0])).toEqual([]);
  });

  test('renders the same gateway as the manifests', () => {
    // The manifests read ConfigMaps if they are there; the chart has values for the same.
    const settings = { configMapRef: { name: 'capture-gateway-settings', optional: true } };
    const rules = { name: 'rules', mountPath: '/etc/gateway', readOnly: true };
    const volume = { name: 'rules', configMap: { name: 'capture-gateway-rules', optional: true } };
    const given = {
      secret: { name: 'capture-gateway' },
      extraEnvFrom: [settings],
      extraVolumes: [volume],
      extraVolumeMounts: [rules],
    };
    const [ofChart, ofManifest] = [renderChart(given), buildKustomization('standalone')].map((objects) => {
      const { containers, volumes = [], securityContext, terminationGracePeriodSeconds } = podOf(objects);
      const byName = <T extends { readonly name: string }>(list: readonly T[]): readonly T[] =>
        list.toSorted((one, other) => (one.name < other.name ? -1 : 1));
      return {
        containers: containers.map((one) => ({
          ...one,
          env: byName(one.env),
          volumeMounts: byName(one.volumeMounts),
        })),
        volumes: byName(volumes),
        securityContext,
        terminationGracePeriodSeconds,
      };
    });
    expect(ofChart).toEqual(ofManifest);
  });

  test('volumes, environment and rule book of the user are in the pod', () => {
    const { containers, volumes = [] } = podOf(
      renderChart({
        ...SECRET,
        rulesConfigMap: 'our-rules',
        extraEnv: [{ name: 'GATEWAY_CAPTURE', value: 'bodies' }],
        extraVolumes: [{ name: 'certificates', secret: { secretName: 'certificates' } }],
        data: { persistentVolumeClaim: { claimName: 'gateway' } },
      }),
    );
    expect(valueOf(containers[0], 'GATEWAY_CAPTURE')).toBe('bodies');
    expect(valueOf(containers[0], 'GATEWAY_RULES')).toBe('/etc/gateway/rules.yaml');
    expect(Object.fromEntries(volumes.map(({ name, ...source }) => [name, source]))).toEqual({
      secrets: { secret: { secretName: 'gateway', defaultMode: 0o444 } },
      data: { persistentVolumeClaim: { claimName: 'gateway' } },
      rules: { configMap: { name: 'our-rules' } },
      certificates: { secret: { secretName: 'certificates' } },
    });
  });

  test('replicas share a store by its address, under their own name, with the password of a secret', () => {
    const store = { address: 'redis://redis:6379', passwordSecret: 'redis', passwordKey: 'redis-password' };
    const { containers, volumes = [] } = podOf(renderChart({ ...SECRET, store }));
    const [gateway] = containers;
    expect(settingFaults(gateway)).toEqual([]);
    expect(valueOf(gateway, 'GATEWAY_STORE')).toBe(
      'redis://redis:6379?prefix=shop.edge-capture-gateway&copy=/var/lib/gateway/rollout.json',
    );
    const file = valueOf(gateway, 'GATEWAY_STORE_PASSWORD_FILE') ?? '';
    const mount = gateway?.volumeMounts.find(({ mountPath }) => file.startsWith(`${mountPath}/`));
    expect(volumes.find(({ name }) => name === mount?.name)).toMatchObject({
      secret: { secretName: 'redis', items: [{ key: 'redis-password', path: file.split('/').at(-1) }] },
    });
    expect(valueOf(podOf(renderChart(SECRET)).containers[0], 'GATEWAY_STORE')).toBe(
      'file:/var/lib/gateway/rollout.json',
    );
  });

  test.each(['standalone', 'sidecar'])(
    'the settings of %s replace its V2, its store and its drain time',
    (home) => {
      const settings = {
        GATEWAY_UPSTREAM: 'https://v2.example',
        GATEWAY_DRAIN: '20000',
        GATEWAY_STORE: 'redis://redis:6379',
        GATEWAY_STORE_PASSWORD_FILE: '/run/secrets/gateway/store-password',
      };
      const { containers, initContainers = [] } = podOf(buildKustomization(home), settings);
      const gateway = [...initContainers, ...containers].find(({ image }) =>
        image.startsWith('capture-gateway:'),
      );
      expect(settingFaults(gateway)).toEqual([]);
      for (const [name, value] of Object.entries(settings)) expect(valueOf(gateway, name)).toBe(value);
    },
  );

  test('Helm finds nothing against it', () => {
    const folder = fileURLToPath(chart);
    expect(run('helm', ['lint', '--strict', folder, '--set', 'secret.name=gateway'])).toContain(
      '0 chart(s) failed',
    );
    expect(() => renderChart({})).toThrow(/secret/);
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
    ['a store with a password in its address', { store: { address: 'redis://:word@redis:6379' } }],
    ['two sources of a volume', { data: { emptyDir: {}, hostPath: { path: '/x' } } }],
    ['an invalid port', { service: { type: 'ClusterIP', port: 70_000 } }],
  ])('its schema refuses %s', (_title, given) => {
    expect(schema({ ...values, ...SECRET, ...given })).toBe(false);
  });
});

describe('monitoring', () => {
  const objects = buildKustomization('monitoring');

  test('the Prometheus Operator accepts it', async () => {
    expect(await kubernetesFaults(objects)).toEqual([]);
    expect(objects.map(({ kind }) => kind).sort()).toEqual(['PodMonitor', 'PodMonitor', 'PrometheusRule']);
  });

  test('its rules are those of Prometheus alone', () => {
    const groups = ['recording', 'alerts'].flatMap((name) => {
      const text = readFileSync(new URL(`prometheus/${name}.yaml`, deploy), 'utf8');
      return (parse(text) as { readonly groups: readonly unknown[] }).groups;
    });
    expect(objects.find(({ kind }) => kind === 'PrometheusRule')?.spec).toEqual({ groups });
  });

  test.each(['standalone', 'sidecar', 'chart'])(
    'a monitor scrapes the gateway of %s with its token',
    (home) => {
      const given = { secret: { name: 'capture-gateway' }, podMonitor: { enabled: true } };
      const pods = home === 'chart' ? renderChart(given) : buildKustomization(home);
      const { metadata, spec } = templateOf(pods);
      const monitors = (home === 'chart' ? pods : objects).filter(
        ({ kind }) => kind === 'PodMonitor',
      ) as readonly Monitor[];
      const ports = [...spec.containers, ...(spec.initContainers ?? [])].flatMap(({ ports: list = [] }) =>
        list.map(({ name }) => name),
      );
      const matching = monitors.filter(({ spec: { selector } }) =>
        Object.entries(selector.matchLabels).every(([label, value]) => metadata.labels[label] === value),
      );
      expect(matching).toHaveLength(1);
      expect(matching[0]?.spec.podMetricsEndpoints).toMatchObject([
        { path: '/metrics', authorization: { credentials: { name: 'capture-gateway', key: 'admin-token' } } },
      ]);
      expect(ports).toContain(matching[0]?.spec.podMetricsEndpoints[0]?.port);
      // Without the token these would bring a 401 a scrape.
      expect(JSON.stringify(pods)).not.toContain('prometheus.io/scrape');
    },
  );
});

interface Monitor extends KubernetesObject {
  readonly spec: {
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly podMetricsEndpoints: readonly { readonly port: string }[];
  };
}

describe('the promises of the manifests', () => {
  const pods = [
    ['standalone', 'containers'],
    ['sidecar', 'initContainers'],
  ] as const;

  test.each(pods)(
    'the gateway of %s knows every setting, and has no right that it does not need',
    (folder, list) => {
      const pod = podOf(buildKustomization(folder));
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
          readonly configs?: readonly { readonly source: string; readonly target: string }[];
        }
      >
    >;
    readonly configs: Readonly<Record<string, { readonly file: string }>>;
  };

  test('names existing settings, publishes on loopback only, and mounts existing files', () => {
    const env = Object.entries(compose.services['gateway']?.environment ?? {}).map(([name, value]) => ({
      name,
      value: value.replace(/\$\{.*\}/, 'a secret of 16 bytes'),
    }));
    expect(settingFaults({ env })).toEqual([]);
    // It would take precedence over gateway.env, also where it is empty.
    expect(env.filter(({ value }) => value.includes(':-'))).toEqual([]);
    expect(env.map(({ name }) => name)).not.toContain('GATEWAY_UPSTREAM');
    for (const { ports, volumes = [] } of Object.values(compose.services)) {
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
      for (const volume of volumes.filter((path) => path.startsWith('.')))
        expect(existsSync(new URL(volume.split(':')[0] ?? '', folder))).toBe(true);
    }
    for (const { file } of Object.values(compose.configs))
      expect(existsSync(new URL(file.replace(/^\$\{\w+:-(.*)\}$/, '$1'), folder))).toBe(true);
  });

  // An engine makes the place of a mount before it mounts, and cannot where the folder is mounted read-only.
  test('no mount is inside another one', () => {
    for (const { volumes = [], configs = [] } of Object.values(compose.services)) {
      const folders = volumes.map((volume) => volume.split(':')[1] ?? '');
      const targets = [...configs.map(({ target }) => target), ...folders];
      expect(targets.filter((target) => folders.some((mounted) => target.startsWith(`${mounted}/`)))).toEqual(
        [],
      );
      expect(new Set(targets).size).toBe(targets.length);
      for (const { source } of configs) expect(Object.keys(compose.configs)).toContain(source);
    }
  });

  test('Grafana finds the dashboard where it is mounted', () => {
    const provider = parse(readFileSync(new URL('grafana-dashboards.yaml', folder), 'utf8')) as {
      readonly providers: readonly { readonly options: { readonly path: string } }[];
    };
    const mounted = compose.services['grafana']?.configs?.find(
      ({ source }) => source === 'dashboard',
    )?.target;
    expect(mounted).toBe(`${provider.providers[0]?.options.path}/capture-gateway.json`);
  });

  test('its Prometheus configuration is valid', () => {
    const file = fileURLToPath(new URL('prometheus.yaml', folder));
    expect(run('promtool', ['check', 'config', '--syntax-only', file])).toMatch(/SUCCESS/);
  });
});

describe('the systemd unit', () => {
  const unit = fileURLToPath(new URL('systemd/capture-gateway.service', deploy));

  test('is valid for systemd, and exposes little to attack', () => {
    // systemd speaks of every unit that ours leads to, and a unit of another program may be faulty, as this one is.
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

  test('names only existing settings', () => {
    const text = readFileSync(unit, 'utf8');
    const env = [...text.matchAll(/(GATEWAY_\w+)=(\S+)/g)]
      .filter(([, , value]) => value !== '…' && !value?.startsWith('…'))
      .map(([, name = '', value = '']) => ({ name, value }));
    expect(env.length).toBeGreaterThan(2);
    expect(settingFaults({ env })).toEqual([]);
  });
});

/** The pod, whose containers have the environment that Kubernetes makes; `settings` is the ConfigMap of the user. */
function podOf(
  objects: readonly KubernetesObject[],
  settings: Readonly<Record<string, string>> = {},
): PodSpec {
  const maps = new Map([['capture-gateway-settings', settings]]);
  for (const { kind, metadata, ...rest } of objects)
    if (kind === 'ConfigMap' && 'data' in rest)
      maps.set(metadata.name, rest.data as Readonly<Record<string, string>>);
  const { spec } = templateOf(objects);
  const withEnvironment = ({ envFrom = [], env, ...container }: Container): Container => {
    // Of two ConfigMaps the later one counts, and `env` counts more than both.
    const given = Object.assign({}, ...envFrom.map(({ configMapRef }) => maps.get(configMapRef.name)));
    const own = new Set(env.map(({ name }) => name));
    const added = Object.entries<string>(given).filter(([name]) => !own.has(name));
    return { ...container, env: [...added.map(([name, value]) => ({ name, value })), ...env] };
  };
  const { containers, initContainers } = spec;
  return {
    ...spec,
    containers: containers.map(withEnvironment),
    ...(initContainers && { initContainers: initContainers.map(withEnvironment) }),
  };
}

function templateOf(objects: readonly KubernetesObject[]): {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: PodSpec;
} {
  const [deployment] = objects.filter(({ kind }) => kind === 'Deployment').map(({ spec }) => spec);
  return (deployment as { readonly template: ReturnType<typeof templateOf> }).template;
}

function valueOf(container: Container | undefined, name: string): string | undefined {
  return container?.env.find((entry) => entry.name === name)?.value;
}

/** The faults that the gateway would find in the environment of a container. */
function settingFaults(container: Pick<Container, 'env'> | undefined): readonly string[] {
  const environment = Object.fromEntries(
    (container?.env ?? []).map(({ name, value }) => [name, value ?? 'a-secret-of-16-bytes']),
  );
  const outcome = readSettings({ flags: {}, environment, readFile: () => 'a secret of 16 bytes' });
  return 'faults' in outcome
    ? outcome.faults
    : NODE_CONFLICTS.flatMap((check) => check(outcome.settings, (path) => path));
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

/** The objects of the Helm chart as Helm renders them for Kubernetes 1.34; Helm's complaint is thrown. */
function renderChart(values: object): readonly KubernetesObject[] {
  const flags = ['--namespace', 'shop', '--kube-version', '1.34.0', '--values', '-'];
  return readObjects(
    rendered('helm', ['template', 'edge', fileURLToPath(chart), ...flags], stringify(values)),
  );
}

/** The objects of a folder of `deploy/kubernetes` as kustomize builds them. */
function buildKustomization(folder: string): readonly KubernetesObject[] {
  return readObjects(
    rendered('kubectl', ['kustomize', fileURLToPath(new URL(`kubernetes/${folder}`, deploy))]),
  );
}

/** What a tool prints, or its complaint. */
function rendered(command: string, given: readonly string[], input = ''): string {
  const { status, stdout, stderr, error } = spawnSync(command, given, { encoding: 'utf8', input });
  if (status !== 0) throw new Error(`${command}: ${stderr}`, { cause: error });
  return stdout;
}
