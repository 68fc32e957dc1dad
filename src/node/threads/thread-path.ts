/** Returns the entry module of a thread in this folder, in the sources or in the build output. */
export function threadPath(name: 'rewriting-worker' | 'operator-worker' | 'description-worker'): URL {
  return new URL(`./${name}.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url);
}
