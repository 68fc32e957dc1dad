// Plain JavaScript without imports, which an old Node can parse: it is loaded first, and refuses in one sentence a Node that is older than
// "engines" in package.json. The project's scripts load it with `node --import`.
const [major = 0, minor = 0, patch = 0] = process.versions.node.split('.').map(Number);
// The fixes that docs/SECURITY.md names came with 24.18.1 and 26.5.1, after the end of Node 25. Bun and Deno only imitate a version.
const first = { 24: 18_001, 25: Infinity, 26: 5001 }[major] ?? 0;
const isOwnNode = !('bun' in process.versions || 'deno' in process.versions);
if (major < 24 || (isOwnNode && minor * 1000 + patch < first)) {
  // An installed package has no Node of its own.
  const wayOut = /[\\/]node_modules[\\/]/.test(import.meta.url)
    ? 'In the folder of node_modules, "npm install node@24" adds one if it is not there yet, and "npx capture-gateway <command>" uses it; the file in node_modules/.bin alone uses the Node that starts it.'
    : 'In a checkout, after npm ci, "npm run -s gateway -- <command>" uses the Node that npm ci installed.';
  process.stderr.write(
    `capture-gateway needs Node 24 (24.18.1 or later) or 26 (26.5.1 or later), and this is Node ${process.versions.node}. ${wayOut}\n`,
  );
  process.exit(2);
}
