/** False on Bun and Deno, which run the same code and behave differently in places. */
export const IS_NODE = !('bun' in process.versions || 'deno' in process.versions);
