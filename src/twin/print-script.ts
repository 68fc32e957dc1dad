import type { Script, ScriptedExchange } from './script.ts';

/** Prints a script so that `readScript` reads the same exchanges from it. */
export function printScript({ settings, exchanges }: Script): string {
  const options = Object.entries(settings).map(([name, value]) => `! ${name}: ${value}\n`);
  return [options.join(''), ...exchanges.map((one) => printExchange(one))]
    .filter((part) => part !== '')
    .join('\n');
}

function printExchange(one: ScriptedExchange): string {
  const lines = [
    `# ${one.name}`,
    ...one.keeps.map(([name, pointer]) => `! keep: ${name} = ${pointer}`),
    ...(one.bytes === 'utf-8' ? [] : [`! bytes: ${one.bytes}`]),
    ...(one.pad === 0 ? [] : [`! pad: ${one.pad}`]),
    ...(one.coding === undefined ? [] : [`! coding: ${one.coding}`]),
    ...(one.store === undefined ? [] : [`! store: ${one.store}`]),
    ...(one.choice === undefined ? [] : [`! choice: ${one.choice}`]),
    `> ${one.method} ${one.target}`,
    ...one.headers.map(([name, value]) => `> ${name}: ${value}`),
    ...(one.body === undefined ? [] : ['>', ...one.body.split('\n').map((line) => `> ${line}`)]),
  ];
  return `${lines.join('\n')}\n`;
}
