import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { type KubernetesObject, readObjects } from './kubernetes.ts';

const deploy = new URL('../../deploy/', import.meta.url);

/** The objects of the Helm chart as Helm renders them for Kubernetes 1.34; Helm's complaint is thrown. */
export function renderChart(values: object): readonly KubernetesObject[] {
  const chart = fileURLToPath(new URL('helm/capture-gateway', deploy));
  const flags = ['--namespace', 'shop', '--kube-version', '1.34.0', '--values', '-'];
  return readObjects(run('helm', ['template', 'edge', chart, ...flags], stringify(values)));
}

/** The objects of a folder of `deploy/kubernetes` as kustomize builds them. */
export function buildKustomization(folder: string): readonly KubernetesObject[] {
  return readObjects(run('kubectl', ['kustomize', fileURLToPath(new URL(`kubernetes/${folder}`, deploy))]));
}

/** Runs a tool that `test/system.sh` installs. */
function run(command: string, given: readonly string[], input = ''): string {
  try {
    return execFileSync(command, given, { encoding: 'utf8', input, stdio: ['pipe', 'pipe', 'pipe'] });
  } catch (error) {
    if (!(error instanceof Error) || !('stderr' in error)) throw error;
    const said = String(error.stderr);
    throw new Error(
      said === '' ? `${command} is missing: test/system.sh installs it (${error.message})` : said,
      {
        cause: error,
      },
    );
  }
}
