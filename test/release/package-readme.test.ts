import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { packageReadme } from '../../config/release/package-readme.ts';
import { commandsOf } from '../support/doc-pages.ts';

const root = new URL('../../', import.meta.url);
const readme = readFileSync(new URL('README.md', root), 'utf8');
const packed = packageReadme(readme, '1.2.3');

test('the README of the package has no script of a checkout among its commands', () => {
  const commands = commandsOf(packed);
  expect(commands.length).toBeGreaterThanOrEqual(commandsOf(readme).length);
  expect(commands.slice(0, 3)).toEqual([
    'npm install capture-gateway node@24',
    'cp -r node_modules/capture-gateway/examples .',
    'npx capture-gateway serve',
  ]);
  const known =
    /^(?:npx capture-gateway |npm install capture-gateway node@24$|cp -r |curl |docker run |npx node examples\/)/;
  expect(commands.filter((command) => !known.test(command))).toEqual([]);
  expect(packed.match(/npm (?:ci|test|run demo|run -s invoicing)|<!--|docker build -q \./g)).toBeNull();
});

test('each of its links leads to a packed file or to the page of the release', () => {
  const links = [...packed.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
  expect(links.length).toBeGreaterThan(15);
  const release =
    /^https:\/\/(?:github\.com|raw\.githubusercontent\.com)\/capture-gateway\/capture-gateway\/(?:blob\/)?v1\.2\.3\/([^#]+)/;
  const lost = links.filter((link) => {
    const path = release.exec(link)?.[1];
    return path === undefined
      ? link !== 'LICENSE' && link !== 'CHANGELOG.md'
      : !existsSync(new URL(path, root));
  });
  expect(lost).toEqual([]);
});
