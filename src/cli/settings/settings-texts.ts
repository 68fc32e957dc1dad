import { allSettings, environmentName, type Setting } from '../../settings/settings.ts';

/** Returns the settings as a Markdown table. */
export function settingsTable(): string {
  const rows = allSettings.map((setting) => {
    const unit = unitOf(setting);
    const initial =
      setting.initial === undefined || setting.initial === '' ? 'unset' : `\`${setting.initial}\`${unit}`;
    const words = acceptedWords(setting).map((word) => `\`${word}\``);
    const meaning = [setting.sentence, ...(words.length === 0 ? [] : [`Values: ${words.join(', ')}.`])];
    return `| \`${environmentName(setting)}\` | ${initial} | ${meaning.join(' ').replaceAll('|', '\\|')} |`;
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
  const words = acceptedWords(setting);
  const values = words.length === 0 ? '' : `# Values: ${words.join(', ')}.\n`;
  return `\n# ${setting.sentence}\n${values}# ${name}=${setting.initial ?? ''}\n${file}`;
}

/** The words or forms between which a setting chooses, from its placeholder; none where any text or number will do. */
function acceptedWords({ kind }: Setting<unknown>): readonly string[] {
  const words = kind.placeholder.replaceAll(/[<>]/g, '').split('|');
  const isChoice = words.length > 1 && 'fault' in kind.read('?');
  return isChoice && words.every((word) => 'value' in kind.read(word)) ? words : [];
}

/** Returns the unit of a default, with a space before it; empty where a size such as 64MiB already names it. */
export function unitOf({ kind, initial }: Setting<unknown>): string {
  return kind.unit !== '' && /^\d+$/.test(initial ?? '') ? ` ${kind.unit}` : '';
}
