import { allSettings, environmentName, type Setting } from '../settings/settings.ts';

/** Returns the settings as a Markdown table. */
export function settingsTable(): string {
  const rows = allSettings.map((setting) => {
    // A size such as 64MiB already names its unit.
    const hasUnit = setting.kind.unit !== '' && /^\d+$/.test(setting.initial ?? '');
    const unit = hasUnit ? ` ${setting.kind.unit}` : '';
    const initial =
      setting.initial === undefined || setting.initial === '' ? 'unset' : `\`${setting.initial}\`${unit}`;
    return `| \`${environmentName(setting)}\` | ${initial} | ${setting.sentence.replaceAll('|', '\\|')} |`;
  });
  return ['| setting | default | meaning |', '|---|---|---|', ...rows, ''].join('\n');
}

/** Returns the settings as a file of environment variables, all commented out. */
export function settingsExample(): string {
  const head =
    '# All settings of capture-gateway with their defaults. A flag (--listen) overrides a variable.\n# Times are in milliseconds; sizes accept B, KiB, MiB and GiB.\n';
  return `${head}${allSettings.map((setting) => example(setting)).join('')}`;
}

function example(setting: Setting<unknown>): string {
  const name = environmentName(setting);
  const file = setting.secret ? `# ${name}_FILE=\n` : '';
  return `\n# ${setting.sentence}\n# ${name}=${setting.initial ?? ''}\n${file}`;
}
