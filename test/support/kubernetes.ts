import { parseAllDocuments } from 'yaml';
import { typeFaults } from './type-faults.ts';

/** A Kubernetes object as a file declares it. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec?: unknown;
}

/** The objects of a YAML text; empty documents do not count. Throws at the first fault of the YAML. */
export function readObjects(text: string): readonly KubernetesObject[] {
  return parseAllDocuments(text, { version: '1.1' }).flatMap((document) => {
    for (const fault of document.errors) throw fault;
    const value = document.toJS() as KubernetesObject | null;
    return value === null ? [] : [value];
  });
}

/**
 * What Kubernetes would say against the objects: each is held against the JSON schema of its kind, and against the
 * declared members of that kind, for the schema lets misspelt ones pass.
 */
export async function kubernetesFaults(objects: readonly KubernetesObject[]): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const { apiVersion, kind, ...rest } of objects) {
    const module = (await import(moduleOf(apiVersion))) as Readonly<
      Record<string, new (data: object) => Validated>
    >;
    const Model = module[kind];
    if (Model === undefined) {
      faults.push(`${apiVersion} has no ${kind}`);
      continue;
    }
    try {
      new Model(rest).validate();
    } catch (error) {
      faults.push(`${kind} ${rest.metadata.name}: ${String(error)}`);
    }
  }
  return [...faults, ...unknownMembers(objects)];
}

interface Validated {
  validate(): void;
}

function moduleOf(apiVersion: string): string {
  return apiVersion.startsWith('monitoring.coreos.com/')
    ? `@kubernetes-models/prometheus-operator/${apiVersion}`
    : `kubernetes-models/${apiVersion}`;
}

/** The compiler finds members that a kind does not have, for the objects are written as literals of its type. */
function unknownMembers(objects: readonly KubernetesObject[]): readonly string[] {
  return typeFaults(
    objects
      .map(({ apiVersion, kind, ...rest }, index) =>
        [
          `import type { I${kind} as T${index} } from '${moduleOf(apiVersion)}';`,
          `export const o${index}: T${index} = ${JSON.stringify({ apiVersion, kind, ...rest })};`,
        ].join('\n'),
      )
      .join('\n'),
  );
}
