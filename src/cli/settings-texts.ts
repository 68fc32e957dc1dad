import { allSettings, environmentName, type Setting } from '../settings/settings.ts';

/** The settings as a table for the README, from the one table of settings. */
export function settingsTable(): string {
  const rows = allSettings.map((setting) => {
    const unit = setting.kind.unit === '' || setting.initial === undefined ? '' : ` ${setting.kind.unit}`;
    const initial =
      setting.initial === undefined || setting.initial === '' ? 'unset' : `\`${setting.initial}\`${unit}`;
    return `| \`${environmentName(setting)}\` | ${initial} | ${setting.sentence.replaceAll('|', '\\|')} |`;
  });
  return ['| setting | default | what it does |', '|---|---|---|', ...rows, ''].join('\n');
}

/** The settings as a file of environment variables, all commented out. */
export function settingsExample(): string {
  const head =
    '# All settings of capture-gateway with their defaults. A flag (--listen) goes before a variable.\n# Times are in milliseconds; sizes take B, KiB, MiB and GiB.\n';
  return `${head}${allSettings.map((setting) => example(setting)).join('')}`;
}

function example(setting: Setting<unknown>): string {
  const name = environmentName(setting);
  const file = setting.secret ? `# ${name}_FILE=\n` : '';
  return `\n# ${setting.sentence}\n# ${name}=${setting.initial ?? ''}\n${file}`;
}
