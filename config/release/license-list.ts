import { readdirSync, readFileSync } from 'node:fs';
import { type LockedPackage, lockedPackages, productionPackages } from './locked-packages.ts';

/** Returns the licences of all packages that ship, with their texts, as Markdown. They are read from the installed packages. */
export function licenseList(root: URL): string {
  const shipped = productionPackages(lockedPackages(root));
  const rows = shipped.map(({ name, version, license }) => `| ${name} | ${version} | ${license ?? 'none'} |`);
  const texts = shipped.map((locked) => {
    const text = licenseText(locked, root).trim().replaceAll(/\r\n?/g, '\n');
    return `## ${locked.name} ${locked.version}\n\n\`\`\`\n${text}\n\`\`\``;
  });
  const table = ['| package | version | licence |', '|---|---|---|', ...rows].join('\n');
  return ['# Licences of the packages that ship', table, ...texts].join('\n\n') + '\n';
}

function licenseText({ name, path }: LockedPackage, root: URL): string {
  const folder = new URL(`${path}/`, root);
  const file = readdirSync(folder).find((entry) => /^licen[cs]e(?:\.|-|$)/i.test(entry));
  if (file === undefined) return `The package ${name} has no file with its licence.`;
  return readFileSync(new URL(file, folder), 'utf8');
}
