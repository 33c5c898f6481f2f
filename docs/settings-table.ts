// Writes the tables of docs/operations/settings.md from the rows of src/settings.ts.

import { ALL_SETTINGS } from "../src/config.ts";
import type { Setting } from "../src/settings.ts";

export function settingsTable(): string {
	return [
		"| setting | default | meaning |",
		"|---|---|---|",
		...ALL_SETTINGS.map(
			(setting) =>
				`| \`${setting.name}\` | ${sayDefault(setting)} | ${setting.meaning} Takes ${setting.takes}. |`,
		),
	].join("\n");
}

function sayDefault({ fallbackText, neededWhen, inProduction }: Setting<unknown>): string {
	const needed = [neededWhen, inProduction === null ? null : "in production"].filter((when) => when !== null);
	return needed.length === 0 ? fallbackText : `${fallbackText}; required ${needed.join(" and ")}`;
}

export function secretsTable(): string {
	const secrets = ALL_SETTINGS.filter(({ isSecret }) => isSecret);
	return [
		"| setting | instead of |",
		"|---|---|",
		...secrets.map(({ name }) => `| \`${name}_FILE\` | \`${name}\` |`),
	].join("\n");
}
