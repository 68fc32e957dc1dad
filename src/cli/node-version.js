// Plain JavaScript without imports, and without anything that an old Node cannot parse: it is loaded first, and reports a Node that
// is too old in one sentence. Scripts of the project load it with `node --import`.
const [major = 0] = process.versions.node.split('.').map(Number);
if (major < 24) {
  // Installed as a package, it has no Node of its own.
  const wayOut = /[\\/]node_modules[\\/]/.test(import.meta.url)
    ? '"npx -p node@24 -p capture-gateway capture-gateway <command>" uses one from the npm registry.'
    : 'In a checkout, after npm ci, "npm run -s gateway -- <command>" uses the Node that npm ci installed.';
  process.stderr.write(
    `capture-gateway needs Node 24 or later, and this is Node ${process.versions.node}. ${wayOut}\n`,
  );
  process.exit(2);
}
