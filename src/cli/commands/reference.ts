import { type Command, Option } from 'commander';
import { environmentName, settings, type Setting } from '../../settings/settings.ts';

/** Settings of the reference service by flag, under their headings. */
const GROUPS: readonly (readonly [heading: string, flags: Readonly<Record<string, Setting<unknown>>>])[] = [
  ['Service:', { listen: settings.referenceListen, db: settings.referenceDb }],
  [
    'Versions:',
    {
      dialect: settings.referenceDialect,
      release: settings.referenceRelease,
      unknown: settings.referenceUnknown,
      deprecated: settings.referenceDeprecated,
      deprecations: settings.referenceDeprecations,
    },
  ],
  [
    'API keys:',
    {
      rate: settings.referenceRate,
      'read-only': settings.referenceReadOnly,
      failing: settings.referenceFailing,
    },
  ],
];

/** Defines `reference`, which runs the reference service alone until SIGTERM or SIGINT. */
export function reference(command: Command): void {
  command.description(
    'Runs a small implementation of the specification as V2, V1 or both. It accepts any API key.',
  );
  for (const [heading, flags] of GROUPS) {
    for (const [flag, setting] of Object.entries(flags))
      command.addOption(option(flag, setting).helpGroup(heading));
  }
  command.action(async (texts: Readonly<Record<string, string | undefined>>) => {
    const { runReference } = await import('../serve/reference.ts');
    await runReference(texts);
  });
}

function option(flag: string, setting: Setting<unknown>): Option {
  return new Option(`--${flag} ${setting.kind.placeholder}`, setting.sentence)
    .env(environmentName(setting))
    .default(setting.initial || undefined);
}
