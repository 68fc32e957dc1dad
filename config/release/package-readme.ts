import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { readManifest } from './manifest.ts';

const PROJECT = 'https://github.com/capture-gateway/capture-gateway';
const RAW = 'https://raw.githubusercontent.com/capture-gateway/capture-gateway';

/** Pages that the package has beside its README. */
const PACKED: ReadonlySet<string> = new Set(['LICENSE', 'CHANGELOG.md']);

/** A text for readers of a checkout, and in a comment behind it the one for readers of the package. */
const MARKED = /<!-- checkout -->[^]*?<!-- package(?:: ([^]*?))? -->/;

/**
 * The README as the package has it: commands of an installed package in place of a checkout's scripts, and the addresses of the release
 * for pages and pictures that are not packed.
 */
export function packageReadme(text: string, version: string): string {
  return (
    text
      .split(MARKED)
      // Without a text for the package, the piece between is undefined.
      .map((piece: string | undefined, at) => (at % 2 === 0 ? withCommands(piece ?? '', version) : piece))
      .join('')
      .replaceAll(
        /(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)\s]+)\)/g,
        (link, picture: string, words: string, path: string) =>
          PACKED.has(path)
            ? link
            : `${picture}[${words}](${picture === '' ? `${PROJECT}/blob` : RAW}/v${version}/${path})`,
      )
  );
}

function withCommands(text: string, version: string): string {
  return text
    .replaceAll(
      /^npm ci$/gm,
      'npm install capture-gateway node@24\ncp -r node_modules/capture-gateway/examples .',
    )
    .replaceAll(/\bnpm start(?: --)?(?![\w-])/g, 'npx capture-gateway serve')
    .replaceAll('npm run -s gateway --', 'npx capture-gateway')
    .replaceAll('npm run -s invoicing --', 'npx node examples/invoicing/service.mts')
    .replaceAll('npm run demo', 'npx capture-gateway demo')
    .replaceAll('docker build -q .', `docker build -q ${PROJECT}.git#v${version}`);
}

// `npm pack` and `npm publish` run this before and after: npm takes README.md itself, wherever another text is.
if (import.meta.main) {
  const root = new URL('../../', import.meta.url);
  const [readme, kept] = [new URL('README.md', root), new URL('.README.md.checkout', root)];
  if (existsSync(kept)) {
    rmSync(readme);
    renameSync(kept, readme);
  }
  if (process.argv[2] !== '--restore') {
    const text = readFileSync(readme, 'utf8');
    writeFileSync(kept, text);
    writeFileSync(readme, packageReadme(text, readManifest(root).version));
  }
}
