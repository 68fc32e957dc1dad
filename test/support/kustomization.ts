import { existsSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { type KubernetesObject, readObjects } from './kubernetes.ts';

/**
 * Builds the part of kustomize that `deploy/` uses: resources, components with strategic-merge patches on a kind, labels
 * and image tags. Any other member of a kustomization throws.
 */
export function buildKustomization(folder: URL): readonly KubernetesObject[] {
  const file = read(folder, 'kustomization.yaml') as Kustomization;
  for (const key of Object.keys(file)) if (!KNOWN.has(key)) throw new Error(`${key} is not built here`);
  let objects: readonly KubernetesObject[] = (file.resources ?? []).flatMap((path) =>
    readObjects(readFileSync(new URL(path, folder), 'utf8')),
  );
  for (const path of file.components ?? []) {
    const component = new URL(`${path}/`, folder);
    for (const patch of (read(component, 'kustomization.yaml') as Kustomization).patches ?? []) {
      const over = read(component, patch.path);
      objects = objects.map((object) => {
        if (object.kind !== patch.target.kind) return object;
        const { metadata } = object;
        return { ...(merged(object, over) as KubernetesObject), metadata };
      });
    }
  }
  const tags = new Map((file.images ?? []).map(({ name, newTag }) => [name, `${name}:${newTag}`]));
  return objects.map((object) => withImages(object, tags) as KubernetesObject);
}

interface Kustomization {
  readonly resources?: readonly string[];
  readonly components?: readonly string[];
  readonly patches?: readonly { readonly path: string; readonly target: { readonly kind: string } }[];
  readonly images?: readonly { readonly name: string; readonly newTag: string }[];
}

const KNOWN: ReadonlySet<string> = new Set([
  'apiVersion',
  'kind',
  'labels',
  'resources',
  'components',
  'images',
]);

function read(folder: URL, path: string): unknown {
  const file = new URL(path, folder);
  if (!existsSync(file)) throw new Error(`${path} is named, but not there`);
  return parse(readFileSync(file, 'utf8'));
}

/** A strategic merge: maps by key, lists of named things by name, other lists replaced. */
function merged(base: unknown, over: unknown): unknown {
  if (Array.isArray(base) && Array.isArray(over)) return mergedLists(base, over);
  if (!isMap(base) || !isMap(over)) return over ?? base;
  const result: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) result[key] = merged(result[key], value);
  return result;
}

function mergedLists(base: readonly unknown[], over: readonly unknown[]): readonly unknown[] {
  const nameOf = (value: unknown): unknown => (isMap(value) ? value['name'] : undefined);
  if (over.some((value) => nameOf(value) === undefined)) return over;
  const kept = base.map((value) =>
    merged(
      value,
      over.find((other) => nameOf(other) === nameOf(value)),
    ),
  );
  return [...kept, ...over.filter((value) => !base.some((other) => nameOf(other) === nameOf(value)))];
}

function withImages(value: unknown, tags: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((part) => withImages(part, tags));
  if (!isMap(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, part]) => [
      key,
      key === 'image' && typeof part === 'string' ? (tags.get(part) ?? part) : withImages(part, tags),
    ]),
  );
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
